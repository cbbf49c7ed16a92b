r"""Call the kernel of numba: plan where rows lie, once for all arrays that look alike, and share long work."""

from __future__ import annotations

import contextlib
import functools
import math
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from rope_edu.encodings.validation import Array, address, dtype_name
from rope_edu.fast.rows import CosSinRows

CACHED = 2**17  # bytes of cosines and sines that heads share while the cache holds them
LARGE = 2**24  # bytes of a result that goes past the cache, and whose rows are asked for ahead of time
SEVERAL_THREADS = 2**22  # bytes of a result that are worth more threads than one
AHEAD = 8  # rows between the one that is turned and the one that memory is asked for
LINE = 64  # bytes that memory moves at once
STORED = {"float64": "float64", "float32": "float32", "bfloat16": "uint16", "float16": "int16"}
NO_PLACE = "out must have a place of its own for each number, got one that is read-only or broadcast"
NOT_PLAIN = "compiled=True needs plain tensors in main memory, outside of torch.func"


class NotCompiledError(ValueError):
    """The kernel cannot rotate this; the sentence says why."""


class Plan(NamedTuple):
    """How the kernel rotates an x into an `out`: what follows from their looks, wherever they lie."""

    at: Callable  # the address of an array of this kind
    kernel: (
        Callable | None
    )  # (address of x, of out, of the rows of cos and sin, sign, first run of rows, end of runs)
    runs: int
    long: bool  # worth several threads
    reach: int  # bytes: x and out share no memory if they begin so far apart
    refusal: str | None  # why the kernel cannot


def rotate(x: Array, cos_sin: CosSinRows, plan: Plan, out: Array | None = None, sign: int = 1) -> Array:
    r"""Rotate x by its plan into `out`, which may be x, or into a new array.

        first′ = cos · first − sin · second      second′ = cos · second + sin · first

    A sign of −1 turns by −θ. Raises NotCompiledError where the kernel cannot, and ValueError for an `out` that is
    read-only.

    >>> x, cos_sin = np.array([[3.0, 4.0]]), CosSinRows("interleaved", np.array([[[0.0], [1.0]]]))
    >>> rotate(x, cos_sin, make_plan(x, cos_sin)).tolist()
    [[-4.0, 3.0]]
    """
    if plan.refusal:
        raise NotCompiledError(plan.refusal)
    is_tensor, fresh = not isinstance(x, np.ndarray), out is None
    lib = sys.modules["torch"] if is_tensor else np
    if is_tensor and (x.is_neg() or (not fresh and out.is_neg())):
        raise NotCompiledError(NOT_PLAIN)
    out = lib.empty_like(x) if fresh else out
    if not is_tensor and not out.flags.writeable:
        raise ValueError(NO_PLACE)
    x_at, out_at = plan.at(x), plan.at(out)
    threads = lib.get_num_threads() if plan.long and is_tensor else 1
    if threads == 1:
        plan.kernel(x_at, out_at, cos_sin.address, sign, 0, plan.runs)
    else:
        _share(plan, (x_at, out_at, cos_sin.address, sign), threads)
    if is_tensor and not fresh and not out.is_inference():
        lib.autograd.graph.increment_version(out)  # a write that autograd has not seen
    return out


def _share(plan: Plan, arguments: tuple[int, ...], threads: int) -> None:
    """Let threads share the runs: Python's, made for the call, as numba's bear no second caller."""
    edges = [plan.runs * n // threads for n in range(threads + 1)]
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda n: plan.kernel(*arguments, edges[n], edges[n + 1]), range(threads)))


