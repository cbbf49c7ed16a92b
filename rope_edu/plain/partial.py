"""Rotating less: partial rotary rotates fewer features; p-RoPE does not rotate the slow pairs."""

import numpy as np
from numpy import ndarray

from rope_edu.plain.frequencies import inv_freq, rope_angles
from rope_edu.plain.rotary import apply_rope


def partial_rope(x: ndarray, positions: ndarray, rotary_dim: int, base: float = 10_000.0) -> ndarray:
    """RoPE on the first r features, with θ_i = b^(−2i/r); the others are unchanged (GPT-NeoX)."""
    angles = rope_angles(positions, inv_freq(rotary_dim, base))
    turned = apply_rope(x[..., :rotary_dim], angles)
    return np.concatenate([turned, x[..., rotary_dim:]], axis=-1)


def p_rope(head_dim: int, p: float, base: float = 10_000.0) -> ndarray:
    """θ_i = b^(−2i/d) for the fastest fraction p of the pairs, and 0 for the others (Barbero 2024)."""
    frequencies = inv_freq(head_dim, base)
    frequencies[int(p * head_dim // 2) :] = 0
    return frequencies
