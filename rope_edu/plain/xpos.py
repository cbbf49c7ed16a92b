"""xPos: RoPE in which queries shrink and keys grow with position, so that distant keys score lower."""

import numpy as np
from numpy import ndarray

from rope_edu.plain.frequencies import inv_freq, rope_angles
from rope_edu.plain.rotary import apply_rope


def xpos_scale(positions: ndarray, head_dim: int, scale_base: float = 512.0) -> ndarray:
    """ζ_i^(n/512), with ζ_i = (2i + 0.4d)/(1.4d) < 1 (Sun 2022, eq. 9, and its code)."""
    zeta = (2 * np.arange(head_dim // 2) + 0.4 * head_dim) / (1.4 * head_dim)
    return zeta ** np.divide(positions, scale_base)[..., None]  # (seq, pairs)


def apply_xpos(q: ndarray, k: ndarray, positions: ndarray) -> tuple[ndarray, ndarray]:
    """ζ^(m/512) R_m q_m and ζ^(−n/512) R_n k_n (Sun 2022, eq. 10)."""
    angles = rope_angles(positions, inv_freq(q.shape[-1]))
    scale = np.repeat(xpos_scale(positions, q.shape[-1]), 2, axis=-1)  # (seq, head_dim)
    return apply_rope(q, angles) * scale, apply_rope(k, angles) / scale
