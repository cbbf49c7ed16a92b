r"""Plans for the kernel, shared by arrays with the same dtype, shape and strides."""

import math
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from rope_edu.arrays import is_compiling, strides_in_bytes
from rope_edu.fast.memory import address, check_inputs, check_out, shares_memory, traits_and_address
from rope_edu.fast.rows import CosSinRows

SHARED = 2**21  # bytes of cosines and sines that fit in the cache while all heads read them
SEVERAL_THREADS = 2**22  # result size, in bytes, above which several threads pay off


class Plan(NamedTuple):
    """The kernel that rotates x into `out`, or why there is none, as determined by dtype, shape and strides."""

    kernel: Callable[..., None] | None  # takes the addresses of x, out and rows, and a sign: −1 rotates by −θ
    x_span: tuple[int, int] = (0, 0)  # start and end of x's memory, in bytes from its first number
    out_span: tuple[int, int] = (0, 0)
    address: Callable[[Any], int] = address  # returns the address of an array like x
    new: Callable[[Any], Any] = np.empty_like  # returns an uninitialised array like x
    mark_written: Callable[[Any], None] | None = None  # tells autograd that a tensor has been written to
    problem: str = ""  # why there is no kernel


Task = tuple[Plan, int, int]  # a plan, and the addresses of x and out; a NamedTuple would be slower to make


def _no_kernel(needs: str) -> Plan:
    return Plan(None, problem=f"compiled=True needs {needs}")


NOT_ORDINARY = _no_kernel("ordinary tensors in main memory, outside torch.func")
_plans: dict[Any, Plan] = {}  # keyed by x's and out's traits and the row format
_last_plans: dict[str, tuple[Any, Plan]] = {}  # the last plan for "q", "k" and "x", with its key


def plan_for(
    name: str, x: Any, out: Any, cos_sin: CosSinRows, seq_axis: int, try_kernel: bool, compiled: bool | None
) -> Task:
    """Check x and `out` against the cosines and sines, and return a plan with their addresses."""
    separate_out = out is not None and out is not x
    wants_gradient = out is not None and (
        getattr(x, "requires_grad", False) or (separate_out and getattr(out, "requires_grad", False))
    )
    if wants_gradient and sys.modules["torch"].is_grad_enabled():
        raise ValueError("gradients cannot flow through out: omit it, or use torch.no_grad()")
    if not try_kernel:
        check_inputs(name, x, out, cos_sin, seq_axis)
        if compiled and not is_compiling():
            raise ValueError(NOT_ORDINARY.problem)
        return NOT_ORDINARY, 0, 0
    x_traits, x_at = traits_and_address(x)
    out_traits, out_at = traits_and_address(out) if separate_out else (out is x, x_at)
    signature = x_traits, out_traits, cos_sin.format, cos_sin.shape, seq_axis
    last, plan = _last_plans.get(name, (None, NOT_ORDINARY))
    if signature != last:  # comparing takes half as long as a lookup
        known = _plans.get(signature)
        if known is None:
            check_inputs(name, x, out, cos_sin, seq_axis)
            if len(_plans) >= 1024:
                _plans.clear()
            known = _plans[signature] = make_plan(x, out, cos_sin, x_at | out_at)
        _last_plans[name] = signature, (plan := known)
    if separate_out and (plan.problem or _overlap(out_at - x_at, plan.out_span, plan.x_span)):
        check_out(out, x)
    if plan.problem and compiled:
        raise ValueError(plan.problem)
    return plan, x_at, out_at


def make_plan(x: Any, out: Any, cos_sin: CosSinRows, addresses: int = 0) -> Plan:
    r"""Return a plan for checked arrays; if `out` is None, the result is a new array.

    `addresses` is the bitwise OR of the addresses of x and `out`, because only their alignment matters.

    Axis −2 holds the rows. If cos and sin differ between rows, all heads rotate one block of rows before they start
    the next, so that the block's cosines and sines stay in the cache.

    >>> x, cos_sin = np.array([[3.0, 4.0]]), CosSinRows("interleaved", np.array([[[0.0], [1.0]]]))
    >>> make_plan(x, x, cos_sin).kernel(address(x), address(x), cos_sin.address, 1)
    >>> x.tolist()
    [[-4.0, 3.0]]
    """
    torch: Any = None if isinstance(x, np.ndarray) else sys.modules["torch"]
    if torch:
        ordinary = type(x) in (torch.Tensor, torch.nn.Parameter) and x.is_cpu
        has_memory = ordinary and (x.data_ptr() or 0 in x.shape)  # torch may not store a tensor of zeros
        if not has_memory or x.is_neg() or (out is not None and out.is_neg()):
            return NOT_ORDINARY
    try:
        from rope_edu.fast import kernels  # imported here because importing numba takes half a second
    except ImportError as error:
        return _no_kernel(f"numba, pip install numba: {error}")
    if str(x.dtype) in kernels.NOT_COMPILED:
        return _no_kernel("a processor with F16C to rotate float16")
    new = torch.empty_like if torch else np.empty_like
    out, size = new(x) if out is None else out, x.itemsize
    x_steps, row_steps = strides_in_bytes(x), strides_in_bytes(cos_sin.rows)
    out_steps = x_steps if out is x else strides_in_bytes(out)
    if addresses % size:
        return _no_kernel("x and out aligned to the size of their numbers: copy x first")
    contiguous = 0 in x.shape or x.shape[-1] == 1 or x_steps[-1] == out_steps[-1] == size
    if not contiguous or any(step % size for step in (*x_steps, *out_steps)):
        return _no_kernel("contiguous features in x and out: copy them first")
    missing = (0,) * (x.ndim - len(cos_sin.shape))  # leading axes, along which cos and sin broadcast
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
    return Plan(kernel, *spans)


def check_apart(out_q: Any, q_task: Task, k: Any, out_k: Any, k_task: Task) -> None:
    """Reject an `out` for q that overlaps k or k's `out`, since q is written before k is read."""
    (q_plan, _, out_q_at), (k_plan, k_at, out_k_at) = q_task, k_task
    if q_plan.kernel and k_plan.kernel:  # k and its out are the same array or do not overlap
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
    """Return True if two spans of memory overlap; `distance`, in bytes, is from the second to the first."""
    return other[0] - span[1] < distance < other[1] - span[0]
