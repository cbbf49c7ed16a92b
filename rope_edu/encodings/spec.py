r"""RopeSpec: all that a rotation needs to know, in one value; every rule returns one, whatever rotates takes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rope_edu.arrays import Array, ArrayLike
from rope_edu.encodings.frequencies import as_pairs, inv_freq
from rope_edu.encodings.layouts import check_layout
from rope_edu.encodings.validation import (
    as_finite,
    as_kind_of,
    check_even_dim,
    check_positive_int,
    check_positive_number,
    check_whole_number,
)


@dataclass(frozen=True, eq=False, repr=False)
class RopeSpec:
    r"""Say how a head is rotated: how fast each pair turns, which features pair, what multiplies the result.

        angle(m, i) = m · inv_freq[i],   (first, second)_i turned by it, times attention_factor

    Everything is checked when it is made, and nothing changes afterwards: `replace` makes another. The
    frequencies are numbers, not parameters: learned ones go to `Rotary` as the tensor that they are.

    Args:
        inv_freq: radians per token, `(pairs,)`, finite, at least one; 0 for a pair that never turns. A list,
            an array or a tensor; copied, and kept as a read-only NumPy float64 array.
        attention_factor: a, a finite number above 0 on cos and sin, so that scores grow by a².
        layout: "interleaved" or "half_split".
        head_dim: width of the head, at least 2 · pairs; the features behind pass. Default: 2 · pairs.
        kind: name of the rule that made it, such as "rope", "yarn" or "p-rope".
        axes: for each pair the index of the coordinate by which it turns, `(pairs,)` whole numbers from 0, such as
            those of `section_axes`; None for positions that are one number.

    Raises:
        ValueError: a field is out of range; the sentence names it.

    >>> spec = RopeSpec([1.0, 0.01], head_dim=6)
    >>> spec
    <RopeSpec "rope": 2 pairs, 1 … 0.01 rad/token, interleaved, first 4 of 6 features>
    >>> spec.replace(layout="half_split").layout, spec.layout
    ('half_split', 'interleaved')

    Source: the fields are those in which the rules of transformers' `modeling_rope_utils` differ. Chapters
    15, 19 and 21.
    """

    inv_freq: np.ndarray
    attention_factor: float = 1.0
    layout: str = "interleaved"
    head_dim: int = None  # type: ignore[assignment]  # until __post_init__
    kind: str = "rope"
    axes: tuple[int, ...] | None = None

    if TYPE_CHECKING:  # what is given is more than what is kept

        def __init__(
            self,
            inv_freq: ArrayLike,
            attention_factor: float = 1.0,
            layout: str = "interleaved",
            head_dim: int | None = None,
            kind: str = "rope",
            axes: Sequence[int] | np.ndarray | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        frequencies = _as_numbers(self.inv_freq)
        checked = {
            "inv_freq": frequencies,
            "attention_factor": check_positive_number("attention_factor", self.attention_factor),
            "layout": check_layout(self.layout),
            "head_dim": _check_head_dim(self.head_dim, 2 * len(frequencies)),
            "kind": _check_kind(self.kind),
            "axes": _check_axes(self.axes, len(frequencies)),
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

    def replace(self, **changes: Any) -> RopeSpec:
        """Return a spec with some fields changed, checked anew; TypeError for a field that there is not."""
        return replace(self, **changes)

    def __eq__(self, other: object) -> bool:
        return self._fields() == other._fields() if isinstance(other, RopeSpec) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._fields())

    def __reduce__(
        self,
    ) -> tuple[Any, ...]:  # pickle and copy.deepcopy make it anew: arrays come back writeable
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

    Args:
        head_dim: width of a head.
        base: a number above 1.
        rotary_dim: rotated features, the first of the head, an even number. Default: all.
        layout: "interleaved" or "half_split".

    Raises:
        ValueError: a width is not an even whole number ≥ 2, `rotary_dim` exceeds `head_dim`, `base` is not
            finite and above 1, or `layout` is misspelt.

    >>> plain_rope(4)
    <RopeSpec "rope": 2 pairs, 1 … 0.01 rad/token, interleaved>

    Source: RoFormer, arXiv 2104.09864, §3.2.2. Chapters 6 and 10.
    """
    frequencies = start_frequencies(head_dim, base, rotary_dim)
    return RopeSpec(frequencies, layout=layout, head_dim=head_dim)


def start_frequencies(head_dim: int, base: float, rotary_dim: int | None) -> np.ndarray:
    """Return the frequencies from which every rule starts, float64 `(rotary_dim // 2,)`, of checked widths."""
    if rotary_dim is None:
        return inv_freq(head_dim, base)
    head_dim = check_positive_int("head_dim", head_dim)
    if check_even_dim("rotary_dim", rotary_dim) > head_dim:
        raise ValueError(f"rotary_dim must be at most head_dim = {head_dim}, got {rotary_dim}")
    return inv_freq(rotary_dim, base)


def spec_angles(spec: RopeSpec, positions: ArrayLike) -> Any:
    r"""Angle of each pair at each position, by the spec's coordinates: radians, float64 `(…, seq, pairs)`.

        angle(x, i) = x_{axes[i]} · inv_freq[i],   or m · inv_freq[i] where a position is one number

    Args:
        spec: a RopeSpec.
        positions: `(…, seq)`, as for `rope_angles`; `(…, seq, n_axes)` for a spec with `axes`, a row of
            coordinates for each token. The angles are of their kind, and gradients reach them.

    Raises:
        ValueError: the spec has axes and `positions` are no rows of as many coordinates, or as for `rope_angles`.

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

    Args:
        rope: a RopeSpec, or radians per token `(pairs,)`, which stay what they are: a torch parameter is learned.
        layout: for bare frequencies, "interleaved" unless given; a spec has its own.
        attention_factor: likewise, 1.0 unless given.

    Raises:
        ValueError: a spec and an argument say different things, or an argument is out of range.

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
    """Return a read-only float64 copy of frequencies that are finite, 1-D and at least one."""
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
