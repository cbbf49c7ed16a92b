r"""Rotate queries and keys with turns: one way in, one check, then the kernel or array operations."""

from __future__ import annotations

import sys

import numpy as np

from rope_edu.encodings.turning import is_compiling, is_watched, rotate_with
from rope_edu.encodings.validation import Array, check_float_array, check_kind, check_out, check_tokens
from rope_edu.fast import launch
from rope_edu.fast.launch import Plan
from rope_edu.fast.table import RotaryTable
from rope_edu.fast.turns import Turns

PLANS: dict = {}  # by the looks of x, of out and of the turns; and the last look and plan of "q", "k" and "x"


def rotate(
    q: Array,
    k: Array | None = None,
    *,
    table: RotaryTable | Turns,
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
    keeps nothing but turns.

    Args:
        q: floats `(…, seq, head_dim)`, NumPy or torch; 2 · pairs ≤ head_dim, the tail passes unchanged.
        k: like q; its own number of heads is fine.
        table: a RotaryTable; or Turns that one has given, `(…, seq, pairs)`, where they are to be held.
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
    plain = not is_watched()
    turns = _turns_for(q, table, offset, positions, seq_axis, plain)
    seen = plain and compiled is not False
    if k is None:
        return _rotated(q, turns, out, _plan("q", q, turns, seq_axis, out, seen), compiled)
    if out is not None and not (isinstance(out, (tuple, list)) and len(out) == 2):
        raise ValueError(f"out must be a pair (for q, for k), got {type(out).__name__}")
    out_q, out_k = out or (None, None)
    plan_q = _plan("q", q, turns, seq_axis, out_q, seen)
    plan_k = _plan("k", k, turns, seq_axis, out_k, seen)
    return _rotated(q, turns, out_q, plan_q, compiled), _rotated(k, turns, out_k, plan_k, compiled)


def rotate_(x: Array, turns: Turns, *, compiled: bool | None = None) -> Array:
    r"""Rotate in place with turns that are held: the short way, for a loop over single tokens.

    x is `(…, heads, seq, head_dim)`, the turns `(seq, pairs)` from `RotaryTable.turns`, `compiled` and what raises
    ValueError as for `rotate`. Pack the queries and keys of a token, as one projection gives them, and both turn
    at once. Returns x, rotated by +θ.

    >>> x = np.array([[3.0, 4.0]])
    >>> rotate_(x, RotaryTable([np.pi / 2]).turns(1, 1, like=x)).round(3).tolist()
    [[-4.0, 3.0]]

    Chapter 7.
    """
    if not isinstance(turns, Turns):
        raise ValueError(f"turns must be Turns, as RotaryTable.turns gives, got {type(turns).__name__}")
    seen = compiled is not False and not is_watched()
    return _rotated(x, turns, x, _plan("x", x, turns, -2, x, seen), compiled)


def _rotated(x: Array, turns: Turns, out: Array | None, plan: Plan | None, compiled: bool | None) -> Array:
    """Rotate x, which fits its turns, by the kernel or by array operations."""
    wants_gradient = getattr(x, "requires_grad", False) and sys.modules["torch"].is_grad_enabled()
    if wants_gradient and out is not None:
        raise ValueError("out cannot be followed by a gradient: leave it out, or use torch.no_grad()")
    if plan is not None:
        try:
            if not wants_gradient:
                return launch.rotate(x, turns, plan, out)
            from rope_edu.fast import tensors  # here, so that torch is imported by those who have it

            return tensors.Rotation.apply(x, turns, plan, 1)
        except launch.NotCompiledError:
            if compiled:
                raise
    elif compiled and not is_compiling():
        raise launch.NotCompiledError(launch.NOT_PLAIN)
    return rotate_with(x, turns.cos, turns.sin, turns.layout, out)


def _turns_for(
    q: Array, table: RotaryTable | Turns, offset: int | None, positions: object, seq_axis: int, plain: bool
) -> Turns:
    """Return the turns of q's tokens, with an axis of one head where q has its heads."""
    if seq_axis not in (-2, -3):
        raise ValueError(f"seq_axis must be -2 or -3 (heads after the sequence), got {seq_axis!r}")
    if isinstance(table, RotaryTable):
        if positions is None:
            start, length = 0 if offset is None else offset, _length(q, seq_axis)
            turns = table.kept("q", start, length, q) if plain else table.turns(start, length, like=q)
        elif offset is None:
            turns = table.turns_at(positions, like=q)
        else:
            raise ValueError("give offset or positions, not both")
    elif not isinstance(table, Turns):
        raise ValueError(f"table must be a RotaryTable or Turns, got {type(table).__name__}")
    elif offset is not None or positions is not None:
        raise ValueError("Turns have their positions already: give neither offset nor positions")
    else:
        turns = table
    return turns if seq_axis == -2 and len(turns.shape) == 2 else turns.beside_heads(q.ndim, seq_axis)


def _length(q: Array, seq_axis: int) -> int:
    try:
        return q.shape[seq_axis]
    except (AttributeError, IndexError):
        check_float_array("q", q)
        axes = "(…, seq, head_dim)" if seq_axis == -2 else "(…, seq, heads, head_dim)"
        raise ValueError(f"q must be {axes}, got shape {tuple(q.shape)}") from None


def _plan(name: str, x: Array, turns: Turns, seq_axis: int, out: Array | None, seen: bool) -> Plan | None:
    """Refuse what does not fit; return the plan where the kernel may see x. What looks alike is checked once."""
    if not seen:
        return _check(name, x, turns, seq_axis, out)
    mine = _look(x)
    its = None if out is None else mine if out is x else _look(out)
    look = mine, its, turns.layout, turns.dtype, turns.device, turns.shape, seq_axis
    last, plan = PLANS.get(name, (None, None))
    if look != last:  # to compare takes a third of the time of a search
        plan = PLANS.get(look)
        if plan is None:
            _check(name, x, turns, seq_axis, out)
            if len(PLANS) >= 1024:
                PLANS.clear()
            plan = PLANS[look] = launch.make_plan(x, turns, out)
        PLANS[name] = look, plan
    if out is not None and out is not x and abs(plan.at(x) - plan.at(out)) < plan.reach:
        check_out(out, x)
    return plan


def _look(x: Array) -> tuple | str:
    """Return all that a check and a plan depend on but where the numbers lie."""
    try:
        steps = x.strides if isinstance(x, np.ndarray) else x.stride()
        return type(x), x.dtype, x.device, x.shape, steps
    except AttributeError:
        return "no array"


def _check(name: str, x: Array, turns: Turns, seq_axis: int, out: Array | None) -> None:
    """Refuse an x that the turns are not for, and an out that is not for x."""
    check_kind(name, x, turns)
    check_tokens(name, x.shape, turns.shape, seq_axis)
    if out is not None and out is not x and not is_compiling():
        check_out(out, x)
