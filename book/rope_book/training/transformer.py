r"""A tiny decoder-only transformer that supports all positional encodings."""

from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from rope_edu.attention import causal_mask, merge_heads, split_heads
from rope_edu.attention.cache import KVCache
from rope_edu.encodings import RopeSpec
from rope_edu.encodings.validation import check_positive_int
from rope_edu.nn.encodings import Encoding, Positions, make_encoding


class Attention(nn.Module):
    r"""Causal multi-head attention on torch's `scaled_dot_product_attention`.

    The output equals that of `rope_edu.attention.multi_head_attention` with the same weights. `n_heads` must divide
    `d_model`. The kernel receives a float mask only if the encoding has a bias.

    >>> Attention(8, 2)(torch.ones(1, 3, 8), Encoding(), range(3)).shape
    torch.Size([1, 3, 8])

    Source: Vaswani 2017, arXiv 1706.03762, §3.2.2. Chapters 10 and 13.
    """

    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        if d_model % check_positive_int("n_heads", n_heads):
            raise ValueError(f"n_heads must divide d_model = {d_model}, got {n_heads}")
        self.n_heads = n_heads
        self.w_qkv = nn.Linear(d_model, 3 * d_model, bias=False)
        self.w_o = nn.Linear(d_model, d_model, bias=False)

    def forward(
        self, x: Tensor, encoding: Encoding, positions: Positions, cache: KVCache | None = None
    ) -> Tensor:
        """Return the attention output for x, with the same shape as x: `(…, seq, d_model)`."""
        parts = self.w_qkv(x).chunk(3, dim=-1)
        q, k, v = (split_heads(part, self.n_heads) for part in parts)
        q, k = encoding.rotate_q(q, positions), encoding.rotate_k(k, positions)
        if cache is not None:
            k, v = cache.append(k, v)
        mixed = attend_causally(q, k, v, encoding.bias(q, k.shape[-2]))
        return self.w_o(merge_heads(mixed))


def attend_causally(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None) -> Tensor:
    """Return the causal attention output, shaped like q, for queries at the last of the keys' positions."""
    q_len, k_len = q.shape[-2], k.shape[-2]
    if bias is None and q_len == k_len:
        return functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    if q_len > 1:
        mask = torch.as_tensor(causal_mask(q_len, k_len), device=q.device)
        bias = mask if bias is None else bias.masked_fill(~mask, -torch.inf)
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=bias)


class Block(nn.Module):
    r"""A pre-norm block: attention and an MLP with `d_ff` hidden units, each with a residual connection.

    >>> Block(8, 2, 16)(torch.ones(1, 3, 8), Encoding(), range(3)).shape
    torch.Size([1, 3, 8])

    Source: Xiong 2020, arXiv 2002.04745 (pre-norm).
    """

    def __init__(self, d_model: int, n_heads: int, d_ff: int) -> None:
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.attention = Attention(d_model, n_heads)
        self.mlp = nn.Sequential(nn.Linear(d_model, d_ff), nn.GELU(), nn.Linear(d_ff, d_model))

    def forward(
        self, x: Tensor, encoding: Encoding, positions: Positions, cache: KVCache | None = None
    ) -> Tensor:
        """Return the block's output, `(…, seq, d_model)` like x."""
        x = x + self.attention(self.norm_1(x), encoding, positions, cache)
        return x + self.mlp(self.norm_2(x))


