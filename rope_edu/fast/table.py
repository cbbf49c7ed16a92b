r"""A table of turns: built in float64 by angle addition, rounded once, kept and grown as positions come."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array

from rope_edu.encodings._checks import (
    Array,
    check_float_array,
    check_positive_number,
    values_known,
)
from rope_edu.encodings.frequencies import as_pairs, rope_angles
from rope_edu.encodings.layouts import check_layout
from rope_edu.fast.turns import Turns, dtypes_of, real_dtype, turns_from_angles

BLOCK = 256  # positions that one coarse turn serves


class _Window(NamedTuple):
    """The rows of positions start … stop − 1; never changed, only replaced."""

    start: int
    stop: int
    parts: tuple[Array, ...]  # each (stop − start, pairs)
    dtypes: tuple[Any, ...]
    calls: dict[int, dict]  # what a kernel is told for so many of them, wherever they begin


class RotaryTable:
    r"""Keep the turns of a run of positions, exact at every position, for all layers of a model.

        e^{i(256 b + r)θ} = e^{i 256 b θ} · e^{i r θ}:   two small tables, multiplied in float64, rounded once

    The way a clock has two hands: 256 fine turns and one coarse turn for each block of 256 positions, so that
    few sines are taken. Every row is a function of its position alone: whatever was asked before, the same
    bits come. Rows are kept for each dtype and device; a new position next to what is kept makes that grow by
    whole blocks, a far one begins elsewhere, so a text that starts at a million costs one block.

    A table is no module and holds no buffer: `module.to(bfloat16)` does not reach it. Threads may share one.
    Under torch.compile it keeps nothing and takes the sines in the graph; for speed hand `turns(…)` in.

    Args:
        inv_freq: radians per token `(pairs,)`, finite; copied.
        layout: "interleaved" or "half_split".
        attention_factor: a, a finite number above 0 on cos and sin (YaRN, LongRoPE).

    Raises:
        ValueError: `inv_freq` is not 1-D, not finite or requires a gradient (use `apply_rope`), `layout` is
            misspelt, or `attention_factor` is not finite and above 0.

    >>> import math
    >>> table = RotaryTable([math.pi / 2, 0.0])
    >>> table.turns(1, 2).turn.round(3).tolist()  # positions 1 and 2: i and −1; the still pair stays at 1
    [[1j, (1+0j)], [(-1+0j), (1+0j)]]

    Source: angle addition; RoFormer, arXiv 2104.09864, eq. 12. Chapters 5 and 7.
    """

    def __init__(
        self, inv_freq: Array, *, layout: str = "interleaved", attention_factor: float = 1.0
    ) -> None:
        if getattr(inv_freq, "requires_grad", False):
            raise ValueError("inv_freq must not require a gradient here: use apply_rope for learned ones")
        self._inv_freq = np.array(as_pairs(inv_freq), dtype=np.float64)  # checked and copied
        self._inv_freq.flags.writeable = False
        self._numbers = tuple(self._inv_freq.tolist())
        self._layout = check_layout(layout)
        self._factor = check_positive_number("attention_factor", attention_factor)
        self._fine = _fine_turns(self._inv_freq)  # (BLOCK, pairs)
        self._windows: dict[
            tuple[Any, Any, bool], _Window
        ] = {}  # (dtype, device, exact) -> rows; read without the lock
        self._last: tuple[tuple | None, Turns | None] = None, None  # what was asked last, and its answer
        self._lock = threading.Lock()

    @property
    def inv_freq(self) -> np.ndarray:
        """Radians per token `(pairs,)`, read-only."""
        return self._inv_freq

    @property
    def layout(self) -> str:
        """Which features form a pair."""
        return self._layout

    @property
    def attention_factor(self) -> float:
        """The factor a on cos and sin."""
        return self._factor

    def turns(self, start: int, length: int, *, like: Array | None = None, exact: bool = False) -> Turns:
        r"""Return the turns of positions start … start + length − 1.

        Args:
            start: the first position, a whole number ≥ 0.
            length: how many, a whole number ≥ 0.
            like: an array of the kind, device and dtype that will be rotated; default NumPy float32.
            exact: keep cos and sin in float64 for 16-bit numbers, which a compiled kernel then rounds once.

        Returns:
            Views of what the table keeps, `(length, pairs)`; they stay valid when it grows.

        Raises:
            ValueError: `start` or `length` is not a whole number ≥ 0, or `like` is not of floats.

        >>> RotaryTable([0.5], layout="half_split").turns(10**6, 1).shape
        (1, 1)
        """
        like = _FLOAT32 if like is None else like
        if tracing():
            return self._taken_in_graph(start, length, like, exact)
        if not (type(start) is type(length) is int and start >= 0 <= length):
            _check_run(start, length)
        asked = start, length, *_key(like, exact)
        last, turns = self._last
        if asked == last:  # the layers of a model ask for the same
            return turns
        window = self._windows.get(asked[2:])
        if window is None or start < window.start or start + length > window.stop:
            check_float_array("like", like)
            if not values_known(like):  # torch's meta device
                return self._taken_in_graph(start, length, like, exact)
            window = self._grown(int(start), int(start + length), like, exact)
        low = start - window.start
        parts = tuple(part[low : low + length] for part in window.parts)
        turns = Turns(self._layout, parts, window.dtypes, window.calls.setdefault(length, {}))
        self._last = asked, turns
        return turns

    def turns_at(
        self, positions: int | list | range | Array, *, like: Array | None = None, exact: bool = False
    ) -> Turns:
        r"""Return the turns of any positions, `(…, seq)`: fractions, gaps, a row for each text of a batch.

        Every sine is taken anew, in float64; nothing is kept. Errors as for `turns` and `rope_angles`.

        >>> import math
        >>> RotaryTable([math.pi]).turns_at([0.0, 0.5]).turn.round(3).tolist()
        [[(1+0j)], [1j]]
        """
        return self._taken_anew(positions, _FLOAT32 if like is None else like, exact)

    def _taken_anew(self, positions: object, like: Array, exact: bool) -> Turns:
        xp, frequencies = check_float_array("like", like), self._inv_freq
        if not is_numpy_array(like):  # plain numbers, which a graph takes as constants
            frequencies = xp.asarray(list(self._numbers), dtype=xp.float64, device=device(like))
        angles = rope_angles(positions, frequencies)
        how = {"layout": self._layout, "attention_factor": self._factor, "exact": exact}
        return turns_from_angles(angles, like=like, **how)

    def _taken_in_graph(self, start: int, length: int, like: Array, exact: bool) -> Turns:
        xp = array_namespace(like)
        positions = start + xp.arange(length, dtype=xp.float64, device=device(like))
        return self._taken_anew(positions, like, exact)

    def _grown(self, start: int, stop: int, like: Array, exact: bool) -> _Window:
        """Return a window that holds start … stop − 1, larger than the one before where they touch."""
        key = _key(like, exact)
        with self._lock:
            held = self._windows.get(key)
            if held is None or not (held.start <= start and stop <= held.stop):
                self._windows[key] = held = self._window(*_blocks_around(start, stop, held), like, exact)
        return held

    def _window(self, low: int, high: int, like: Array, exact: bool) -> _Window:
        parts = self._rows(low, high, str(real_dtype(like, exact)).removeprefix("torch."))
        if is_numpy_array(like):
            for part in parts:
                part.flags.writeable = False
        else:
            torch = sys.modules["torch"]
            with torch.inference_mode(False):  # so that autograd may keep them later
                parts = tuple(torch.as_tensor(part, device=like.device) for part in parts)
        return _Window(low, high, parts, dtypes_of(like, exact), {})

    def _rows(self, low: int, high: int, dtype: str) -> tuple[np.ndarray, ...]:
        """Build the rows low … high − 1, whole blocks, in NumPy for every kind: the same bits everywhere."""
        shape = high - low, len(self._inv_freq)
        if self._layout == "interleaved":
            turn = np.empty(shape, dtype="complex128" if dtype == "float64" else "complex64")
            for rows, exact in self._exact_blocks(low, high):
                turn[rows] = exact  # rounds, once
            return (turn,)
        cos, sin = np.empty(shape, dtype=dtype), np.empty(shape, dtype=dtype)
        for rows, exact in self._exact_blocks(low, high):
            cos[rows], sin[rows] = exact.real, exact.imag
        return cos, sin

    def _exact_blocks(self, low: int, high: int) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield each block's rows and its turns in complex128, `(BLOCK, pairs)`, in one reused array."""
        starts = np.arange(low, high, BLOCK, dtype=np.float64)
        coarse = self._factor * e_to_the_i(starts[:, None] * self._inv_freq)  # (blocks, pairs)
        exact = np.empty_like(self._fine)
        for block, turn in enumerate(coarse):
            first = starts[block] == 0 and self._factor == 1  # where the coarse turn is 1
            rows = self._fine if first else np.multiply(turn, self._fine, out=exact)
            yield slice(block * BLOCK, (block + 1) * BLOCK), rows

    def __reduce__(self) -> tuple:  # pickle and copy.deepcopy: the arguments, not the rows and the lock
        return _remake, (self._inv_freq, self._layout, self._factor)

    def __repr__(self) -> str:
        kept = ", ".join(
            f"{w.start} … {w.stop - 1} ({dtype}, {where}{', exact' * exact})"
            for (dtype, where, exact), w in self._windows.items()
        )
        return f"<RotaryTable: {len(self._inv_freq)} pairs, {self._layout}, keeps {kept or 'nothing yet'}>"


