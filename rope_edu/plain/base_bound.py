"""Base bound: the smallest base for which equal vectors never score below 0, Σ cos(r θ_i) ≥ 0, within a context."""

import math

import numpy as np
from numpy import ndarray

from rope_edu.plain.frequencies import inv_freq


def first_negative_distance(inv_freq: ndarray, limit: int) -> int | None:
    """min { r < limit : Σ_i cos(r θ_i) < 0 }, or None if the sum is never negative (Men 2024)."""
    for r in range(limit):
        if np.cos(r * inv_freq).sum() < 0:
            return r
    return None


def smallest_base(context: int, head_dim: int = 128) -> float:
    """min { b ≥ 2 : Σ_i cos(r b^(−2i/d)) ≥ 0 for r < context }, to 0.1 %; some larger bases fail (Men 2024)."""
    base = 2.0
    while first_negative_distance(inv_freq(head_dim, base), context) is not None:
        base *= math.exp(1e-3)
    return base
