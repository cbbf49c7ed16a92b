r"""RopeSpec: all that a rotation needs to know, in one value; every rule returns one, whatever rotates takes it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from rope_edu.arrays import Array, ArrayLike
from rope_edu.encodings.frequencies import as_pairs, inv_freq
from rope_edu.encodings.layouts import check_layout
from rope_edu.encodings.validation import (
    as_finite,
    as_kind_of,
    check_positive_int,
    check_positive_number,
    check_rotary_dim,
    check_whole_number,
)

__all__ = ["RopeSpec", "plain_rope", "rope_parts", "spec_angles"]


@dataclass(frozen=True, init=False, eq=False, repr=False)
class RopeSpec:
    r"""How a head is rotated: how fast each pair turns, which features pair, what multiplies the result.

        angle(m, i) = m · inv_freq[i],   (first, second)_i turned by it, times attention_factor

    Everything is checked when it is made, and nothing changes afterwards: `replace` makes another. The frequencies
    are numbers, not parameters: learned ones go to `Rotary` as the tensor that they are. ValueError names a field
    that is out of range.

    Args:
        inv_freq: radians per token, `(pairs,)`, finite, at least one; 0 for a pair that never turns. A list, an
            array or a tensor; kept as a read-only copy, NumPy float64.
        attention_factor: a, a finite number above 0 on cos and sin, so that scores grow by a².
        layout: "interleaved" or "half_split".
        head_dim: width of the head, at least 2 · pairs, the default; features behind these pass.
        kind: name of the rule that made it, such as "rope", "yarn" or "p-rope".
        axes: for each pair the index of the coordinate by which it turns, `(pairs,)` whole numbers from 0, such as
            those of `section_axes`; None for positions that are one number.

    >>> spec = RopeSpec([1.0, 0.01], head_dim=6)
    >>> spec
    <RopeSpec "rope": 2 pairs, 1 … 0.01 rad/token, interleaved, first 4 of 6 features>
    >>> spec.replace(layout="half_split").layout, spec.layout
    ('half_split', 'interleaved')

    Source: the fields are those in which the rules of transformers' `modeling_rope_utils` differ. Chapters 15, 19
    and 21.
    """

    inv_freq: np.ndarray
    attention_factor: float
    layout: str
    head_dim: int
    kind: str
    axes: tuple[int, ...] | None

    def __init__(
        self,
        inv_freq: ArrayLike,
        attention_factor: float = 1.0,
        layout: str = "interleaved",
        head_dim: int | None = None,
        kind: str = "rope",
        axes: Sequence[int] | np.ndarray | None = None,
    ) -> None:
        frequencies = _as_numbers(inv_freq)
        checked = {
            "inv_freq": frequencies,
            "attention_factor": check_positive_number("attention_factor", attention_factor),
            "layout": check_layout(layout),
            "head_dim": _check_head_dim(head_dim, 2 * len(frequencies)),
            "kind": _check_kind(kind),
            "axes": _check_axes(axes, len(frequencies)),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)  # the one moment at which a frozen value is written

    @property
    def rotary_dim(self) -> int:
        """Features that are paired, the first 2 · pairs of the head; still pairs count."""
        return 2 * len(self.inv_freq)

    @property
    def sections(self) -> tuple[int, ...] | None:
        """Pairs that turn by each coordinate: (24, 20, 20) in Qwen3-VL; None for positions that are one number."""
        return None if self.axes is None else tuple(np.bincount(self.axes).tolist())

    def replace(self, **changes: Any) -> Self:
        """A spec with some fields changed, checked anew; TypeError for a field that there is not."""
        return replace(self, **changes)

    def __eq__(self, other: object) -> bool:
        return self._fields() == other._fields() if isinstance(other, RopeSpec) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._fields())

    def __reduce__(self) -> tuple[Any, ...]:  # how it is copied and pickled: made anew, and read-only again
        return RopeSpec, self._fields()

    def __repr__(self) -> str:
        return f'<RopeSpec "{self.kind}": {", ".join(self._describe())}>'

    def _fields(self) -> tuple[Any, ...]:
        frequencies = tuple(self.inv_freq.tolist())
        return frequencies, self.attention_factor, self.layout, self.head_dim, self.kind, self.axes

    def _describe(self) -> list[str]:
        pairs, turning = len(self.inv_freq), self.inv_freq[self.inv_freq != 0]
        words = [f"{pairs} pairs" if pairs > 1 else "1 pair"]
        if len(turning) < pairs:
            words.append(f"{pairs - len(turning)} of them still")
        if len(turning):
            ends = [f"{turning[0]:.6g}", f"{turning[-1]:.6g}"]
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
    r"""Plain RoPE, the rotation that every other rule changes: a spec of kind "rope", `rotary_dim // 2` pairs.

        θ_i = base^(−2i / rotary_dim)

    The first `rotary_dim` of `head_dim` features turn, by default all; `layout` is "interleaved" or "half_split".
    ValueError for a width that is not an even whole number ≥ 2, a `rotary_dim` above `head_dim`, a base that is not
    finite and above 1, or a misspelt layout.

    >>> plain_rope(4)
    <RopeSpec "rope": 2 pairs, 1 … 0.01 rad/token, interleaved>

    Source: RoFormer, arXiv 2104.09864, §3.2.2. Chapters 6 and 10.
    """
    frequencies = start_frequencies(head_dim, base, rotary_dim)
    return RopeSpec(frequencies, layout=layout, head_dim=head_dim)


def start_frequencies(head_dim: int, base: float, rotary_dim: int | None) -> np.ndarray:
    """Frequencies from which every rule starts, float64 `(rotary_dim // 2,)`, of checked widths."""
    return inv_freq(head_dim if rotary_dim is None else check_rotary_dim(rotary_dim, head_dim), base)


def spec_angles(spec: RopeSpec, positions: ArrayLike) -> Any:
    r"""Angle of each pair at each position, by the spec's coordinates: radians, float64 `(…, seq, pairs)`.

        angle(x, i) = x_{axes[i]} · inv_freq[i],   or m · inv_freq[i] where a position is one number

    Positions are as for `rope_angles`, `(…, seq)`; for a spec with `axes` they are rows of coordinates, one for
    each token, `(…, seq, n_axes)`. The angles are of their kind, and gradients reach them. ValueError for rows of a
    different length, or as for `rope_angles`.

    >>> spec_angles(RopeSpec([1.0, 0.5], axes=(0, 1)), [[3, 4]]).tolist()  # pair 0 by row, pair 1 by column
    [[3.0, 2.0]]

    Source: Qwen2-VL, arXiv 2409.12191, §2.1. Chapter 20.
    """
    places = pair_positions(spec, positions)
    return places * as_kind_of(spec.inv_freq, like=places)


def pair_positions(spec: RopeSpec, positions: ArrayLike) -> Any:
    """The coordinate by which each pair turns, float64 `(…, seq, pairs)`; `(…, seq, 1)` where all turn by one."""
    places = as_finite("positions", positions)
    if spec.axes is None:
        return places[..., None]
    n_axes = max(spec.axes) + 1
    if places.ndim < 2 or places.shape[-1] != n_axes:
        raise ValueError(
            f"the spec's pairs turn by {n_axes} coordinates, so positions must be (…, seq, {n_axes}), "
            f"got shape {tuple(places.shape)}"
        )
    return places[..., list(spec.axes)]


def rope_parts(
    rope: Any, layout: str | None = None, attention_factor: float | None = None
) -> tuple[Any, str, float]:
    r"""(inv_freq, layout, attention_factor) of a spec, or of bare frequencies and the values given beside them.

    Bare frequencies are radians per token, `(pairs,)`, and stay what they are: a torch parameter is learned. With
    them the layout is "interleaved" and the factor 1.0 unless given. ValueError for a value that is out of range,
    or not what the spec says.

    >>> rope_parts([1.0, 0.1])
    ([1.0, 0.1], 'interleaved', 1.0)
    >>> rope_parts(plain_rope(4, layout="half_split"))[1:]
    ('half_split', 1.0)

    Chapter 10.
    """
    if isinstance(rope, RopeSpec):
        for name, value in (("layout", layout), ("attention_factor", attention_factor)):
            own = getattr(rope, name)
            if value is not None and value != own:
                raise ValueError(
                    f"{name} is {own!r} in the spec and {value!r} beside it: leave it out, or change the spec, "
                    f"spec.replace({name}={value!r})"
                )
        return rope.inv_freq, rope.layout, rope.attention_factor
    factor = 1.0 if attention_factor is None else check_positive_number("attention_factor", attention_factor)
    return rope, check_layout("interleaved" if layout is None else layout), factor


def _as_numbers(frequencies: ArrayLike) -> np.ndarray:
    """Frequencies that are finite, 1-D and at least one, as a read-only float64 copy."""
    if getattr(frequencies, "requires_grad", False):
        raise ValueError(
            "inv_freq must not require a gradient: a spec holds fixed numbers; give learned frequencies to "
            "Rotary as the tensor that they are, or detach them"
        )
    numbers = np.array(as_pairs(frequencies).tolist(), dtype=np.float64)  # of any kind, on any device
    if not len(numbers):
        raise ValueError("inv_freq must hold at least one pair, got none")
    numbers.flags.writeable = False
    return numbers


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
    """Refuse an `x` whose heads are of another width than the spec says; bare frequencies say none."""
    if isinstance(rope, RopeSpec) and x.shape[-1] != rope.head_dim:
        raise ValueError(f"the spec is for heads of {rope.head_dim} features, got {x.shape[-1]}")
