r"""Rotate one pair, or whole heads: as complex numbers, with a matrix, and in the form that models use.

All functions rotate counter-clockwise, by +angle. `layouts.pair_slices` determines the pairs, and
`frequencies.rope_angles` the angles.
"""

import math
import sys
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_array_api_obj, is_numpy_array, is_torch_array

from rope_edu.arrays import Array, ArrayLike, as_kind_of, torch_transform_active
from rope_edu.encodings.layouts import check_layout, pair_slices
from rope_edu.encodings.validation import (
    as_real,
    check_broadcast,
    check_dense,
    check_floats,
    check_positive_number,
    compute_dtype,
    dtype_name,
)

__all__ = ["apply_rope", "rotate_as_complex", "rotate_by_matrix", "rotate_pair", "rotation_matrix"]


def rotate_pair(pair: Any, angle: float) -> Any:
    r"""Rotate a 2-vector counter-clockwise by an angle; the result is a list, tuple or array, like `pair`.

        x′ = x cos θ − y sin θ
        y′ = x sin θ + y cos θ

    The angle is in radians. ValueError if it is not finite, or if `pair`, (x, y), does not have 2 members.

    >>> x, y = rotate_pair((1.0, 0.0), math.pi / 2)  # a quarter turn: from east to north
    >>> print(f"{x:.3f} {y:.3f}")
    0.000 1.000

    Source: RoFormer, arXiv 2104.09864, eq. 13. Chapter 4. Plain form: `plain.rotate_pair`.
    """
    if len(pair) != 2:
        raise ValueError(f"pair must have 2 members, got {len(pair)}")
    if not math.isfinite(angle):
        raise ValueError(f"angle must be a finite number of radians, got {angle!r}")
    x, y = pair
    cos, sin = math.cos(angle), math.sin(angle)
    rotated = (x * cos - y * sin, x * sin + y * cos)
    return array_namespace(pair).stack(rotated) if is_array_api_obj(pair) else type(pair)(rotated)


def rotate_as_complex(x: Array, angles: ArrayLike) -> Any:
    r"""Rotate interleaved pairs by +angle, as complex numbers; the result has the shape, dtype and type of `x`.

        z_i = x_{2i} + i·x_{2i+1},   z′_i = e^{iθ_i} z_i,   read back as (Re z′_i, Im z′_i)

    `x` is a float array, `(…, seq, 2 · pairs)`, and `angles` are radians, `(…, seq, pairs)`; 16-bit floats are
    rotated in float32. ValueError if `x` is not a float array or 2 · pairs wide, or if the angles do not broadcast.

    >>> rotate_as_complex(np.array([1.0, 0.0]), [math.pi / 2]).round(3).tolist()  # i·1 = i
    [0.0, 1.0]

    Source: RoFormer, arXiv 2104.09864, eq. 12. Chapter 5. Plain form: `plain.rotate_as_complex`.
    """
    radians = _fit_angles(x, angles, whole_head=True)
    xp = array_namespace(x)
    wide = xp.astype(x, compute_dtype(x), copy=False)
    z = wide[..., 0::2] + 1j * wide[..., 1::2]  # (…, seq, pairs)
    cos, sin = cos_and_sin(radians, x)
    z = z * (cos + 1j * sin)
    pairs = xp.stack((xp.real(z), xp.imag(z)), axis=-1)  # (…, seq, pairs, 2)
    return xp.astype(pairs.reshape(x.shape), x.dtype, copy=False)


def rotation_matrix(angles: ArrayLike, *, layout: str = "interleaved") -> Any:
    r"""Return the matrix that rotates a head, one 2 × 2 block per pair: `(…, 2 · pairs, 2 · pairs)`.

        interleaved: R = diag(R(θ_0), R(θ_1), …),   R(θ) = [[cos θ, −sin θ], [sin θ, cos θ]]
        half_split:  R = [[C, −S], [S, C]],   C = diag(cos θ_i), S = diag(sin θ_i)

    The matrix is dense, float64, and has the array type of `angles`, radians `(…, pairs)`. R @ x rotates the
    column vector x by +angle. ValueError if `layout` is misspelt, or if the angles are not real or have no axis.

    >>> rotation_matrix([0.0, math.pi / 2]).round(3).astype(int).tolist()  # pair 0 stays, pair 1 rotates
    [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, -1], [0, 0, 1, 0]]

    Source: RoFormer, arXiv 2104.09864, eq. 15. Chapter 7. Plain form: `plain.rotation_matrix`.
    """
    radians = _as_angles(angles)
    xp, width = array_namespace(radians), 2 * radians.shape[-1]
    features = np.arange(width)
    first, second = (features[members] for members in pair_slices(width, layout))
    matrix = xp.zeros((*radians.shape[:-1], width, width), dtype=xp.float64, device=device(radians))
    cos, sin = cos_and_sin(radians, radians)
    matrix[..., first, first] = matrix[..., second, second] = cos
    matrix[..., second, first], matrix[..., first, second] = sin, -sin
    return matrix


