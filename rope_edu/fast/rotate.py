r"""Rotate queries and keys by cosines and sines: the way in."""

import functools
import sys
from typing import Any

from rope_edu.arrays import Array, ArrayLike
from rope_edu.fast.cos_sin import rotate_by_cos_sin, torch_transform_active
from rope_edu.fast.plan import Task, check_apart, plan_for
from rope_edu.fast.rows import CosSinRows, GivesCosSin, rows_for


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
    r"""q rotated by +θ, or the pair of q and k, at the cost of copying; `out` itself if given.

        first′ = cos · first − sin · second      second′ = cos · second + sin · first

    Equals `apply_rope(x, rope_angles(positions, inv_freq), …)` to rounding: 16 bits are turned in float32 and
    rounded once. A kernel of numba reads each number once and writes it once, makes nothing but the result, and
    uses as many threads as torch does (for NumPy one). Without it array operations go block by block, with a
    megabyte or two of scratch. The backward pass is the same rotation by −θ and keeps only the cosines and sines.

    ValueError if q, k or `out` does not fit, `out` overlaps in part or is given where a gradient is wanted,
    positions are said twice, or `compiled=True` cannot be.

    Args:
        q, k: floats `(…, seq, head_dim)`, NumPy or torch, each with its own number of heads; 2 · pairs ≤ head_dim,
            the tail passes unchanged.
        table: a RotaryTable; or CosSinRows that one has given, `(…, seq, pairs)`, where they are to be held.
        offset: the position of the first token, ≥ 0. Default: 0.
        positions: instead of `offset`, `(seq,)` or `(batch, seq)`, also fractions.
        seq_axis: −2 for `(…, heads, seq, head_dim)`, −3 for `(…, seq, heads, head_dim)`.
        out: where to write, like q, or a pair of them with k; `out=q` or `out=(q, k)` rotates in place.
        compiled: None takes the kernel where it can be: numba is installed, numbers lie in main memory, features
            side by side, and no graph is traced. True asks for it, and says what is missing; False leaves it out.

    >>> import math, numpy as np
    >>> from rope_edu.fast import RotaryTable
    >>> table = RotaryTable([math.pi / 2])
    >>> rotate(np.array([[1.0, 0.0, 7.0], [1.0, 0.0, 7.0]]), table=table, offset=1).round(3).tolist()
    [[0.0, 1.0, 7.0], [-1.0, 0.0, 7.0]]

    Source: RoFormer, arXiv 2104.09864, eq. 12 and 34. Chapter 7.
    """
    seen = compiled is not False and not torch_transform_active()
    cos_sin = rows_for(q, table, offset, positions, seq_axis)
    if k is None:
        return _run(plan_for("q", q, out, cos_sin, seq_axis, seen, compiled))
    if out is not None and not (isinstance(out, (tuple, list)) and len(out) == 2):
        raise ValueError(f"out must be a pair (for q, for k), got {type(out).__name__}")
    out_q, out_k = out or (None, None)
    of_q = plan_for("q", q, out_q, cos_sin, seq_axis, seen, compiled)
    of_k = plan_for("k", k, out_k, cos_sin, seq_axis, seen, compiled)
    if out_q is not None:
        check_apart(of_q, of_k)
    return _run(of_q), _run(of_k)


def rotate_(x: Array, cos_sin: CosSinRows, *, compiled: bool | None = None) -> Any:
    r"""x itself, rotated in place by +θ: the short way, for a loop over single tokens.

    x is `(…, heads, seq, head_dim)`, the rows `(seq, pairs)` from `RotaryTable.cos_sin`; `compiled` and the errors
    are those of `rotate`. Queries and keys packed as one projection gives them need one call for both.

    >>> import numpy as np
    >>> from rope_edu.fast import RotaryTable
    >>> x = np.array([[3.0, 4.0]])
    >>> rotate_(x, RotaryTable([np.pi / 2]).cos_sin(1, 1, like=x)).round(3).tolist()
    [[-4.0, 3.0]]

    Chapter 7.
    """
    if not isinstance(cos_sin, CosSinRows):
        given = type(cos_sin).__name__
        raise ValueError(f"cos_sin must be CosSinRows, as RotaryTable.cos_sin gives, got {given}")
    seen = compiled is not False and not torch_transform_active()
    return _run(plan_for("x", x, x, cos_sin, -2, seen, compiled))


def _run(task: Task, sign: int = 1) -> Any:
    """The x of a task, rotated, by −θ for a sign of −1; its `out` itself where given."""
    x, out, cos_sin, _, plan, x_at, out_at = task
    if plan is None:
        sin = cos_sin.sin if sign == 1 else -cos_sin.sin
        return rotate_by_cos_sin(x, cos_sin.cos, sin, cos_sin.layout, out)
    if out is not None:
        plan.turn(x_at, out_at, cos_sin.address, sign)
        if plan.tell_autograd and not out.is_inference():
            plan.tell_autograd(out)
    elif getattr(x, "requires_grad", False) and sys.modules["torch"].is_grad_enabled():
        return _rotation().apply(x, task, sign)
    else:
        out = plan.new(x)
        plan.turn(x_at, plan.address(out), cos_sin.address, sign)
    return out


@functools.cache
def _rotation() -> Any:
    """The rotation as autograd follows it, made where a gradient is wanted, as it needs torch."""
    import torch

    class Rotation(torch.autograd.Function):
        """Backward is the rotation by −θ; only the cosines and sines are kept in between."""

        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, task: Task, sign: int) -> Any:
            _, _, ctx.cos_sin, ctx.seq_axis, *_ = task
            ctx.sign = sign
            return _run(task, sign)

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> Any:
            if grad.stride(-1) != 1:  # that of a sum is one number, broadcast
                grad = grad.contiguous()
            task = plan_for("x", grad, None, ctx.cos_sin, ctx.seq_axis, True, None)
            return _run(task, -ctx.sign), None, None

    return Rotation
