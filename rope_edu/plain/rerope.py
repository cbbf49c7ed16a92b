"""ReRoPE: cap the distance at a window, so that angles stay within the trained range."""

import math

import numpy as np
from numpy import ndarray

from rope_edu.plain.dot_product import softmax
from rope_edu.plain.frequencies import rope_angles
from rope_edu.plain.relative import relative_positions
from rope_edu.plain.rotary import apply_rope


def rerope_attention(
    q: ndarray, k: ndarray, v: ndarray, inv_freq: ndarray, window: int
) -> tuple[ndarray, ndarray]:
    """softmax(⟨R_min(r, w) q_m, k_n⟩/√d) v, r = m − n, and the weights; q and k are unrotated (Su 2023)."""
    distance = -relative_positions(len(q), len(k))  # r, (q_len, k_len)
    angles = rope_angles(np.arange(len(k)), inv_freq)
    near = apply_rope(q, angles[len(k) - len(q) :]) @ apply_rope(k, angles).T
    far = apply_rope(q, window * inv_freq) @ k.T  # as if all queries were at w and all keys at 0
    scores = np.where(distance < window, near, far) / math.sqrt(q.shape[-1])
    weights = softmax(np.where(distance >= 0, scores, -np.inf))
    return weights @ v, weights
