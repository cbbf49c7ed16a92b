r"""Rows of cosines and sines: the rotation of each pair at each position, as a kernel reads it."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from rope_edu.arrays import Array, ArrayLike
from rope_edu.encodings.layouts import check_layout
from rope_edu.encodings.validation import (
    address,
    as_kind_of,
    as_real,
    check_float_array,
    check_positive_number,
    dtype_name,
    wide_dtype,
)


class CosSinRows:
    r"""Hold a cos θ and a sin θ for each position and pair: float64 for float64, float32 for all that is narrower.

    Made by `RotaryTable.cos_sin`, which hands out views of what it keeps, and by `cos_sin_from_angles`. Do not
    write into them. They rotate arrays of their own kind, on their own device.

    Args:
        layout: "interleaved" or "half_split".
        rows: `(…, seq, 2, pairs)`, copied if there are gaps: the cosines of a position, then its sines.

    >>> import math, numpy as np
    >>> cos_sin_from_angles([[0.0, math.pi / 2]], like=np.ones(1)).as_complex().round(3).tolist()  # 1 and i
    [[(1+0j), 1j]]

    Chapter 7.
    """

    __slots__ = ("_at", "_kept", "_start", "kind", "row_bytes", "shape")

    def __init__(self, layout: str, rows: Any) -> None:
        rows = np.ascontiguousarray(rows) if isinstance(rows, np.ndarray) else rows.contiguous()
        self.kind, self._kept, self._start = (layout, rows.dtype, rows.device), rows, 0
        self._at: int | None = None
        *leading, _, pairs = rows.shape
        self.shape, self.row_bytes = (*leading, pairs), 2 * pairs * rows.itemsize

    def run(self, start: int, length: int) -> CosSinRows:
        """Return the rows of `length` positions from `start` on, of rows `(seq, pairs)`: a view, made fast."""
        run, bytes_each = CosSinRows.__new__(CosSinRows), self.row_bytes
        run.kind, run._kept, run._start = self.kind, self._kept, self._start + start
        run.shape, run.row_bytes, run._at = (
            (length, self.shape[-1]),
            bytes_each,
            self.address + start * bytes_each,
        )
        return run

    layout = property(lambda self: self.kind[0], doc='"interleaved" or "half_split".')
    dtype = property(lambda self: self.kind[1], doc="float64 or float32, of NumPy or torch.")
    device = property(lambda self: self.kind[2], doc="Where the rows lie.")

    @property
    def rows(self) -> Any:
        """Return `(…, seq, 2, pairs)`, a view."""
        if self._kept.ndim > 3:
            return self._kept
        return self._kept[self._start : self._start + self.shape[0]]

    @property
    def cos(self) -> Any:
        """Return a cos θ `(…, seq, pairs)`, a view."""
        return self.rows[..., 0, :]

    @property
    def sin(self) -> Any:
        """Return a sin θ `(…, seq, pairs)`, a view."""
        return self.rows[..., 1, :]

    def as_complex(self) -> Any:
        """Return a e^{iθ} `(…, seq, pairs)`, complex, made anew."""
        return self.cos + 1j * self.sin

    @property
    def address(self) -> int:
        """Return where the first row lies in memory."""
        if self._at is None:
            self._at = address(self._kept)
        return self._at

    def beside_heads(self, axes: int, seq_axis: int) -> CosSinRows:
        """Return a view with axes of length 1 for the heads of an x that has so many axes.

        (batch, seq, pairs) becomes (batch, 1, seq, pairs), or (batch, seq, 1, pairs) for seq_axis −3.
        """
        *leading, seq, pairs = self.shape
        missing = max(0, axes - 2 - len(leading))
        if not missing or (seq_axis == -2 and not leading):
            return self
        heads = (*(1,) * missing, seq) if seq_axis == -2 else (*(1,) * (missing - 1), seq, 1)
        return CosSinRows(self.layout, self.rows.reshape(*leading, *heads, 2, pairs))

    def __reduce__(self) -> tuple[Any, ...]:  # pickle and copy: these rows alone
        return CosSinRows, (self.layout, self.rows + 0)

    def __repr__(self) -> str:
        return f"<CosSinRows: {self.layout}, {self.shape}, {dtype_name(self)} on {self.device}>"


class GivesCosSin(Protocol):
    """What has rows for positions: `RotaryTable`, which `rotate` need not import."""

    def cos_sin(self, start: int, length: int, *, like: Any = None, name: str = "like") -> CosSinRows: ...

    def cos_sin_at(self, positions: ArrayLike, *, like: Any = None) -> CosSinRows: ...


def cos_sin_from_angles(
    angles: ArrayLike, *, like: Array, layout: str = "interleaved", attention_factor: float = 1.0
) -> CosSinRows:
    r"""Take the cosines and sines of any angles, for positions of any kind: fractions, 2-D, one row a text.

        a cos θ and a sin θ,   taken in float64 and rounded once

    Args:
        angles: radians `(…, seq, pairs)`, NumPy or torch.
        like: an array of the kind, the device and the dtype that will be rotated.
        layout, attention_factor: as for `apply_rope`.

    Raises:
        ValueError: `angles` are not real, have no axis of positions or require a gradient (`apply_rope` is there
            for learned ones), `like` is not of floats, or another argument is out of range.

    >>> import math, numpy as np
    >>> cos_sin_from_angles([[math.pi]], like=np.ones(1), layout="half_split").cos.tolist()
    [[-1.0]]

    Source: RoFormer, arXiv 2104.09864, eq. 12 and 34. Chapters 5 and 7.
    """
    check_layout(layout)
    factor = check_positive_number("attention_factor", attention_factor)
    xp, radians = check_float_array("like", like), as_real("angles", angles)
    if radians.ndim < 2:
        raise ValueError(f"angles must be (…, seq, pairs), got shape {tuple(radians.shape)}")
    if getattr(angles, "requires_grad", False):
        raise ValueError("angles must not require a gradient here: use apply_rope for learned angles")
    radians = as_kind_of(radians, like)
    rows = factor * xp.stack((xp.cos(radians), xp.sin(radians)), axis=-2)
    return CosSinRows(layout, xp.astype(rows, wide_dtype(like.dtype)))
