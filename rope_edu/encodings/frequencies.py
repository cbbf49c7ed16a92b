r"""Compute the frequencies, wavelengths and angles of a head's pairs."""

import math

import numpy as np
from array_api_compat import array_namespace

from rope_edu import plain
from rope_edu.arrays import Array, ArrayLike, as_one_kind, values_known
from rope_edu.encodings.validation import Base, EvenDim, as_finite, as_positions, checked

__all__ = ["inv_freq", "rope_angles", "wavelength"]


@checked
def inv_freq(head_dim: EvenDim, base: Base = 10_000.0) -> np.ndarray:
    r"""Return the frequency of each pair in radians per token, fastest first: NumPy float64 `(head_dim // 2,)`.

        θ_i = base^(−2i / head_dim),   i = 0 … head_dim/2 − 1

    Pair 0 turns by one radian per token, and the ratio between neighbouring frequencies is constant. transformers
    calls the base `rope_theta`. ValueError unless `head_dim`, the width of a head or of its rotated part, is an
    even whole number ≥ 2, and `base` is finite and above 1.

    >>> inv_freq(4).tolist()  # 10000^0 and 10000^(−1/2)
    [1.0, 0.01]

    Source: RoFormer, arXiv 2104.09864, §3.2.2; Vaswani 2017, arXiv 1706.03762, §3.5. Chapter 6.
    Plain form: `plain.inv_freq`.
    """
    return plain.inv_freq(head_dim, base)


def wavelength(inv_freq: ArrayLike) -> Array:
    r"""Return the wavelength of each pair, in tokens per full turn: float64, with the shape and type of `inv_freq`.

        λ_i = 2π / θ_i,   and ∞ where θ_i = 0 (a pair that never turns)

    `inv_freq` is in radians per token and may have any shape. ValueError if any entry is negative, not finite or
    not real.

    >>> wavelength([math.pi, math.pi / 2, 0.0]).tolist()  # half a turn per token: 2 tokens
    [2.0, 4.0, inf]

    Source: YaRN, arXiv 2309.00071, §2.3. Chapter 6. Plain form: `plain.wavelength`.
    """
    frequencies = as_finite("inv_freq", inv_freq)
    xp = array_namespace(frequencies)
    if values_known(frequencies) and bool(xp.any(frequencies < 0)):
        raise ValueError("inv_freq must not be negative: a wavelength has no direction")
    still = frequencies == 0
    return xp.where(still, xp.inf, 2 * math.pi / xp.where(still, 1.0, frequencies))


def rope_angles(positions: ArrayLike, inv_freq: ArrayLike) -> Array:
    r"""Return the angle of each pair at each position, in radians: `(…, seq, pairs)`.

        angle(m, i) = m · θ_i

    Angles are float64, because float32 would be off by 0.06 rad at position 10⁶. If either argument is a torch
    tensor, so is the result; gradients flow to both. Its device is that of `inv_freq` if that is a tensor,
    otherwise that of `positions`.

    Positions are token indices, whole or fractional, `(…, seq)` or one number; frequencies are in radians per
    token, `(pairs,)`, and negative ones turn clockwise. ValueError if `inv_freq` is not 1-D, if either argument
    contains a bool, a complex or a non-finite number, or if a position is not within ±2**52.

    >>> rope_angles([0, 1, 3], [1.0, 0.5]).tolist()
    [[0.0, 0.0], [1.0, 0.5], [3.0, 1.5]]

    Source: RoFormer, arXiv 2104.09864, eq. 14–15. Chapter 6. Plain form: `plain.rope_angles`.
    """
    m, frequencies = as_one_kind(as_positions(positions), as_pairs(inv_freq))
    return m[..., None] * frequencies  # (…, seq, 1) · (pairs,) -> (…, seq, pairs)


def as_pairs(inv_freq: ArrayLike) -> Array:
    """Return `inv_freq` as float64; raise ValueError unless it is finite and one-dimensional, `(pairs,)`."""
    frequencies = as_finite("inv_freq", inv_freq)
    if frequencies.ndim != 1:
        raise ValueError(f"inv_freq must have one axis, (pairs,), got shape {tuple(frequencies.shape)}")
    return frequencies
