r"""The kernel of native.cpp, compiled where the caller asks for it: one pass, no scratch, NumPy and torch alike.

Needs a C++ compiler (`c++`, or what the variable CXX names); it is run once in a process and takes about a second.
"""

from __future__ import annotations

import ctypes
import functools
import math
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from array_api_compat import array_namespace

from rope_edu.encodings._checks import Array, dtype_name
from rope_edu.fast.turns import Turns

SOURCE = Path(__file__).with_name("native.cpp")
OPTIONS = (  # the first that the compiler accepts
    ("-O3", "-march=native", "-mprefer-vector-width=512", "-fopenmp"),
    ("-O3", "-march=native", "-fopenmp"),
    ("-O3", "-march=native"),
    ("-O3",),
)
CACHED = 2**12  # turns in a block: 32 KiB of complex64
LARGE = 2**24  # bytes of a result that is written past the cache
LINE = 64  # bytes that memory moves at once
SEVERAL_THREADS = 2**20  # bytes of a result that are worth more threads than one
MOST_AXES = 8


def rotate(x: Array, turns: Turns, seq_axis: int, out: Array | None = None, back: bool = False) -> Array:
    r"""Rotate x, an array or a tensor in main memory that fits its turns, into `out`, which may be x, or a new one.

        first′ = cos · first − sin · second      second′ = cos · second + sin · first

    16-bit numbers are turned in float64 and rounded once; for that their turns are to be `exact`. Tensors are
    shared out among torch's threads.

    Args:
        x: `(…, seq, head_dim)`, or with the heads after the sequence where `seq_axis` is −3.
        turns: `(…, seq, [1,] pairs)`.
        out: like x.
        back: turn by −θ.

    Raises:
        ValueError: there is no C++ compiler, or the features of x or `out` do not lie side by side.

    >>> x = np.array([[3.0, 4.0]])
    >>> rotate(x, Turns("interleaved", (np.array([[1j]]),), ()), -2, out=x).tolist()
    [[-4.0, 3.0]]
    """
    name = dtype_name(x)
    kernel = getattr(library(), f"rotate_{name}", None)
    if kernel is None:
        raise ValueError(f"the C++ compiler knows no {name}: leave compiled=True out")
    fresh = out is None  # its pages come through the cache, so there is no use in writing past it
    if fresh:
        out = np.empty_like(x) if isinstance(x, np.ndarray) else sys.modules["torch"].empty_like(x)
    if 0 not in x.shape:
        parts = _as_wide(turns.parts, x)
        plan, addresses = _plan(x, turns, parts, seq_axis, out, back, fresh)
        kernel(plan, *addresses)
    return out


