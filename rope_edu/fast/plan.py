r"""Plans for rotating arrays with the kernel; arrays of the same dtype, shape and strides share a plan."""

import math
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from rope_edu.arrays import is_compiling, strides_in_bytes
from rope_edu.fast.memory import (
    address,
    check_inputs,
    check_out,
    shares_memory,
    traits_and_address,
)
from rope_edu.fast.rows import CosSinRows

SHARED = 2**21  # bytes of cosines and sines that stay in the cache while each head in turn reads them
SEVERAL_THREADS = 2**22  # size of a result, in bytes, above which several threads pay off
NOT_ORDINARY = "compiled=True needs ordinary tensors in main memory, outside torch.func"

_plan_cache: dict[Any, Any] = {}  # signature → plan; "q", "k" or "x" → the last signature and plan


class Plan(NamedTuple):
    """How the kernel rotates x into `out`: everything that depends on dtype, shape and strides alone."""

    kernel: Callable[..., None]  # takes the addresses of x, out and the rows; and 1, or −1 to rotate by −θ
    x_span: tuple[int, int]  # start and end of x's memory, in bytes from its first number
    out_span: tuple[int, int]
    address: Callable[[Any], int]  # returns the address of an array of this kind
    new: Callable[[Any], Any]  # returns an uninitialised array like x
    mark_written: Callable[[Any], None] | None  # notifies autograd of a write to a tensor


# x, out, cosines and sines, seq_axis, the plan (None if the kernel cannot rotate), addresses of x and out
Task = tuple[Any, Any, CosSinRows, int, Plan | None, int, int]


def plan_for(
    name: str, x: Any, out: Any, cos_sin: CosSinRows, seq_axis: int, try_kernel: bool, compiled: bool | None
) -> Task:
    """Check x and `out` against the cosines and sines, and plan the rotation."""
    if out is not None and getattr(x, "requires_grad", False) and sys.modules["torch"].is_grad_enabled():
        raise ValueError("gradients cannot flow through out: omit it, or use torch.no_grad()")
    if not try_kernel:
        check_inputs(name, x, out, cos_sin, seq_axis)
        if compiled and not is_compiling():
            raise ValueError(NOT_ORDINARY)
        return x, out, cos_sin, seq_axis, None, 0, 0
    separate_out = out is not None and out is not x
    x_traits, x_at = traits_and_address(x)
    out_traits, out_at = traits_and_address(out) if separate_out else (out is x, x_at)
    signature = x_traits, out_traits, cos_sin.format, cos_sin.shape, seq_axis
    last, plan = _plan_cache.get(name, (None, None))
    if signature != last:  # comparing takes half as long as a lookup
        plan = _plan_cache.get(signature)
        if plan is None:
            check_inputs(name, x, out, cos_sin, seq_axis)
            if len(_plan_cache) >= 1024:
                _plan_cache.clear()
            plan = _plan_cache[signature] = make_plan(x, out, cos_sin, x_at | out_at)
        _plan_cache[name] = signature, plan
    no_kernel = isinstance(plan, str)
    if separate_out and (no_kernel or _overlap(out_at - x_at, plan.out_span, plan.x_span)):
        check_out(out, x)
    if no_kernel and compiled:
        raise ValueError(plan)
    return x, out, cos_sin, seq_axis, None if no_kernel else plan, x_at, out_at


