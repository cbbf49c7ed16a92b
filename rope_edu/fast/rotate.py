r"""Rotate queries and keys by cosines and sines: one way in, one check, then the kernel or array operations."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from rope_edu.arrays import Array, ArrayLike
from rope_edu.encodings.cos_sin import is_compiling, rotate_by_cos_sin, torch_transform_active
from rope_edu.encodings.validation import check_floats, check_kind, check_out, check_tokens, shares_memory
from rope_edu.fast import launch
from rope_edu.fast.launch import Plan
from rope_edu.fast.rows import CosSinRows, GivesCosSin

Way = tuple[Plan | str, int, int]  # the plan and where x and `out` lie; or why the kernel cannot

_plan_cache: dict[Any, Any] = {}  # signature → plan; and "q", "k", "x" → the last signature and plan


def rotate(
    q: Array,
    k: Array | None = None,
    *,
    table: GivesCosSin | CosSinRows,
    offset: int | None = None,
    positions: ArrayLike | None = None,
    seq_axis: int = -2,
    out: Array | tuple[Array, Array] | None = None,
    compiled: bool | None = None,
) -> Any:
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
    >>> from rope_edu.fast import RotaryTable
    >>> table = RotaryTable([math.pi / 2])
    >>> rotate(np.array([[1.0, 0.0, 7.0], [1.0, 0.0, 7.0]]), table=table, offset=1).round(3).tolist()
    [[0.0, 1.0, 7.0], [-1.0, 0.0, 7.0]]

    Source: RoFormer, arXiv 2104.09864, eq. 12 and 34. Chapter 7.
    """
    kernel_may_see = compiled is not False and not torch_transform_active()
    cos_sin = _cos_sin_for(q, table, offset, positions, seq_axis)
    if k is None:
        return _rotated(q, out, _way("q", q, out, cos_sin, seq_axis, kernel_may_see), cos_sin, compiled)
    if out is not None and not (isinstance(out, (tuple, list)) and len(out) == 2):
        raise ValueError(f"out must be a pair (for q, for k), got {type(out).__name__}")
    out_q, out_k = out or (None, None)
    way_q = _way("q", q, out_q, cos_sin, seq_axis, kernel_may_see)
    way_k = _way("k", k, out_k, cos_sin, seq_axis, kernel_may_see)
    if out_q is not None:
        _check_apart(out_q, way_q, k, out_k, way_k)
    return _rotated(q, out_q, way_q, cos_sin, compiled), _rotated(k, out_k, way_k, cos_sin, compiled)


def rotate_(x: Array, cos_sin: CosSinRows, *, compiled: bool | None = None) -> Any:
    r"""Rotate in place by cosines and sines at hand: the short way, for a loop over single tokens.

    x is `(…, heads, seq, head_dim)`, the rows `(seq, pairs)` from `RotaryTable.cos_sin`; `compiled` and the errors
    are those of `rotate`. Pack the queries and keys of a token, as one projection gives them, and one call rotates
    both. Returns x, rotated by +θ.

    >>> from rope_edu.fast import RotaryTable
    >>> x = np.array([[3.0, 4.0]])
    >>> rotate_(x, RotaryTable([np.pi / 2]).cos_sin(1, 1, like=x)).round(3).tolist()
    [[-4.0, 3.0]]

    Chapter 7.
    """
    if not isinstance(cos_sin, CosSinRows):
        raise ValueError(
            f"cos_sin must be CosSinRows, as RotaryTable.cos_sin gives, got {type(cos_sin).__name__}"
        )
    kernel_may_see = compiled is not False and not torch_transform_active()
    return _rotated(x, x, _way("x", x, x, cos_sin, -2, kernel_may_see), cos_sin, compiled)


def _rotated(x: Any, out: Any, way: Way, cos_sin: CosSinRows, compiled: bool | None) -> Any:
    """Rotate x, which fits its cosines and sines, by the kernel or by array operations."""
    plan, x_at, out_at = way
    wants_gradient = getattr(x, "requires_grad", False) and sys.modules["torch"].is_grad_enabled()
    if wants_gradient and out is not None:
        raise ValueError("out cannot be followed by a gradient: leave it out, or use torch.no_grad()")
    if isinstance(plan, str):
        if compiled and not is_compiling():
            raise launch.NotCompiledError(plan)
        return rotate_by_cos_sin(x, cos_sin.cos, cos_sin.sin, cos_sin.layout, out)
    if wants_gradient:
        from rope_edu.fast import tensors  # here, so that torch is imported by those who have it

        return tensors.Rotation.apply(x, cos_sin, plan, 1)  # type: ignore[no-untyped-call]
    if out is None:
        out = plan.new(x)
        plan.turn(x_at, plan.address(out), cos_sin.address, 1)
    else:
        plan.turn(x_at, out_at, cos_sin.address, 1)
        if plan.tell_autograd and not out.is_inference():
            plan.tell_autograd(out)
    return out


