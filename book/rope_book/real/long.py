r"""Run SmolLM2 on texts of many thousands of tokens, in blocks, with modified distances or fewer keys."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from rope_book.real.model import SharedKeyAttention
from rope_book.real.talk import ROWS_AT_ONCE, RealModel
from rope_edu.attention import merge_heads, split_heads
from rope_edu.encodings import RopeSpec, apply_rope, rope_angles

BLOCK = 512  # number of queries per block


@dataclass(frozen=True)
class Reading:
    r"""The distances and keys for a long text: ρ(r) replaces the distance r, and queries may see only some keys.

        ρ = min(r, window) in the `held` pairs,   ρ = r in all others

    Attributes:
        rope: the rotation.
        window: the largest distance in the held pairs, a multiple of `BLOCK`; None for plain RoPE.
        held: the pairs to which the window applies, or None for all.
        first: number of initial keys that remain visible beyond the window, or None for all.
        trained: training length for log-n scaling, which multiplies a query by max(1, ln n / ln trained), where n
            is the number of keys so far; None for no scaling.

    Source: Su 2023, kexue.fm/archives/9708 (ReRoPE, log-n); Xiao 2023, arXiv 2309.17453 (first tokens). Chapter 18.
    """

    rope: RopeSpec
    window: int | None = None
    held: Sequence[int] | None = None
    first: int | None = None
    trained: int | None = None

    def mix(self, q: Tensor, k: Tensor, v: Tensor, block: int = BLOCK) -> Tensor:
        """Return the attention output, shaped like q, for unrotated q, k and v `(batch, heads, seq, head_dim)`."""
        seq = q.shape[-2]
        at = torch.arange(seq, dtype=torch.float64)
        if self.trained is not None:
            q = q * ((at + 1).log() / math.log(self.trained)).clamp(min=1)[:, None].to(q.dtype)
        near_q, near_k = self._rotate(q, at), self._rotate(k, at)
        if self.window is None or self.window >= seq:
            return functional.scaled_dot_product_attention(near_q, near_k, v, is_causal=True)
        far_q = self._rotate(q, at, torch.full_like(at, self.window))
        far_k = self._rotate(k, at, torch.zeros_like(at))
        mixed = []
        for start in range(0, seq, block):
            rows = slice(start, min(start + block, seq))
            keys = slice(max(0, start + 1 - self.window), rows.stop)
            r = at[rows, None] - at[keys]
            parts = [_attend(near_q, near_k, v, rows, keys, (r >= 0) & (r < self.window))]
            beyond = max(0, rows.stop - self.window)
            keys = slice(beyond if self.first is None else min(self.first, beyond))
            if keys.stop > 0:
                seen = at[rows, None] - at[keys] >= self.window
                parts.append(_attend(far_q, far_k, v, rows, keys, seen))
            mixed.append(_merge(parts))
        return torch.cat(mixed, dim=-2)

    def _rotate(self, x: Tensor, at: Tensor, held_at: Tensor | None = None) -> Tensor:
        """Return x rotated by its positions, except that held pairs use `held_at` if given."""
        inv_freq = torch.tensor(self.rope.inv_freq)
        angles = rope_angles(at, inv_freq)
        if held_at is not None:
            held = list(range(len(inv_freq)) if self.held is None else self.held)
            angles[:, held] = rope_angles(held_at, inv_freq)[:, held]
        return apply_rope(x, angles, layout=self.rope.layout, attention_factor=self.rope.attention_factor)


def _attend(q: Tensor, k: Tensor, v: Tensor, rows: slice, keys: slice, seen: Tensor) -> tuple[Tensor, Tensor]:
    """Return the output of some queries' attention to some keys, and the logarithms of the softmax denominators."""
    mask = torch.zeros(seen.shape, dtype=q.dtype).masked_fill(~seen, -torch.inf)[None, None]
    return torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
        q[..., rows, :], k[..., keys, :], v[..., keys, :], attn_mask=mask
    )


def _merge(parts: list[tuple[Tensor, Tensor]]) -> Tensor:
    """Combine the attention outputs over several groups of keys, weighted by the softmax denominators."""
    shares = torch.stack([total for _, total in parts]).softmax(0)[..., None]
    return sum(share * mixed.nan_to_num() for share, (mixed, _) in zip(shares, parts, strict=True))


def attend(layer: SharedKeyAttention, x: Tensor, reading: Reading) -> Tensor:
    """Return an attention layer's output for x `(batch, seq, d_model)` with a `Reading` instead of an encoding."""
    q = split_heads(layer.w_q(x), layer.n_heads)
    k, v = (split_heads(w(x), layer.n_kv_heads) for w in (layer.w_k, layer.w_v))
    k, v = (part.repeat_interleave(layer.n_heads // layer.n_kv_heads, dim=-3) for part in (k, v))
    return layer.w_o(merge_heads(reading.mix(q, k, v)))


@torch.inference_mode()
def read(model: RealModel, ids: Sequence[int], reading: Reading) -> Tensor:
    r"""Return each token's loss in nats, `(seq − 1,)`, for a text of any length; see `RealModel.losses`.

    Raises ValueError if the window is not a multiple of `BLOCK`.
    """
    if reading.window is not None and reading.window % BLOCK:
        raise ValueError(f"window must be a multiple of {BLOCK}, got {reading.window}")
    tokens = torch.as_tensor(ids)
    x = model.model.embedding(tokens[None, :-1])
    for block in model.model.blocks:
        x = x + attend(block.attention, block.norm_1(x), reading)
        x = x + torch.cat([block.mlp(block.norm_2(rows)) for rows in x.split(2 * BLOCK, dim=1)], dim=1)
    rows = zip(model.model.norm(x)[0].split(ROWS_AT_ONCE), tokens[1:].split(ROWS_AT_ONCE), strict=True)
    return torch.cat(
        [functional.cross_entropy(model.model.head(y), ids, reduction="none") for y, ids in rows]
    )
