"""More than one coordinate: pair i turns by a weighted sum of them. Schemes differ in F, (axes, pairs), alone."""

import math
from collections.abc import Sequence

import numpy as np
from numpy import ndarray

from rope_edu.plain.frequencies import inv_freq


def spatial_angles(coordinates: ndarray, frequencies: ndarray) -> ndarray:
    """Σ_k x_k F_ki, (seq, axes) and (axes, pairs) → (seq, pairs), for any rotation (Heo 2024, §3.2)."""
    return coordinates @ frequencies


def axial_frequencies(head_dim: int, axes: int = 2, base: float = 10_000.0) -> ndarray:
    """A block of pairs per axis, with the frequencies of a head that is 1/axes as wide (Heo 2024, §3.2)."""
    return np.kron(np.eye(axes), inv_freq(head_dim // axes, base))


def mixed_frequencies(head_dim: int, direction: float, base: float = 10.0) -> ndarray:
    """F before training in RoPE-Mixed: half of the pairs along (cos φ, sin φ), half across it (Heo 2024, §3.2)."""
    cos, sin = math.cos(direction), math.sin(direction)
    speeds = inv_freq(head_dim // 2, base)  # (pairs / 2,)
    return np.concatenate([np.outer([cos, sin], speeds), np.outer([-sin, cos], speeds)], axis=1)


def section_axes(sections: Sequence[int], interleaved: bool = False) -> ndarray:
    """The axis of each pair in M-RoPE: one section after another (Qwen2-VL), or dealt in turn (Qwen3-VL)."""
    axes = np.arange(len(sections))
    if not interleaved:
        return np.repeat(axes, sections)
    dealt, axis = np.divmod(np.arange(sum(sections)), len(sections))
    return np.where(dealt < np.array(sections)[axis], axis, 0)  # an axis with none left gives to axis 0


def section_frequencies(inv_freq: ndarray, axis_of_pair: ndarray) -> ndarray:
    """F_ki = θ_i if pair i turns by axis k, else 0 (Qwen2-VL, §2.1)."""
    axes = np.arange(axis_of_pair.max() + 1)[:, None]
    return np.where(axis_of_pair == axes, inv_freq, 0.0)  # (axes, pairs)


def lie_rotation(place: ndarray, generators: ndarray) -> ndarray:
    """R(x) = exp(Σ_k x_k A_k), A_k = −A_kᵀ; R(x)ᵀ R(y) = R(y − x) if all A_k commute (LieRE, §3)."""
    generator = np.tensordot(place, generators, axes=1)  # Σ_k x_k A_k, (head_dim, head_dim)
    values, vectors = np.linalg.eigh(1j * generator)  # Hermitian
    return (vectors * np.exp(-1j * values) @ vectors.conj().T).real
