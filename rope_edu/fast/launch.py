r"""Call the kernel of numba: say where each row lies, keep what was said, share long work among threads."""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from rope_edu.encodings._checks import Array
from rope_edu.fast.turns import Turns

CACHED = 2**16  # bytes of turns that heads share while the cache holds them
LARGE = 2**24  # bytes of a result that goes past the cache, and whose rows are asked for ahead of time
SEVERAL_THREADS = 2**22  # bytes of a result that are worth more threads than one
LINE = 64  # bytes that memory moves at once
STORED = {"float64": "float64", "float32": "float32", "bfloat16": "uint16", "float16": "int16"}
NO_PLACE = "out must have a place of its own for each number, got one that is read-only or broadcast"


class NotCompiledError(ValueError):
    """The kernel cannot rotate this; the sentence says why."""


def rotate(x: Array, turns: Turns, out: Array | None = None, sign: int = 1) -> Array:
    r"""Rotate x, in main memory, that fits its turns, into `out`, which may be x, or into a new array.

        first′ = cos · first − sin · second      second′ = cos · second + sin · first

    The features of x `(…, head_dim)` lie side by side; the leading axes of the turns `(…, pairs)` broadcast to its
    own; a sign of −1 turns by −θ. Raises NotCompiledError where numba is missing or cannot reach x or `out`, and
    ValueError for an `out` that is read-only or broadcast.

    >>> rotate(np.array([[3.0, 4.0]]), Turns("interleaved", np.array([[[0.0], [1.0]]]))).tolist()
    [[-4.0, 3.0]]
    """
    rotate_rows, is_tensor, fresh = _kernel(), not isinstance(x, np.ndarray), out is None
    if is_tensor:
        check_plain(x if fresh else out)
        if not fresh and out is not x:
            check_plain(x)
        out = sys.modules["torch"].empty_like(x) if fresh else out
        x_strides, out_strides, x_at, out_at = x.stride(), out.stride(), x.data_ptr(), out.data_ptr()
    else:
        out = np.empty_like(x) if fresh else out
        x_strides, out_strides, x_at, out_at = (
            x.strides,
            out.strides,
            *(a.__array_interface__["data"][0] for a in (x, out)),
        )
        if not out.flags.writeable:
            raise ValueError(NO_PLACE)
    may_stream = not fresh and x_at != out_at and out_at % LINE == 0
    strides = x_strides, out_strides
    plan, runs, large = _plan(x.dtype, x.shape, strides, turns.layout, turns.shape, sign, may_stream)
    if (x_at | out_at) % plan[1].itemsize:
        raise NotCompiledError("compiled=True needs numbers at addresses that their size divides")
    threads = sys.modules["torch"].get_num_threads() if is_tensor and large else 1
    _run(rotate_rows, (*plan, x_at, out_at, turns.address), runs, threads)
    if is_tensor and not fresh and not out.is_inference():
        sys.modules["torch"].autograd.graph.increment_version(out)  # a write that autograd has not seen
    return out


def check_plain(x: Array) -> None:
    """Refuse a tensor that is not simply numbers in main memory: on a GPU, wrapped, differentiated forward."""
    torch = sys.modules["torch"]
    if (
        type(x) not in (torch.Tensor, torch.nn.Parameter)
        or not x.is_cpu
        or x.is_neg()
        or torch._C._are_functorch_transforms_active()
        or torch.autograd.forward_ad._current_level >= 0
    ):
        raise NotCompiledError("compiled=True needs plain tensors in main memory, outside of torch.func")


def _run(rotate_rows: Callable, arguments: tuple, runs: int, threads: int) -> None:
    """Let the kernel do all runs; threads are Python's, made for the call, as numba's bear no second caller."""
    try:
        rotate_rows(*arguments, 0, runs if threads == 1 else 0)
    except OSError:  # compiled, but there was no place to keep it: once more, now it is there
        rotate_rows(*arguments, 0, runs if threads == 1 else 0)
    if threads > 1:
        edges = [runs * n // threads for n in range(threads + 1)]
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(lambda n: rotate_rows(*arguments, edges[n], edges[n + 1]), range(threads)))


@functools.lru_cache(maxsize=1024)
def _plan(
    dtype: Any,
    shape: tuple[int, ...],
    strides: tuple[tuple[int, ...], tuple[int, ...]],
    layout: str,
    turned: tuple[int, ...],
    sign: int,
    may_stream: bool,
) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray], int, bool]:
    """Return what the kernel is told, how many runs of rows there are, and whether more threads are worth it.

    The first is a plan, in the order in which the kernel reads it, and two empty arrays that show how numbers are
    stored and turns are kept. Axis −2 makes the rows; where turns change from row to row they come in blocks,
    and other heads take the same block next.
    """
    name = str(dtype).removeprefix("torch.")
    like, wide = np.empty(0, STORED[name]), np.empty(0, "float64" if name == "float64" else "float32")
    size, unit = like.itemsize, 1 if isinstance(dtype, np.dtype) else like.itemsize
    x, out = ([unit * stride for stride in each] for each in strides)
    there = 0 not in shape  # NumPy gives an array without numbers the strides 0
    if there and shape[-1] > 1 and not x[-1] == out[-1] == size:
        raise NotCompiledError("compiled=True needs the features of x and out side by side: copy them first")
    if there and any(n > 1 and not stride for n, stride in zip(shape, out, strict=True)):
        raise ValueError(NO_PLACE)
    *counts, head_dim = shape
    axes = zip(counts, x[:-1], out[:-1], _turn_strides(turned, wide.itemsize, len(counts)), strict=True)
    axes = [axis for axis in axes if axis[0] > 1]
    rows, *steps = axes.pop() if axes else (1, 0, 0, 0)
    block = max(1, CACHED // steps[2]) if steps[2] else rows
    others, nbytes = math.prod(axis[0] for axis in axes), math.prod(shape) * size
    large = nbytes >= LARGE
    lines = not any(n % LINE for n in (head_dim * size, steps[1], *(axis[2] for axis in axes)))
    plan = [rows, head_dim, turned[-1], layout == "half_split", block, others, sign, large]
    plan += [large and lines and may_stream, *steps, *(n for axis in axes for n in axis)]
    runs = others * -(-rows // block) if nbytes else 0
    return (np.array(plan, dtype=np.int64), like, wide), runs, runs > 1 and nbytes >= SEVERAL_THREADS


def _turn_strides(turned: tuple[int, ...], itemsize: int, axes: int) -> list[int]:
    """Return by how many bytes turns lie apart along each axis of x; 0 where they stay."""
    *counts, pairs = turned
    step, strides = 2 * pairs * itemsize, []
    for n in reversed(counts):
        strides.append(step if n > 1 else 0)
        step *= n
    return ([0] * axes + strides[::-1])[-axes:] if axes else []


@functools.cache
def _kernel():
    """Import the kernel once it is needed: numba takes half a second."""
    try:
        from rope_edu.fast.kernels import rotate_rows
    except ImportError as error:
        raise NotCompiledError(f'compiled=True needs numba, pip install "rope-edu[fast]": {error}') from None
    return rotate_rows
