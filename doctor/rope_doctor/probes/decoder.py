r"""A decoder as a black box that maps tokens and positions to logits, with or without a cache."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Call = Callable[..., Any]
KEYWORDS = ("positions", "mask", "cache")
FLOAT32_EPS, BFLOAT16_EPS = 2.0**-24, 2.0**-9  # largest relative rounding errors


@dataclass(frozen=True)
class Decoder:
    r"""A decoder and its known properties.

    Attributes:
        call: `(tokens, *, positions, mask, cache) -> (logits, cache)`, or just the logits if it has no cache.
            Tokens and positions are integers `(batch, seq)`, logits are `(batch, seq, vocabulary)`, and the mask
            `(batch, all tokens so far)` is 0 for hidden tokens.
        vocabulary: number of tokens in the vocabulary.
        takes: the keywords among positions, mask and cache that `call` accepts; others are not passed.
        relative: True if logits must not change when all positions are shifted, as with rotations; False for
            absolute position tables; None if unknown.
        windows: widths, in tokens, of the sliding windows and chunks in its layers.
        pools: smallest number of tokens that a layer pools into one key, in blocks from token 0; 1 without pooling.
        scaled: first position at which queries are scaled, or None.
        growth: relative growth of the queries per token if they are scaled from position 0 on; otherwise 0.
        longest: number of rows in its position table, or None if it has no table.
        trained, rule: length beyond which a rule may change the frequencies, or None; the name of that rule, or "".
        coordinates: number of coordinates per position; 3 for M-RoPE, whose position ids are `(3, batch, seq)`.
        recurrent: True if it has recurrent layers, which depend on token order even without positions.
        eps: largest relative rounding error of its number format.
        crop: `(cache, length, removed) -> cache` that keeps `length` tokens and drops `removed`, or None.
        shift: `(cache, by) -> cache` that rotates the keys by `by` further positions, or None.
        evict: `(cache, start, count) -> cache` that drops `count` tokens without moving the others, or None.
        generate: `(tokens, mask, new) -> (tokens, logits)` that appends `new` tokens greedily, or None; the logits,
            `(batch, new, vocabulary)`, are those that chose the tokens.
        unknown: {keyword: reason} for keywords that are missing from `takes`.
        never: the value to pass as the cache to disable caching.
        narrow, wide: functions that return a bfloat16 and a float32 copy of the decoder, or None.

    >>> copy = lambda tokens: np.eye(40)[tokens]  # predicts a repetition of every token
    >>> logits, cache = Decoder(copy, vocabulary=40)(np.array([[3, 1]]))
    >>> logits.argmax(axis=-1), cache
    (array([[3, 1]]), None)

    Chapter 24.
    """

    call: Call
    vocabulary: int
    takes: frozenset[str] = frozenset()
    relative: bool | None = None
    trained: int | None = None
    rule: str = ""
    coordinates: int = 1
    recurrent: bool = False
    eps: float = FLOAT32_EPS
    crop: Callable[[Any, int, int], Any] | None = None
    shift: Callable[[Any, int], Any] | None = None
    evict: Callable[[Any, int, int], Any] | None = None
    generate: Callable[[np.ndarray, np.ndarray, int], tuple[np.ndarray, np.ndarray]] | None = None
    windows: tuple[int, ...] = ()
    pools: int = 1
    scaled: int | None = None
    growth: float = 0.0
    longest: int | None = None
    unknown: Mapping[str, str] = field(default_factory=dict)
    never: Any = None
    narrow: Callable[[], "Decoder"] | None = field(default=None, repr=False)
    wide: Callable[[], "Decoder"] | None = field(default=None, repr=False)

    def __call__(
        self,
        tokens: np.ndarray,
        positions: np.ndarray | None = None,
        mask: np.ndarray | None = None,
        cache: Any = None,
    ) -> tuple[np.ndarray, Any]:
        """Return the logits in float64, and the cache or None."""
        options = {"positions": positions, "mask": mask, "cache": cache}
        result = self.call(tokens, **{name: options[name] for name in KEYWORDS if name in self.takes})
        logits, cache = result if isinstance(result, tuple) else (result, None)
        logits = np.asarray(logits, np.float64)
        if logits.shape != (*tokens.shape, self.vocabulary):
            raise ValueError(f"logits must be {(*tokens.shape, self.vocabulary)}, got {logits.shape}")
        return logits, cache