def rotate_by_matrix(x: Array, angles: ArrayLike, *, layout: str = "interleaved") -> Array:
    r"""Rotate vectors by +angle with their block-diagonal matrices; the result has the shape and dtype of `x`.

        x′_m = R_m x_m

    This form is easy to read, but takes d/2 times as many multiplications as `apply_rope`. Arguments and errors are
    as for `rotate_as_complex`, except that both layouts are allowed.

    >>> rotate_by_matrix(np.array([1.0, 0.0]), [math.pi / 2]).round(3).tolist()
    [0.0, 1.0]

    Source: RoFormer, arXiv 2104.09864, eq. 14–15. Chapter 7. Plain form: `plain.rotate_by_matrix`.
    """
    check_layout(layout)
    radians = _fit_angles(x, angles, whole_head=True)
    xp, dtype = array_namespace(x), compute_dtype(x)
    matrix = xp.astype(rotation_matrix(radians, layout=layout), dtype, copy=False)
    column = xp.astype(x, dtype, copy=False)[..., None]  # (…, seq, d, 1)
    return xp.astype((matrix @ column)[..., 0], x.dtype, copy=False)


def apply_rope(
    x: Array, angles: ArrayLike, *, layout: str = "interleaved", attention_factor: float = 1.0
) -> Array:
    r"""Rotate queries or keys by +angle, as models do; the result has the shape, dtype and array type of `x`.

        first′  = a (first · cos θ − second · sin θ)
        second′ = a (first · sin θ + second · cos θ),   then the tail, unchanged

    Cosines and sines are computed in float64 and rounded once, to float32 unless `x` is float64; 16-bit floats are
    rotated in float32 and rounded once. Gradients flow to `x` and `angles`. ValueError if `x` is not a float array,
    the angles do not match `x`, `layout` is misspelt or `attention_factor` is not above 0. To rotate in place, use
    `fast.rotate`.

    Args:
        x: floats `(…, seq, head_dim)`, NumPy or torch.
        angles: radians `(…, seq, pairs)`, 2 · pairs ≤ head_dim, broadcast over the leading axes of `x`; for
            `x (…, seq, heads, head_dim)` pass `angles[:, None, :]`. NumPy angles work for a torch `x`, except
            under torch.compile.
        layout: "interleaved" pairs (2i, 2i+1), "half_split" pairs (i, i + pairs).
        attention_factor: a, a finite number above 0 (YaRN, LongRoPE).

    >>> apply_rope(np.array([1.0, 0.0, 7.0]), [math.pi / 2]).round(3).tolist()  # a pair and a tail
    [0.0, 1.0, 7.0]

    Source: RoFormer, arXiv 2104.09864, eq. 34; attention_factor: YaRN, arXiv 2309.00071, §3.4. Chapter 7.
    Plain form: `plain.apply_rope`, or `plain.rotate_half_split` for half_split.
    """
    check_layout(layout)
    attention_factor = check_positive_number("attention_factor", attention_factor)
    radians = _fit_angles(x, angles)
    return rotate_by_cos_sin(x, *cos_and_sin(radians, x, attention_factor), layout)


def cos_and_sin(angles: Any, x: Any, factor: float = 1.0) -> tuple[Any, Any]:
    r"""Return factor · cos θ and factor · sin θ, rounded once from float64 to float32 unless `x` is float64.

    >>> [part.tolist() for part in cos_and_sin(np.array([0.0, math.pi]), np.ones(2), factor=2.0)]
    [[2.0, -2.0], [0.0, 2.4492935982947064e-16]]
    """
    xp = array_namespace(x)
    dtype = angles.dtype if x.dtype == angles.dtype else xp.float32
    if is_numpy_array(angles) and not np.isfinite(angles).all():  # for tensors, the check would stall a GPU
        raise ValueError("angles must be finite, got infinity or NaN among them")
    cos, sin = xp.cos(angles), xp.sin(angles)
    if factor != 1:
        cos, sin = factor * cos, factor * sin
    return xp.astype(cos, dtype, copy=False), xp.astype(sin, dtype, copy=False)


