r"""Call the kernel: plan where rows lie, once for all arrays that look alike, and share long work among threads."""

from __future__ import annotations

import contextlib
import functools
import math
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from rope_edu.arrays import Array
from rope_edu.encodings.validation import address, dtype_name, strides_in_bytes
from rope_edu.fast.rows import CosSinRows

SHARED = 2**21  # bytes of cosines and sines that one head after the other reads from the cache
SEVERAL_THREADS = 2**22  # bytes of a result that are worth more threads than one
STORED_AS = {"float64": "float64", "float32": "float32", "bfloat16": "uint16", "float16": "int16"}
NOT_PLAIN = "compiled=True needs plain tensors in main memory, outside of torch.func"
SCATTERED = "compiled=True needs the features of x and out side by side: copy them first"


class NotCompiledError(ValueError):
    """The kernel cannot rotate this; the sentence says why."""


class Plan(NamedTuple):
    """How the kernel rotates an x into an `out`: all that follows from their strides, wherever they lie."""

    address: Callable[[Any], int]  # of an array of this kind
    kernel: Callable[..., None] | None  # (address of x, of out, of the rows, sign, first run, last run + 1)
    runs: int  # of rows, each a part of one head
    long: bool  # worth several threads
    itemsize: int
    x_span: tuple[int, int]  # bytes from the first number of x to its lowest, and to the end of its highest
    out_span: tuple[int, int]
    refusal: str | None  # why the kernel cannot


def run(plan: Plan, x: Any, cos_sin: CosSinRows, out: Any = None, sign: int = 1) -> Any:
    r"""Rotate x by its plan into `out`, which may be x, or into a new array.

        first′ = cos · first − sin · second      second′ = cos · second + sin · first

    A sign of −1 rotates by −θ. Raises NotCompiledError where the kernel cannot, and ValueError for an `out` that is
    read-only.

    >>> x, cos_sin = np.array([[3.0, 4.0]]), CosSinRows("interleaved", np.array([[[0.0], [1.0]]]))
    >>> run(make_plan(x, cos_sin), x, cos_sin).tolist()
    [[-4.0, 3.0]]
    """
    if plan.kernel is None:
        raise NotCompiledError(plan.refusal)
    is_tensor, is_new = not isinstance(x, np.ndarray), out is None
    lib = sys.modules["torch"] if is_tensor else np
    if is_tensor and (x.is_neg() or (not is_new and out.is_neg())):
        raise NotCompiledError(NOT_PLAIN)
    out = lib.empty_like(x) if is_new else out
    if not is_tensor and not out.flags.writeable:
        raise ValueError("out must be writeable, got one that is read-only")
    places = plan.address(x), plan.address(out), cos_sin.address
    if (places[0] | places[1]) % plan.itemsize:
        raise NotCompiledError("compiled=True needs numbers at whole multiples of their size: copy x first")
    threads = lib.get_num_threads() if plan.long and is_tensor else 1
    if threads == 1:
        plan.kernel(*places, sign, 0, plan.runs)
    else:  # Python's threads, made for the call, as numba's bear no second caller
        edges = [plan.runs * n // threads for n in range(threads + 1)]
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(functools.partial(plan.kernel, *places, sign), edges, edges[1:]))
    if is_tensor and not is_new and not out.is_inference():
        lib.autograd.graph.increment_version(out)  # a write that autograd has not seen
    return out


def make_plan(x: Any, cos_sin: CosSinRows, out: Any = None) -> Plan:
    """Plan how to rotate x, which fits its cosines and sines, into `out`, which fits x, or into a new array.

    Axis −2 makes the rows. Where cos and sin change from row to row, each head rotates a block of rows before any
    goes on to the next, so that the block's cosines and sines are still in the cache.
    """
    (*lengths, head_dim), size, x_steps = x.shape, x.itemsize, strides_in_bytes(x)
    if out is not None:
        out_steps = strides_in_bytes(out)
    else:  # those that a new array will have
        is_array = isinstance(x, np.ndarray)
        like = np.empty_like(x) if is_array else sys.modules["torch"].empty_like(x, device="meta")
        out_steps = strides_in_bytes(like)
    empty = 0 in x.shape
    steps = zip(lengths, x_steps, out_steps, _cos_sin_steps(cos_sin, len(lengths)), strict=False)
    axes = [axis for axis in steps if axis[0] > 1] or [(1, 0, 0, 0)]
    n_rows, cos_sin_step = axes[-1][0], axes[-1][3]
    block = max(1, SHARED // cos_sin_step) if cos_sin_step else n_rows
    runs = 0 if empty else math.prod(axis[0] for axis in axes[:-1]) * -(-n_rows // block)
    side_by_side = empty or head_dim == 1 or x_steps[-1] == out_steps[-1] == size
    aligned = all(step % size == 0 for step in (*x_steps, *out_steps))
    kernel, refusal = _kernel(x, cos_sin, axes, block) if side_by_side and aligned else (None, SCATTERED)
    long = runs > 1 and math.prod(x.shape) * size >= SEVERAL_THREADS
    at = address if isinstance(x, np.ndarray) else sys.modules["torch"].Tensor.data_ptr
    return Plan(at, kernel, runs, long, size, _span(x, x_steps), _span(x, out_steps), refusal)


def _kernel(
    x: Any, cos_sin: CosSinRows, axes: list[Any], block: int
) -> tuple[Callable[..., None] | None, str | None]:
    """The kernel compiled for an x, with all arguments but addresses, sign and runs; or None, and why."""
    torch = None if isinstance(x, np.ndarray) else sys.modules["torch"]
    if torch and (type(x) not in (torch.Tensor, torch.nn.Parameter) or not x.is_cpu):
        return None, NOT_PLAIN
    try:
        from rope_edu.fast.kernels import rotate_rows  # here, as numba takes half a second
    except ImportError as error:
        return None, f'compiled=True needs numba, pip install "rope-edu[fast]": {error}'
    like, wide = np.empty(0, STORED_AS[dtype_name(x)]), np.empty(0, dtype_name(cos_sin))
    half_split = cos_sin.layout == "half_split"
    given = like, wide, np.array(axes, dtype=np.int64), block, x.shape[-1], cos_sin.shape[-1], half_split
    no_work = 0, 0, 0, 1, 0, 0
    with contextlib.suppress(OSError):  # compiled, but there was no place to keep it
        rotate_rows(*given, *no_work)
    code = rotate_rows.get_overload(tuple(map(rotate_rows.typeof_pyval, (*given, *no_work))))
    return functools.partial(code, *given), None  # past numba's look at types, a fifth of a microsecond


def _cos_sin_steps(cos_sin: CosSinRows, axes: int) -> list[int]:
    """Bytes between rows of cos and sin along each axis of x before the last; 0 where they stay the same."""
    *lengths, pairs = cos_sin.shape
    step, steps = 2 * pairs * (8 if dtype_name(cos_sin) == "float64" else 4), [0] * axes
    for axis, n in enumerate(reversed(lengths[-axes:] if axes else []), start=1):
        steps[-axis] = step if n > 1 else 0
        step *= n
    return steps


def _span(x: Array, steps: tuple[int, ...]) -> tuple[int, int]:
    reaches = [(n - 1) * step for n, step in zip(x.shape, steps, strict=True)]
    return sum(r for r in reaches if r < 0), sum(r for r in reaches if r > 0) + x.itemsize  # type: ignore[attr-defined]
