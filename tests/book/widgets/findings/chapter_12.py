"""Chapter 12: which position a token gets."""

import numpy as np

from rope_book.widgets.maths.decoding import held_keys
from rope_edu import apply_rope, inv_freq, rope_angles, softmax


def _positions(step, capacity):
    return [key["position"] for key in held_keys("rotated", 0, capacity, step)]


def left():
    held = _positions(14, 9)
    return {
        words: f"{held[0]} to {held[-1]}" == words for words in ("5 to 13", "0 to 8", "6 to 14", "8 to 16")
    }


def next():
    q, *keys = np.random.default_rng(0).normal(size=(7, 8))
    turned = apply_rope(np.array(keys), rope_angles(np.arange(8, 14), inv_freq(8)))
    mistaken, right = (apply_rope(q[None], rope_angles([at], inv_freq(8)))[0] @ turned.T for at in (6, 14))
    same = np.isclose(mistaken, right)
    weights = np.allclose(softmax(mistaken), softmax(right))
    return {
        "None": not same.any() and not weights,
        "only distances count": same.all(),
        "with the newest key": same[-1] and not same[:-1].any(),
        "once the softmax": weights and not same.any(),
    }


def position():
    return _positions(100, 6)[-1]