def make_plan(x: Array, cos_sin: CosSinRows, out: Array | None = None) -> Plan:
    """Plan how to rotate x, which fits its cosines and sines, into `out`, which fits x, or into a new array.

    Axis −2 makes the rows; where cos and sin change from row to row, heads take turns on blocks of rows.
    Raises ValueError for an `out` that is broadcast.
    """
    (*counts, head_dim), size, kept = x.shape, x.itemsize, 8 if dtype_name(cos_sin) == "float64" else 4
    lib, at, meta = np, address, {}
    if not isinstance(x, np.ndarray):
        lib = sys.modules["torch"]
        at, meta = lib.Tensor.data_ptr, {"device": "meta"}
    x_steps = _steps(x)
    out_steps = _steps(lib.empty_like(x, **meta) if out is None else out)  # a new array's, where one is made
    nbytes = math.prod(x.shape) * size
    if nbytes and any(n > 1 and not step for n, step in zip(x.shape, out_steps, strict=True)):
        raise ValueError(NO_PLACE)
    cos_sin_steps = _cos_sin_steps(cos_sin.shape, kept, len(counts))
    axes = [axis for axis in zip(counts, x_steps, out_steps, cos_sin_steps, strict=False) if axis[0] > 1]
    rows, *row_steps = axes.pop() if axes else (1, 0, 0, 0)
    block = max(1, CACHED // row_steps[2]) if row_steps[2] else rows
    others = math.prod(axis[0] for axis in axes)
    runs = others * -(-rows // block) if nbytes else 0
    past_cache = nbytes >= LARGE and out is not None
    starts = cos_sin.shape[-1] * size, row_steps[1], *(axis[2] for axis in axes)
    kernel_args = [
        rows,
        head_dim * size,
        cos_sin.shape[-1],
        cos_sin.layout == "half_split",
        block,
        others,
        kept,
    ]
    kernel_args += [
        AHEAD * row_steps[0] * (nbytes >= LARGE),
        past_cache and not any(n % LINE for n in starts),
    ]
    kernel_args += [*row_steps, *(n for axis in axes for n in axis)]
    side_by_side = not nbytes or head_dim == 1 or x_steps[-1] == out_steps[-1] == size
    turn, refusal = _kernel(x, np.array(kernel_args, dtype=np.int64), side_by_side)
    reach = max(_reach(x, x_steps, out_steps), _reach(x, out_steps, x_steps)) if nbytes else 0
    return Plan(at, turn, runs, runs > 1 and nbytes >= SEVERAL_THREADS, reach, refusal)


def _kernel(x: Array, kernel_args: np.ndarray, side_by_side: bool) -> tuple[Callable | None, str | None]:
    """Return the kernel, compiled for an x, with what it is kernel_args; or none, and why."""
    torch = None if isinstance(x, np.ndarray) else sys.modules["torch"]
    if torch and (type(x) not in (torch.Tensor, torch.nn.Parameter) or not x.is_cpu):
        return None, NOT_PLAIN
    if not side_by_side:
        return None, "compiled=True needs the features of x and out side by side: copy them first"
    try:
        from rope_edu.fast.kernels import rotate_rows  # here, as numba takes half a second
    except ImportError as error:
        return None, f'compiled=True needs numba, pip install "rope-edu[fast]": {error}'
    given = kernel_args, np.empty(0, STORED[dtype_name(x)])
    nowhere = 0, 0, 0, 1, 0, 0
    with contextlib.suppress(OSError):  # compiled, but there was no place to keep it
        rotate_rows(*given, *nowhere)
    code = rotate_rows.get_overload(tuple(map(rotate_rows.typeof_pyval, (*given, *nowhere))))
    return functools.partial(code, *given), None  # past numba's look at types, a fifth of a microsecond


def _steps(x: Array) -> tuple[int, ...]:
    """Return the strides in bytes."""
    return x.strides if isinstance(x, np.ndarray) else tuple(x.itemsize * step for step in x.stride())


def _reach(x: Array, steps: tuple[int, ...], other: tuple[int, ...]) -> int:
    """Return how far an array must begin before another of the same shape to end before that begins."""
    spans = [(n - 1) * (max(a, 0) + max(-b, 0)) for n, a, b in zip(x.shape, steps, other, strict=True)]
    return sum(spans) + x.itemsize


def _cos_sin_steps(turned: tuple[int, ...], itemsize: int, axes: int) -> list[int]:
    """Return by how many bytes rows of cos and sin lie apart along each axis of x; 0 where they stay."""
    *counts, pairs = turned
    step, steps = 2 * pairs * itemsize, []
    for n in reversed(counts):
        steps.append(step if n > 1 else 0)
        step *= n
    return ([0] * axes + steps[::-1])[-axes:] if axes else []
