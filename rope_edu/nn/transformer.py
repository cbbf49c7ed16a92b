r"""A tiny decoder-only transformer whose positional encoding is chosen by name."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from rope_edu.attention import causal_mask, merge_heads, split_heads
from rope_edu.attention.cache import KVCache
from rope_edu.encodings import RopeSpec
from rope_edu.encodings.validation import check_positive_int
from rope_edu.nn.encodings import Encoding, Positions, make_encoding


class Attention(nn.Module):
    r"""Causal multi-head attention on torch's `scaled_dot_product_attention`.

    The same as `rope_edu.attention.multi_head_attention` with this module's weights. Without a bias the kernel
    is told that the mask is causal, and never builds it; an encoding with a bias pays for a float mask.

    Args:
        d_model: features.
        n_heads: heads, a divisor of d_model.

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
        self, x: torch.Tensor, encoding: Encoding, positions: Positions, cache: KVCache | None = None
    ) -> torch.Tensor:
        """Return what the tokens x `(…, seq, d_model)` take from each other, same shape."""
        q, k, v = (split_heads(part, self.n_heads) for part in self.w_qkv(x).chunk(3, dim=-1))
        q, k = encoding.rotate_q(q, positions), encoding.rotate_k(k, positions)
        if cache is not None:
            k, v = cache.append(k, v)
        return self.w_o(merge_heads(_attend(q, k, v, encoding.bias(q, k.shape[-2]))))


def _attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    """Attend causally; the queries are the last of the keys' positions."""
    q_len, k_len = q.shape[-2], k.shape[-2]
    if bias is None and q_len == k_len:
        return functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    if q_len > 1:
        mask = torch.as_tensor(causal_mask(q_len, k_len), device=q.device)
        bias = mask if bias is None else bias.masked_fill(~mask, -torch.inf)
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=bias)


class Block(nn.Module):
    r"""Attention, then a two-layer network for each token, each after a norm and added to its input.

    Args:
        d_model: features.
        n_heads: heads.
        d_ff: hidden units of the network.

    >>> Block(8, 2, 16)(torch.ones(1, 3, 8), Encoding(), range(3)).shape
    torch.Size([1, 3, 8])

    Source: Xiong 2020, arXiv 2002.04745 (pre-norm). Chapter 13.
    """

    def __init__(self, d_model: int, n_heads: int, d_ff: int) -> None:
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.attention = Attention(d_model, n_heads)
        self.mlp = nn.Sequential(nn.Linear(d_model, d_ff), nn.GELU(), nn.Linear(d_ff, d_model))

    def forward(
        self, x: torch.Tensor, encoding: Encoding, positions: Positions, cache: KVCache | None = None
    ) -> torch.Tensor:
        """Return x `(…, seq, d_model)`, refined."""
        x = x + self.attention(self.norm_1(x), encoding, positions, cache)
        return x + self.mlp(self.norm_2(x))