class TinyTransformer(nn.Module):
    r"""A decoder-only transformer that maps tokens to logits for the next token at every position.

    Tokens are 0 … vocab_size − 1. `encoding` and its options are as for `make_encoding`, and `n_heads` must divide
    `d_model`. `max_len` limits the length only for a learned table. `d_ff` is the number of hidden units in the
    MLP; 4 · d_model if None. Raises ValueError if a size, a name or an option is invalid.

    >>> _ = torch.manual_seed(0)
    >>> model = TinyTransformer(10, d_model=16, n_layers=1)
    >>> model(torch.tensor([[1, 2, 3]])).shape
    torch.Size([1, 3, 10])

    Chapter 13.
    """

    def __init__(
        self,
        vocab_size: int,
        *,
        encoding: str | RopeSpec = "rotary",
        d_model: int = 64,
        n_layers: int = 2,
        n_heads: int = 2,
        d_ff: int | None = None,
        max_len: int = 512,
        **encoding_options: Any,
    ) -> None:
        super().__init__()
        sizes = {"vocab_size": vocab_size, "d_model": d_model, "n_layers": n_layers, "max_len": max_len}
        for name, value in sizes.items():
            check_positive_int(name, value)
        d_ff = 4 * d_model if d_ff is None else check_positive_int("d_ff", d_ff)
        self.encoding_name, self.vocab_size = encoding, vocab_size
        self.embedding = nn.Embedding(vocab_size, d_model)  # N(0, 1)
        self.blocks = nn.ModuleList(Block(d_model, n_heads, d_ff) for _ in range(n_layers))
        self.norm = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size, bias=False)
        self._start_small(n_layers)
        # created last, so that models with different encodings start with the same other weights
        sizes = {"d_model": d_model, "n_heads": n_heads, "max_len": max_len}
        self.encodings = nn.ModuleList([make_encoding(encoding, **sizes, **encoding_options)])
        while len(self.encodings) < n_layers and not self._encoding(0).shared:
            self.encodings.append(make_encoding(encoding, **sizes, **encoding_options))

    def _start_small(self, n_layers: int) -> None:
        """Initialise as in GPT-2, scaled to the width; matrices that add to the residual stream start smaller."""
        for name, weight in self.named_parameters():
            if weight.ndim == 2 and not name.startswith("embedding"):
                adds = name.endswith(("w_o.weight", "mlp.2.weight"))
                nn.init.normal_(weight, std=weight.shape[1] ** -0.5 / ((2 * n_layers) ** 0.5 if adds else 1))

    def forward(self, tokens: Tensor, cache: list[KVCache] | None = None) -> Tensor:
        r"""Return logits for the next token at every position, `(…, seq, vocab_size)`, from tokens `(…, seq)`.

        With a cache from `new_cache`, `tokens` continue the cached text, and their keys and values are appended.
        Raises ValueError if a token is not in the vocabulary, the text is longer than a learned table, or the
        encoding does not allow a cache. (Tokens are not checked on a GPU or during compilation.)
        """
        self._check_tokens(tokens)
        if cache is not None:
            self._check_cache()
        start = 0 if cache is None else cache[0].seen
        positions = range(start, start + tokens.shape[-1])
        x = self._encoding(0).embed(self.embedding(tokens), positions)
        for n, block in enumerate(self.blocks):
            x = block(x, self._encoding(n), positions, None if cache is None else cache[n])
        return self.head(self.norm(x))

    def _encoding(self, layer: int) -> Encoding:
        """Return a layer's encoding; some encodings are shared by all layers."""
        return cast(Encoding, self.encodings[layer % len(self.encodings)])

    def _check_cache(self) -> None:
        """Raise ValueError if the encoding does not allow a cache."""
        if problem := self._encoding(0).cache_problem:
            raise ValueError(f"{self.encoding_name!r} cannot use a cache: {problem}")

    def new_cache(self, capacity: int | None = None, *, when_full: str = "error") -> list[KVCache]:
        """Return one empty `KVCache` per layer; raise ValueError if the encoding does not allow a cache."""
        self._check_cache()
        return [KVCache(capacity, when_full=when_full) for _ in self.blocks]

    @torch.no_grad()
    def generate(
        self, tokens: Tensor, n: int, *, temperature: float = 0.0, seed: int = 0, use_cache: bool = True
    ) -> Tensor:
        r"""Return `tokens`, ints `(…, seq)` with at least one per row, followed by `n` new tokens, `(…, seq + n)`.

        At temperature 0, each new token is the most likely; otherwise, tokens are sampled from softmax(logits /
        temperature) with `seed`. `use_cache` caches keys and values if the encoding allows it. Raises ValueError if
        `n` or `temperature` is out of range, or if `forward` does.
        """
        check_positive_int("n", n)
        if not (isinstance(temperature, int | float) and 0 <= temperature < float("inf")):
            raise ValueError(f"temperature must be a finite number from 0, got {temperature!r}")
        generator = torch.Generator(tokens.device).manual_seed(seed)
        cache = self.new_cache() if use_cache and not self._encoding(0).cache_problem else None
        new = tokens
        for _ in range(n):
            logits = self(tokens if cache is None else new, cache)[..., -1, :]
            if temperature == 0:
                new = logits.argmax(-1, keepdim=True)
            else:
                shares = (logits / temperature).softmax(-1).reshape(-1, self.vocab_size)
                new = torch.multinomial(shares, 1, generator=generator).reshape(*tokens.shape[:-1], 1)
            tokens = torch.cat((tokens, new), dim=-1)
        return tokens

    def _check_tokens(self, tokens: Tensor) -> None:
        if torch.compiler.is_compiling() or tokens.is_cuda:  # reading values would synchronise with the GPU
            return
        if tokens.dtype not in (torch.int64, torch.int32) or tokens.ndim < 1 or tokens.numel() == 0:
            raise ValueError(
                f"tokens must be ints (…, seq) with seq ≥ 1, got {tokens.dtype} of shape {tuple(tokens.shape)}"
            )
        low, high = (int(bound) for bound in tokens.aminmax())
        if low < 0 or high >= self.vocab_size:
            outside = low if low < 0 else high
            raise ValueError(f"tokens must be 0 to {self.vocab_size - 1}, the vocabulary, got {outside}")
