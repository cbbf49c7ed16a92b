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
ODD_ADDRESS = "compiled=True needs numbers at whole multiples of their size: copy x first"


class NotCompiledError(ValueError):
    """The kernel cannot rotate this; the sentence says why."""


class Plan(NamedTuple):
    """How the kernel rotates an x into an `out`: all that follows from their strides, wherever they lie."""

    turn: Callable[..., None]  # (address of x, of out, of the rows, 1 or −1 to rotate by −θ)
    itemsize: int
    x_span: tuple[int, int]  # bytes from the first number of x to its lowest, and to the end of its highest
    out_span: tuple[int, int]
    address: Callable[[Any], int]  # of an array of this kind
    new: Callable[[Any], Any]  # an array like x, not yet filled
    tell_autograd: Callable[[Any], None] | None  # of a write into a tensor


def make_plan(x: Any, cos_sin: CosSinRows, out: Any = None) -> Plan | str:
    r"""Plan how to rotate x, which fits its cosines and sines, into `out`, which fits x, or into a new array.

        first′ = cos · first − sin · second      second′ = cos · second + sin · first

    Returns a sentence instead where the kernel cannot. Axis −2 makes the rows. Where cos and sin change from row to
    row, each head rotates a block of rows before any goes on to the next, so that the block's cosines and sines are
    still in the cache.

    >>> x, cos_sin = np.array([[3.0, 4.0]]), CosSinRows("interleaved", np.array([[[0.0], [1.0]]]))
    >>> make_plan(x, cos_sin, x).turn(address(x), address(x), cos_sin.address, 1)
    >>> x.tolist()
    [[-4.0, 3.0]]
    """
    torch = None if isinstance(x, np.ndarray) else sys.modules["torch"]
    if torch:
        plain = type(x) in (torch.Tensor, torch.nn.Parameter) and x.is_cpu
        if not plain or x.is_neg() or (out is not None and out.is_neg()):
            return NOT_PLAIN
    try:
        from rope_edu.fast.kernels import rotate_rows  # here, as numba takes half a second
    except ImportError as error:
        return f'compiled=True needs numba, pip install "rope-edu[fast]": {error}'
    new = torch.empty_like if torch else np.empty_like
    (*lengths, head_dim), size, x_steps = x.shape, x.itemsize, strides_in_bytes(x)
    out_steps = strides_in_bytes(new(x) if out is None else out)
    side_by_side = 0 in x.shape or head_dim == 1 or x_steps[-1] == out_steps[-1] == size
    if not side_by_side or any(step % size for step in (*x_steps, *out_steps)):
        return SCATTERED
    steps = zip(lengths, x_steps, out_steps, _cos_sin_steps(cos_sin, len(lengths)), strict=False)
    axes = [axis for axis in steps if axis[0] > 1] or [(1, 0, 0, 0)]
    n_rows, cos_sin_step = axes[-1][0], axes[-1][3]
    block = max(1, SHARED // cos_sin_step) if cos_sin_step else n_rows
    runs = 0 if 0 in x.shape else math.prod(axis[0] for axis in axes[:-1]) * -(-n_rows // block)
    kernel = _kernel(rotate_rows, x, cos_sin, np.array(axes, dtype=np.int64), block)
    turn, spans = functools.partial(kernel, 0, runs), (_span(x, x_steps), _span(x, out_steps))
    if torch is None:
        return Plan(turn, size, *spans, address, new, None)
    if runs > 1 and math.prod(x.shape) * size >= SEVERAL_THREADS:
        turn = functools.partial(_on_threads, kernel, runs)
    return Plan(turn, size, *spans, torch.Tensor.data_ptr, new, torch.autograd.graph.increment_version)


def _kernel(
    rotate_rows: Any, x: Any, cos_sin: CosSinRows, axes: np.ndarray, block: int
) -> Callable[..., None]:
    """The kernel compiled for an x, with all arguments but the first run, the last + 1, addresses and sign."""
    half_split, pairs = cos_sin.layout == "half_split", cos_sin.shape[-1]
    stored, wide = np.dtype(STORED_AS[dtype_name(x)]), np.dtype(dtype_name(cos_sin))
    given, no_work = (stored, wide, axes, block, x.shape[-1], pairs, half_split), (0, 0, 0, 0, 0, 1)
    with contextlib.suppress(OSError):  # compiled, but there was no place to keep it
        rotate_rows(*given, *no_work)
    code = rotate_rows.get_overload(tuple(map(rotate_rows.typeof_pyval, (*given, *no_work))))
    return functools.partial(code, *given)  # past numba's look at types, a fifth of a microsecond


def _on_threads(kernel: Callable[..., None], runs: int, *where: int) -> None:
    """Share the runs among as many threads as torch uses, made for the call: numba's bear no second caller."""
    threads = sys.modules["torch"].get_num_threads()
    edges = [runs * n // threads for n in range(threads + 1)]
    if threads == 1:
        kernel(0, runs, *where)
    else:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(lambda start, stop: kernel(start, stop, *where), edges, edges[1:]))


def _cos_sin_steps(cos_sin: CosSinRows, axes: int) -> list[int]:
    """Bytes between rows of cos and sin along each axis of x before the last; 0 where they stay the same."""
    lengths, step, steps = cos_sin.shape[:-1], cos_sin.row_bytes, [0] * axes
    for axis, n in enumerate(reversed(lengths[-axes:] if axes else []), start=1):
        steps[-axis] = step if n > 1 else 0
        step *= n
    return steps


def _span(x: Array, steps: tuple[int, ...]) -> tuple[int, int]:
    reaches = [(n - 1) * step for n, step in zip(x.shape, steps, strict=True)]
    return sum(r for r in reaches if r < 0), sum(r for r in reaches if r > 0) + x.itemsize  # type: ignore[attr-defined]
