r"""The kernel of native.cpp, compiled where the caller asks for it: one pass, no scratch, NumPy and torch alike.

Needs a C++ compiler (`c++`, or what the variable CXX names); it is run once in a process and takes some seconds.
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
from collections.abc import Callable
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
CACHED = 2**17  # bytes of turns in a block
LARGE = 2**24  # bytes of a result that is written past the cache
LINE = 64  # bytes that memory moves at once
SEVERAL_THREADS = 2**20  # bytes of a result that are worth more threads than one
MOST_AXES = 8
NO_PLACE = "out must have a place of its own for each number, got one that is read-only or broadcast"


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
    fresh = out is None  # its pages come through the cache, so there is no use in writing past it
    if fresh:
        out = np.empty_like(x) if isinstance(x, np.ndarray) else sys.modules["torch"].empty_like(x)
    if 0 not in x.shape:
        wide = _as_wide(turns, x)
        kernel, plan = _call(x, wide, seq_axis, out, back, fresh)
        kernel(plan, _address(x), *addresses(wide), _address(out))
        if out is x and wide is turns and seq_axis == -2 and not back and _may_be_kept(x):
            turns.calls[x.shape] = x.dtype, kernel, plan
    return out


def addresses(turns: Turns) -> tuple[int, int]:
    """Return where cos and sin lie."""
    return _address(turns.parts[0]), _address(turns.parts[-1])


def _may_be_kept(x: Array) -> bool:
    """Tell whether a call for x is one for every tensor of its dtype and shape that has no gaps."""
    return not isinstance(x, np.ndarray) and x.is_contiguous() and x.nbytes < SEVERAL_THREADS


def _call(
    x: Array, turns: Turns, seq_axis: int, out: Array, back: bool, fresh: bool
) -> tuple[Callable, ctypes.Array]:
    """Return the kernel and what it is told."""
    kernel = kernels().get(dtype_name(x))
    if kernel is None:
        raise ValueError(f"the C++ compiler knows no {dtype_name(x)}: leave compiled=True out")
    if isinstance(x, np.ndarray):
        _check_aligned(x, out)
    parts, at_x, at_out = turns.parts, _address(x), _address(out)
    lines = (at_out | x.shape[-1] * x.itemsize) % LINE == 0 or _strides(out)[-2] == x.shape[-1]  # no pieces
    plan = _plan(
        (tuple(x.shape), tuple(parts[0].shape), seq_axis),
        (_strides(x), _strides(out), _strides(parts[0])),
        (turns.layout == "half_split", back),
        CACHED // (len(parts) * parts[0].itemsize * max(1, parts[0].shape[-1])),
        (
            at_x == at_out,
            lines and out.nbytes >= LARGE and at_x != at_out and not fresh,
            _threads(x) if out.nbytes >= SEVERAL_THREADS else 1,
        ),
    )
    return kernel, plan


@functools.lru_cache(maxsize=1024)
def _plan(
    shapes: tuple[tuple[int, ...], tuple[int, ...], int],
    strides: tuple[tuple[int, ...], ...],
    sense: tuple[bool, bool],
    block: int,
    ways: tuple[bool, bool, int],
) -> ctypes.Array:
    """Return what the kernel is told, in the order of its struct Plan; strides are those of x, out and turns."""
    sizes, turned, seq_axis = shapes
    x, out, turns = strides
    for name, stride, length in (("x", x, sizes[-1]), ("out", out, sizes[-1]), ("turns", turns, turned[-1])):
        if length > 1 and stride[-1] != 1:
            raise ValueError(
                f"compiled=True needs the features of {name} side by side in memory: copy it first"
            )
    if any(n > 1 and not stride for n, stride in zip(sizes, out, strict=True)):
        raise ValueError(NO_PLACE)
    missing = len(sizes) - len(turned)  # axes along which the turns stay
    turns = (0,) * missing + tuple(t if n > 1 else 0 for n, t in zip(turned, turns, strict=True))
    axes = [(n, *each) for n, *each in zip(sizes[:-1], x, out, turns, strict=False)]
    rows = axes.pop(seq_axis + 1)
    if rows[0] == 1 and axes:  # a single token: its heads are the rows
        axes, rows = [rows, *axes[:-1]], axes[-1]
    axes = [axis for axis in axes if axis[0] > 1]
    if len(axes) > MOST_AXES:
        raise ValueError(f"compiled=True takes at most {MOST_AXES + 2} axes, got {len(sizes)}")
    heads_inside = seq_axis == -3 and sizes[-2] > 1 and rows[3]
    plan = [
        *(rows[0], sizes[-1], turned[-1]),
        *sense,
        1 if heads_inside else max(1, block),
        *ways,
        math.prod(axis[0] for axis in (rows, *axes) if not axis[3]),
        *rows[1:],
        len(axes),
        *(number for axis in axes for number in axis),
    ]
    return (ctypes.c_int64 * len(plan))(*plan)


def _as_wide(turns: Turns, x: Array) -> Turns:
    """Return turns in float64 for 16 bits: as they are if they are exact, else as exact as they are."""
    if x.itemsize > 2 or dtype_name(turns.parts[0]) in ("float64", "complex128"):
        return turns
    xp = array_namespace(x)
    wide = xp.float64 if len(turns.parts) == 2 else xp.complex128
    return Turns(turns.layout, tuple(xp.astype(part, wide) for part in turns.parts), turns.dtypes)


@functools.cache
def kernels() -> dict[str, Callable]:
    """Compile the kernels and load them, once in a process: one for each dtype that the compiler knows."""
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
    found = {}
    for name in ("float32", "float64", "bfloat16", "float16"):
        kernel = getattr(loaded, f"rotate_{name}", None)
        if kernel is not None:
            kernel.argtypes, kernel.restype = [ctypes.c_void_p] * 5, None
            found[name] = kernel
    return found


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


def _check_aligned(x: np.ndarray, out: np.ndarray) -> None:
    if not (x.flags.aligned and out.flags.aligned):
        raise ValueError(
            "compiled=True needs numbers at addresses that their size divides: copy the array first"
        )
    if not out.flags.writeable:
        raise ValueError(NO_PLACE)


def _threads(x: Array) -> int:
    """Return how many threads torch would use; NumPy uses one."""
    return 1 if isinstance(x, np.ndarray) else sys.modules["torch"].get_num_threads()


def _strides(array: Array) -> tuple[int, ...]:
    """Return strides in numbers, not bytes."""
    if not isinstance(array, np.ndarray):
        return array.stride()
    return tuple(stride // array.itemsize for stride in array.strides)


def _address(array: Array) -> int:
    return array.ctypes.data if isinstance(array, np.ndarray) else array.data_ptr()
