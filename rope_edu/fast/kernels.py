# mypy: ignore-errors
# numba's decorators have no types, and the code they compile is not ordinary Python.
r"""The numba kernel, which rotates rows of pairs in a single pass over memory.

LLVM vectorises its simple loops. If `out` is x itself, LLVM must assume that each write may change the next number
to be read, and does not vectorise. A row is therefore rotated into a scratch row and copied back, all in the L1
cache. Hand-written LLVM code with prefetching was 6 % faster in one of four cases, and up to 25 % slower otherwise.

This module needs numba. `plan` imports it at the first call. Compiling takes seconds; the code is cached on disk.
"""

import contextlib
import functools
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba import carray, config, njit, types
from numba.extending import intrinsic, overload

from rope_edu.encodings.validation import dtype_name
from rope_edu.fast.rows import CosSinRows

STORED_AS = {"bfloat16": "uint16", "float16": "int16"}
FEATURES = config.CPU_FEATURES or ("" if config.CPU_NAME else binding.get_host_cpu_features().flatten())
# Without F16C, LLVM calls a function that numba does not load, and the process aborts.
LACKS_F16C = binding.get_default_triple().startswith("x86_64") and "+f16c" not in FEATURES
NOT_COMPILED = ("float16", "torch.float16") if LACKS_F16C else ()


def cached_on_disk(function):
    """Compile a function at its first call, and cache the code on disk if numba finds a writable folder."""
    try:
        return njit(cache=True, nogil=True)(function)
    except RuntimeError:
        return njit(nogil=True)(function)


@intrinsic
def _row_pointer(typing_context, address, dtype):
    """Convert an address to a pointer to numbers of the given dtype."""

    def code(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return types.CPointer(dtype.dtype)(types.int64, dtype), code


@intrinsic
def _from_float16(typing_context, bits):
    def code(context, builder, signature, arguments):
        return builder.fpext(builder.bitcast(arguments[0], ir.HalfType()), ir.FloatType())

    return types.float32(types.int16), code


@intrinsic
def _to_float16(typing_context, number):
    def code(context, builder, signature, arguments):
        return builder.bitcast(builder.fptrunc(arguments[0], ir.HalfType()), ir.IntType(16))

    return types.int16(types.float32), code


def widen(stored):
    """Widen a stored number to its compute dtype: bfloat16 (as uint16) and float16 (as int16) to float32."""


def narrow(number, like):
    """Round a number to an array's stored dtype, half to even; NaN stays NaN."""


@overload(widen)
def _widen(stored):
    if stored == types.uint16:  # bfloat16 is the upper half of float32
        return lambda stored: np.uint32(np.uint32(stored) << np.uint32(16)).view(np.float32)
    return (lambda stored: _from_float16(stored)) if stored == types.int16 else lambda stored: stored


@overload(narrow)
def _narrow(number, like):
    if like.dtype == types.uint16:
        half = np.uint32(0x7FFF)  # just below half a unit; adding bfloat16's last bit rounds ties to even

        def to_bfloat16(number, like):
            bits = np.float32(number).view(np.uint32)
            odd = (bits >> np.uint32(16)) & np.uint32(1)
            return np.uint16(np.uint32(bits + half + odd) >> np.uint32(16))

        return to_bfloat16
    if like.dtype == types.int16:
        return lambda number, like: _to_float16(number)
    return lambda number, like: number


@njit(forceinline=True)
def _rotate_row(x, out, cos_sin, pairs, sign, half_split):
    """Rotate the pairs of one head at one position."""
    if half_split:
        for i in range(pairs):
            a, b, c, s = widen(x[i]), widen(x[pairs + i]), cos_sin[i], sign * cos_sin[pairs + i]
            out[i] = narrow(c * a - s * b, x)
            out[pairs + i] = narrow(c * b + s * a, x)
    else:
        for i in range(pairs):
            a, b, c, s = widen(x[2 * i]), widen(x[2 * i + 1]), cos_sin[i], sign * cos_sin[pairs + i]
            out[2 * i] = narrow(c * a - s * b, x)
            out[2 * i + 1] = narrow(c * b + s * a, x)


@cached_on_disk
def rotate_rows(
    stored, wide, axes, block, head_dim, pairs, half_split, start, stop, x_at, out_at, cos_sin_at, sign
):
    """Rotate the runs from `start` to `stop` − 1; a run is up to `block` rows of one head.

    `stored` and `wide` are the dtypes of x and of the cosines and sines. A row of `axes` is (length, stride in x,
    stride in out, stride in the rows of cos and sin), with strides in bytes; the last axis is that of the rows.
    `x_at`, `out_at` and `cos_sin_at` are addresses; `out_at` may equal `x_at`. A `sign` of −1 rotates by −θ.
    """
    length, x_step, out_step, cos_sin_step = axes[-1]
    others = axes[:-1, 0].prod()
    scratch, in_place, sign = np.empty(2 * pairs, stored), x_at == out_at, wide.type(sign)
    for run in range(start, stop):
        first, other = run // others * block, run % others
        x_run, out_run, cos_sin_run = x_at, out_at, cos_sin_at
        for axis in range(len(axes) - 2, -1, -1):  # the last axis varies fastest
            index, other = other % axes[axis, 0], other // axes[axis, 0]
            x_run += index * axes[axis, 1]
            out_run += index * axes[axis, 2]
            cos_sin_run += index * axes[axis, 3]
        for row in range(first, min(first + block, length)):
            x = carray(_row_pointer(x_run + row * x_step, stored), (head_dim,))
            out = carray(_row_pointer(out_run + row * out_step, stored), (head_dim,))
            cos_sin = carray(_row_pointer(cos_sin_run + row * cos_sin_step, wide), (2 * pairs,))
            _rotate_row(x, scratch if in_place else out, cos_sin, pairs, sign, half_split)
            if in_place:
                for i in range(2 * pairs):
                    out[i] = scratch[i]
            else:
                for i in range(2 * pairs, head_dim):
                    out[i] = x[i]


def kernel_for(
    x: Any, cos_sin: CosSinRows, axes: np.ndarray, block: int, runs: int, threaded: bool
) -> Callable[..., None]:
    """Return a kernel compiled for x; its arguments are the addresses of x, `out` and the rows, and the sign."""
    name, half_split = str(x.dtype).removeprefix("torch."), cos_sin.layout == "half_split"
    stored, wide = np.dtype(STORED_AS.get(name, name)), np.dtype(dtype_name(cos_sin))
    fixed = stored, wide, axes, block, x.shape[-1], cos_sin.shape[-1], half_split
    no_runs = *fixed, 0, 0, 0, 0, 0, 1  # without runs, the addresses are never read
    with contextlib.suppress(OSError):  # raised only after compiling, if the disk cannot be written
        rotate_rows(*no_runs)
    code = rotate_rows.get_overload(tuple(map(rotate_rows.typeof_pyval, no_runs)))
    kernel = functools.partial(code, *fixed)  # without numba's type dispatch, which takes 0.2 µs
    return functools.partial(_on_threads, kernel, runs) if threaded else functools.partial(kernel, 0, runs)


def _on_threads(kernel: Callable[..., None], runs: int, *addresses_and_sign: int) -> None:
    """Divide the runs among as many new threads as torch uses; numba's own threads serve one caller at a time."""
    threads = sys.modules["torch"].get_num_threads()
    edges = [runs * n // threads for n in range(threads + 1)]
    if threads == 1:
        kernel(0, runs, *addresses_and_sign)
    else:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(lambda start, stop: kernel(start, stop, *addresses_and_sign), edges, edges[1:]))
