r"""Pairs of features rotated by angles: one pair, complex numbers, a matrix, and the form that models use.

All of them turn counter-clockwise, by +angle. `layouts.pair_slices` says which features form a pair;
`frequencies.rope_angles` computes the angles.
"""

import math
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_array_api_obj

from rope_edu.arrays import Array, ArrayLike
from rope_edu.encodings.layouts import check_layout, pair_slices
from rope_edu.encodings.validation import (
    as_kind_of,
    as_real,
    check_broadcast,
    check_floats,
    check_out,
    check_positive_number,
    compute_dtype,
    dtype_name,
)
from rope_edu.fast.cos_sin import cos_and_sin, rotate_by_cos_sin

__all__ = ["apply_rope", "rotate_as_complex", "rotate_by_matrix", "rotate_pair", "rotation_matrix"]


def rotate_pair(pair: Any, angle: float) -> Any:
    r"""One 2-vector, a list, tuple or array as given, rotated counter-clockwise by one angle.

        x′ = x cos θ − y sin θ
        y′ = x sin θ + y cos θ

    The angle is in radians. ValueError if it is not finite, or if `pair`, (x, y), does not have 2 members.

    >>> x, y = rotate_pair((1.0, 0.0), math.pi / 2)  # a quarter turn: from east to north
    >>> print(f"{x:.3f} {y:.3f}")
    0.000 1.000

    Source: RoFormer, arXiv 2104.09864, eq. 13. Chapter 4. Plain form: `rope_edu.plain.rotate_pair`.
    """
    if len(pair) != 2:
        raise ValueError(f"pair must have 2 members, got {len(pair)}")
    if not math.isfinite(angle):
        raise ValueError(f"angle must be a finite number of radians, got {angle!r}")
    x, y = pair
    cos, sin = math.cos(angle), math.sin(angle)
    turned = (x * cos - y * sin, x * sin + y * cos)
    return array_namespace(pair).stack(turned) if is_array_api_obj(pair) else type(pair)(turned)


def rotate_as_complex(x: Array, angles: ArrayLike) -> Any:
    r"""Interleaved pairs rotated as complex numbers, by +angle: shape, dtype and kind of `x`.

        z_i = x_{2i} + i·x_{2i+1},   z′_i = e^{iθ_i} z_i,   read back as (Re z′_i, Im z′_i)

    `x` holds floats, `(…, seq, 2 · pairs)`, without a tail, and `angles` radians, `(…, seq, pairs)`; 16 bits are
    rotated in float32. ValueError if `x` is not of floats or not 2 · pairs wide, or if the angles do not broadcast.

    >>> rotate_as_complex(np.array([1.0, 0.0]), [math.pi / 2]).round(3).tolist()  # i·1 = i
    [0.0, 1.0]

    Source: RoFormer, arXiv 2104.09864, eq. 12. Chapter 5. Plain form: `rope_edu.plain.rotate_as_complex`.
    """
    radians = _fit_angles(x, angles, whole_head=True)
    xp = array_namespace(x)
    wide = xp.astype(x, compute_dtype(x), copy=False)
    z = wide[..., 0::2] + 1j * wide[..., 1::2]  # (…, seq, pairs)
    z = z * xp.astype(xp.exp(1j * radians), z.dtype, copy=False)
    pairs = xp.stack((xp.real(z), xp.imag(z)), axis=-1)  # (…, seq, pairs, 2)
    return xp.astype(pairs.reshape(x.shape), x.dtype, copy=False)


def rotation_matrix(angles: ArrayLike, *, layout: str = "interleaved") -> Any:
    r"""Matrix that rotates a whole head, `(…, 2 · pairs, 2 · pairs)`: a 2 × 2 block for each pair, else zeros.

        interleaved: R = diag(R(θ_0), R(θ_1), …),   R(θ) = [[cos θ, −sin θ], [sin θ, cos θ]]
        half_split:  R = [[C, −S], [S, C]],   C = diag(cos θ_i), S = diag(sin θ_i)

    Float64, dense, of the kind of `angles`, which are radians `(…, pairs)`. R @ x turns the column x by +angle.
    ValueError if `layout` is misspelt, or if the angles are not real or have no axis.

    >>> rotation_matrix([0.0, math.pi / 2]).round(3).astype(int).tolist()  # leave a pair, turn a pair
    [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, -1], [0, 0, 1, 0]]

    Source: RoFormer, arXiv 2104.09864, eq. 15. Chapter 7. Plain form: `rope_edu.plain.rotation_matrix`.
    """
    radians = _as_angles(angles)
    xp, width = array_namespace(radians), 2 * radians.shape[-1]
    features = np.arange(width)
    first, second = (features[members] for members in pair_slices(width, layout))
    matrix = xp.zeros((*radians.shape[:-1], width, width), dtype=xp.float64, device=device(radians))
    matrix[..., first, first] = matrix[..., second, second] = xp.cos(radians)
    matrix[..., second, first] = xp.sin(radians)
    matrix[..., first, second] = -xp.sin(radians)
    return matrix


