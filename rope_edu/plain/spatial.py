"""Several coordinates: pair i turns by a weighted sum of them; the schemes differ only in the weights F."""

from collections.abc import Sequence

import numpy as np
from numpy import ndarray

from rope_edu.plain.frequencies import inv_freq


def spatial_angles(coordinates: ndarray, frequencies: ndarray) -> ndarray:
    """Σ_k x_k F_ki, radians: (seq, axes) and (axes, pairs) → (seq, pairs) (Heo 2024, §3.2)."""
    return coordinates @ frequencies


def axial_frequencies(head_dim: int, axes: int = 2, base: float = 10_000.0) -> ndarray:
    """F = I ⊗ θ: each axis has a block of pairs, with the θ of a head of d/axes features (Heo 2024, §3.2)."""
    return np.kron(np.eye(axes), inv_freq(head_dim // axes, base))


def mixed_frequencies(head_dim: int, direction: float, base: float = 10.0) -> ndarray:
    """Half of the pairs turn along (cos φ, sin φ), the others across it; φ is the direction (Heo 2024, §3.2)."""
    cos, sin = np.cos(direction), np.sin(direction)
    speeds = inv_freq(head_dim // 2, base)  # (pairs / 2,)
    along, across = np.outer([cos, sin], speeds), np.outer([-sin, cos], speeds)
    return np.concatenate([along, across], axis=1)  # (2, pairs)


def section_axes(pairs: int, sections: Sequence[int], order: str = "contiguous") -> ndarray:
    """The axis of each pair: contiguous sections (Qwen2-VL) or, for any other order, round robin (Qwen3-VL)."""
    if order == "contiguous":
        return np.repeat(np.arange(len(sections)), sections)
    dealt, axis = np.divmod(np.arange(pairs), len(sections))
    return np.where(dealt < np.array(sections)[axis], axis, 0)  # leftover pairs go to axis 0


def section_frequencies(inv_freq: ndarray, sections: Sequence[int], order: str = "contiguous") -> ndarray:
    """F_ki = θ_i if pair i turns by axis k, otherwise 0 (M-RoPE; Qwen2-VL, §2.1)."""
    axis = section_axes(len(inv_freq), sections, order)
    return np.where(axis == np.arange(len(sections))[:, None], inv_freq, 0.0)


def lie_rotation(coordinates: ndarray, generators: ndarray) -> ndarray:
    """R(x) = exp(Σ_k x_k A_k), A_k = −A_kᵀ: (…, axes), (axes, d, d) → (…, d, d) (LieRE, 2406.10322, §3)."""
    total = np.tensordot(coordinates, generators, axes=1)  # Σ_k x_k A_k
    values, vectors = np.linalg.eigh(
        1j * total
    )  # i · total is Hermitian, so its eigenvectors give exp(total)
    return (vectors * np.exp(-1j * values)[..., None, :] @ vectors.conj().mT).real
