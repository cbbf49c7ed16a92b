"""Chapter 17: where the mean cosine is negative first."""

import numpy as np

from rope_edu import inv_freq
from rope_edu.plain.base_bound import first_negative_distance

LIMIT = 20_000


def _first(base):
    return first_negative_distance(inv_freq(128, base), LIMIT)


def llama():
    cosines = np.cos(_first(10_000.0) * inv_freq(128))
    slow, fast = cosines[-15:], cosines[:-15]
    return {
        "Many of the faster hands": fast.sum() < -slow.sum() < 0,
        "The slow hands": slow.sum() < 0,
        "Rounding": abs(cosines.sum()) < 1e-9,
    }


def ten():
    ratio = _first(100_000.0) / _first(10_000.0)
    return {
        "grows by less": 1.1 < ratio < 9,
        "Yes: the slowest": 9 <= ratio <= 10,
        "more than ten times": ratio > 10,
        "does not change": 0.9 < ratio < 1.1,
    }


def fall():
    bases = np.linspace(10_000, 12_000, 11)
    falls = (np.diff([_first(base) for base in bases]) < 0).any()
    small, large = (inv_freq(128, base) for base in bases[[0, -1]])
    different, lowered = (np.diff(small / large) > 0).all(), (np.cos(large) < np.cos(small)).any()
    return {
        "by a different amount": falls and different and not lowered,
        "It cannot": not falls,
        "most for small distances": falls and lowered,
    }


def mistral():
    return 32_768 / _first(10_000.0)
