r"""Say in words what somebody's rotation is, and which known mistake it makes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from rope_edu.clinic import reading
from rope_edu.clinic.broken import Rotation
from rope_edu.clinic.mistakes import MISTAKES
from rope_edu.clinic.probe import Probe
from rope_edu.encodings._checks import check_positive_int
from rope_edu.encodings.spec import RopeSpec

CLOSE = 1e-4  # relative, of frequencies
COARSE = 0.01  # where results have 8 bits


@dataclass(frozen=True)
class Diagnosis:
    r"""What a black box turned out to be; `print` it.

    Attributes:
        is_rotation: True if it turns pairs of features by angles that grow with the position.
        layout: "interleaved", "half_split", or None.
        sense: +1 counter-clockwise, as in the papers; −1 clockwise; None.
        base: of the frequencies, or of their first pairs if a rule changed the others; None if they have none.
        rotary_dim: features that are spanned by pairs; the tail behind them passes.
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
        words = [
            f"A rotation of {self.rotary_dim} of {self.head_dim} features, {self.layout or 'in pairs of its own'}"
        ]
        words.append("counter-clockwise" if self.sense == 1 else "clockwise")
        words.append("no base fits" if self.base is None else f"base {self.base:.6g}")
        if self.first_position:
            words.append(f"first token at position {self.first_position:g}")
        if abs(self.attention_factor - 1) > CLOSE:
            words.append(f"attention factor {self.attention_factor:.6g}")
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
        ValueError: `head_dim` is not a whole number ≥ 2 or not the spec's, or the function fails, or does not
            return finite numbers in the shape of x, at positions 0 to 7.

    >>> from rope_edu import apply_rope, inv_freq, rope_angles
    >>> mine = lambda x, positions: apply_rope(x, rope_angles(positions + 1, inv_freq(8)))
    >>> found = diagnose(mine, 8)
    >>> found.layout, found.sense, round(found.base), found.first_position, found.mistakes
    ('interleaved', 1, 10000, 1.0, ('counts_from_one',))

    Chapter 22.
    """
    if check_positive_int("head_dim", head_dim) < 2:
        raise ValueError(f"head_dim must be at least 2, got {head_dim}")
    if against is not None and against.head_dim != head_dim:
        raise ValueError(f"head_dim must be that of the spec, {against.head_dim}, got {head_dim}")
    probe = Probe(function, head_dim)
    mistakes = _manners(probe)
    if "adds_instead_of_turning" in mistakes or "mixes_tokens" in mistakes:
        return Diagnosis(head_dim, mistakes=tuple(mistakes))
    pairs = reading.find_pairs(probe)
    wrong, factor = (pairs.mistake, None) if not len(pairs.members) else reading.judge_blocks(probe, pairs)
    if wrong:
        return Diagnosis(head_dim, layout=pairs.layout, mistakes=(*mistakes, wrong))
    return _rotation(probe, pairs, factor, mistakes, against)


def _manners(probe: Probe) -> list[str]:
    """Return the mistakes that show before anything is read: state, side effects, what a row depends on."""
    mistakes = []
    if probe.remembers():
        mistakes.append("remembers_earlier_calls")
    if probe.changed_input:
        mistakes.append("changes_its_input")
    if probe.mixes_tokens():
        return [*mistakes, "mixes_tokens"]
    if not mistakes and probe.depends_on_longest():
        mistakes.append("depends_on_longest_row")
    if not probe.is_linear():
        mistakes.append("adds_instead_of_turning")
    if probe.ignores_positions():
        probe.by_place = True
        mistakes.append("ignores_positions")
    return mistakes


@dataclass(frozen=True)
class _Seen:
    """What was read of a rotation."""

    pairs: reading.Pairs
    clock: reading.Clock
    factor: float
    speeds: np.ndarray  # (pairs,) in the order of the layout, without sense
    coarse: bool  # results have 8 bits

    @property
    def close(self) -> float:
        return COARSE if self.coarse else CLOSE

    @property
    def sense(self) -> int:
        return int(np.sign(np.sign(self.clock.speed).sum())) or 1

    @property
    def swapped(self) -> bool:
        return bool((np.abs(np.abs(self.clock.start) - np.pi / 2) < 1e-3).all())


def _rotation(
    probe: Probe, pairs: reading.Pairs, factor: float, mistakes: list[str], against: RopeSpec | None
) -> Diagnosis:
    """Describe what turns pairs."""
    clock = reading.read_clock(probe, pairs, 512 if "depends_on_longest_row" in mistakes else math.inf)
    speeds = _in_order(pairs, np.abs(clock.speed))
    seen = _Seen(pairs, clock, factor, speeds, reading.result_is_rounded(probe, "bfloat16"))
    first = 0.0 if seen.swapped else reading.first_position(clock)
    base, off, unusual = _frequencies(seen)
    known = (pairs.mistake, seen.swapped and "cos_and_sin_swapped", first and "counts_from_one")
    few_bits = _few_bits(probe, seen, against)
    found = [*mistakes, *filter(None, known), *unusual, *few_bits]
    if seen.coarse:
        found.append("result_in_bfloat16")
    if against is not None:
        found += _differences(seen, against, base, found, ask_speeds=not few_bits)
    return Diagnosis(
        head_dim=probe.head_dim,
        is_rotation=True,
        layout=pairs.layout,
        sense=seen.sense,
        base=base,
        rotary_dim=pairs.rotary_dim,
        first_position=first,
        attention_factor=factor,
        inv_freq=speeds,
        precision=_precision(probe, seen, base, off),
        mistakes=tuple(dict.fromkeys(found)),
    )


def _in_order(pairs: reading.Pairs, speeds: np.ndarray) -> np.ndarray:
    """Return speeds by pair of the layout, 0 for pairs that never turn; by speed where the layout has no name."""
    if pairs.layout is None:
        return np.sort(speeds)[::-1]
    ordered = np.zeros(pairs.rotary_dim // 2)
    ordered[pairs.members[:, 0] // (2 if pairs.layout == "interleaved" else 1)] = speeds
    return ordered


def _frequencies(seen: _Seen) -> tuple[float | None, float, list[str]]:
    """Return the base, how far the speeds are from its ladder, and what is wrong with them in any model."""
    speeds, rotary_dim = seen.speeds, seen.pairs.rotary_dim
    if len(speeds) > 1 and np.ptp(speeds) <= seen.close * speeds.max():
        return None, math.inf, ["one_clock"]
    rising = len(speeds) > 1 and reading.falls(speeds[::-1]) and not reading.falls(speeds)
    base, off = reading.ladder(speeds[::-1] if rising else speeds, rotary_dim)
    if off > seen.close and base is not None:  # a rule has changed the later pairs
        base = float((speeds[0] / speeds[1]) ** (rotary_dim / 2)) if speeds[1] else None
    return base, off, ["frequencies_reversed"] if rising else []


def _precision(probe: Probe, seen: _Seen, base: float | None, off: float) -> dict[str, str]:
    """Say in which widths angles and turns are kept."""
    exact = seen.clock.speed
    if base is not None and off < 1e-6 and seen.pairs.layout and len(exact) == len(seen.speeds):
        exact = seen.sense * base ** (-2 * np.arange(len(exact)) / seen.pairs.rotary_dim)
    return {
        "angles": reading.angle_width(probe, seen.pairs, seen.clock, exact),
        "turns": reading.turn_width(probe, seen.pairs, seen.factor),
    }


def _few_bits(probe: Probe, seen: _Seen, against: RopeSpec | None) -> list[str]:
    """Return which of a position, a frequency or an angle is kept in too few bits, or whether a table ends."""
    if seen.clock.lost_at is not None and reading.takes_other_row(probe, seen.pairs, seen.clock):
        return ["table_ends"]
    if _are_rounded(seen, against):
        odd = (101, 109, 123, 127)
        off = [reading.off_clock(probe, seen.pairs, seen.clock, position) for position in odd]
        return ["angles_in_bfloat16" if np.max(off) > 1e-3 else "frequencies_in_bfloat16"]
    for low, name in ((256, "positions_in_bfloat16"), (2048, "positions_in_float16")):
        if reading.same_turn(probe, low, low + 1):
            return [name]
    return []


def _are_rounded(seen: _Seen, against: RopeSpec | None) -> bool:
    """Tell whether frequencies are bfloat16 numbers near what was wanted (or else near a ladder), and not equal."""
    speeds = seen.speeds
    if not reading.is_rounded(speeds, "bfloat16", 1e-6):
        return False
    if against is not None:
        wanted, near = against.inv_freq, 2**-8
    else:
        base, _ = reading.ladder(speeds, seen.pairs.rotary_dim)
        if base is None or base <= 1:
            return False
        wanted, near = base ** (-2 * np.arange(len(speeds)) / seen.pairs.rotary_dim), 2**-7
    if len(wanted) != len(speeds):
        return False
    off = np.abs(speeds - wanted)
    return bool((off > CLOSE * wanted).any() and (off <= near * wanted).all())


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
    if pairs.rotary_dim != against.rotary_dim:
        return [*differ, "other_width"]
    explained = {"one_clock", "frequencies_reversed", "depends_on_longest_row", "remembers_earlier_calls"}
    if explained & set(found) or not ask_speeds:
        return differ
    return differ + _frequencies_differ(seen.speeds, against, base, seen.close)


def _factor_differs(factor: float, wanted: float) -> list[str]:
    def near(value: float) -> bool:
        return abs(factor / value - 1) <= COARSE / 2

    if near(wanted):
        return []
    if near(1.0):
        return ["attention_factor_missing"]
    return ["attention_factor_twice" if near(wanted**2) else "other_attention_factor"]


def _frequencies_differ(speeds: np.ndarray, against: RopeSpec, base: float | None, close: float) -> list[str]:
    """Say how the frequencies came to be other ones."""
    wanted = against.inv_freq

    def equal(candidate: np.ndarray) -> bool:
        return bool((np.abs(speeds - candidate) <= close * np.abs(candidate)).all())

    if equal(wanted):
        return []
    turning = wanted > 0
    ratio = float((speeds[turning] / wanted[turning]).mean()) if turning.any() else 1.0
    whole = against.rotary_dim / against.head_dim
    candidates = {
        "exponent_doubled": wanted**2,
        "exponent_halved": wanted**0.5,
        "frequencies_scaled": ratio * wanted,
        **({"other_denominator": wanted**whole} if whole < 1 else {}),
    }
    for name, candidate in candidates.items():
        if equal(candidate):
            return [name]
    return [_by_base(speeds, against, base, equal)]


def _by_base(
    speeds: np.ndarray, against: RopeSpec, base: float | None, equal: Callable[[np.ndarray], bool]
) -> str:
    """Tell a missing rule from another base, and both from anything else."""
    if base is None or base <= 1:
        return "other_frequencies"
    index = -2 * np.arange(len(speeds)) / against.rotary_dim
    if not equal(base**index) and not np.allclose(speeds, base**index, rtol=CLOSE):
        return "other_frequencies"
    own, off = reading.ladder(against.inv_freq, against.rotary_dim)
    if own is not None and off > CLOSE and against.inv_freq[1] > 0:
        first = float((against.inv_freq[0] / against.inv_freq[1]) ** (against.rotary_dim / 2))
        return "rule_missing" if abs(base / first - 1) <= COARSE else "other_frequencies"
    return "other_base"
