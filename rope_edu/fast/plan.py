r"""An array to rotate, checked, and planned for the kernel: once for all arrays that look alike."""

import math
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from rope_edu.encodings.validation import (
    address,
    check_kind,
    check_out,
    check_tokens,
    shares_memory,
    strides_in_bytes,
)
from rope_edu.fast.cos_sin import is_compiling
from rope_edu.fast.rows import CosSinRows

SHARED = 2**21  # bytes of cosines and sines that one head after the other reads from the cache
SEVERAL_THREADS = 2**22  # bytes of a result that are worth more threads than one
NOT_PLAIN = "compiled=True needs plain tensors in main memory, outside of torch.func"

_plan_cache: dict[Any, Any] = {}  # signature → plan; and "q", "k", "x" → the last signature and plan


class Plan(NamedTuple):
    """How the kernel rotates an x into an `out`: all that follows from how they look, wherever they lie."""

    turn: Callable[..., None]  # (address of x, of out, of the rows, 1 or −1 to rotate by −θ)
    x_span: tuple[int, int]  # bytes from the first number of x to its lowest, and to the end of its highest
    out_span: tuple[int, int]
    address: Callable[[Any], int]  # of an array of this kind
    new: Callable[[Any], Any]  # an array like x, not yet filled
    tell_autograd: Callable[[Any], None] | None  # of a write into a tensor


# x, out, their cosines and sines, seq_axis, the plan if the kernel can rotate, the addresses of x and out
Task = tuple[Any, Any, CosSinRows, int, Plan | None, int, int]


def plan_for(
    name: str, x: Any, out: Any, cos_sin: CosSinRows, seq_axis: int, seen: bool, compiled: bool | None
) -> Task:
    """Refuse an x that the cosines and sines are not for, or an out that is not for x; plan the others."""
    if out is not None and getattr(x, "requires_grad", False) and sys.modules["torch"].is_grad_enabled():
        raise ValueError("out cannot be followed by a gradient: leave it out, or use torch.no_grad()")
    if not seen:
        _check(name, x, out, cos_sin, seq_axis)
        if compiled and not is_compiling():
            raise ValueError(NOT_PLAIN)
        return x, out, cos_sin, seq_axis, None, 0, 0
    elsewhere = out is not None and out is not x
    look, x_at = _look(x)
    out_look, out_at = _look(out) if elsewhere else (out is x, x_at)
    signature = look, out_look, cos_sin.kind, cos_sin.shape, seq_axis
    last, plan = _plan_cache.get(name, (None, None))
    if signature != last:  # to compare takes half the time of a search
        plan = _plan_cache.get(signature)
        if plan is None:
            _check(name, x, out, cos_sin, seq_axis)
            if len(_plan_cache) >= 1024:
                _plan_cache.clear()
            plan = _plan_cache[signature] = make_plan(x, out, cos_sin)
        _plan_cache[name] = signature, plan
    no_kernel = isinstance(plan, str)
    if elsewhere and (no_kernel or _meet(out_at - x_at, plan.out_span, plan.x_span)):
        check_out(out, x)
    if no_kernel and compiled:
        raise ValueError(plan)
    return x, out, cos_sin, seq_axis, None if no_kernel else plan, x_at, out_at


def _look(x: Any) -> tuple[tuple[Any, ...], int]:
    """All of an array that checks and plans depend on, and its address."""
    if isinstance(x, np.ndarray):
        at = address(x)
        return (type(x), x.dtype, x.shape, x.strides, x.flags.writeable, at & 7), at
    try:
        at = x.data_ptr()
        return (type(x), x.dtype, x.shape, x.stride(), x.device, x.is_neg(), at & 7), at
    except (AttributeError, RuntimeError):  # no array, which is refused, or a tensor without memory
        return (object(),), 0  # unlike any other


def _check(name: str, x: Any, out: Any, cos_sin: CosSinRows, seq_axis: int) -> None:
    check_kind(name, x, cos_sin)
    check_tokens(name, x.shape, cos_sin.shape, seq_axis)
    if out is not None and not is_compiling():
        check_out(out, x)
        if isinstance(out, np.ndarray) and not out.flags.writeable:
            raise ValueError("out must be writeable, got one that is read-only")


