r"""Rotate queries and keys by cosines and sines: one way in, one check, then the kernel or array operations."""

from __future__ import annotations

import sys

import numpy as np

from rope_edu.encodings.cos_sin import is_compiling, rotate_by_cos_sin, torch_transform_active
from rope_edu.encodings.validation import Array, check_float_array, check_kind, check_out, check_tokens
from rope_edu.fast import launch
from rope_edu.fast.launch import Plan
from rope_edu.fast.rows import CosSinRows
from rope_edu.fast.table import RotaryTable

_plan_cache: dict = {}  # by signatures of x, out and rows; and under "q", "k", "x" the last signature and plan


def rotate(
    q: Array,
    k: Array | None = None,
    *,
    table: RotaryTable | CosSinRows,
    offset: int | None = None,
    positions: list | range | Array | None = None,
    seq_axis: int = -2,
    out: Array | tuple[Array, Array] | None = None,
    compiled: bool | None = None,
) -> Array | tuple[Array, Array]:
    r"""Rotate queries, or queries and keys, at the cost of copying them.

        first′ = cos · first − sin · second      second′ = cos · second + sin · first

    Equals `apply_rope(x, rope_angles(positions, inv_freq), …)` to rounding: 16 bits are turned in float32 and
    rounded once. A kernel of numba does it where numba is installed: it reads each number once and writes it
    once, makes nothing but the result, and uses as many threads as torch does (for NumPy one). Elsewhere array
    operations do, in blocks, with a megabyte or two of scratch. The backward pass is the same kernel with −θ and
    keeps nothing but the cosines and sines.

    Args:
        q: floats `(…, seq, head_dim)`, NumPy or torch; 2 · pairs ≤ head_dim, the tail passes unchanged.
        k: like q; its own number of heads is fine.
        table: a RotaryTable; or CosSinRows that one has given, `(…, seq, pairs)`, where they are to be held.
        offset: the position of the first token, ≥ 0. Default: 0.
        positions: instead of `offset`, `(seq,)` or `(batch, seq)`, also fractions.
        seq_axis: −2 for `(…, heads, seq, head_dim)`, −3 for `(…, seq, heads, head_dim)`.
        out: where to write, of the kind, device, dtype and shape of q; a pair of them with k. `out=q` or
            `out=(q, k)` rotates in place.
        compiled: None takes the kernel where it can be: numba is installed, numbers lie in main memory, features
            side by side, and no graph is traced. True asks for it, and says what is missing; False leaves it out.

    Returns:
        q rotated by +θ, or the pair; `out` itself if given.

    Raises:
        ValueError: q, k or `out` does not fit, `out` overlaps in part or is given where a gradient is wanted,
            positions are said twice, or `compiled=True` cannot be.

    >>> import math
    >>> table = RotaryTable([math.pi / 2])
    >>> rotate(np.array([[1.0, 0.0, 7.0], [1.0, 0.0, 7.0]]), table=table, offset=1).round(3).tolist()
    [[0.0, 1.0, 7.0], [-1.0, 0.0, 7.0]]

    Source: RoFormer, arXiv 2104.09864, eq. 12 and 34. Chapter 7.
    """
    plain = not torch_transform_active()
    cos_sin = _cos_sin_for(q, table, offset, positions, seq_axis, plain)
    seen = plain and compiled is not False
    if k is None:
        return _rotated(q, cos_sin, out, _plan("q", q, cos_sin, seq_axis, out, seen), compiled)
    if out is not None and not (isinstance(out, (tuple, list)) and len(out) == 2):
        raise ValueError(f"out must be a pair (for q, for k), got {type(out).__name__}")
    out_q, out_k = out or (None, None)
    plan_q = _plan("q", q, cos_sin, seq_axis, out_q, seen)
    plan_k = _plan("k", k, cos_sin, seq_axis, out_k, seen)
    return _rotated(q, cos_sin, out_q, plan_q, compiled), _rotated(k, cos_sin, out_k, plan_k, compiled)


def rotate_(x: Array, cos_sin: CosSinRows, *, compiled: bool | None = None) -> Array:
    r"""Rotate in place by cosines and sines that are held: the short way, for a loop over single tokens.

    x is `(…, heads, seq, head_dim)`, the rows `(seq, pairs)` from `RotaryTable.cos_sin`, `compiled` and what raises
    ValueError as for `rotate`. Pack the queries and keys of a token, as one projection gives them, and both turn
    at once. Returns x, rotated by +θ.

    >>> x = np.array([[3.0, 4.0]])
    >>> rotate_(x, RotaryTable([np.pi / 2]).cos_sin(1, 1, like=x)).round(3).tolist()
    [[-4.0, 3.0]]

    Chapter 7.
    """
    if not isinstance(cos_sin, CosSinRows):
        raise ValueError(
            f"cos_sin must be CosSinRows, as RotaryTable.cos_sin gives, got {type(cos_sin).__name__}"
        )
    seen = compiled is not False and not torch_transform_active()
    return _rotated(x, cos_sin, x, _plan("x", x, cos_sin, -2, x, seen), compiled)


