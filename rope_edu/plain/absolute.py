"""Absolute encodings: one vector per position, added to the token embeddings before layer 1."""

import numpy as np
from numpy import ndarray


def look_up(table: ndarray, positions: ndarray) -> ndarray:
    """PE(p) = table[p], one learned row per position (Gehring 2017, §3.1)."""
    return table[positions]  # (seq, d_model)


def sinusoidal(positions: ndarray, d_model: int, base: float = 10_000.0) -> ndarray:
    """PE(p, 2i) = sin(p θ_i), PE(p, 2i+1) = cos(p θ_i) (Vaswani 2017, §3.5)."""
    frequencies = base ** (-np.arange(0, d_model, 2) / d_model)  # (d_model / 2,)
    angles = np.multiply.outer(positions, frequencies)  # (seq, d_model / 2)
    pairs = np.stack([np.sin(angles), np.cos(angles)], axis=-1)  # (seq, d_model / 2, 2)
    return pairs.reshape(*angles.shape[:-1], d_model)  # (seq, d_model)
