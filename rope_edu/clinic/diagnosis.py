r"""Say in words what somebody's rotation is, and which known mistake it makes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from rope_edu.clinic import frequencies, reading
from rope_edu.clinic.broken import Rotation
from rope_edu.clinic.mistakes import MISTAKES
from rope_edu.clinic.probe import Probe
from rope_edu.encodings.spec import RopeSpec
from rope_edu.encodings.validation import check_positive_int

COARSE = {8: 0.01, 11: 0.002}  # how near frequencies are known, relative, where results have so few bits
SAME = 1e-4  # of an attention factor
UNREADABLE = {"differs_when_repeated", "mixes_tokens", "adds_instead_of_turning", "not_linear"}


@dataclass(frozen=True)
class Diagnosis:
    r"""What a black box turned out to be; `print` it.

    Attributes:
        is_rotation: True if it turns pairs of features by angles that grow with the position.
        layout: "interleaved", "half_split", or None.
        sense: +1 counter-clockwise, as in the papers; −1 clockwise; None if pairs differ.
        base: of the frequencies, or of their first pairs if a rule changed the others; None if they have none.
        rotary_dim: features that are spanned by pairs; the others pass.
        first_feature: of the part that turns, 0 as a rule.
        comes_out: how features come out in another order or with another sign than they went in, as words; "".
        first_position: of the first token, 0 as a rule; None if no one position explains its phases.
        attention_factor: on cosines and sines; None.
        inv_freq: radians per token, `(pairs,)`, without sense; None.
        precision: which width angles and turns are kept in, as words.
        mistakes: names from `MISTAKES`.

    >>> from rope_edu import plain_rope
    >>> from rope_edu.clinic import right
    >>> print(diagnose(right(plain_rope(8, 500.0, layout="half_split")), 8))
    A rotation of 8 of 8 features, half_split, counter-clockwise, base 500.
    Kept in: angles float64, turns float64.
    No known mistake.

    Chapter 22.
    """

    head_dim: int
    is_rotation: bool = False
    layout: str | None = None
    sense: int | None = None
    base: float | None = None
    rotary_dim: int | None = None
    first_feature: int = 0
    comes_out: str = ""
    first_position: float | None = None
    attention_factor: float | None = None
    inv_freq: np.ndarray | None = field(default=None, repr=False, compare=False)
    precision: dict[str, str] = field(default_factory=dict)
    mistakes: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [self._kind()]
        if self.precision:
            lines.append(
                "Kept in: " + ", ".join(f"{what} {width}" for what, width in self.precision.items()) + "."
            )
        for name in self.mistakes:
            lines += [f"{name}: {MISTAKES[name].does}", f"    Fix: {MISTAKES[name].fix}"]
        return "\n".join(lines) if self.mistakes else "\n".join([*lines, "No known mistake."])

    def _kind(self) -> str:
        if not self.is_rotation:
            return f"Not a rotation of pairs by position (heads of {self.head_dim})."
        words = [f"A rotation of {self.rotary_dim} of {self.head_dim} features"]
        if self.first_feature:
            words[0] += f" ({self.first_feature} to {self.first_feature + self.rotary_dim - 1})"
        words.append(self.layout or "in pairs of its own")
        if self.sense is not None:
            words.append("counter-clockwise" if self.sense == 1 else "clockwise")
        words.append(frequencies.said(self.inv_freq, self.rotary_dim, self.head_dim))
        if still := int((self.inv_freq == 0).sum()):
            words.append(f"{still} of {len(self.inv_freq)} pairs stand still")
        if self.first_position:
            words.append(f"first token at position {self.first_position:g}")
        if abs(self.attention_factor - 1) > SAME:
            words.append(f"attention factor {self.attention_factor:.6g}")
        if self.comes_out:
            words.append(f"features come out {self.comes_out}")
        return ", ".join(words) + "."


def diagnose(function: Rotation, head_dim: int, *, against: RopeSpec | None = None) -> Diagnosis:
    r"""Probe anybody's rotation as a black box, and say what it is and what is wrong with it.

    Unit vectors go in, so a matrix comes out for every position, and everything is read from these: pairs from
    the entries that are not 0, angles from each block, frequencies by following the angles to position 2¹⁷,
    precision at 2²⁰.

    Args:
        function: `(x, positions) -> rotated x` with NumPy arrays, x `(seq, head_dim)` float64, positions `(seq,)`
            int64. Wrap yours: `lambda x, positions: mine(torch.tensor(x), torch.tensor(positions)).numpy()`.
        head_dim: width of x.
        against: what was wanted. Without it only mistakes are seen that make no rotation, or none that anybody
            wants; a base, a layout or a sense of one's own is no mistake in itself.

    Returns:
        `Diagnosis`.

    Raises:
        ValueError: `head_dim` is not a whole number ≥ 2 or not the spec's, `against` is no RopeSpec, or the
            function fails, or does not return finite numbers in the shape of x, at positions 0 to 7.

    >>> from rope_edu import apply_rope, inv_freq, rope_angles
    >>> mine = lambda x, positions: apply_rope(x, rope_angles(positions + 1, inv_freq(8)))
    >>> found = diagnose(mine, 8)
    >>> found.layout, found.sense, round(found.base), found.first_position, found.mistakes
    ('interleaved', 1, 10000, 1.0, ('counts_from_one',))

    Chapter 22.
    """
    if check_positive_int("head_dim", head_dim) < 2:
        raise ValueError(f"head_dim must be at least 2, got {head_dim}")
    if against is not None and not isinstance(against, RopeSpec):
        hint = "; rope_from_config makes one of a config" if isinstance(against, dict | str) else ""
        raise ValueError(f"against must be a RopeSpec or None, got {type(against).__name__}{hint}")
    if against is not None and against.head_dim != head_dim:
        raise ValueError(f"head_dim must be that of the spec, {against.head_dim}, got {head_dim}")
    probe = Probe(function, head_dim)
    mistakes = _manners(probe)
    if UNREADABLE & set(mistakes):
        return Diagnosis(head_dim, mistakes=tuple(mistakes))
    pairs, wrong, factor = _read(probe)
    if wrong:
        return Diagnosis(head_dim, layout=pairs.layout, mistakes=(*mistakes, wrong))
    return _rotation(probe, pairs, factor, mistakes, against)


def _manners(probe: Probe) -> list[str]:
    """Return the mistakes that show before anything is read: state, side effects, what a row depends on."""
    if not probe.repeats():
        return ["differs_when_repeated"]
    mistakes = []
    if probe.remembers():
        mistakes.append("remembers_earlier_calls")
    if probe.changed_input:
        mistakes.append("changes_its_input")
    if probe.mixes_tokens():
        return [*mistakes, "mixes_tokens"]
    if not mistakes and probe.depends_on_longest():
        mistakes.append("depends_on_longest_row")
    if probe.adds():
        mistakes.append("adds_instead_of_turning")
    elif not probe.is_linear():
        mistakes.append("not_linear")
    elif name := probe.counts_for_itself():
        probe.by_place = True
        mistakes.append(name)
    return mistakes


def _read(probe: Probe) -> tuple[reading.Pairs, str | None, float | None]:
    """Return pairs, what is wrong with them, and their factor; as if features came out in order, if that helps."""
    found = _judged(probe)
    unclear = found[1] in ("mixes_features", "table_of_other_layout") or _is_negated(probe)
    if not unclear or not probe.undo_order():
        return found
    undone = _judged(probe)
    if undone[1]:
        probe.keep_order()
    return found if undone[1] else undone


def _judged(probe: Probe) -> tuple[reading.Pairs, str | None, float | None]:
    pairs = reading.find_pairs(probe)
    return pairs, *((pairs.mistake, None) if not len(pairs.members) else reading.judge_blocks(probe, pairs))


def _is_negated(probe: Probe) -> bool:
    """Tell whether position 0 turns x around."""
    matrix = probe.matrix(0)
    return (
        matrix is not None
        and bool((np.diag(matrix) < 0).any())
        and not (matrix - np.diag(np.diag(matrix))).any()
    )


@dataclass(frozen=True)
class _Seen:
    """What was read of a rotation."""

    pairs: reading.Pairs
    clock: reading.Clock
    factor: float
    speeds: np.ndarray  # (pairs,) in the order of the layout, without sense
    bits: int | None  # of results, where they are few

    @property
    def close(self) -> float:
        return COARSE.get(self.bits, frequencies.CLOSE)

    @property
    def senses(self) -> set[int]:
        """The signs of all pairs that turn."""
        return set(np.sign(self.clock.speed[np.abs(self.clock.speed) > 1e-9]).astype(int).tolist())

    @property
    def sense(self) -> int | None:
        return self.senses.copy().pop() if len(self.senses) == 1 else None

    @property
    def swapped(self) -> bool:
        return bool((np.abs(np.abs(self.clock.start) - np.pi / 2) < 1e-3).all())


def _rotation(
    probe: Probe, pairs: reading.Pairs, factor: float, mistakes: list[str], against: RopeSpec | None
) -> Diagnosis:
    """Describe what turns pairs."""
    clock = reading.read_clock(probe, pairs, 512 if "depends_on_longest_row" in mistakes else math.inf)
    bits = next(
        (bits for name, bits in (("bfloat16", 8), ("float16", 11)) if reading.result_is_rounded(probe, name)),
        None,
    )
    seen = _Seen(pairs, clock, factor, _in_order(pairs, np.abs(clock.speed)), bits)
    first = 0.0 if seen.swapped else reading.first_position(clock)
    rising = frequencies.rises(seen.speeds)
    found_ladder = frequencies.ladder(
        seen.speeds[::-1] if rising else seen.speeds, pairs.rotary_dim, seen.close
    )
    few_bits = _few_bits(probe, seen, against)
    found = [*mistakes, *_unusual(probe, seen, first, rising), *few_bits]
    if seen.bits:
        found.append({8: "result_in_bfloat16", 11: "result_in_float16"}[seen.bits])
    comes_out = "" if probe.order is None else reading.order_said(probe.order, pairs)
    if against is not None:
        found += ["reordered"] if comes_out else []
        found += _differences(seen, against, found_ladder.base, found, ask_speeds=not few_bits)
    return Diagnosis(
        head_dim=probe.head_dim,
        is_rotation=True,
        layout=pairs.layout,
        sense=seen.sense,
        base=None if "one_clock" in found else found_ladder.base,
        rotary_dim=pairs.rotary_dim,
        first_feature=pairs.begin,
        comes_out=comes_out,
        first_position=first,
        attention_factor=factor,
        inv_freq=seen.speeds,
        precision=_precision(probe, seen, found_ladder, rising),
        mistakes=tuple(dict.fromkeys(found)),
    )


def _unusual(probe: Probe, seen: _Seen, first: float | None, rising: bool) -> list[str]:
    """Return what is wrong in any model: with pairs, phases, senses, frequencies or the tail."""
    speeds, pairs = seen.speeds, seen.pairs
    still = pairs.layout == "interleaved" and abs(seen.factor - 1) > SAME
    known = {
        pairs.mistake: pairs.mistake is not None,
        "cos_and_sin_swapped": seen.swapped,
        "phase_at_zero": first is None,
        "counts_from_one": bool(first),
        "senses_differ": pairs.layout is not None and len(seen.senses) > 1,
        "tail_changes": reading.tail_changes(probe, pairs, seen.factor, still),
        "one_clock": len(speeds) > 1 and np.ptp(speeds) <= seen.close * speeds.max(),
        "frequencies_reversed": rising,
    }
    return [name for name, seen_here in known.items() if seen_here]


def _in_order(pairs: reading.Pairs, speeds: np.ndarray) -> np.ndarray:
    """Return speeds by pair of the layout, 0 for pairs that never turn; by speed where the layout has no name."""
    if pairs.layout is None:
        return np.sort(speeds)[::-1]
    ordered = np.zeros(pairs.rotary_dim // 2)
    first = pairs.members[:, 0] - pairs.begin
    ordered[first // (2 if pairs.layout == "interleaved" else 1)] = speeds
    return ordered


def _precision(probe: Probe, seen: _Seen, found: frequencies.Ladder, rising: bool) -> dict[str, str]:
    """Say in which widths angles and turns are kept."""
    exact, speeds = seen.clock.speed, seen.speeds
    if found.off < 1e-6 and found.follow == len(speeds) == len(exact) and seen.pairs.layout:
        exact = np.sign(exact) * (found.steps[::-1] if rising else found.steps)
    return {
        "angles": reading.angle_width(probe, seen.pairs, seen.clock, exact),
        "turns": reading.turn_width(probe, seen.pairs, seen.factor),
    }


def _few_bits(probe: Probe, seen: _Seen, against: RopeSpec | None) -> list[str]:
    """Return which of a position, a frequency or an angle is kept in too few bits, or whether a table ends."""
    if seen.clock.lost_at is not None and reading.takes_other_row(probe, seen.pairs, seen.clock):
        return ["table_ends"]
    for number_format, off_clock in (("bfloat16", 1e-3), ("float16", 1e-4)):
        if not _are_rounded(seen, against, number_format):
            continue
        odd = [p for p in (101, 109, 123, 127) if probe.matrix(p) is not None]
        off = [reading.off_clock(probe, seen.pairs, seen.clock, position) for position in odd]
        return [f"{'angles' if max(off, default=0) > off_clock else 'frequencies'}_in_{number_format}"]
    for low, name in ((256, "positions_in_bfloat16"), (2048, "positions_in_float16")):
        if reading.same_turn(probe, low, low + 1):
            return [name]
    return []


def _are_rounded(seen: _Seen, against: RopeSpec | None, number_format: str) -> bool:
    """Tell whether frequencies have few bits, and are near what was wanted (or else a ladder), and not equal."""
    speeds = seen.speeds
    if not reading.has_few_bits(speeds, number_format, 1e-6):
        return False
    if against is not None:
        wanted, near = against.inv_freq, {"bfloat16": 2**-8, "float16": 2**-11}[number_format]
    else:
        found, near = (
            frequencies.ladder(speeds, seen.pairs.rotary_dim),
            {"bfloat16": 2**-7, "float16": 2**-10}[number_format],
        )
        if found.base is None or found.base <= 1 or found.follow < len(speeds):
            return False
        wanted = found.steps
    if len(wanted) != len(speeds):
        return False
    off = np.abs(speeds - wanted)
    smallest = 2.0**-24 if number_format == "float16" else 0.0  # between neighbours near 0
    return bool((off > frequencies.CLOSE * wanted).any() and (off <= near * wanted + smallest).all())


def _differences(
    seen: _Seen, against: RopeSpec, base: float | None, found: list[str], ask_speeds: bool
) -> list[str]:
    """Return what differs from what was wanted."""
    pairs, differ = seen.pairs, []
    if pairs.layout is not None and pairs.layout != against.layout and against.rotary_dim > 2:
        differ.append("other_layout")
    if seen.sense == -1 and not seen.swapped:
        differ.append("turns_backwards")
    differ += _factor_differs(seen.factor, against.attention_factor)
    if pairs.begin:
        differ.append("other_part")
    if pairs.rotary_dim != _spanned(against, pairs.layout):
        return [*differ, "other_width"]
    explained = {"one_clock", "frequencies_reversed", "depends_on_longest_row", "remembers_earlier_calls"}
    if explained & set(found) or not ask_speeds:
        return differ
    speeds = np.pad(seen.speeds, (0, len(against.inv_freq) - len(seen.speeds)))
    return differ + frequencies.differ(speeds, against, base, seen.close)


def _spanned(against: RopeSpec, layout: str | None) -> int:
    """Return the width that shows: neighbours at the end that stand still look like the tail."""
    turning = np.flatnonzero(against.inv_freq)
    return 2 * (int(turning[-1]) + 1) if layout == "interleaved" and len(turning) else against.rotary_dim


def _factor_differs(factor: float, wanted: float) -> list[str]:
    def near(value: float) -> bool:
        return abs(factor / value - 1) <= 0.005

    if near(wanted):
        return []
    if near(1.0):
        return ["attention_factor_missing"]
    return ["attention_factor_twice" if near(wanted**2) else "other_attention_factor"]