def make_plan(x: Any, out: Any, cos_sin: CosSinRows) -> Plan | str:
    r"""How to rotate what fits, into new memory for an out of None; a sentence where the kernel cannot.

    Axis −2 makes the rows. Where cos and sin change from row to row, each head rotates a block of rows before any
    goes on to the next, so that the block's cosines and sines are still in the cache.

    >>> x, cos_sin = np.array([[3.0, 4.0]]), CosSinRows("interleaved", np.array([[[0.0], [1.0]]]))
    >>> make_plan(x, x, cos_sin).turn(address(x), address(x), cos_sin.address, 1)
    >>> x.tolist()
    [[-4.0, 3.0]]
    """
    torch: Any = None if isinstance(x, np.ndarray) else sys.modules["torch"]
    if torch:
        plain = type(x) in (torch.Tensor, torch.nn.Parameter) and x.is_cpu
        if not plain or x.is_neg() or (out is not None and out.is_neg()):
            return NOT_PLAIN
    try:
        from rope_edu.fast import kernels  # here, as numba takes half a second
    except ImportError as error:
        return f"compiled=True needs numba, pip install numba: {error}"
    new = torch.empty_like if torch else np.empty_like
    out, size = new(x) if out is None else out, x.itemsize
    x_steps, out_steps, row_steps = map(strides_in_bytes, (x, out, cos_sin.rows))
    if (address(x) | address(out)) % size:
        return "compiled=True needs numbers at whole multiples of their size: copy x first"
    side_by_side = 0 in x.shape or x.shape[-1] == 1 or x_steps[-1] == out_steps[-1] == size
    if not side_by_side or any(step % size for step in (*x_steps, *out_steps)):
        return "compiled=True needs the features of x and out side by side: copy them first"
    missing = (0,) * (x.ndim - len(cos_sin.shape))  # there cos and sin stay the same, as along a length of 1
    row_steps = (*missing, *(n > 1 and step for n, step in zip(cos_sin.shape, row_steps, strict=False)))
    axes = list(zip(x.shape, x_steps, out_steps, row_steps, strict=True))[:-1]
    axes = [axis for axis in axes if axis[0] > 1] or [(1, 0, 0, 0)]
    n_rows, row_step = axes[-1][0], axes[-1][3]
    block = max(1, SHARED // row_step) if row_step else n_rows
    runs = 0 if 0 in x.shape else math.prod(axis[0] for axis in axes[:-1]) * -(-n_rows // block)
    shared = torch and runs > 1 and x.nbytes >= SEVERAL_THREADS
    spans = _span(x, x_steps), _span(x, out_steps)
    turn = kernels.turn(x, cos_sin, np.array(axes, dtype=np.int64), block, runs, shared)
    if torch:
        return Plan(turn, *spans, torch.Tensor.data_ptr, new, torch.autograd.graph.increment_version)
    return Plan(turn, *spans, address, new, None)


def check_apart(of_q: Task, of_k: Task) -> None:
    """Refuse to write q's result where k, or its result, lies: k would be read too late."""
    _, out_q, _, _, plan_q, _, at = of_q
    k, out_k, _, _, plan_k, k_at, out_k_at = of_k
    if plan_q and plan_k:  # k and its result lie apart, unless they are one
        near = _meet(at - k_at, plan_q.out_span, plan_k.x_span)
        near = near or (out_k_at != k_at and _meet(at - out_k_at, plan_q.out_span, plan_k.out_span))
    else:
        near = not is_compiling()
    for name, other in (("k", k), ("the out of k", out_k)) if near else ():
        if other is not None and shares_memory(out_q, other):
            raise ValueError(
                f"the out of q shares memory with {name}, and q is written before k is read: "
                "give each a place of its own, such as out=(q, k)"
            )


def _span(x: Any, steps: tuple[int, ...]) -> tuple[int, int]:
    reaches = [(n - 1) * step for n, step in zip(x.shape, steps, strict=True)]
    return sum(r for r in reaches if r < 0), sum(r for r in reaches if r > 0) + x.itemsize


def _meet(distance: int, span: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether two stretches of memory have a byte in common, the first number of one so far behind the other's."""
    return other[0] - span[1] < distance < other[1] - span[0]
