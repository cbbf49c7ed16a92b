r"""A table of cosines and sines, built in float64 by angle addition, rounded once and extended on demand."""

import math
import sys
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array

from rope_edu.arrays import Array, ArrayLike, is_compiling
from rope_edu.encodings.spec import RopeSpec, pair_positions, rope_parts
from rope_edu.encodings.validation import (
    POSITION_LIMIT,
    check_fixed,
    check_floats,
    check_position,
    check_whole_number,
)
from rope_edu.fast.memory import wide_dtype
from rope_edu.fast.rotate import rotate
from rope_edu.fast.rows import CosSinRows, rows_from_angles

BLOCK = 256  # positions per coarse row
_FLOAT32 = np.empty(0, dtype=np.float32)
_EMPTY: Any = (math.inf, -math.inf, None)  # an empty window of positions


class RotaryTable:
    r"""A cache of cosines and sines for consecutive positions, which all layers of a model can share.

        e^{i(256 b + r)θ} = e^{i 256 b θ} · e^{i r θ}:   two small tables, multiplied in float64, rounded once

    The two small tables hold 256 fine rows, and one coarse row per block of 256 positions. The bits of a row depend
    only on its position, not on earlier requests. Rows are cached per device, in float32 and, if float64 arrays are
    rotated, also in float64. A new position next to the cached ones extends them by whole blocks; a distant one
    starts a new window, so a text that starts at position 1,000,000 costs one block.

    A table is not a module and has no buffers, so `module.to(bfloat16)` cannot change it. Threads may share a
    table. Under torch.compile, the sines are computed in the graph and not cached; for speed, pass the result of
    `cos_sin(…)` instead.

    `rope` is a RopeSpec, or finite frequencies `(pairs,)` in radians per token, which are copied; their layout is
    "interleaved" and their `attention_factor` 1 by default. ValueError if `rope` is neither or requires a gradient
    (use `apply_rope`), or if an argument is out of range or contradicts the spec.

    >>> import math
    >>> table = RotaryTable([math.pi / 2, 0.0])
    >>> table.cos_sin(1, 2).as_complex().round(3).tolist()  # positions 1 and 2: i and −1; the still pair stays at 1
    [[1j, (1+0j)], [(-1+0j), (1+0j)]]

    Source: angle addition; RoFormer, arXiv 2104.09864, eq. 12. Chapters 5 and 7.
    """

    def __init__(
        self, rope: RopeSpec | ArrayLike, *, layout: str | None = None, attention_factor: float | None = None
    ) -> None:
        check_fixed("inv_freq", rope)
        inv_freq, layout, factor = rope_parts(rope, layout, attention_factor)
        self._spec = rope if isinstance(rope, RopeSpec) else RopeSpec(inv_freq, factor, layout)
        self._inv_freq = tuple(self._spec.inv_freq.tolist())
        steps = np.multiply.outer([1.0, 16.0], np.arange(16.0))
        ones, sixteens = np.exp(1j * steps[..., None] * self._spec.inv_freq)
        self._fine = (sixteens[:, None] * ones).reshape(BLOCK, len(self._inv_freq))  # e^{irθ}, r = 0 … 255
        # keyed by dtype and device: (start, stop, rows of positions start … stop − 1), replaced but never modified
        self._windows: dict[tuple[Any, Any], tuple[int, int, CosSinRows]] = {}
        # the last call's dtype and device, window, start and length, and rows
        self._last: tuple[Any, ...] = None, _EMPTY, None, None

    spec = property(lambda self: self._spec, doc="The RopeSpec of the table.")

    def cos_sin(
        self, start: int, length: int, *, like: Array | None = None, name: str = "like"
    ) -> CosSinRows:
        r"""Return cosines and sines for positions start … start + length − 1, whole numbers with start < 2**52.

        `like` is an array of the type, device and dtype to be rotated, by default NumPy float32; error messages
        call it `name`. The rows are views of the table and remain valid when it grows.

        >>> RotaryTable([0.5], layout="half_split").cos_sin(10**6, 1).shape
        (1, 1)
        """
        like = _FLOAT32 if like is None else like
        if self._spec.axes is not None:
            n_axes = max(self._spec.axes) + 1
            raise ValueError(
                f"the table's pairs turn by {n_axes} coordinates: give positions (…, seq, {n_axes}), "
                "or keep the rows of cos_sin_at(positions)"
            )
        if not (type(start) is type(length) is int and POSITION_LIMIT > start >= 0 <= length):
            check_floats(name, like)  # the length of a nested tensor is not an int
            start, length = check_position("start", start), check_whole_number("length", length)
        if is_compiling():
            return self._compute(start, length, like)
        target, request = (getattr(like, "dtype", None), getattr(like, "device", None)), (start, length)
        last_target, window, last_request, cos_sin = self._last
        if target != last_target:
            window = self._windows.get((wide_dtype(target[0]), target[1]), _EMPTY)
        elif request == last_request:  # all layers of a model request the same rows
            return cos_sin
        low, high, rows = window
        if start < low or start + length > high:
            check_floats(name, like)
            if str(target[1]) == "meta":  # a tensor without values
                return self._compute(start, length, like)
            low, high, rows = window = self._extend(start, max(start + 1, start + length), like)
        cos_sin = rows.view(start - low, length)
        self._last = target, window, request, cos_sin
        return cos_sin

    def cos_sin_at(
        self, positions: ArrayLike, *, like: Array | None = None, name: str = "like"
    ) -> CosSinRows:
        r"""Return cosines and sines for any positions `(…, seq)`: fractional, with gaps, or varying by text.

        For a spec with axes, positions are `(…, seq, n_axes)`. Rows are computed in float64 and are not cached.
        Errors are as for `cos_sin` and `spec_angles`.

        >>> import math
        >>> RotaryTable([math.pi]).cos_sin_at([0.0, 0.5]).as_complex().round(3).tolist()
        [[(1+0j)], [1j]]
        """
        check_fixed("positions", positions)
        spec, frequencies = self._spec, self._spec.inv_freq
        per_pair = pair_positions(spec, positions)
        if not is_numpy_array(per_pair):  # Python numbers become constants in a traced graph
            xp = array_namespace(per_pair)
            frequencies = xp.asarray(list(self._inv_freq), dtype=xp.float64, device=device(per_pair))
        like = _FLOAT32 if like is None else like
        check_floats(name, like)
        return rows_from_angles(per_pair * frequencies, like, spec.layout, spec.attention_factor)

    def rotate(self, q: Any, k: Any = None, **options: Any) -> Any:
        """Call `fast.rotate` with this table."""
        return rotate(q, k, table=self, **options)

    def _compute(self, start: int, length: int, like: Array) -> CosSinRows:
        xp = array_namespace(like)
        return self.cos_sin_at(start + xp.arange(length, dtype=xp.float64, device=device(like)), like=like)

    def _extend(self, start: int, stop: int, like: Array) -> tuple[int, int, CosSinRows]:
        """Return a window of whole blocks around start … stop − 1; upward growth adds at least half the old size.

        There is no lock, because a process forked while another thread held it would wait forever. If two threads
        extend the table at the same time, both build the same rows, and the table keeps one copy.
        """
        key = wide_dtype(like.dtype), like.device
        low, high = start - start % BLOCK, stop + -stop % BLOCK
        old_low, old_high, _ = self._windows.get(key, _EMPTY)
        if low <= old_high and old_low <= high:
            if high > old_high:
                half = (old_high - old_low) // 2
                high = max(high, old_high + half - half % BLOCK)
            low, high = min(low, old_low), max(high, old_high)
        rows = self._build_rows(low, high, str(key[0]).removeprefix("torch."))
        if is_numpy_array(like):
            rows.flags.writeable = False
        else:
            torch = sys.modules["torch"]
            # lets autograd save these rows, and keeps torch.func from wrapping rows that outlive it
            with torch.inference_mode(False), torch._C._DisableFuncTorch():
                rows = torch.from_numpy(rows).to(like.device)
        window = self._windows[key] = low, high, CosSinRows(self._spec.layout, rows)
        return window

    def _build_rows(self, low: int, high: int, dtype: str) -> np.ndarray:
        """Return whole blocks, rows low … high − 1; NumPy computes them, so all array types get the same bits."""
        spec, rows = self._spec, np.empty((high - low, 2, len(self._inv_freq)), dtype=dtype)
        starts = np.arange(low, high, BLOCK, dtype=np.float64)
        coarse = spec.attention_factor * np.exp(1j * starts[:, None] * spec.inv_freq)  # (blocks, pairs)
        exact = np.empty_like(self._fine)
        for block, coarse_row in zip(rows.reshape(-1, BLOCK, *rows.shape[1:]), coarse, strict=True):
            np.multiply(coarse_row, self._fine, out=exact)
            block[:, 0], block[:, 1] = exact.real, exact.imag  # rounded here, once
        return rows

    def __reduce__(self) -> tuple[Any, ...]:  # pickle and copy keep only the spec
        return RotaryTable, (self._spec,)

    def __repr__(self) -> str:
        windows = ", ".join(
            f"{start} … {stop - 1} ({str(dtype).removeprefix('torch.')}, {device})"
            for (dtype, device), (start, stop, _) in list(self._windows.items())
        )
        pairs, layout = len(self._inv_freq), self._spec.layout
        return f"<RotaryTable: {pairs} pairs, {layout}, keeps {windows or 'nothing yet'}>"
