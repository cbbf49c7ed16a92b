r"""RopeSpec, a complete description of a rotation: rules return specs, and rotation functions accept them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from rope_edu.arrays import Array, ArrayLike, as_kind_of
from rope_edu.encodings.frequencies import as_pairs, inv_freq
from rope_edu.encodings.layouts import check_layout
from rope_edu.encodings.validation import (
    as_positions,
    check_base,
    check_positive_int,
    check_positive_number,
    check_rotary_dim,
    check_whole_number,
)

__all__ = ["RopeSpec", "plain_rope", "rope_parts", "spec_angles"]


@dataclass(frozen=True, init=False, eq=False, repr=False)
class RopeSpec:
    r"""A head's rotation: the frequencies, the pairing of features, and a factor that scales the result.

        angle(m, i) = m · inv_freq[i],   pair i is rotated by it and multiplied by attention_factor

    A spec is immutable, and its fields are checked at construction; `replace` makes a new spec. The frequencies are
    constants; pass learned frequencies to `Rotary` as a tensor. ValueError if a field is out of range.

    Args:
        inv_freq: radians per token, `(pairs,)`, finite, at least one; 0 for a pair that never turns. A list, an
            array or a tensor; stored as a read-only copy, NumPy float64.
        attention_factor: a, a finite number above 0 on cos and sin, so that scores grow by a².
        layout: "interleaved" or "half_split".
        head_dim: width of the head, at least 2 · pairs (the default); features beyond 2 · pairs are unchanged.
        kind: name of the rule that made the spec, such as "rope", "yarn" or "p-rope".
        axes: the index, from 0, of the coordinate that rotates each pair, `(pairs,)`, for example from
            `section_axes`; None if a position is a single number.
        base: the base b that the rule used, above 1, or None. Specs that differ only in their base are equal,
            because they give the same rotation; specs that differ in `kind` are not.

    >>> spec = RopeSpec([1.0, 0.01], head_dim=6)
    >>> spec
    <RopeSpec "rope": 2 pairs, 1 … 0.01 rad/token, interleaved, first 4 of 6 features>
    >>> spec.replace(layout="half_split").layout, spec.layout
    ('half_split', 'interleaved')

    Source: the settings that differ between rules in transformers' `modeling_rope_utils`. Chapters 15, 19 and 21.
    """

    inv_freq: np.ndarray
    attention_factor: float
    layout: str
    head_dim: int
    kind: str
    axes: tuple[int, ...] | None
    base: float | None

    def __init__(
        self,
        inv_freq: ArrayLike,
        attention_factor: float = 1.0,
        layout: str = "interleaved",
        head_dim: int | None = None,
        kind: str = "rope",
        axes: Sequence[int] | np.ndarray | None = None,
        base: float | None = None,
    ) -> None:
        frequencies = _as_fixed(inv_freq)
        fields = {
            "inv_freq": frequencies,
            "attention_factor": check_positive_number("attention_factor", attention_factor),
            "layout": check_layout(layout),
            "head_dim": _check_head_dim(head_dim, 2 * len(frequencies)),
            "kind": _check_kind(kind),
            "axes": _check_axes(axes, len(frequencies)),
            "base": None if base is None else check_base("base", base),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)  # the dataclass is frozen

    @property
    def rotary_dim(self) -> int:
        """Number of features that form pairs, 2 · pairs, including pairs that never turn."""
        return 2 * len(self.inv_freq)

    @property
    def sections(self) -> tuple[int, ...] | None:
        """Pairs per coordinate, such as (24, 20, 20) in Qwen3-VL, or None if a position is a single number."""
        return None if self.axes is None else tuple(np.bincount(self.axes).tolist())

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some fields changed; all fields are checked again. TypeError for an unknown field."""
        return replace(self, **changes)

    def __eq__(self, other: object) -> bool:
        return self._fields() == other._fields() if isinstance(other, RopeSpec) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._fields())

    def __reduce__(self) -> tuple[Any, ...]:  # copy and pickle make a new, read-only spec
        return RopeSpec, (*self._fields(), self.base)

    def __repr__(self) -> str:
        return f'<RopeSpec "{self.kind}": {", ".join(self._describe())}>'

    def _fields(self) -> tuple[Any, ...]:
        frequencies = tuple(self.inv_freq.tolist())
        return frequencies, self.attention_factor, self.layout, self.head_dim, self.kind, self.axes

    def _describe(self) -> list[str]:
        pairs, moving = len(self.inv_freq), self.inv_freq[self.inv_freq != 0]
        words = [f"{pairs} pairs" if pairs > 1 else "1 pair"]
        if len(moving) < pairs:
            words.append(f"{pairs - len(moving)} of them still")
        if len(moving):
            ends = [f"{moving[0]:.6g}", f"{moving[-1]:.6g}"]
            words.append(" … ".join(dict.fromkeys(ends)) + " rad/token")
        words.append(self.layout)
        if self.rotary_dim < self.head_dim:
            words.append(f"first {self.rotary_dim} of {self.head_dim} features")
        if self.attention_factor != 1:
            words.append(f"attention_factor {self.attention_factor:.6g}")
        if self.axes is not None:
            order = "" if list(self.axes) == sorted(self.axes) else ", interleaved"
            words.append(f"sections {self.sections}{order}")
        return words


