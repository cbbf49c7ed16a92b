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
        plan = _plan("q", q, cos_sin, seq_axis, out, kernel_may_see)
        return _rotated(q, cos_sin, out, plan, compiled)
    if out is not None and not (isinstance(out, (tuple, list)) and len(out) == 2):
        raise ValueError(f"out must be a pair (for q, for k), got {type(out).__name__}")
    out_q, out_k = out or (None, None)
    plan_q = _plan("q", q, cos_sin, seq_axis, out_q, kernel_may_see)
    plan_k = _plan("k", k, cos_sin, seq_axis, out_k, kernel_may_see)
    if out_q is not None and (
        _may_meet(out_q, k, plan_q, plan_k, "x_span") or _may_meet(out_q, out_k, plan_q, plan_k, "out_span")
    ):
        _check_apart(out_q, k, out_k)
    return _rotated(q, cos_sin, out_q, plan_q, compiled), _rotated(k, cos_sin, out_k, plan_k, compiled)


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
    return _rotated(x, cos_sin, x, _plan("x", x, cos_sin, -2, x, kernel_may_see), compiled)


def _rotated(x: Any, cos_sin: CosSinRows, out: Any, plan: Plan | None, compiled: bool | None) -> Any:
    """Rotate x, which fits its cosines and sines, by the kernel or by array operations."""
    wants_gradient = getattr(x, "requires_grad", False) and sys.modules["torch"].is_grad_enabled()
    if wants_gradient and out is not None:
        raise ValueError("out cannot be followed by a gradient: leave it out, or use torch.no_grad()")
    if plan is not None:
        try:
            if not wants_gradient:
                return launch.run(plan, x, cos_sin, out)
            from rope_edu.fast import tensors  # here, so that torch is imported by those who have it

            return tensors.Rotation.apply(x, cos_sin, plan, 1)  # type: ignore[no-untyped-call]
        except launch.NotCompiledError:
            if compiled:
                raise
    elif compiled and not is_compiling():
        raise launch.NotCompiledError(launch.NOT_PLAIN)
    return rotate_by_cos_sin(x, cos_sin.cos, cos_sin.sin, cos_sin.layout, out)


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


def _plan(
    name: str, x: Any, cos_sin: CosSinRows, seq_axis: int, out: Any, kernel_may_see: bool
) -> Plan | None:
    """Refuse what does not fit; return the plan where the kernel may see x. Arrays alike are checked once."""
    if not kernel_may_see:
        _check(name, x, cos_sin, seq_axis, out)
        return None
    of_x = array_signature(x)
    of_out = None if out is None else of_x if out is x else array_signature(out)
    signature = of_x, of_out, cos_sin.layout, cos_sin.dtype, cos_sin.device, cos_sin.shape, seq_axis
    last, plan = _plan_cache.get(name, (None, None))
    if signature != last:  # to compare takes a third of the time of a search
        plan = _plan_cache.get(signature)
        if plan is None:
            _check(name, x, cos_sin, seq_axis, out)
            if len(_plan_cache) >= 1024:
                _plan_cache.clear()
            plan = _plan_cache[signature] = launch.make_plan(x, cos_sin, out)
        _plan_cache[name] = signature, plan
    if out is not None and out is not x:
        x_at, out_at = plan.address(x), plan.address(out)
        if (
            x_at + plan.x_span[0] < out_at + plan.out_span[1]
            and out_at + plan.out_span[0] < x_at + plan.x_span[1]
        ):
            check_out(out, x)
    return plan


def array_signature(x: Any) -> tuple[Any, ...] | str:
    """All that a check and a plan depend on but where the numbers lie."""
    try:
        steps = x.strides if isinstance(x, np.ndarray) else x.stride()
        return type(x), x.dtype, x.device, x.shape, steps
    except AttributeError:
        return "no array"


def _check(name: str, x: Array, cos_sin: CosSinRows, seq_axis: int, out: Array | None) -> None:
    """Refuse an x that the cosines and sines are not for, and an out that is not for x."""
    check_kind(name, x, cos_sin)
    check_tokens(name, x.shape, cos_sin.shape, seq_axis)
    if out is not None and not is_compiling():
        check_out(out, x)


def _may_meet(out_q: Any, other: Any, plan_q: Plan | None, plan_k: Plan | None, span: str) -> bool:
    """Whether the memory into which q is written may be that of k or of its result, by first and last address."""
    if other is None:
        return False
    if plan_q is None or plan_k is None:
        return not is_compiling()
    low, other_low = plan_q.address(out_q), plan_k.address(other)
    (before, after), (other_before, other_after) = plan_q.out_span, getattr(plan_k, span)
    return low + before < other_low + other_after and other_low + other_before < low + after


def _check_apart(out_q: Array, k: Array, out_k: Array | None) -> None:
    """Refuse to write q's result where k, or its result, lies: k would be read too late."""
    for name, other in (("k", k), ("the out of k", out_k)):
        if other is not None and shares_memory(out_q, other):
            raise ValueError(
                f"the out of q shares memory with {name}, and q is written before k is read: "
                "give each a place of its own, such as out=(q, k)"
            )