def rotate_by_cos_sin(x: Any, cos: Any, sin: Any, layout: str) -> Any:
    r"""Rotate x `(…, seq, head_dim)` by precomputed cosines and sines `(…, seq, pairs)`, keeping its dtype.

    >>> rotate_by_cos_sin(np.array([3.0, 4.0]), np.array([0.0]), np.array([1.0]), "interleaved").tolist()
    [-4.0, 3.0]
    """
    xp, rotary_dim = array_namespace(x), 2 * cos.shape[-1]
    if not must_not_write(x, cos):
        return xp.astype(rotated_copy(x, cos, sin, layout), x.dtype, copy=False)
    wide = xp.astype(x, cos.dtype, copy=False)
    first, second = (wide[..., members] for members in pair_slices(rotary_dim, layout))
    parts = [first * cos - second * sin, first * sin + second * cos]
    if layout == "interleaved":
        parts = [xp.stack(parts, axis=-1).reshape(*x.shape[:-1], rotary_dim)]
    tail = [wide[..., rotary_dim:]] if rotary_dim < x.shape[-1] else []
    return xp.astype(xp.concat((*parts, *tail), axis=-1), x.dtype, copy=False)


def must_not_write(x: Any, cos: Any) -> bool:
    """Return True if autograd, a tracer or the array library forbids writing in place."""
    if is_numpy_array(x):
        return False
    if not is_torch_array(x):
        return True
    wants_gradient = x.requires_grad or cos.requires_grad
    return (wants_gradient and sys.modules["torch"].is_grad_enabled()) or torch_transform_active()


def rotated_copy(x: Any, cos: Any, sin: Any, layout: str) -> Any:
    """Copy x, NumPy or torch, to the dtype of cos, rotate the copy in place, and return it.

    For 1 to 4,096 tokens, this takes 0.1 to 1.1 times as long as transformers' rotary module and function. With a
    new array for every step, as in `rotate_by_cos_sin`, it would take 0.5 to 4.3 times as long.
    """
    if is_numpy_array(x):
        wide = x.astype(cos.dtype, order="C")
    else:
        wide = x.to(cos.dtype, copy=True, memory_format=sys.modules["torch"].contiguous_format)
    if layout == "interleaved" and x.shape[-1] % 2 == 0:
        _rotate_neighbours(wide, cos, sin)
    else:
        _rotate_pairs(wide, cos, sin, layout)
    return wide


def _rotate_neighbours(wide: Any, cos: Any, sin: Any) -> None:
    """Rotate interleaved pairs in place, viewing each pair as a complex number."""
    if is_numpy_array(wide):
        phases: Any = np.empty(cos.shape, dtype=np.result_type(cos, np.complex64))
        phases.real, phases.imag = cos, sin
        z = wide.view(phases.dtype)
    else:
        torch, (*leading, head_dim) = sys.modules["torch"], wide.shape
        phases = torch.complex(cos, sin)
        z = torch.view_as_complex(wide.view(*leading, head_dim // 2, 2))
    if z.shape[-1] > phases.shape[-1]:
        z = z[..., : phases.shape[-1]]
    z *= phases


def _rotate_pairs(wide: Any, cos: Any, sin: Any, layout: str) -> None:
    """Rotate pairs in either layout in place; for tensors, torch fuses each multiplication and addition."""
    first, second = (wide[..., members] for members in pair_slices(2 * cos.shape[-1], layout))
    product = first * sin
    first *= cos
    if is_numpy_array(wide):
        first -= second * sin
        second *= cos
        second += product
    else:
        first.addcmul_(second, sin, value=-1)
        sys.modules["torch"].addcmul(product, second, cos, out=second)


def _as_angles(angles: ArrayLike) -> Any:
    radians = as_real("angles", angles)
    if radians.ndim == 0:
        raise ValueError("angles must have an axis of pairs, (…, pairs), got a single number")
    return radians


def _fit_angles(x: Any, angles: Any, whole_head: bool = False) -> Any:
    """Check that `angles` match `x`, and return them as float64 in the array type of `x`."""
    check_floats("x", x)
    check_dense("angles", angles)
    usable = type(angles) is type(x) and dtype_name(angles) == "float64" and angles.device == x.device
    if not usable or angles.ndim == 0:
        angles = as_kind_of(_as_angles(angles), like=x)
    check_rotatable(x, angles.shape, whole_head)
    return angles


def check_rotatable(x: Array, angles_shape: tuple[int, ...], whole_head: bool = False) -> None:
    """Reject an `x` that does not match angles of shape `(…, seq, pairs)`."""
    if x.ndim == 0:
        raise ValueError("x must have a feature axis, (…, seq, head_dim), got a single number")
    head_dim, pairs = x.shape[-1], angles_shape[-1]
    if 2 * pairs > head_dim or (whole_head and 2 * pairs != head_dim):
        limit = "must equal" if whole_head else "must be at most"
        raise ValueError(f"2 · pairs {limit} head_dim = {head_dim}, got {pairs} pairs")
    if len(angles_shape) == 2 <= x.ndim and angles_shape[0] == x.shape[-2]:
        return  # the usual case
    hint = (
        f"angles are {tuple(angles_shape)}, x is {tuple(x.shape)}; insert an axis where x has one more, "
        "such as angles[:, None, :] for heads after the sequence"
    )
    check_broadcast("the leading axes of angles", angles_shape[:-1], x.shape[:-1], hint)