def e_to_the_i(angles: np.ndarray) -> np.ndarray:
    """Return e^{i angle} in complex128."""
    turn = np.empty(angles.shape, dtype=np.complex128)
    turn.real, turn.imag = np.cos(angles), np.sin(angles)
    return turn


def _fine_turns(inv_freq: np.ndarray) -> np.ndarray:
    """Return the turns of positions 0 … 255, by angle addition from two times 16."""
    ones = np.arange(16.0)[:, None] * inv_freq  # (16, pairs)
    ones, sixteens = e_to_the_i(np.stack((ones, 16 * ones)))
    return (sixteens[:, None] * ones).reshape(BLOCK, len(inv_freq))


def _key(like: Array, exact: bool) -> tuple[Any, Any, bool]:
    if not hasattr(like, "dtype"):
        check_float_array("like", like)  # refuses
    return like.dtype, like.device, exact and like.dtype.itemsize == 2


def _blocks_around(start: int, stop: int, held: _Window | None) -> tuple[int, int]:
    """Return where a new window begins and ends: whole blocks; half as much again where it goes on."""
    low, high = start - start % BLOCK, max(start + 1, stop) + -max(start + 1, stop) % BLOCK
    if held is None or low > held.stop or high < held.start:
        return low, high
    if high > held.stop:
        half = (held.stop - held.start) // 2
        high = max(high, held.stop + half - half % BLOCK)
    return min(low, held.start), max(high, held.stop)


def tracing() -> bool:
    """Tell whether torch.compile is reading this: a graph keeps nothing."""
    torch = sys.modules.get("torch")
    return torch is not None and torch.compiler.is_compiling()


def _check_run(start: object, length: object) -> None:
    for name, value in (("start", start), ("length", length)):
        if isinstance(value, bool) or not isinstance(value, Integral) or value < 0:
            raise ValueError(f"{name} must be a whole number of at least 0, got {value!r}")


def _remake(inv_freq: np.ndarray, layout: str, factor: float) -> RotaryTable:
    return RotaryTable(inv_freq, layout=layout, attention_factor=factor)


_FLOAT32 = np.empty(0, dtype=np.float32)
