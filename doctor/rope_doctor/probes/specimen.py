r"""A correct two-layer NumPy decoder; each replay of a bug overrides one of its methods."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rope_doctor.probes.decoder import KEYWORDS, Decoder
from rope_edu.encodings.rotary import apply_rope
from rope_edu.encodings.spec import RopeSpec, plain_rope, spec_angles

WIDTH, HEADS, VOCABULARY, LAYERS = 32, 2, 40, 2


@dataclass(frozen=True)
class Kept:
    """A cache: each layer's rotated keys and values, (batch, heads, tokens, head_dim), and the token count."""

    keys: tuple[np.ndarray, ...]
    values: tuple[np.ndarray, ...]
    count: int


class Specimen:
    r"""A decoder whose random weights are large enough to make attention sharp.

    A subclass can break one step by overriding its method: `count` computes positions, `rotate` rotates queries and
    keys, `store` appends keys and values to the cache, and `see` computes the mask.

    Args:
        spec: the rotation; by default half_split, for heads of 16, with base 10,000.

    >>> import numpy as np
    >>> logits, cache = Specimen()(np.array([[3, 1, 4]]))
    >>> logits.shape, cache.count
    ((1, 3, 40), 3)

    Chapter 24.
    """

    def __init__(self, spec: RopeSpec | None = None) -> None:
        self.spec = plain_rope(WIDTH // HEADS, layout="half_split") if spec is None else spec
        self.many = 1 + max(self.spec.axes or (0,))  # number of coordinates per position
        draw = np.random.default_rng(7)
        self.embedding = draw.normal(size=(VOCABULARY, WIDTH))
        self.weights = [
            {name: 1.2 * draw.normal(size=(WIDTH, WIDTH)) / np.sqrt(WIDTH) for name in "qkvo"}
            for _ in range(LAYERS)
        ]

    def __call__(
        self,
        tokens: np.ndarray,
        *,
        positions: np.ndarray | None = None,
        mask: np.ndarray | None = None,
        cache: Kept | None = None,
    ) -> tuple[np.ndarray, Kept]:
        x, seen = self.embedding[tokens], 0 if cache is None else cache.count
        places = self.count(tokens, positions, seen)
        keys, values = [], []
        for layer, weights in enumerate(self.weights):
            normal = x / np.sqrt((x**2).mean(axis=-1, keepdims=True))
            q, k, v = (_heads(normal @ weights[name]) for name in "qkv")
            q, k = self.rotate(q, places), self.rotate(k, places)
            k, v = self.store(k, v, cache, layer, places)
            keys.append(k)
            values.append(v)
            scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
            scores = np.where(self.see(tokens, k.shape[-2], seen, mask), scores, -1e30)
            attention = np.exp(scores - scores.max(axis=-1, keepdims=True))
            attention /= attention.sum(axis=-1, keepdims=True)
            x = x + _joined(attention @ v) @ weights["o"]
        return x @ self.embedding.T, Kept(tuple(keys), tuple(values), seen + tokens.shape[1])

    def count(self, tokens: np.ndarray, positions: np.ndarray | None, seen: int) -> np.ndarray:
        """Return positions (batch, seq), or (batch, seq, coordinates)."""
        if positions is None:
            positions = np.broadcast_to(seen + np.arange(tokens.shape[1]), tokens.shape)
            return positions if self.many == 1 else np.stack([positions] * self.many, axis=-1)
        return np.moveaxis(positions, 0, -1) if positions.ndim == 3 else positions

    def rotate(self, x: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """Return rotated queries or keys, (batch, heads, seq, head_dim)."""
        angles = np.asarray(spec_angles(self.spec, positions))[:, None]
        return np.asarray(apply_rope(x, angles, layout=self.spec.layout))

    def store(
        self, k: np.ndarray, v: np.ndarray, cache: Kept | None, layer: int, positions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return all keys and values of a layer: those in the cache, then the new ones."""
        if cache is not None:
            k = np.concatenate((cache.keys[layer], k), axis=-2)
            v = np.concatenate((cache.values[layer], v), axis=-2)
        return k, v

    def see(self, tokens: np.ndarray, keys: int, seen: int, mask: np.ndarray | None) -> np.ndarray:
        """Return the mask, (batch, 1, seq, keys), True for keys that are neither in the future nor hidden."""
        key, query = np.arange(keys), (seen + np.arange(tokens.shape[1]))[:, None]
        shown = np.ones((len(tokens), keys), int) if mask is None else mask
        visible = (key <= query) & (shown[:, None] == 1)
        return (visible | (key == query))[:, None]  # includes the diagonal, so that every row has a key

    def crop(self, cache: Kept, length: int, removed: int) -> Kept:
        """Return the cache of the first `length` tokens."""
        keys, values = (tuple(layer[:, :, :length] for layer in kept) for kept in (cache.keys, cache.values))
        return Kept(keys, values, cache.count - removed)

    def evict(self, cache: Kept, start: int, count: int) -> Kept:
        """Return the cache without the `count` tokens starting at `start`; its token count does not change."""
        keys, values = (
            tuple(np.delete(layer, np.s_[start : start + count], axis=2) for layer in kept)
            for kept in (cache.keys, cache.values)
        )
        return replace(cache, keys=keys, values=values)

    def shift(self, cache: Kept, by: int) -> Kept:
        """Return the cache with all keys rotated by `by` further positions."""
        tokens = cache.keys[0].shape[-2]
        places = np.full((1, tokens) if self.many == 1 else (1, tokens, self.many), by)
        keys = tuple(Specimen.rotate(self, layer, places) for layer in cache.keys)
        return replace(cache, keys=keys)

    def decoder(self, **facts: Any) -> Decoder:
        """Return this specimen as a Decoder with everything that `check_decoder` can use."""
        known: dict[str, Any] = {"relative": True, "coordinates": self.many, "eps": 2.0**-53}
        known |= {"crop": self.crop, "shift": self.shift, "evict": self.evict}
        return Decoder(self, VOCABULARY, frozenset(KEYWORDS), **{**known, **facts})


def _heads(x: np.ndarray) -> np.ndarray:
    """Split features into heads: (batch, seq, width) to (batch, heads, seq, head_dim)."""
    return x.reshape(*x.shape[:2], HEADS, -1).swapaxes(1, 2)


def _joined(x: np.ndarray) -> np.ndarray:
    return x.swapaxes(1, 2).reshape(len(x), x.shape[2], -1)
