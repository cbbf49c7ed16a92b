r"""Llama's architecture, with RMSNorm, shared keys, SwiGLU, tied embeddings, and positions as an argument."""

from dataclasses import dataclass

from torch import Tensor, nn
from torch.nn import functional

from rope_book.training.transformer import attend_causally
from rope_edu.attention import merge_heads, split_heads
from rope_edu.attention.cache import KVCache
from rope_edu.attention.encoding import PositionEncoding

Positions = range | Tensor


@dataclass(frozen=True)
class Sizes:
    """The sizes of a model, and ε of its RMSNorm."""

    vocab_size: int
    d_model: int
    d_ff: int
    n_layers: int
    n_heads: int
    n_kv_heads: int
    eps: float

    @property
    def head_dim(self) -> int:
        """Return the number of features per head."""
        return self.d_model // self.n_heads


class SharedKeyAttention(nn.Module):
    """Causal attention in which several query heads share one key head and one value head.

    Source: Ainslie 2023, arXiv 2305.13245. Chapter 10.
    """

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.n_heads, self.n_kv_heads = sizes.n_heads, sizes.n_kv_heads
        kv_width = sizes.n_kv_heads * sizes.head_dim
        self.w_q = nn.Linear(sizes.d_model, sizes.d_model, bias=False)
        self.w_k = nn.Linear(sizes.d_model, kv_width, bias=False)
        self.w_v = nn.Linear(sizes.d_model, kv_width, bias=False)
        self.w_o = nn.Linear(sizes.d_model, sizes.d_model, bias=False)

    def forward(
        self, x: Tensor, encoding: PositionEncoding, positions: Positions, cache: KVCache | None = None
    ) -> Tensor:
        """Return the attention output for x, `(…, seq, d_model)` like x."""
        q = encoding.rotate_q(split_heads(self.w_q(x), self.n_heads), positions)
        k = encoding.rotate_k(split_heads(self.w_k(x), self.n_kv_heads), positions)
        v = split_heads(self.w_v(x), self.n_kv_heads)
        if cache is not None:
            k, v = cache.append(k, v)
        bias = encoding.bias(q, k.shape[-2])
        k, v = (part.repeat_interleave(self.n_heads // self.n_kv_heads, dim=-3) for part in (k, v))
        return self.w_o(merge_heads(attend_causally(q, k, v, bias)))


class SwiGLU(nn.Module):
    """The gated MLP: w_down(silu(w_gate x) · w_up x).

    Source: Shazeer 2020, arXiv 2002.05202.
    """

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.w_gate = nn.Linear(sizes.d_model, sizes.d_ff, bias=False)
        self.w_up = nn.Linear(sizes.d_model, sizes.d_ff, bias=False)
        self.w_down = nn.Linear(sizes.d_ff, sizes.d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Return the MLP's output, `(…, seq, d_model)` like x."""
        return self.w_down(functional.silu(self.w_gate(x)) * self.w_up(x))


class Block(nn.Module):
    """Attention and an MLP, each preceded by an RMSNorm and with a residual connection."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.norm_1 = nn.RMSNorm(sizes.d_model, eps=sizes.eps)
        self.norm_2 = nn.RMSNorm(sizes.d_model, eps=sizes.eps)
        self.attention, self.mlp = SharedKeyAttention(sizes), SwiGLU(sizes)

    def forward(
        self, x: Tensor, encoding: PositionEncoding, positions: Positions, cache: KVCache | None = None
    ) -> Tensor:
        """Return the block's output, `(…, seq, d_model)` like x."""
        x = x + self.attention(self.norm_1(x), encoding, positions, cache)
        return x + self.mlp(self.norm_2(x))


class Llama(nn.Module):
    r"""A decoder-only transformer whose encoding and positions are arguments of every call.

    >>> import torch
    >>> model = Llama(Sizes(vocab_size=10, d_model=8, d_ff=16, n_layers=1, n_heads=2, n_kv_heads=1, eps=1e-5))
    >>> model.head(model(torch.tensor([[1, 2, 3]]), PositionEncoding(), range(3))).shape
    torch.Size([1, 3, 10])

    Source: Touvron 2023, arXiv 2302.13971, §2.2. Chapter 10.
    """

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.sizes = sizes
        self.embedding = nn.Embedding(sizes.vocab_size, sizes.d_model)
        self.blocks = nn.ModuleList(Block(sizes) for _ in range(sizes.n_layers))
        self.norm = nn.RMSNorm(sizes.d_model, eps=sizes.eps)

    def forward(
        self,
        tokens: Tensor,
        encoding: PositionEncoding,
        positions: Positions,
        cache: list[KVCache] | None = None,
    ) -> Tensor:
        """Return the final normalised vectors, `(…, seq, d_model)`, for tokens `(…, seq)` at these positions."""
        x = encoding.embed(self.embedding(tokens), positions)
        for n, block in enumerate(self.blocks):
            x = block(x, encoding, positions, None if cache is None else cache[n])
        return self.norm(x)

    def head(self, x: Tensor) -> Tensor:
        """Return logits, `(…, seq, vocab_size)`, for vectors `(…, seq, d_model)`, using the embedding matrix."""
        return functional.linear(x, self.embedding.weight)
