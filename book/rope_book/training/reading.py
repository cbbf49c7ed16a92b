r"""Readings: the weights of a trained model stay, its attention sees other distances, fewer keys or sharper scores.

Rules of `encodings.scaling` change the frequencies at which pairs turn. A `Reading` changes the distances: ReRoPE
and its leaky form, a window mask, queries that grow with the logarithm of the keys, texts with a gap in their
positions. Every score is held in memory, so it is for small models.
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

ROWS_AT_ONCE = 2  # texts whose scores are held in memory together: few, so that they stay in cache


@dataclass(frozen=True)
class Reading:
    r"""How attention sees the distance r between a query and a key.

        ρ = r   for r < window,      ρ = window + (r − window)/leak   for r ≥ window, in the pairs held

    Attributes:
        rope: frequencies, half_split.
        window: tokens; None for plain RoPE at every distance.
        leak: how much slower distances grow beyond the window; ∞ holds them there (ReRoPE).
        fold: keys beyond the window take the distances window … window + fold − 1 in turn; 1 is the window alone.
        held: the pairs to which the window applies; all if None. The others go on turning.
        sees: a query attends to the nearest `sees` keys, itself among them; all if None.
        trained: tokens of a training text, for log-n: queries times max(1, ln n / ln trained), n the keys so far.
            None leaves the scores alone.
        gap: (place, tokens): tokens from this place on stand so many positions farther on.

    >>> reading = Reading(RopeSpec([1.0], head_dim=2, layout="half_split"), window=2)
    >>> q = k = torch.tensor([[1.0, 0.0]] * 4)
    >>> reading.scores(q, k)[3].numpy().round(2)  # distances 2, 2, 1, 0
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
        """Return the causal scores (…, seq, seq) of q and k (…, seq, head_dim), −∞ at keys not seen."""
        places = torch.arange(q.shape[-2], dtype=torch.float64)
        at = places.clone()
        if self.gap is not None:
            at[self.gap[0] :] += self.gap[1]
        if self.trained is not None:
            growth = ((places + 1).log() / math.log(self.trained)).clamp(min=1)
            q = q * growth[:, None].to(q.dtype)
        q = q / math.sqrt(q.shape[-1])
        scores = self._turned(q, at) @ self._turned(k, at).mT
        if self.window is not None:
            far = self._turned(q, at, self._far_query(at)) @ self._turned(k, at, self._far_key(at)).mT
            scores = torch.where(at[:, None] - at < self.window, scores, far)
        r = places[:, None] - places
        hidden = (r < 0) | (r >= (self.sees or math.inf))
        return scores.masked_fill(hidden, -math.inf)

    def _far_query(self, at: torch.Tensor) -> torch.Tensor:
        return at / self.leak + self.window * (1 - 1 / self.leak) + self.fold - 1

    def _far_key(self, at: torch.Tensor) -> torch.Tensor:
        return at / self.leak + at % self.fold

    def _turned(self, x: torch.Tensor, at: torch.Tensor, held_at: torch.Tensor | None = None) -> torch.Tensor:
        """Return x rotated by its positions; the held pairs by others, if there are any."""
        angles = rope_angles(at, torch.tensor(self.rope.inv_freq))
        if held_at is not None:
            held = list(range(angles.shape[-1]) if self.held is None else self.held)
            angles[:, held] = rope_angles(held_at, torch.tensor(self.rope.inv_freq))[:, held]
        return apply_rope(x, angles, layout=self.rope.layout, attention_factor=self.rope.attention_factor)


class ReadingAttention(nn.Module):
    """A trained attention whose scores come from a `Reading`; it ignores the model's encoding."""

    def __init__(self, attention: Attention, reading: Reading) -> None:
        super().__init__()
        self.attention, self.reading = attention, reading

    def forward(self, x: torch.Tensor, *unused: object) -> torch.Tensor:
        """Return the values that the tokens x `(…, seq, d_model)` take from each other, same shape."""
        return torch.cat([self._attend(rows) for rows in x.split(ROWS_AT_ONCE)])

    def _attend(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (split_heads(part, self.attention.n_heads) for part in self.attention.w_qkv(x).chunk(3, -1))
        return self.attention.w_o(merge_heads(self.reading.scores(q, k).softmax(-1) @ v))


def read_with(model: TinyTransformer, reading: Reading) -> TinyTransformer:
    r"""Copy of a trained model that reads otherwise: same weights, whole texts `(batch, seq)`, no cache.

    Args:
        model: with rotary positions.
        reading: the distances, keys and scores of its attention.

    >>> from rope_edu.encodings import plain_rope
    >>> rope = plain_rope(8, layout="half_split")
    >>> model, tokens = TinyTransformer(9, encoding=rope, d_model=8, n_heads=1), torch.arange(9)[None]
    >>> torch.allclose(read_with(model, Reading(rope))(tokens), model(tokens), atol=1e-5)
    True

    Chapter 18.
    """
    changed = copy.deepcopy(model)
    for block in changed.blocks:
        block.attention = ReadingAttention(block.attention, reading)
    return changed