def _plan(
    x: Array, turns: Turns, parts: tuple[Array, ...], seq_axis: int, out: Array, back: bool, fresh: bool
) -> tuple[ctypes.Array, tuple[int, ...]]:
    """Return what the kernel is told, in the order of its struct Plan, and where x, turns, sines and out lie."""
    pairs = turns.parts[0].shape[-1]
    spread = _broadcast(parts[0], (*x.shape[:-1], pairs))
    arrays = x, out, spread
    for name, array in zip(("x", "out", "turns"), arrays, strict=True):
        _check_side_by_side(name, array)
    _check_writeable(out)
    strides = [_strides(array) for array in arrays]
    sizes, in_place, n_bytes = x.shape, _address(x) == _address(out), out.nbytes
    around = [axis for axis in range(x.ndim - 1) if axis != x.ndim + seq_axis]
    if len(around) > MOST_AXES:
        raise ValueError(f"compiled=True takes at most {MOST_AXES + 2} axes, got {x.ndim}")
    lines = (_address(out) | sizes[-1] * x.itemsize) % LINE == 0  # else lines would be written in pieces
    stream = lines and n_bytes >= LARGE and x.itemsize > 2 and not (in_place or fresh)
    heads_inside = seq_axis == -3 and sizes[-2] > 1
    plan = [
        *(sizes[seq_axis], sizes[-1], pairs, turns.layout == "half_split", back),
        1 if heads_inside else max(1, CACHED // pairs),
        *(in_place, stream, _threads(x) if n_bytes >= SEVERAL_THREADS else 1),
        math.prod(sizes[axis] for axis in around if strides[2][axis] == 0),
        *(stride[seq_axis] for stride in strides),
        len(around),
        *(number for axis in around for number in (sizes[axis], *(stride[axis] for stride in strides))),
    ]
    return (ctypes.c_int64 * len(plan))(*plan), tuple(_address(a) for a in (x, parts[0], parts[-1], out))


def _as_wide(parts: tuple[Array, ...], x: Array) -> tuple[Array, ...]:
    """Return turns in float64 for 16 bits: as they are if they are exact, else as exact as they are."""
    if x.itemsize > 2 or dtype_name(parts[0]) in ("float64", "complex128"):
        return parts
    xp = array_namespace(x)
    return tuple(xp.astype(part, xp.float64 if len(parts) == 2 else xp.complex128) for part in parts)


@functools.cache
def library() -> ctypes.CDLL:
    """Compile the kernel and load it, once in a process."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        made = Path(folder, "native.so")
        command = [*_compiler(), "-std=c++17", "-shared", "-fPIC", str(SOURCE), "-o", str(made)]
        for options in OPTIONS:
            complaint = _complaint([*command, *options])
            if complaint is None:
                break
        else:
            raise ValueError(f"compiled=True needs a C++ compiler that works, {command[0]} says: {complaint}")
        loaded = ctypes.CDLL(str(made))
    for name in ("float32", "float64", "bfloat16", "float16"):
        kernel = getattr(loaded, f"rotate_{name}", None)
        if kernel is not None:
            kernel.argtypes, kernel.restype = [ctypes.c_void_p] * 5, None
    return loaded


def _complaint(command: list[str]) -> str | None:
    """Run a compiler; return what it complains of, if it fails."""
    try:
        run = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        return str(error)
    return run.stderr.strip() or f"exit {run.returncode}" if run.returncode else None


def _compiler() -> list[str]:
    """Return the command of the C++ compiler."""
    named = shlex.split(os.environ.get("CXX", ""))
    found = [[path] for name in ("c++", "g++", "clang++") if (path := shutil.which(name))]
    if not named and not found:
        raise ValueError("compiled=True needs a C++ compiler (c++, or the variable CXX), found none")
    return named or found[0]


def _check_side_by_side(name: str, array: Array) -> None:
    if _strides(array)[-1] != 1 and array.shape[-1] > 1:
        raise ValueError(f"compiled=True needs the features of {name} side by side in memory: copy it first")


def _check_writeable(out: Array) -> None:
    read_only = isinstance(out, np.ndarray) and not out.flags.writeable
    if read_only or any(n > 1 and not stride for n, stride in zip(out.shape, _strides(out), strict=True)):
        raise ValueError(
            "out must have a place of its own for each number, got one that is read-only or broadcast"
        )


def _threads(x: Array) -> int:
    """Return how many threads torch would use; NumPy uses one."""
    return 1 if isinstance(x, np.ndarray) else sys.modules["torch"].get_num_threads()


def _broadcast(array: Array, shape: tuple[int, ...]) -> Array:
    return np.broadcast_to(array, shape) if isinstance(array, np.ndarray) else array.expand(shape)


def _strides(array: Array) -> tuple[int, ...]:
    """Return strides in numbers, not bytes."""
    if not isinstance(array, np.ndarray):
        return array.stride()
    if not array.flags.aligned:
        raise ValueError(
            "compiled=True needs numbers at addresses that their size divides: copy the array first"
        )
    return tuple(stride // array.itemsize for stride in array.strides)


def _address(array: Array) -> int:
    return array.ctypes.data if isinstance(array, np.ndarray) else array.data_ptr()
