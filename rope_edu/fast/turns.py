r"""Turns: by how much each pair turns at each position, as numbers that a kernel multiplies with."""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import array_namespace, device

from rope_edu.encodings._checks import (
    Array,
    as_kind_of,
    as_real,
    check_float_array,
    check_positive_number,
    dtype_name,
)
from rope_edu.encodings.layouts import check_layout

SHARED = 2**14  # turns that heads share while the cache holds them: 128 KiB of complex64


class Turns:
    r"""Hold a e^{iθ} for each position and pair, in the form that its layout is rotated with.

        interleaved: turn = a e^{iθ}, complex        half_split: cos = a cos θ and sin = a sin θ

    Made by `RotaryTable.turns`, which hands out views of what it keeps, and by `turns_from_angles`. Do not
    write into them.

    Attributes:
        layout: "interleaved" or "half_split".
        parts: `(turn,)` or `(cos, sin)`, each `(…, seq, pairs)`; complex64 and float32, or complex128
            and float64 for float64 and where 16 bits are to be exact.
        dtypes: the dtypes of x that these turns rotate.

    >>> import math
    >>> turns_from_angles([[0.0, math.pi / 2]], like=np.ones(1)).turn.round(3).tolist()  # 1 and i
    [[(1+0j), 1j]]

    Chapter 7.
    """

    __slots__ = ("addresses", "calls", "doubled", "dtypes", "layout", "pairs_of", "parts")

    def __init__(
        self, layout: str, parts: tuple[Array, ...], dtypes: tuple[Any, ...], calls: dict | None = None
    ) -> None:
        self.layout, self.parts, self.dtypes = layout, parts, dtypes
        seq, pairs = parts[0].shape[-2:]
        few = layout == "interleaved" and parts[0].ndim == 2 and seq * pairs <= SHARED
        self.pairs_of = (seq, 2 * pairs) if few else None  # the last axes of an x that is one product
        # What kernels derive from the parts of a few tokens, for the next layer or token:
        self.doubled: tuple | None = None
        self.addresses: tuple | None = None  # of cos and sin
        self.calls: dict = {} if calls is None else calls  # by the shape of x; runs of a length share them

    @property
    def turn(self) -> Array:
        """Return a e^{iθ} `(…, seq, pairs)`; for half_split it is put together anew."""
        return self.parts[0] if len(self.parts) == 1 else self.parts[0] + 1j * self.parts[1]

    @property
    def cos(self) -> Array:
        """Return a cos θ `(…, seq, pairs)`, a view."""
        return self.parts[0] if len(self.parts) == 2 else self.parts[0].real

    @property
    def sin(self) -> Array:
        """Return a sin θ `(…, seq, pairs)`, a view."""
        return self.parts[1] if len(self.parts) == 2 else self.parts[0].imag

    @property
    def shape(self) -> tuple[int, ...]:
        """Return `(…, seq, pairs)`."""
        return tuple(self.parts[0].shape)

    def __reduce__(self) -> tuple:  # pickle and copy: without what kernels keep
        return Turns, (self.layout, self.parts, self.dtypes)

    def __repr__(self) -> str:
        part = self.parts[0]
        return f"<Turns: {self.layout}, {self.shape}, {dtype_name(part)} on {device(part)}>"


def turns_from_angles(
    angles: Array,
    *,
    like: Array,
    layout: str = "interleaved",
    attention_factor: float = 1.0,
    exact: bool = False,
) -> Turns:
    r"""Turn any angles into turns, for positions that no table counts: fractions, 2-D, a batch of its own.

        turn = a e^{iθ},   taken in float64 and rounded once

    Args:
        angles: radians `(…, seq, pairs)`, NumPy or torch.
        like: an array of the kind, the device and the dtype that will be rotated.
        layout: "interleaved" or "half_split".
        attention_factor: a, a finite number above 0.
        exact: keep cos and sin in float64 for 16-bit numbers, which a compiled kernel then rounds once.

    Returns:
        Turns for `like`. They carry no gradient: `apply_rope` is there for learned angles.

    Raises:
        ValueError: `angles` are not real, have no axis of pairs or require a gradient, `like` is not of
            floats, `layout` is misspelt, or `attention_factor` is not finite and above 0.

    >>> import math
    >>> turns_from_angles([[math.pi]], like=np.ones(1), layout="half_split").cos.tolist()
    [[-1.0]]

    Source: RoFormer, arXiv 2104.09864, eq. 12 and 34. Chapters 5 and 7.
    """
    check_layout(layout)
    factor = check_positive_number("attention_factor", attention_factor)
    check_float_array("like", like)
    angles = as_real("angles", angles)
    if angles.ndim == 0:
        raise ValueError("angles must have an axis of pairs, (…, pairs), got a single number")
    if getattr(angles, "requires_grad", False):
        raise ValueError("angles must not require a gradient here: use apply_rope for learned angles")
    angles = as_kind_of(angles, like)
    xp, real = array_namespace(angles), real_dtype(like, exact)
    cos, sin = factor * xp.cos(angles), factor * xp.sin(angles)
    if layout == "half_split":
        return Turns(layout, (xp.astype(cos, real), xp.astype(sin, real)), dtypes_of(like, exact))
    narrow = xp.complex128 if real == xp.float64 else xp.complex64
    return Turns(layout, (xp.astype(cos + 1j * sin, narrow),), dtypes_of(like, exact))


def real_dtype(like: Array, exact: bool = False) -> Any:
    """Return the dtype of cos and sin: float64 for float64, and for 16 bits that are to be exact."""
    return _formats(like, exact)[0]


def dtypes_of(like: Array, exact: bool = False) -> tuple[Any, ...]:
    """List the dtypes that are rotated with the same turns as `like`."""
    return _formats(like, exact)[1]


def _formats(like: Array, exact: bool) -> tuple[Any, tuple[Any, ...]]:
    """Return the dtype of cos and sin, and all dtypes that are rotated with them."""
    asked = like.dtype, exact
    if asked not in _FORMATS:
        xp, name = array_namespace(like), dtype_name(like)
        half = (xp.bfloat16, xp.float16) if hasattr(xp, "bfloat16") else (xp.float16,)
        own = xp.float64 if name == "float64" or (exact and name != "float32") else xp.float32
        names = (own, *half) if own == xp.float32 or exact else (own,)
        if isinstance(like, np.ndarray):
            own, *names = np.dtype(own), *(np.dtype(dtype) for dtype in names)
        _FORMATS[asked] = own, tuple(names)
    return _FORMATS[asked]


_FORMATS: dict = {}
