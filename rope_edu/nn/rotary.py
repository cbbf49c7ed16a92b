r"""A drop-in rotary position embedding: one pure-PyTorch module to copy into any project unchanged."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn


class RotaryEmbedding(nn.Module):
    r"""Rotates q and k, (…, heads, seq, head_dim), by position, without parameters or buffers.

    The frequencies are Python numbers, so `.to(torch.bfloat16)`, meta devices and checkpoints cannot change them.
    Angles are float64 (float32 on Apple GPUs, which lack float64), and their cosines and sines are rounded once, so
    position 10⁶ is as exact as position 1. All layers can share one instance.

    Call it with q and k, which may have different numbers of heads, and with `offset`, the position of their first
    token, or `positions`, (seq,) or (batch, seq). It returns q and k rotated, in their original dtypes.

    Args:
        head_dim: width of a head.
        base: b in θ_i = b^(−2i/d).
        rotary_dim: d, the even number of features that rotate, head_dim by default; the others are unchanged.
        inv_freq: frequencies from any rule, in radians per token, (pairs,); they override base and rotary_dim.
        layout: "interleaved" pairs features (2i, 2i + 1): Meta's Llama, GPT-J, GLM; "half_split" pairs
            (i, i + d/2): GPT-NeoX and most of transformers, including its Llama.
        attention_factor: multiplies cosines and sines (YaRN, LongRoPE).

    Raises:
        ValueError: if the layout is misspelt or, when called, if a head has the wrong width.

    >>> rope = RotaryEmbedding(4)
    >>> q, k = torch.ones(1, 8, 5, 4), torch.ones(1, 2, 5, 4)  # 8 query heads share 2 key heads
    >>> whole, _ = rope(q, k)
    >>> last, _ = rope(q[:, :, 4:], k[:, :, 4:], offset=4)  # decoding: the cache holds 4 tokens
    >>> torch.equal(last, whole[:, :, 4:])
    True

    Source: RoFormer, arXiv 2104.09864, eq. 34. Chapters 7 and 10.
    """

    def __init__(
        self,
        head_dim: int,
        base: float = 10_000.0,
        *,
        rotary_dim: int | None = None,
        inv_freq: Iterable[float] | None = None,
        layout: str = "interleaved",
        attention_factor: float = 1.0,
    ) -> None:
        super().__init__()
        if layout not in ("interleaved", "half_split"):
            raise ValueError(f"{layout=} is neither interleaved nor half_split")
        d = rotary_dim or head_dim
        if inv_freq is None:
            inv_freq = [base ** (-2 * i / d) for i in range(d // 2)]
        # Python numbers, because a tensor could be cast, moved or overwritten by a checkpoint
        self.inv_freq = tuple(float(f) for f in inv_freq)
        self.head_dim, self.layout = head_dim, layout
        self.attention_factor = attention_factor

    def forward(
        self, q: Tensor, k: Tensor, offset: int = 0, positions: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        if positions is None:
            positions = torch.arange(offset, offset + q.shape[-2], device=q.device)
        exact = torch.float32 if q.device.type == "mps" else torch.float64
        inv_freq = torch.tensor(self.inv_freq, dtype=exact, device=q.device)
        angles = positions.to(exact)[..., None] * inv_freq  # (…, seq, pairs)
        if positions.ndim > 1:
            angles = angles.unsqueeze(-3)  # (batch, 1, seq, pairs), the same for all heads
        wide = torch.promote_types(q.dtype, torch.float32)  # 16-bit floats are rotated in float32
        cos = (self.attention_factor * angles.cos()).to(wide)
        sin = (self.attention_factor * angles.sin()).to(wide)
        return self.rotate(q, cos, sin), self.rotate(k, cos, sin)

    def rotate(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        if x.shape[-1] != self.head_dim:
            raise ValueError(f"heads must be {self.head_dim} wide, got {x.shape[-1]}")
        pairs = cos.shape[-1]
        shape, axis = ((2, -1), -2) if self.layout == "half_split" else ((-1, 2), -1)
        head = x[..., : 2 * pairs].to(cos.dtype)
        x1, x2 = head.unflatten(-1, shape).unbind(axis)  # both (…, seq, pairs)
        turned = torch.stack((x1 * cos - x2 * sin, x1 * sin + x2 * cos), axis)
        turned = turned.flatten(-2).to(x.dtype)
        return torch.cat((turned, x[..., 2 * pairs :]), dim=-1)