def rotate_by_matrix(x: Array, angles: ArrayLike, *, layout: str = "interleaved") -> Array:
    r"""Each vector times its block-diagonal matrix, rotated by +angle: shape, dtype and kind of `x`.

        x′_m = R_m x_m

    Clear, but d/2 times as many products as `apply_rope`. Arguments and errors are those of `rotate_as_complex`,
    but in either layout.

    >>> rotate_by_matrix(np.array([1.0, 0.0]), [math.pi / 2]).round(3).tolist()
    [0.0, 1.0]

    Source: RoFormer, arXiv 2104.09864, eq. 14–15. Chapter 7. Plain form: `rope_edu.plain.rotate_by_matrix`.
    """
    check_layout(layout)
    radians = _fit_angles(x, angles, whole_head=True)
    xp, dtype = array_namespace(x), compute_dtype(x)
    matrix = xp.astype(rotation_matrix(radians, layout=layout), dtype, copy=False)
    column = xp.astype(x, dtype, copy=False)[..., None]  # (…, seq, d, 1)
    return xp.astype((matrix @ column)[..., 0], x.dtype, copy=False)


def apply_rope(
    x: Array,
    angles: ArrayLike,
    *,
    layout: str = "interleaved",
    attention_factor: float = 1.0,
    out: Array | None = None,
) -> Array:
    r"""Queries or keys rotated by +angle, RoPE as models run it: shape, dtype and kind of `x`, or `out` itself.

        first′  = a (first · cos θ − second · sin θ)
        second′ = a (first · sin θ + second · cos θ),   then the tail, unchanged

    Cos and sin are taken in float64 and rounded once, to float32 unless `x` is float64; 16 bits are rotated in
    float32 and rounded once. Gradients reach `x` and `angles`. ValueError if `x` is not of floats, the angles do
    not fit, `layout` is misspelt, `attention_factor` is not above 0, or `out` differs from `x` or overlaps it in
    part.

    Args:
        x: floats `(…, seq, head_dim)`, NumPy or torch.
        angles: radians `(…, seq, pairs)`, 2 · pairs ≤ head_dim, broadcast over the leading axes of `x`; for
            `x (…, seq, heads, head_dim)` pass `angles[:, None, :]`. NumPy will do for a torch `x`, except under
            torch.compile.
        layout: "interleaved" pairs (2i, 2i+1), "half_split" pairs (i, i + pairs).
        attention_factor: a, a finite number above 0 (YaRN, LongRoPE).
        out: array to write into, with the kind, device, dtype and shape of `x`; `out=x` rotates in place.

    >>> apply_rope(np.array([1.0, 0.0, 7.0]), [math.pi / 2]).round(3).tolist()  # a pair and a tail
    [0.0, 1.0, 7.0]

    Source: RoFormer, arXiv 2104.09864, eq. 34; attention_factor: YaRN, arXiv 2309.00071, §3.4. Chapter 7.
    Plain form: `rope_edu.plain.apply_rope`, for half_split `rope_edu.plain.rotate_half_split`.
    """
    check_layout(layout)
    attention_factor = check_positive_number("attention_factor", attention_factor)
    radians = _fit_angles(x, angles)
    if out is not None:
        check_out(out, x)
    return rotate_by_cos_sin(x, *cos_and_sin(radians, x, attention_factor), layout, out)


def _as_angles(angles: ArrayLike) -> Any:
    radians = as_real("angles", angles)
    if radians.ndim == 0:
        raise ValueError("angles must have an axis of pairs, (…, pairs), got a single number")
    return radians


def _fit_angles(x: Any, angles: Any, whole_head: bool = False) -> Any:
    """Return `angles` as float64 of the kind of `x`, once both are known to fit together."""
    check_floats("x", x)
    alike = type(angles) is type(x) and dtype_name(angles) == "float64" and angles.device == x.device
    if not alike or angles.ndim == 0:
        angles = as_kind_of(_as_angles(angles), like=x)
    check_rotatable(x, angles.shape, whole_head)
    return angles


def check_rotatable(x: Array, angles: tuple[int, ...], whole_head: bool = False) -> None:
    """Refuse an `x` that angles of a shape `(…, seq, pairs)` do not fit."""
    if x.ndim == 0:
        raise ValueError("x must have a feature axis, (…, seq, head_dim), got a single number")
    head_dim, pairs = x.shape[-1], angles[-1]
    if 2 * pairs > head_dim or (whole_head and 2 * pairs != head_dim):
        limit = "must equal" if whole_head else "must be at most"
        raise ValueError(f"2 · pairs {limit} head_dim = {head_dim}, got {pairs} pairs")
    if len(angles) == 2 <= x.ndim and angles[0] == x.shape[-2]:
        return  # the usual case
    hint = (
        f"angles are {tuple(angles)}, x is {tuple(x.shape)}; insert an axis where x has one more, "
        "such as angles[:, None, :] for heads after the sequence"
    )
    check_broadcast("the leading axes of angles", angles[:-1], x.shape[:-1], hint)
