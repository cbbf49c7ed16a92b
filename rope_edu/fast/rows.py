r"""Rows of cosines and sines, one per position, in the order in which the kernel reads them."""

from typing import Any, Protocol

import numpy as np
from array_api_compat import array_namespace

from rope_edu.arrays import Array, ArrayLike, as_kind_of
from rope_edu.encodings.layouts import check_layout
from rope_edu.encodings.rotary import cos_and_sin
from rope_edu.encodings.validation import as_real, check_fixed, check_floats, check_positive_number
from rope_edu.fast.memory import address


class CosSinRows:
    r"""Cosines and sines of all pairs at some positions: float64 for float64 inputs, otherwise float32.

    `RotaryTable.cos_sin` returns views of its cache, so do not write to them; `cos_sin_from_angles` makes new rows.
    They rotate arrays of the same type on the same device. `rows`, `(…, seq, 2, pairs)`, has the cosines and then
    the sines of each position, and is copied unless contiguous.

    >>> import math, numpy as np
    >>> cos_sin_from_angles([[0.0, math.pi / 2]], like=np.ones(1)).as_complex().round(3).tolist()  # 1 and i
    [[(1+0j), 1j]]

    Chapter 7.
    """

    __slots__ = ("_address", "_array", "_start", "format", "row_bytes", "shape")

    def __init__(self, layout: str, rows: Any) -> None:
        rows = np.ascontiguousarray(rows) if isinstance(rows, np.ndarray) else rows.contiguous()
        self.format, self._array, self._start = (layout, rows.dtype, rows.device), rows, 0
        self._address: int | None = None
        *leading, _, pairs = rows.shape
        self.shape, self.row_bytes = (*leading, pairs), 2 * pairs * rows.itemsize

    def view(self, start: int, length: int) -> "CosSinRows":
        """Return a view of `length` rows `(seq, pairs)` from `start`, created without `__init__` for speed."""
        view = CosSinRows.__new__(CosSinRows)
        view.format, view._array, view._start = self.format, self._array, self._start + start
        view.shape, view.row_bytes = (length, self.shape[-1]), self.row_bytes
        view._address = self.address + start * self.row_bytes
        return view

    layout = property(lambda self: self.format[0], doc='"interleaved" or "half_split".')
    dtype = property(lambda self: self.format[1], doc="float64 or float32, of NumPy or torch.")
    device = property(lambda self: self.format[2], doc="Device of the rows.")
    cos = property(lambda self: self.rows[..., 0, :], doc="a cos θ `(…, seq, pairs)`, a view.")
    sin = property(lambda self: self.rows[..., 1, :], doc="a sin θ `(…, seq, pairs)`, a view.")

    @property
    def rows(self) -> Any:
        """Cosines and sines `(…, seq, 2, pairs)`, as a view."""
        whole = self._array.ndim > 3
        return self._array if whole else self._array[self._start : self._start + self.shape[0]]

    def as_complex(self) -> Any:
        """Return a e^{iθ}, with attention factor a, as a new complex array `(…, seq, pairs)`."""
        return self.cos + 1j * self.sin

    @property
    def address(self) -> int:
        """Address of the first row."""
        if self._address is None:
            self._address = address(self._array)
        return self._address

    def __reduce__(self) -> tuple[Any, ...]:  # pickle and copy keep only the rows of this view
        return CosSinRows, (self.layout, self.rows + 0)

    def __repr__(self) -> str:
        dtype = str(self.dtype).removeprefix("torch.")
        return f"<CosSinRows: {self.layout}, {self.shape}, {dtype} on {self.device}>"


class CosSinSource(Protocol):
    """The methods of `RotaryTable` that `rotate` calls, declared here because `table` imports `rotate`."""

    def cos_sin(self, start: int, length: int, *, like: Any = None, name: str = "like") -> CosSinRows: ...

    def cos_sin_at(self, positions: ArrayLike, *, like: Any = None, name: str = "like") -> CosSinRows: ...


def rows_for(
    q: Array, table: CosSinSource | CosSinRows, offset: int | None, positions: ArrayLike | None, seq_axis: int
) -> CosSinRows:
    """Return the cosines and sines for q's tokens, with a length-1 axis for q's heads."""
    if seq_axis not in (-2, -3):
        raise ValueError(f"seq_axis must be -2 or -3 (heads after the sequence), got {seq_axis!r}")
    if isinstance(table, CosSinRows):
        if offset is not None or positions is not None:
            raise ValueError("CosSinRows already have positions: give neither offset nor positions")
        cos_sin = table
    elif not hasattr(table, "cos_sin_at"):
        raise ValueError(f"table must be a RotaryTable or CosSinRows, got {type(table).__name__}")
    elif positions is None:
        try:
            shape = q.shape
        except (AttributeError, RuntimeError):  # not an array, or a nested tensor
            check_floats("q", q)
            raise
        if len(shape) < -seq_axis:
            form = "(…, seq, head_dim)" if seq_axis == -2 else "(…, seq, heads, head_dim)"
            raise ValueError(f"q must be {form}, got shape {tuple(shape)}")
        cos_sin = table.cos_sin(0 if offset is None else offset, shape[seq_axis], like=q, name="q")
    elif offset is None:
        cos_sin = table.cos_sin_at(positions, like=q, name="q")
    else:
        raise ValueError("give offset or positions, not both")
    axes = len(cos_sin.shape)
    if (seq_axis == -2 and axes == 2) or q.ndim <= axes:
        return cos_sin
    *leading, seq, pairs = cos_sin.shape
    heads = (1, seq) if seq_axis == -2 else (seq, 1)  # e.g. (batch, seq, pairs) → (batch, 1, seq, pairs)
    shape = (*leading, *(1,) * (q.ndim - axes - 1), *heads, 2, pairs)
    return CosSinRows(cos_sin.layout, cos_sin.rows.reshape(shape))


def cos_sin_from_angles(
    angles: ArrayLike, *, like: Array, layout: str = "interleaved", attention_factor: float = 1.0
) -> CosSinRows:
    r"""Return cosines and sines of any angles, such as those of several coordinates.

        a cos θ and a sin θ,   computed in float64 and rounded once

    The angles are in radians, `(…, seq, pairs)`, NumPy or torch; `like` is an array of the type, device and dtype
    to be rotated; other arguments are as for `apply_rope`. ValueError if the angles are not real, lack a position
    axis or require a gradient (use `apply_rope` for learned angles), if `like` is not a float array, or if another
    argument is out of range.

    >>> import math, numpy as np
    >>> cos_sin_from_angles([[math.pi]], like=np.ones(1), layout="half_split").cos.tolist()
    [[-1.0]]

    Source: RoFormer, arXiv 2104.09864, eq. 12 and 34. Chapters 5 and 7.
    """
    check_layout(layout)
    factor = check_positive_number("attention_factor", attention_factor)
    check_floats("like", like)
    check_fixed("angles", angles)
    return rows_from_angles(as_real("angles", angles), like, layout, factor)


def rows_from_angles(radians: Array, like: Array, layout: str, factor: float) -> CosSinRows:
    """Return cosines and sines of checked angles `(…, seq, pairs)`, to rotate arrays like `like`."""
    if radians.ndim < 2:
        raise ValueError(f"angles must be (…, seq, pairs), got shape {tuple(radians.shape)}")
    cos_sin = cos_and_sin(as_kind_of(radians, like), like, factor)
    return CosSinRows(layout, array_namespace(like).stack(cos_sin, axis=-2))
