r"""Variants of the rotation: p-RoPE, which keeps some pairs still, and xPos, which also stretches them.

Partial rotary needs no function: `inv_freq(rotary_dim)` gives fewer pairs, and `apply_rope` passes the tail.
"""

from __future__ import annotations

from numbers import Real

import numpy as np
from array_api_compat import array_namespace, device

from rope_edu.encodings._checks import Array, as_positions, check_even_dim, check_positive_number
from rope_edu.encodings.frequencies import inv_freq


def p_rope_inv_freq(head_dim: int, p: float, base: float = 10_000.0) -> np.ndarray:
    r"""Compute RoPE's frequencies with the slowest pairs kept still.

        θ_i = base^(−2i / head_dim)   for i < r,   0 for the other pairs,   r = ⌊p · head_dim / 2⌋

    The exponents run over the full head. Partial rotary differs: it takes r frequencies of a head that
    is only 2r wide, from 1 all the way down to nearly 1/base. p = 1 is RoPE, p = 0 no encoding at all.

    Args:
        head_dim: width of a head, an even number of features.
        p: the fraction of pairs that turn, the fastest ones; 0 … 1.
        base: a number above 1.

    Returns:
        NumPy float64 `(head_dim // 2,)`, radians per token.

    Raises:
        ValueError: `head_dim` is not an even whole number ≥ 2, `p` is not in 0 … 1, or `base` is not
            finite and above 1.

    >>> p_rope_inv_freq(8, 0.5).tolist()  # 10000^0, 10000^(−1/4), and two pairs that never turn
    [1.0, 0.1, 0.0, 0.0]

    Source: Barbero 2024, arXiv 2410.06205, §6; transformers calls it "proportional". Chapter 18.
    """
    if isinstance(p, bool) or not isinstance(p, Real) or not 0 <= p <= 1:
        raise ValueError(f"p must be a number from 0 to 1, the fraction of pairs that turn, got {p!r}")
    frequencies = inv_freq(head_dim, base)
    frequencies[int(p * head_dim // 2) :] = 0.0
    return frequencies


def xpos_scale(positions: int | list | range | Array, rotary_dim: int, scale_base: float = 512.0) -> Array:
    r"""Compute by how much xPos stretches each pair of a query; a key shrinks by the same factor.

        scale(n, i) = ζ_i^(n / scale_base),   ζ_i = (2i + 0.4 d) / (1.4 d),   d = rotary_dim

    Multiply the pairs of q by the scale and those of k by 1/scale: pair i of the score of a query at m and a
    key at n gains ζ_i^((m−n)/scale_base), which falls with the distance since ζ_i < 1.

    The paper writes ζ_i^n; dividing n by 512 and the 0.4 are the authors' code, and without that division
    float16 would overflow within ten tokens. With it, the fastest pair of a key, 1 times 3.5^(n/512), overflows
    float16 from position 4,533 on and float32 from 36,261 on. The authors' code counts from the middle of
    the text, which doubles the reach, but then every stored key is out of date when the text grows.

    Args:
        positions: token indices, `(…, seq)`; one number is allowed.
        rotary_dim: d, the number of rotated features, even.
        scale_base: tokens; the larger, the gentler.

    Returns:
        Factors above 0, float64, `(…, seq, rotary_dim // 2)`; kind of `positions` (numbers and lists: NumPy).

    Raises:
        ValueError: `positions` are not real and finite, `rotary_dim` is not an even whole number ≥ 2, or
            `scale_base` is not a finite number above 0.

    >>> xpos_scale([0, 512], 4).round(4).tolist()  # ζ = 1.6/5.6 and 3.6/5.6
    [[1.0, 1.0], [0.2857, 0.6429]]

    Source: Sun 2022, arXiv 2212.10554, eq. 9–10 and algorithm 1; its released code (torchscale). Chapter 18.
    """
    positions = as_positions(positions)
    rotary_dim = check_even_dim("rotary_dim", rotary_dim)
    scale_base = check_positive_number("scale_base", scale_base)
    xp = array_namespace(positions)
    pairs = xp.arange(rotary_dim // 2, dtype=xp.float64, device=device(positions))
    zeta = (2 * pairs + 0.4 * rotary_dim) / (1.4 * rotary_dim)  # (pairs,)
    return zeta ** (positions[..., None] / scale_base)  # (…, seq, pairs)
