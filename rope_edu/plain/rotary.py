"""RoPE: rotate a pair by position × frequency, then a whole head in three equivalent ways."""

import math
from collections.abc import Sequence

import numpy as np
from numpy import ndarray

from rope_edu.plain.frequencies import rope_angles


def rotate_pair(pair: Sequence[float], angle: float) -> list[float]:
    """x′ = x cos θ − y sin θ, y′ = x sin θ + y cos θ (RoFormer, eq. 13)."""
    x, y = pair
    cos, sin = math.cos(angle), math.sin(angle)
    return [x * cos - y * sin, x * sin + y * cos]


def rotate_as_complex(x: ndarray, angles: ndarray) -> ndarray:
    """z′_i = e^{i m θ_i} z_i, z_i = x_{2i} + i x_{2i+1} (RoFormer, eq. 12)."""
    z = x[..., 0::2] + 1j * x[..., 1::2]  # (…, seq, pairs), complex
    z = np.exp(1j * angles) * z  # 1j is the imaginary unit i, not the index i
    return np.stack([z.real, z.imag], axis=-1).reshape(x.shape)


def rotation_matrix(angles: ndarray) -> ndarray:
    """R, with a 2 × 2 rotation for each pair on its diagonal (RoFormer, eq. 15)."""
    matrix = np.zeros((2 * len(angles), 2 * len(angles)))
    for i, angle in enumerate(angles):
        cos, sin = np.cos(angle), np.sin(angle)
        matrix[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = [[cos, -sin], [sin, cos]]
    return matrix


def rotate_by_matrix(x: ndarray, angles: ndarray) -> ndarray:
    """x′_m = R_m x_m; clear, but takes d/2 times as many multiplications (RoFormer, eq. 14)."""
    return np.stack([rotation_matrix(a) @ x_m for x_m, a in zip(x, angles, strict=True)])


def quarter_turn(x: ndarray) -> ndarray:
    """(−x_1, x_0, −x_3, x_2, …), every pair rotated by 90°."""
    return np.stack([-x[..., 1::2], x[..., 0::2]], axis=-1).reshape(x.shape)


def apply_rope(x: ndarray, angles: ndarray) -> ndarray:
    """x′ = x ⊙ cos mθ + (−x_1, x_0, −x_3, x_2, …) ⊙ sin mθ (RoFormer, eq. 34)."""
    angles = np.repeat(angles, 2, axis=-1)  # (seq, pairs) → (seq, head_dim)
    return x * np.cos(angles) + quarter_turn(x) * np.sin(angles)


def score_curve(q: ndarray, k: ndarray, inv_freq: ndarray, distances: ndarray) -> ndarray:
    """⟨R_m q, R_n k⟩ = Re Σ_i q_i k*_i e^{i(m−n)θ_i}, with pairs as complex numbers (RoFormer, eq. 35)."""
    h = (q[..., 0::2] + 1j * q[..., 1::2]) * (k[..., 0::2] - 1j * k[..., 1::2])  # (…, pairs), complex
    return (h @ np.exp(1j * rope_angles(distances, inv_freq)).T).real  # (…, distances m − n)


def mean_cosine(inv_freq: ndarray, distances: ndarray) -> ndarray:
    """The mean of cos(r θ_i), r = m − n: the score of q = k = (1, 1, …), relative to its maximum."""
    return np.cos(rope_angles(distances, inv_freq)).mean(axis=-1)
