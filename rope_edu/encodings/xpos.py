r"""xPos: rotation, and scaling by position so that distant keys score lower."""

from array_api_compat import array_namespace, device

from rope_edu.arrays import Array, ArrayLike
from rope_edu.encodings.validation import EvenDim, Positive, as_positions, checked

__all__ = ["xpos_scale"]


@checked
def xpos_scale(positions: ArrayLike, rotary_dim: EvenDim, scale_base: Positive = 512.0) -> Array:
    r"""Return xPos's scale for the pairs of a query, `(…, seq, pairs)`; keys are scaled by its inverse.

        scale(n, i) = ζ_i^(n / scale_base),   ζ_i = (2i + 0.4 d) / (1.4 d),   d = rotary_dim

    Multiply the pairs of q by the scale and those of k by 1/scale. Between a query at m and a key at n, the term of
    pair i then gains the factor ζ_i^((m−n)/scale_base); since ζ_i < 1, the score falls with distance. The scale is
    float64 and has the array type of `positions`. Positions and their errors are as for `rope_angles`; a larger
    `scale_base`, in tokens, makes the scores fall more slowly. ValueError unless `rotary_dim` is an even whole
    number ≥ 2, and `scale_base` is finite and above 0.

    The paper writes ζ_i^n; the division of n by 512 and the constant 0.4 come from the authors' code. Without the
    division, float16 would overflow within ten tokens; with it, float16 overflows from position 4,533, and float32
    from 36,261.

    >>> xpos_scale([0, 512], 4).round(4).tolist()  # ζ = 1.6/5.6 and 3.6/5.6
    [[1.0, 1.0], [0.2857, 0.6429]]

    Source: Sun 2022, arXiv 2212.10554, eq. 9–10 and algorithm 1; its released code (torchscale). Chapter 19.
    Plain form: `plain.xpos_scale`.
    """
    positions = as_positions(positions)
    xp = array_namespace(positions)
    pairs = xp.arange(rotary_dim // 2, dtype=xp.float64, device=device(positions))
    zeta = (2 * pairs + 0.4 * rotary_dim) / (1.4 * rotary_dim)  # (pairs,)
    return zeta ** (positions[..., None] / scale_base)  # (…, seq, pairs)