def plain_rope(
    head_dim: int, base: float = 10_000.0, *, rotary_dim: int | None = None, layout: str = "interleaved"
) -> RopeSpec:
    r"""Return the spec for plain RoPE, which all other rules modify: kind "rope", `rotary_dim // 2` pairs.

        θ_i = base^(−2i / rotary_dim)

    The first `rotary_dim` of `head_dim` features rotate, by default all; `layout` is "interleaved" or "half_split".
    ValueError if a width is not an even whole number ≥ 2, if `rotary_dim` exceeds `head_dim`, if the base is not
    finite and above 1, or if the layout is misspelt.

    >>> plain_rope(4)
    <RopeSpec "rope": 2 pairs, 1 … 0.01 rad/token, interleaved>

    Source: RoFormer, arXiv 2104.09864, §3.2.2. Chapters 6 and 10.
    """
    width = head_dim if rotary_dim is None else check_rotary_dim(rotary_dim, head_dim)
    return RopeSpec(inv_freq(width, base), layout=layout, head_dim=head_dim, base=base)


def spec_angles(spec: RopeSpec, positions: ArrayLike) -> Any:
    r"""Return the angles at positions with one or several coordinates: radians, float64 `(…, seq, pairs)`.

        angle(x, i) = x_{axes[i]} · inv_freq[i],   or m · inv_freq[i] if a position is a single number

    Positions are as for `rope_angles`, `(…, seq)`; for a spec with `axes`, they are rows of coordinates, one row
    per token, `(…, seq, n_axes)`. The angles have the array type of the positions and pass gradients to them.
    ValueError if the rows have the wrong length, or as for `rope_angles`.

    >>> spec_angles(RopeSpec([1.0, 0.5], axes=(0, 1)), [[3, 4]]).tolist()  # pair 0 by row, pair 1 by column
    [[3.0, 2.0]]

    Source: Qwen2-VL, arXiv 2409.12191, §2.1. Chapter 20.
    """
    coordinates = pair_positions(spec, positions)
    return coordinates * as_kind_of(spec.inv_freq, like=coordinates)


def pair_positions(spec: RopeSpec, positions: ArrayLike) -> Any:
    """Return each pair's coordinate, float64 `(…, seq, pairs)`, or `(…, seq, 1)` if all pairs share it."""
    positions = as_positions(positions)
    if spec.axes is None:
        return positions[..., None]
    n_axes = max(spec.axes) + 1
    if positions.ndim < 2 or positions.shape[-1] != n_axes:
        raise ValueError(
            f"the spec's pairs turn by {n_axes} coordinates, so positions must be (…, seq, {n_axes}), "
            f"got shape {tuple(positions.shape)}"
        )
    return positions[..., list(spec.axes)]


def rope_parts(
    rope: Any, layout: str | None = None, attention_factor: float | None = None
) -> tuple[Any, str, float]:
    r"""Return (inv_freq, layout, attention_factor) from a spec, or from bare frequencies and the arguments.

    Bare frequencies are in radians per token, `(pairs,)`. They are returned unchanged, so a torch parameter can
    still be learned; their layout is "interleaved" and their factor 1.0 by default. ValueError if a value is out of
    range or contradicts the spec.

    >>> rope_parts([1.0, 0.1])
    ([1.0, 0.1], 'interleaved', 1.0)
    >>> rope_parts(plain_rope(4, layout="half_split"))[1:]
    ('half_split', 1.0)

    Chapter 10.
    """
    if isinstance(rope, RopeSpec):
        for name, value in (("layout", layout), ("attention_factor", attention_factor)):
            in_spec = getattr(rope, name)
            if value is not None and value != in_spec:
                raise ValueError(
                    f"{name} is {in_spec!r} in the spec but {value!r} as an argument: omit it, or change the spec, "
                    f"spec.replace({name}={value!r})"
                )
        return rope.inv_freq, rope.layout, rope.attention_factor
    factor = 1.0 if attention_factor is None else check_positive_number("attention_factor", attention_factor)
    return rope, check_layout("interleaved" if layout is None else layout), factor


def _as_fixed(frequencies: ArrayLike) -> np.ndarray:
    """Return a read-only float64 copy of frequencies; ValueError unless they are finite, 1-D and not empty."""
    if getattr(frequencies, "requires_grad", False):
        raise ValueError(
            "inv_freq must not require a gradient: a spec holds fixed numbers; pass learned frequencies to "
            "Rotary as a tensor, or detach them"
        )
    fixed = np.array(as_pairs(frequencies).tolist(), dtype=np.float64)  # from any array type and device
    if not len(fixed):
        raise ValueError("inv_freq must hold at least one pair, got none")
    fixed.flags.writeable = False
    return fixed


def _check_head_dim(head_dim: object, rotary_dim: int) -> int:
    if head_dim is None:
        return rotary_dim
    head_dim = check_positive_int("head_dim", head_dim)
    if head_dim < rotary_dim:
        raise ValueError(f"head_dim must be at least 2 · pairs = {rotary_dim}, got {head_dim}")
    return head_dim


def _check_kind(kind: object) -> str:
    if not isinstance(kind, str) or not kind:
        raise ValueError(f"kind must be the name of a rule, such as 'rope' or 'yarn', got {kind!r}")
    return kind


def _check_axes(axes: object, pairs: int) -> tuple[int, ...] | None:
    if axes is None:
        return None
    if isinstance(axes, np.ndarray):
        axes = axes.tolist()
    if not isinstance(axes, list | tuple) or len(axes) != pairs:
        raise ValueError(f"axes must name a coordinate for each of the {pairs} pairs, got {axes!r}")
    return tuple(check_whole_number("each of axes", axis) for axis in axes)


def check_width(rope: object, x: Array) -> None:
    """Reject an `x` whose head width differs from the spec's; bare frequencies allow any width."""
    if isinstance(rope, RopeSpec) and x.shape[-1] != rope.head_dim:
        raise ValueError(f"the spec is for heads of {rope.head_dim} features, got {x.shape[-1]}")