class TinyTransformer(nn.Module):
    r"""A decoder-only transformer: tokens in, a score for every next token out.

    Args:
        vocab_size: tokens are 0 … vocab_size − 1.
        encoding: a name of `ENCODINGS` (or "dynamic-ntk"), or a RopeSpec for heads of d_model / n_heads features.
        d_model, n_layers, n_heads: sizes; n_heads divides d_model.
        d_ff: hidden units between attentions; 4 · d_model if not given.
        max_len: rows of a learned table of positions; the other encodings have no such cap.
        encoding_options: of the name, as `OPTIONS` lists them, such as `base`.

    Raises:
        ValueError: a size or name that is not allowed.

    >>> _ = torch.manual_seed(0)
    >>> model = TinyTransformer(10, d_model=16, n_layers=1)
    >>> model(torch.tensor([[1, 2, 3]])).shape
    torch.Size([1, 3, 10])

    Chapters 10–13.
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
        **encoding_options,
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
        # last, so that models that differ in nothing else start from the same weights
        sizes = {"d_model": d_model, "n_heads": n_heads, "max_len": max_len}
        first = make_encoding(encoding, **sizes, **encoding_options)
        more = 0 if first.shared else n_layers - 1
        others = (make_encoding(encoding, **sizes, **encoding_options) for _ in range(more))
        self.encodings = nn.ModuleList([first, *others])

    def _start_small(self, n_layers: int) -> None:
        """Draw the matrices as GPT-2 does, scaled to the width: those that add to the stream smaller."""
        for name, weight in self.named_parameters():
            if weight.ndim == 2 and not name.startswith("embedding"):
                adds = name.endswith(("w_o.weight", "mlp.2.weight"))
                nn.init.normal_(weight, std=weight.shape[1] ** -0.5 / ((2 * n_layers) ** 0.5 if adds else 1))

    def forward(self, tokens: torch.Tensor, cache: list[KVCache] | None = None) -> torch.Tensor:
        r"""Score every next token.

        Args:
            tokens: ints `(…, seq)`; with a cache, those that follow what it has seen.
            cache: of `new_cache`; receives these tokens.

        Returns:
            Logits `(…, seq, vocab_size)`.

        Raises:
            ValueError: a token is out of vocabulary, the text is longer than a learned table, or the encoding
                does not allow a cache. (Tokens are not checked while compiling.)
        """
        self._check_tokens(tokens)
        if cache is not None and self.encodings[0].cache_problem:
            raise ValueError(f"{self.encoding_name!r} cannot use a cache: {self.encodings[0].cache_problem}")
        start = 0 if cache is None else cache[0].seen
        positions = range(start, start + tokens.shape[-1])
        x = self.encodings[0].embed(self.embedding(tokens), positions)
        for n, block in enumerate(self.blocks):
            encoding = self.encodings[n if len(self.encodings) > 1 else 0]
            x = block(x, encoding, positions, None if cache is None else cache[n])
        return self.head(self.norm(x))

    def new_cache(self, capacity: int | None = None, *, when_full: str = "error") -> list[KVCache]:
        r"""Return an empty cache, one `KVCache` a layer.

        Args:
            capacity: tokens, or None for no limit.
            when_full: "error", or "evict" to forget the oldest.

        Raises:
            ValueError: the encoding does not allow a cache; the sentence says why.
        """
        if self.encodings[0].cache_problem:
            raise ValueError(f"{self.encoding_name!r} cannot use a cache: {self.encodings[0].cache_problem}")
        return [KVCache(capacity, when_full=when_full) for _ in self.blocks]

    @torch.no_grad()
    def generate(
        self, tokens: torch.Tensor, n: int, *, temperature: float = 0.0, seed: int = 0, use_cache: bool = True
    ) -> torch.Tensor:
        r"""Continue texts by `n` tokens.

        Args:
            tokens: ints `(…, seq)`, at least one a row.
            n: tokens to add.
            temperature: 0 takes the likeliest token; above, tokens are drawn by softmax(logits / temperature).
            seed: of the draws.
            use_cache: whether to keep keys and values instead of reading everything again for each token; an
                encoding that does not allow a cache does without.

        Returns:
            `(…, seq + n)`, the given tokens first.

        Raises:
            ValueError: `n` or `temperature` is out of range, and whatever `forward` refuses.
        """
        check_positive_int("n", n)
        if not (isinstance(temperature, int | float) and 0 <= temperature < float("inf")):
            raise ValueError(f"temperature must be a finite number from 0, got {temperature!r}")
        generator = torch.Generator(tokens.device).manual_seed(seed)
        cache = self.new_cache() if use_cache and not self.encodings[0].cache_problem else None
        new = tokens
        for _ in range(n):
            logits = self(tokens if cache is None else new, cache)[..., -1, :]
            new = _pick(logits, temperature, generator)
            tokens = torch.cat((tokens, new), dim=-1)
        return tokens

    def _check_tokens(self, tokens: torch.Tensor) -> None:
        if torch.compiler.is_compiling() or tokens.is_cuda:  # a look at the values would make the GPU wait
            return
        if tokens.dtype not in (torch.int64, torch.int32) or tokens.ndim < 1 or tokens.numel() == 0:
            raise ValueError(
                f"tokens must be ints (…, seq) with seq ≥ 1, got {tokens.dtype} of shape {tuple(tokens.shape)}"
            )
        low, high = (int(bound) for bound in tokens.aminmax())
        if low < 0 or high >= self.vocab_size:
            seen = low if low < 0 else high
            raise ValueError(f"tokens must be 0 to {self.vocab_size - 1}, the vocabulary, got {seen}")


def _pick(logits: torch.Tensor, temperature: float, generator: torch.Generator) -> torch.Tensor:
    """Choose one token a row: `(…, vocab)` -> `(…, 1)`."""
    if temperature == 0:
        return logits.argmax(-1, keepdim=True)
    shares = (logits / temperature).softmax(-1)
    drawn = torch.multinomial(shares.reshape(-1, shares.shape[-1]), 1, generator=generator)
    return drawn.reshape(*logits.shape[:-1], 1)