def _cos_sin_for(
    q: Array, table: GivesCosSin | CosSinRows, offset: int | None, positions: ArrayLike | None, seq_axis: int
) -> CosSinRows:
    """The cosines and sines of q's tokens, with an axis of one head where q has its heads."""
    if seq_axis not in (-2, -3):
        raise ValueError(f"seq_axis must be -2 or -3 (heads after the sequence), got {seq_axis!r}")
    if isinstance(table, CosSinRows):
        if offset is not None or positions is not None:
            raise ValueError("CosSinRows have their positions already: give neither offset nor positions")
        cos_sin = table
    elif hasattr(table, "cos_sin_at"):
        if positions is None:
            try:
                length = q.shape[seq_axis]
            except (AttributeError, IndexError):
                check_floats("q", q)
                axes = "(…, seq, head_dim)" if seq_axis == -2 else "(…, seq, heads, head_dim)"
                raise ValueError(f"q must be {axes}, got shape {tuple(q.shape)}") from None
            cos_sin = table.cos_sin(0 if offset is None else offset, length, like=q, name="q")
        elif offset is None:
            cos_sin = table.cos_sin_at(positions, like=q)
        else:
            raise ValueError("give offset or positions, not both")
    else:
        raise ValueError(f"table must be a RotaryTable or CosSinRows, got {type(table).__name__}")
    return cos_sin if seq_axis == -2 and len(cos_sin.shape) == 2 else cos_sin.beside_heads(q.ndim, seq_axis)


def _way(name: str, x: Any, out: Any, cos_sin: CosSinRows, seq_axis: int, kernel_may_see: bool) -> Way:
    """Refuse what does not fit; return how and where the kernel rotates it. Arrays alike are checked once."""
    if not kernel_may_see:
        _check(name, x, out, cos_sin, seq_axis)
        return launch.NOT_PLAIN, 0, 0
    of_x = array_signature(x)
    of_out = None if out is None else of_x if out is x else array_signature(out)
    signature = of_x, of_out, cos_sin.kind, cos_sin.shape, seq_axis
    last, plan = _plan_cache.get(name, (None, None))
    if signature != last:  # to compare takes half the time of a search
        plan = _plan_cache.get(signature)
        if plan is None:
            _check(name, x, out, cos_sin, seq_axis)
            if len(_plan_cache) >= 1024:
                _plan_cache.clear()
            plan = _plan_cache[signature] = launch.make_plan(x, cos_sin, out)
        _plan_cache[name] = signature, plan
    elsewhere = out is not None and out is not x
    if isinstance(plan, str):
        if elsewhere:
            check_out(out, x)
        return plan, 0, 0
    x_at = out_at = plan.address(x)
    if elsewhere:
        out_at = plan.address(out)
        if _meet(out_at - x_at, plan.out_span, plan.x_span):
            check_out(out, x)
    if (x_at | out_at) % plan.itemsize:
        return launch.ODD_ADDRESS, 0, 0
    return plan, x_at, out_at


def array_signature(x: Any) -> tuple[Any, ...] | str:
    """All that a check and a plan depend on but where the numbers lie."""
    try:
        if isinstance(x, np.ndarray):
            return type(x), x.dtype, x.shape, x.strides, x.flags.writeable
        return type(x), x.dtype, x.shape, x.stride(), x.device, x.is_neg()
    except AttributeError:
        return "no array"


def _check(name: str, x: Array, out: Array | None, cos_sin: CosSinRows, seq_axis: int) -> None:
    """Refuse an x that the cosines and sines are not for, and an out that is not for x."""
    check_kind(name, x, cos_sin)
    check_tokens(name, x.shape, cos_sin.shape, seq_axis)
    if out is not None and not is_compiling():
        check_out(out, x)
        if isinstance(out, np.ndarray) and not out.flags.writeable:
            raise ValueError("out must be writeable, got one that is read-only")


def _meet(distance: int, span: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether two stretches of memory have a byte in common, the first number of one so far behind the other's."""
    (low, high), (other_low, other_high) = span, other
    return other_low - high < distance < other_high - low


def _check_apart(out_q: Any, way_q: Way, k: Any, out_k: Any, way_k: Way) -> None:
    """Refuse to write q's result where k, or its result, lies: k would be read too late."""
    (plan_q, _, at), (plan_k, k_at, out_k_at) = way_q, way_k
    if isinstance(plan_q, str) or isinstance(plan_k, str):
        near = not is_compiling()
    else:  # k and its result lie apart, unless they are one
        near = _meet(at - k_at, plan_q.out_span, plan_k.x_span)
        near = near or (out_k_at != k_at and _meet(at - out_k_at, plan_q.out_span, plan_k.out_span))
    for name, other in (("k", k), ("the out of k", out_k)) if near else ():
        if other is not None and shares_memory(out_q, other):
            raise ValueError(
                f"the out of q shares memory with {name}, and q is written before k is read: "
                "give each a place of its own, such as out=(q, k)"
            )