def _rotated(
    x: Array, cos_sin: CosSinRows, out: Array | None, plan: Plan | None, compiled: bool | None
) -> Array:
    """Rotate x, which fits its cosines and sines, by the kernel or by array operations."""
    wants_gradient = getattr(x, "requires_grad", False) and sys.modules["torch"].is_grad_enabled()
    if wants_gradient and out is not None:
        raise ValueError("out cannot be followed by a gradient: leave it out, or use torch.no_grad()")
    if plan is not None:
        try:
            if not wants_gradient:
                return launch.rotate(x, cos_sin, plan, out)
            from rope_edu.fast import tensors  # here, so that torch is imported by those who have it

            return tensors.Rotation.apply(x, cos_sin, plan, 1)
        except launch.NotCompiledError:
            if compiled:
                raise
    elif compiled and not is_compiling():
        raise launch.NotCompiledError(launch.NOT_PLAIN)
    return rotate_by_cos_sin(x, cos_sin.cos, cos_sin.sin, cos_sin.layout, out)


def _cos_sin_for(
    q: Array,
    table: RotaryTable | CosSinRows,
    offset: int | None,
    positions: object,
    seq_axis: int,
    plain: bool,
) -> CosSinRows:
    """Return the cosines and sines of q's tokens, with an axis of one head where q has its heads."""
    if seq_axis not in (-2, -3):
        raise ValueError(f"seq_axis must be -2 or -3 (heads after the sequence), got {seq_axis!r}")
    if isinstance(table, RotaryTable):
        if positions is None:
            start, length = 0 if offset is None else offset, _length(q, seq_axis)
            cos_sin = table.kept("q", start, length, q) if plain else table.cos_sin(start, length, like=q)
        elif offset is None:
            cos_sin = table.cos_sin_at(positions, like=q)
        else:
            raise ValueError("give offset or positions, not both")
    elif not isinstance(table, CosSinRows):
        raise ValueError(f"table must be a RotaryTable or CosSinRows, got {type(table).__name__}")
    elif offset is not None or positions is not None:
        raise ValueError("CosSinRows have their positions already: give neither offset nor positions")
    else:
        cos_sin = table
    return cos_sin if seq_axis == -2 and len(cos_sin.shape) == 2 else cos_sin.beside_heads(q.ndim, seq_axis)


def _length(q: Array, seq_axis: int) -> int:
    try:
        return q.shape[seq_axis]
    except (AttributeError, IndexError):
        check_float_array("q", q)
        axes = "(…, seq, head_dim)" if seq_axis == -2 else "(…, seq, heads, head_dim)"
        raise ValueError(f"q must be {axes}, got shape {tuple(q.shape)}") from None


def _plan(
    name: str, x: Array, cos_sin: CosSinRows, seq_axis: int, out: Array | None, seen: bool
) -> Plan | None:
    """Refuse what does not fit; return the plan where the kernel may see x. What looks alike is checked once."""
    if not seen:
        return _check(name, x, cos_sin, seq_axis, out)
    mine = array_signature(x)
    its = None if out is None else mine if out is x else array_signature(out)
    look = mine, its, cos_sin.layout, cos_sin.dtype, cos_sin.device, cos_sin.shape, seq_axis
    last, plan = _plan_cache.get(name, (None, None))
    if look != last:  # to compare takes a third of the time of a search
        plan = _plan_cache.get(look)
        if plan is None:
            _check(name, x, cos_sin, seq_axis, out)
            if len(_plan_cache) >= 1024:
                _plan_cache.clear()
            plan = _plan_cache[look] = launch.make_plan(x, cos_sin, out)
        _plan_cache[name] = look, plan
    if out is not None and out is not x and abs(plan.at(x) - plan.at(out)) < plan.reach:
        check_out(out, x)
    return plan


def array_signature(x: Array) -> tuple | str:
    """Return all that a check and a plan depend on but where the numbers lie."""
    try:
        steps = x.strides if isinstance(x, np.ndarray) else x.stride()
        return type(x), x.dtype, x.device, x.shape, steps
    except AttributeError:
        return "no array"


def _check(name: str, x: Array, cos_sin: CosSinRows, seq_axis: int, out: Array | None) -> None:
    """Refuse an x that the cosines and sines are not for, and an out that is not for x."""
    check_kind(name, x, cos_sin)
    check_tokens(name, x.shape, cos_sin.shape, seq_axis)
    if out is not None and out is not x and not is_compiling():
        check_out(out, x)