def make_plan(x: Any, out: Any, cos_sin: CosSinRows, addresses: int = 0) -> Plan | str:
    r"""Return a plan for checked arrays, with a new result if `out` is None, or the reason why there is none.

    `addresses` combines those of x and `out` by |, since only their alignment matters.

    Axis −2 holds the rows. If cos and sin differ between rows, every head rotates one block of rows before any head
    starts the next, so that the block's cosines and sines stay in the cache.

    >>> x, cos_sin = np.array([[3.0, 4.0]]), CosSinRows("interleaved", np.array([[[0.0], [1.0]]]))
    >>> make_plan(x, x, cos_sin).kernel(address(x), address(x), cos_sin.address, 1)
    >>> x.tolist()
    [[-4.0, 3.0]]
    """
    torch: Any = None if isinstance(x, np.ndarray) else sys.modules["torch"]
    if torch:
        ordinary = type(x) in (torch.Tensor, torch.nn.Parameter) and x.is_cpu
        if not ordinary or x.is_neg() or (out is not None and out.is_neg()):
            return NOT_ORDINARY
    try:
        from rope_edu.fast import kernels  # imported here because numba takes half a second
    except ImportError as error:
        return f"compiled=True needs numba, pip install numba: {error}"
    new = torch.empty_like if torch else np.empty_like
    out, size = new(x) if out is None else out, x.itemsize
    x_steps, row_steps = strides_in_bytes(x), strides_in_bytes(cos_sin.rows)
    out_steps = x_steps if out is x else strides_in_bytes(out)
    if addresses % size:
        return "compiled=True needs x and out aligned to the size of their numbers: copy x first"
    contiguous = 0 in x.shape or x.shape[-1] == 1 or x_steps[-1] == out_steps[-1] == size
    if not contiguous or any(step % size for step in (*x_steps, *out_steps)):
        return "compiled=True needs contiguous features in x and out: copy them first"
    missing = (0,) * (x.ndim - len(cos_sin.shape))  # axes along which cos and sin broadcast
    row_steps = (*missing, *(n > 1 and step for n, step in zip(cos_sin.shape, row_steps, strict=False)))
    axes = list(zip(x.shape, x_steps, out_steps, row_steps, strict=True))[:-1]
    axes = [axis for axis in axes if axis[0] > 1] or [(1, 0, 0, 0)]
    n_rows, row_step = axes[-1][0], axes[-1][3]
    block = max(1, SHARED // row_step) if row_step else n_rows
    runs = 0 if 0 in x.shape else math.prod(axis[0] for axis in axes[:-1]) * -(-n_rows // block)
    threaded = torch and runs > 1 and x.nbytes >= SEVERAL_THREADS
    spans = _span(x.shape, x_steps, size), _span(x.shape, out_steps, size)
    kernel = kernels.kernel_for(x, cos_sin, np.array(axes, dtype=np.int64), block, runs, threaded)
    if torch:
        return Plan(kernel, *spans, torch.Tensor.data_ptr, new, torch.autograd.graph.increment_version)
    return Plan(kernel, *spans, address, new, None)


def check_apart(q_task: Task, k_task: Task) -> None:
    """Reject an `out` for q that overlaps k or k's `out`, since q is written before k is read."""
    _, out_q, _, _, q_plan, _, out_q_at = q_task
    k, out_k, _, _, k_plan, k_at, out_k_at = k_task
    if q_plan and k_plan:  # k and its out are one array, or known not to overlap
        suspect = _overlap(out_q_at - k_at, q_plan.out_span, k_plan.x_span)
        suspect |= out_k_at != k_at and _overlap(out_q_at - out_k_at, q_plan.out_span, k_plan.out_span)
    else:
        suspect = not is_compiling()
    for name, other in (("k", k), ("the out of k", out_k)) if suspect else ():
        if other is not None and shares_memory(out_q, other):
            raise ValueError(
                f"the out of q shares memory with {name}, and q is written before k is read: "
                "give them separate memory, such as out=(q, k)"
            )


def _span(shape: tuple[int, ...], steps: tuple[int, ...], size: int) -> tuple[int, int]:
    reaches = [(n - 1) * step for n, step in zip(shape, steps, strict=True)]
    return sum(r for r in reaches if r < 0), sum(r for r in reaches if r > 0) + size


def _overlap(distance: int, span: tuple[int, int], other: tuple[int, int]) -> bool:
    """Return True if two spans of memory overlap, given the distance in bytes of the first from the other."""
    return other[0] - span[1] < distance < other[1] - span[0]
