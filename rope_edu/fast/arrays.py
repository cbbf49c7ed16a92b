r"""Kernels for NumPy: written by hand into `out`, in blocks that stay in the processor's cache."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rope_edu.fast import native
from rope_edu.fast.turns import SHARED, Turns

SCRATCH = 2**15  # numbers in a block that needs scratch


def rotate(
    x: np.ndarray, turns: Turns, seq_axis: int, out: np.ndarray | None, compiled: bool = False
) -> np.ndarray:
    r"""Rotate a NumPy array that fits its turns; see `rope_edu.fast.rotate`.

        z′ = turn · z, or with cos and sin block by block

    >>> rotate(np.array([[1.0, 0.0]]), Turns("interleaved", (np.array([[1j]]),), ()), -2, None).tolist()
    [[0.0, 1.0]]
    """
    out = np.empty_like(x) if out is None else out
    if compiled:
        return native.rotate(x, turns, seq_axis, out)
    rotary_dim = 2 * turns.parts[0].shape[-1]
    source, target = x[..., :rotary_dim], out[..., :rotary_dim]
    wide = turns.parts[-1].real.dtype
    if turns.layout == "half_split":
        for rows, source_rows, target_rows in blocks(SCRATCH, seq_axis, source, source, target):
            _half_split(source_rows, target_rows, *(part[rows] for part in turns.parts), wide)
    elif x.dtype == wide and x.strides[-1] == out.strides[-1] == x.itemsize:
        for rows, source_rows, target_rows in blocks(SHARED, seq_axis, turns.parts[0], source, target):
            _interleaved(source_rows, target_rows, turns.parts[0][rows])
    else:
        for rows, source_rows, target_rows in blocks(SCRATCH, seq_axis, source, source, target):
            scratch = source_rows.astype(wide, order="C")
            _interleaved(scratch, scratch, turns.parts[0][rows])
            target_rows[...] = scratch  # rounds
    if out is not x:
        out[..., rotary_dim:] = x[..., rotary_dim:]
    return out


def _interleaved(x: np.ndarray, out: np.ndarray, turn: np.ndarray) -> None:
    """Multiply pairs, read as complex numbers: one pass, `out` may be `x`."""
    np.multiply(x.view(turn.dtype), turn, out=out.view(turn.dtype))


def _half_split(x: np.ndarray, out: np.ndarray, cos: np.ndarray, sin: np.ndarray, wide: type) -> None:
    """Rotate halves; x is first widened or, where `out` is x, copied."""
    half = cos.shape[-1]
    if x.dtype != wide or np.may_share_memory(x, out):
        x = x.astype(wide, order="C")
    turned = out if out.dtype == wide else np.empty_like(x)
    np.multiply(x, np.concatenate((cos, cos), axis=-1), out=turned)
    turned[..., :half] -= x[..., half:] * sin
    turned[..., half:] += x[..., :half] * sin
    if turned is not out:
        out[...] = turned  # rounds


def blocks(
    room: int, seq_axis: int, of: np.ndarray, x: np.ndarray, out: np.ndarray
) -> Iterator[tuple[tuple, np.ndarray, np.ndarray]]:
    """Yield an index for rows of the sequence, and those rows of x and out: `room` numbers of `of` at a time."""
    length = x.shape[seq_axis]
    step = max(1, room * length // max(1, of.size))
    for start in range(0, length, step):
        rows = (..., slice(start, start + step), *(slice(None),) * (-seq_axis - 1))
        yield rows, x[rows], out[rows]
