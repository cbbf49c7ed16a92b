"""Frequencies and angles: pair i turns counter-clockwise by inv_freq[i] rad per token."""

import numpy as np
from numpy import ndarray


def inv_freq(head_dim: int, base: float = 10_000.0) -> ndarray:
    """θ_i = b^(−2i/d), i = 0 … d/2 − 1, radians per token (RoFormer, §3.2.2)."""
    return base ** (-np.arange(0, head_dim, 2) / head_dim)


def wavelength(inv_freq: ndarray) -> ndarray:
    """λ_i = 2π/θ_i, the number of tokens in which pair i makes a full turn (YaRN, §2.3)."""
    return 2 * np.pi / inv_freq


def rope_angles(positions: ndarray, inv_freq: ndarray) -> ndarray:
    """m θ_i, radians: (seq,) and (pairs,) → (seq, pairs) (RoFormer, eq. 15)."""
    return np.multiply.outer(positions, inv_freq)
