r"""Five desirable properties of a positional encoding, each tested by a small experiment.

order       swap two words: does any output change?
distance    move the text by 100 tokens: do all scores stay the same?
any length  is it defined at position 100,000? (A trained model may still perform badly there.)
cache       append a word: do the earlier keys and values stay the same?
cost        how many numbers does it add or rotate for 1,000 tokens in one head of width 64?
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rope_edu.attention.dot_product import attention, attention_scores
from rope_edu.attention.encoding import PositionEncoding

WIDTH = 64
FAR = 100_000
_DRAWN = np.random.default_rng(1)
WORDS = _DRAWN.normal(size=(106, WIDTH))  # a text of 100 words followed by the six tested words
W_Q, W_K, W_V = _DRAWN.normal(size=(3, WIDTH, WIDTH)) / np.sqrt(WIDTH)


@dataclass(frozen=True)
class Wishes:
    """An encoding's results for the five wishes; `cost` counts the numbers added or rotated."""

    order: bool
    distance: bool
    any_length: bool
    cache: bool
    cost: int


def wishes(encoding: PositionEncoding) -> Wishes:
    r"""Test the five wishes on one attention head without a mask; `d_model` and `head_dim` are 64.

    >>> from rope_edu.attention import NoPosition
    >>> wishes(NoPosition())
    Wishes(order=False, distance=True, any_length=True, cache=True, cost=0)

    Chapters 1 to 4.
    """
    return Wishes(
        order=_sees_order(encoding),
        distance=_keeps_scores(encoding),
        any_length=_reaches(encoding),
        cache=_keeps_keys(encoding),
        cost=_numbers_touched(encoding, 1000),
    )


def scorecard(encodings: Mapping[str, PositionEncoding]) -> dict[str, list[str | int]]:
    r"""Return the `wishes` of named encodings as columns {heading: values} for `rope_book.plots.Table`.

    >>> from rope_edu.attention import NoPosition, Rotary
    >>> from rope_book.plots import Table
    >>> Table(scorecard({"nothing": NoPosition(), "rotation": Rotary(np.ones(32))}), caption="Wishes")
    Wishes
    encoding  order  distance  any length  cache     cost
    nothing   no     yes       yes         yes          0
    rotation  yes    yes       yes         yes    128,000

    Chapters 1 to 4.
    """
    fulfilments = [wishes(encoding) for encoding in encodings.values()]
    fulfilled: dict[str, list[str | int]] = {
        name.replace("_", " "): ["yes" if getattr(wish, name) else "no" for wish in fulfilments]
        for name in ("order", "distance", "any_length", "cache")
    }
    return {"encoding": list(encodings), **fulfilled, "cost": [wish.cost for wish in fulfilments]}


def _keys_and_values(encoding: PositionEncoding, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the keys and values that a cache would store for `words` `(seq, WIDTH)` at positions 0, 1, 2, …"""
    positions = np.arange(len(words))
    x = encoding.embed(words, positions)
    return encoding.rotate_k((x @ W_K)[None], positions)[0], x @ W_V


def _queries(encoding: PositionEncoding, words: np.ndarray) -> np.ndarray:
    """Return the queries `(1 head, seq, WIDTH)` of `words`."""
    positions = np.arange(len(words))
    return encoding.rotate_q((encoding.embed(words, positions) @ W_Q)[None], positions)


def _scores(encoding: PositionEncoding, words: np.ndarray) -> np.ndarray:
    """Return the scores `(seq, seq)`, including the bias."""
    q, (k, _) = _queries(encoding, words), _keys_and_values(encoding, words)
    bias = encoding.bias(q, len(words))
    return attention_scores(q[0], k) + (0.0 if bias is None else bias[0])


def _sees_order(encoding: PositionEncoding) -> bool:
    """Return whether swapping words 1 and 4 of six changes any word's output."""
    swapped = np.array([0, 4, 2, 3, 1, 5])

    def outputs(words: np.ndarray) -> np.ndarray:
        q, (k, v) = _queries(encoding, words), _keys_and_values(encoding, words)
        return attention(q, k[None], v[None], bias=encoding.bias(q, len(words)))[0][0]

    six = WORDS[:6]
    return not np.allclose(outputs(six[swapped]), outputs(six)[swapped])


def _keeps_scores(encoding: PositionEncoding) -> bool:
    """Return whether six words have the same scores at positions 0 … 5 and at positions 100 … 105."""
    return bool(np.allclose(_scores(encoding, WORDS[100:]), _scores(encoding, WORDS)[100:, 100:]))


def _reaches(encoding: PositionEncoding) -> bool:
    """Return whether the encoding has finite values for a query at position FAR."""
    there: Any = np.array([FAR])
    try:
        q = encoding.rotate_q((encoding.embed(WORDS[:1], there) @ W_Q)[None], there)
        bias: Any = encoding.bias(q, FAR + 1)
    except IndexError:
        return False
    return bool(np.all(np.isfinite(q)) and (bias is None or np.all(np.isfinite(bias))))


def _keeps_keys(encoding: PositionEncoding) -> bool:
    """Return whether the keys and values of six words stay the same when a seventh word is appended."""
    before, after = _keys_and_values(encoding, WORDS[:6]), _keys_and_values(encoding, WORDS[:7])
    return all(np.allclose(old, new[:6]) for old, new in zip(before, after, strict=True))


def _numbers_touched(encoding: PositionEncoding, length: int) -> int:
    """Return how many numbers the encoding adds or rotates for a text of `length` tokens."""
    x, positions = np.tile(WORDS[0], (length, 1)), np.arange(length)
    q, bias = x[None], encoding.bias(x[None], length)
    touched = x.size * (encoding.embed(x, positions) is not x)
    touched += q.size * (encoding.rotate_q(q, positions) is not q)
    touched += q.size * (encoding.rotate_k(q, positions) is not q)
    return touched + (0 if bias is None else bias[0].size)
