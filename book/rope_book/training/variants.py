r"""Change a trained model's attention without training: modified distances, fewer keys or sharper scores.

While the rules in `encodings.scaling` change frequencies, an `AttentionVariant` changes distances and scores. It
implements ReRoPE and leaky ReRoPE, a window mask, queries scaled with the logarithm of the number of keys, and a
gap in the positions. All scores are materialised, so variants are meant for small models.
"""

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn

from rope_book.training.transformer import Attention, TinyTransformer
from rope_edu.attention import merge_heads, split_heads
from rope_edu.encodings import RopeSpec, apply_rope, rope_angles

ROWS_AT_ONCE = 2  # number of texts per pass, such that the scores fit into the CPU cache


@dataclass(frozen=True)
class AttentionVariant:
    r"""A mapping from the distance r between query and key to the distance ρ that attention uses, with a mask.

        ρ = r   for r < window,      ρ = window + (r − window)/leak   for r ≥ window, in the `held` pairs

    Attributes:
        rope: the rotation, in the half_split layout.
        window: window size in tokens; None for plain RoPE at every distance.
        leak: divisor for the part of a distance beyond the window; ∞ caps distances at the window (ReRoPE).
        fold: distances beyond the window cycle through window … window + fold − 1; with 1, all equal the window.
        held: the pairs to which the window applies, or None for all. Other pairs use the true distance.
        sees: number of nearest keys that each query attends to, including its own, or None for all.
        trained: training length in tokens, for log-n scaling: a query is multiplied by max(1, ln n / ln trained),
            where n is the number of keys so far; None for no scaling.
        gap: (index, tokens) adds `tokens` to all positions from `index` on; None for no gap.

    >>> variant = AttentionVariant(RopeSpec([1.0], head_dim=2, layout="half_split"), window=2)
    >>> q = k = torch.tensor([[1.0, 0.0]] * 4)
    >>> variant.scores(q, k)[3].numpy().round(2)  # distances 2, 2, 1, 0
    array([-0.29, -0.29,  0.38,  0.71], dtype=float32)

    Source: Su 2023, kexue.fm/archives/9708 (ReRoPE, leaky ReRoPE, log-n). Chapter 18.
    """

    rope: RopeSpec
    window: int | None = None
    leak: float = math.inf
    fold: int = 1
    held: Sequence[int] | None = None
    sees: int | None = None
    trained: int | None = None
    gap: tuple[int, int] | None = None

    def scores(self, q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        """Return the causal scores (…, seq, seq) of q and k (…, seq, head_dim), −∞ at masked keys."""
        indices = torch.arange(q.shape[-2], dtype=torch.float64)
        positions = indices.clone()
        if self.gap is not None:
            positions[self.gap[0] :] += self.gap[1]
        if self.trained is not None:
            growth = ((indices + 1).log() / math.log(self.trained)).clamp(min=1)
            q = q * growth[:, None].to(q.dtype)
        q = q / math.sqrt(q.shape[-1])
        scores = self._rotate(q, positions) @ self._rotate(k, positions).mT
        if self.window is not None:
            q_far = self._rotate(q, positions, self._far_query(positions))
            k_far = self._rotate(k, positions, self._far_key(positions))
            scores = torch.where(positions[:, None] - positions < self.window, scores, q_far @ k_far.mT)
        r = indices[:, None] - indices
        masked = (r < 0) | (r >= (self.sees or math.inf))
        return scores.masked_fill(masked, -math.inf)

    def _far_query(self, positions: torch.Tensor) -> torch.Tensor:
        return positions / self.leak + self.window * (1 - 1 / self.leak) + self.fold - 1

    def _far_key(self, positions: torch.Tensor) -> torch.Tensor:
        return positions / self.leak + positions % self.fold

    def _rotate(
        self, x: torch.Tensor, positions: torch.Tensor, held_positions: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Return x rotated by its positions, except that held pairs use `held_positions` if given."""
        angles = rope_angles(positions, torch.tensor(self.rope.inv_freq))
        if held_positions is not None:
            held = list(range(angles.shape[-1]) if self.held is None else self.held)
            angles[:, held] = rope_angles(held_positions, torch.tensor(self.rope.inv_freq))[:, held]
        return apply_rope(x, angles, layout=self.rope.layout, attention_factor=self.rope.attention_factor)


class VariantAttention(nn.Module):
    """A trained attention layer with the scores of an `AttentionVariant` in place of the model's encoding."""

    def __init__(self, attention: Attention, variant: AttentionVariant) -> None:
        super().__init__()
        self.attention, self.variant = attention, variant

    def forward(self, x: torch.Tensor, *unused: object) -> torch.Tensor:
        """Return the attention output for x, `(batch, seq, d_model)` like x."""
        return torch.cat([self._attend(rows) for rows in x.split(ROWS_AT_ONCE)])

    def _attend(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (split_heads(part, self.attention.n_heads) for part in self.attention.w_qkv(x).chunk(3, -1))
        return self.attention.w_o(merge_heads(self.variant.scores(q, k).softmax(-1) @ v))


def with_attention(model: TinyTransformer, variant: AttentionVariant) -> TinyTransformer:
    r"""Return a copy of a trained model with modified attention, for texts `(batch, seq)` without a cache.

    Args:
        model: a trained model with a rotary encoding.
        variant: the distances, keys and scores in the copy.

    >>> from rope_edu.encodings import plain_rope
    >>> rope = plain_rope(8, layout="half_split")
    >>> model, tokens = TinyTransformer(9, encoding=rope, d_model=8, n_heads=1), torch.arange(9)[None]
    >>> torch.allclose(with_attention(model, AttentionVariant(rope))(tokens), model(tokens), atol=1e-5)
    True

    Chapter 18.
    """
    changed = copy.deepcopy(model)
    for block in changed.blocks:
        block.attention = VariantAttention(block.attention, variant)
    return changed
