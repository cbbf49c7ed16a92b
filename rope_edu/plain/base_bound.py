"""Base bound: the least base at which Σ cos(r θ_i), the score of like vectors, stays non-negative in a context."""

import math

import numpy as np
from numpy import ndarray

from rope_edu.plain.frequencies import inv_freq


def first_negative_distance(inv_freq: ndarray, limit: int) -> int | None:
    """min { r < limit : Σ_i cos(r θ_i) < 0 }, None if no r is (Men 2024)."""
    for r in range(limit):
        if np.cos(r * inv_freq).sum() < 0:
            return r
    return None


def smallest_base(context: int, head_dim: int = 128) -> float:
    """min { b ≥ 2 : Σ_i cos(r b^(−2i/d)) ≥ 0, r < context }, to 0.1 %; some larger b fail again (Men 2024)."""
    base = 2.0
    while first_negative_distance(inv_freq(head_dim, base), context) is not None:
        base *= math.exp(1e-3)
    return base
