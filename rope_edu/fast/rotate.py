r"""The package's entry point, which rotates queries and keys by cosines and sines."""

import functools
import sys
from typing import Any

from rope_edu.arrays import Array, ArrayLike, torch_transform_active
from rope_edu.fast.blocks import rotate_in_blocks
from rope_edu.fast.plan import Task, check_apart, plan_for
from rope_edu.fast.rows import CosSinRows, CosSinSource, rows_for


def rotate(
    q: Array,
    k: Array | None = None,
    *,
    table: CosSinSource | CosSinRows,
    offset: int | None = None,
    positions: ArrayLike | None = None,
    seq_axis: int = -2,
    out: Array | tuple[Array, Array] | None = None,
    compiled: bool | None = None,
) -> Any:
    r"""Rotate q, or q and k, by +θ, about as fast as copying them; return new arrays, or `out` if given.

        first′ = cos · first − sin · second      second′ = cos · second + sin · first

    The result equals `apply_rope(x, rope_angles(positions, inv_freq), …)` up to rounding; 16-bit floats are rotated
    in float32 and rounded once. A numba kernel makes a single pass over memory, allocates only the result, and uses
    as many threads as torch does (one for NumPy). Without the kernel, array operations work block by block with a
    megabyte or two of scratch memory. The backward pass rotates by −θ and stores only the cosines and sines.

    ValueError if q, k or `out` does not match, if `out` partly overlaps an input or is given although a gradient is
    needed, if positions are given twice, or if `compiled=True` and the kernel cannot be used.

    Args:
        q, k: floats `(…, seq, head_dim)`, NumPy or torch; their numbers of heads may differ. 2 · pairs ≤ head_dim,
            and the features beyond 2 · pairs are unchanged.
        table: a RotaryTable; or CosSinRows, `(…, seq, pairs)`, that you obtained from a table earlier.
        offset: the position of the first token, at least 0 and below 2**52. Default: 0.
        positions: an alternative to `offset`: `(seq,)` or `(batch, seq)`, fractions allowed; for a spec with axes,
            `(…, seq, n_axes)`.
        seq_axis: −2 for `(…, heads, seq, head_dim)`, −3 for `(…, seq, heads, head_dim)`.
        out: an array like q to write to, or a pair if k is given; `out=q` or `out=(q, k)` rotates in place.
        compiled: None uses the kernel if numba is installed, arrays are in main memory with contiguous features,
            and no graph is being traced. True raises an error with the reason if the kernel cannot be used, except
            while torch.compile traces the call. False never uses it.

    >>> import math, numpy as np
    >>> from rope_edu.fast import RotaryTable
    >>> table = RotaryTable([math.pi / 2])
    >>> rotate(np.array([[1.0, 0.0, 7.0], [1.0, 0.0, 7.0]]), table=table, offset=1).round(3).tolist()
    [[0.0, 1.0, 7.0], [-1.0, 0.0, 7.0]]

    Source: RoFormer, arXiv 2104.09864, eq. 12 and 34. Chapter 7.
    """
    try_kernel = compiled is not False and not torch_transform_active()
    cos_sin = rows_for(q, table, offset, positions, seq_axis)
    if k is None:
        task = plan_for("q", q, out, cos_sin, seq_axis, try_kernel, compiled)
        return _rotate(q, out, cos_sin, task, seq_axis)
    if out is not None and not (isinstance(out, (tuple, list)) and len(out) == 2):
        raise ValueError(f"out must be a pair (for q, for k), got {type(out).__name__}")
    out_q, out_k = out or (None, None)
    q_task = plan_for("q", q, out_q, cos_sin, seq_axis, try_kernel, compiled)
    k_task = plan_for("k", k, out_k, cos_sin, seq_axis, try_kernel, compiled)
    if out_q is not None:
        check_apart(out_q, q_task, k, out_k, k_task)
    return _rotate(q, out_q, cos_sin, q_task, seq_axis), _rotate(k, out_k, cos_sin, k_task, seq_axis)


def rotate_(x: Array, cos_sin: CosSinRows, *, compiled: bool | None = None) -> Any:
    r"""Rotate x in place by +θ and return it: a shorthand for loops over single tokens.

    x is `(…, heads, seq, head_dim)`; `cos_sin`, `(seq, pairs)`, is from `RotaryTable.cos_sin`; `compiled` and
    errors are as for `rotate`. Queries and keys packed in one projection need only one call.

    >>> import numpy as np
    >>> from rope_edu.fast import RotaryTable
    >>> x = np.array([[3.0, 4.0]])
    >>> rotate_(x, RotaryTable([np.pi / 2]).cos_sin(1, 1, like=x)).round(3).tolist()
    [[-4.0, 3.0]]

    Chapter 7.
    """
    if not isinstance(cos_sin, CosSinRows):
        type_name = type(cos_sin).__name__
        raise ValueError(f"cos_sin must be CosSinRows, from RotaryTable.cos_sin, got {type_name}")
    try_kernel = compiled is not False and not torch_transform_active()
    return _rotate(x, x, cos_sin, plan_for("x", x, x, cos_sin, -2, try_kernel, compiled), -2)


def _rotate(x: Any, out: Any, cos_sin: CosSinRows, task: Task, seq_axis: int, sign: int = 1) -> Any:
    """Rotate x as planned, by −θ if `sign` is −1, and return the result, which is `out` if given."""
    plan, x_at, out_at = task
    if plan.kernel is None:
        sin = cos_sin.sin if sign == 1 else -cos_sin.sin
        return rotate_in_blocks(x, cos_sin.cos, sin, cos_sin.layout, out)
    if out is not None:
        plan.kernel(x_at, out_at, cos_sin.address, sign)
        if plan.mark_written and not out.is_inference():
            plan.mark_written(out)
    elif getattr(x, "requires_grad", False) and sys.modules["torch"].is_grad_enabled():
        return _rotation().apply(x, cos_sin, task, seq_axis, sign)
    else:
        out = plan.new(x)
        plan.kernel(x_at, plan.address(out), cos_sin.address, sign)
    return out


@functools.cache
def _rotation() -> Any:
    """Return the rotation as an autograd function, defined on first use so that torch is imported only then."""
    import torch

    class Rotation(torch.autograd.Function):
        """A rotation whose backward pass rotates by −θ and needs only the cosines and sines."""

        @staticmethod
        def forward(ctx: Any, x: Any, cos_sin: CosSinRows, task: Task, seq_axis: int, sign: int) -> Any:
            ctx.cos_sin, ctx.seq_axis, ctx.sign = cos_sin, seq_axis, sign
            return _rotate(x, None, cos_sin, task, seq_axis, sign)

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> Any:
            if grad.stride(-1) != 1:  # e.g. the gradient of a sum, which is one broadcast number
                grad = grad.contiguous()
            task = plan_for("x", grad, None, ctx.cos_sin, ctx.seq_axis, True, None)
            rotated = _rotate(grad, None, ctx.cos_sin, task, ctx.seq_axis, -ctx.sign)
            return rotated, None, None, None, None

    return Rotation
