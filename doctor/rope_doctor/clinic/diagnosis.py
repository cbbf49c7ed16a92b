r"""Diagnose a rotation: say in words which one it is, and which known mistakes it makes."""

import math
from dataclasses import dataclass, field

import numpy as np

from rope_doctor.clinic import evidence, frequencies, reading
from rope_doctor.clinic.axes import Axes
from rope_doctor.clinic.broken import Rotation
from rope_doctor.clinic.mistakes import MISTAKES
from rope_doctor.clinic.probe import SMALL, Probe
from rope_edu.encodings.spec import RopeSpec
from rope_edu.encodings.validation import check_positive_int

SAME = 1e-4  # of an attention factor
QUESTIONS = {  # in this order; True: no matrix can be read, and nothing more is asked
    Probe.turns_along_heads: True,
    Probe.differs_when_repeated: True,
    Probe.keeps_first_positions: True,
    Probe.remembers_earlier_calls: False,
    Probe.changes_its_input: False,
    Probe.mixes_tokens: True,
    Probe.mixes_batch: False,
    Probe.depends_on_longest_row: False,
    Probe.adds_instead_of_turning: True,
    Probe.not_linear: True,
}
WIDE = {"bfloat16": 8, "float16": 11}  # significant bits
COARSE = {"bfloat16": 0.01, "float16": 0.002}  # relative error of frequencies, where results are so narrow


@dataclass(frozen=True)
class Diagnosis:
    r"""Description of a black box, and the mistakes found in it; `print` it. None: a fact that cannot be told.

    Attributes:
        is_rotation: True if it turns pairs of features by angles that grow with the position.
        layout: "interleaved" or "half_split".
        sense: +1 counter-clockwise, as in the papers; −1 clockwise; None if pairs differ.
        base: of the frequencies, or of their first pairs if a rule changed the others.
        rotary_dim, first_feature: width and beginning of the part that is spanned by pairs; the rest passes.
        comes_out: order or signs in which features come out, if other than they went in, as words; "".
        first_position: of the first token, 0 as a rule; None if no one position explains its phases.
        attention_factor: on cosines and sines.
        inv_freq: radians per token, `(pairs,)`, without sense.
        precision: widths in which angles, and cosines and sines, are kept, as words.
        mistakes, evidence: names from `MISTAKES`, and for each a sentence with the numbers found and wanted.

    >>> from rope_edu import plain_rope
    >>> from rope_doctor.clinic import right
    >>> print(diagnose(right(plain_rope(8, 500.0, layout="half_split")), 8))
    A rotation of 8 of 8 features, half_split, counter-clockwise, base 500.
    Kept in: angles float64, cosines and sines float64.
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
    evidence: dict[str, str] = field(default_factory=dict, repr=False, compare=False)

    def __str__(self) -> str:
        lines = [self._kind()]
        if self.precision:
            kept = ", ".join(f"{kind} {width}" for kind, width in self.precision.items())
            lines.append(f"Kept in: {kept}.")
        for name in self.mistakes:
            lines.append(f"{name}: {MISTAKES[name].does}")
            if name in self.evidence:
                lines.append(f"    {self.evidence[name]}")
            lines.append(f"    Fix: {MISTAKES[name].fix}")
        return "\n".join(lines if self.mistakes else [*lines, "No known mistake."])

    def _kind(self) -> str:
        if self.inv_freq is None or self.rotary_dim is None or self.attention_factor is None:
            return f"Not a rotation of pairs by position (heads of {self.head_dim})."
        words = [f"A rotation of {self.rotary_dim} of {self.head_dim} features"]
        if self.first_feature:
            words[0] += f" ({self.first_feature} to {self.first_feature + self.rotary_dim - 1})"
        words.append(self.layout or "in pairs of its own")
        if self.sense is not None:
            words.append("counter-clockwise" if self.sense == 1 else "clockwise")
        words.append(frequencies.describe_base(self.inv_freq, self.rotary_dim, self.head_dim))
        if still := int(np.count_nonzero(self.inv_freq == 0)):
            words.append(f"{still} of {len(self.inv_freq)} pairs stand still")
        if self.first_position:
            words.append(f"first token at position {self.first_position:g}")
        if abs(self.attention_factor - 1) > SAME:
            words.append(f"attention factor {self.attention_factor:.6g}")
        if self.comes_out:
            words.append(f"features come out {self.comes_out}")
        return ", ".join(words) + "."


def diagnose(
    function: Rotation, head_dim: int, *, against: RopeSpec | None = None, takes: str = "seq head_dim"
) -> Diagnosis:
    r"""Diagnosis of anybody's rotation, probed as a black box: which one it is, and its mistakes.

    Unit vectors go in, so a matrix comes out for every position, and everything is read from these: pairs from
    the entries that are not 0, angles from each block, frequencies by following the angles to position 2¹⁷,
    precision at 2²⁰.

    Args:
        function: `(x, positions) -> rotated x` with NumPy arrays, x `(seq, head_dim)` float64, positions `(seq,)`
            int64. Wrap yours: `lambda x, positions: mine(torch.tensor(x), torch.tensor(positions)).numpy()`.
        against: the rotation wanted. Without it only mistakes are seen that make no rotation, or none that anybody
            wants; a base, a layout or a sense of one's own is no mistake in itself.
        takes: axes of x, such as "batch seq heads head_dim". With heads, it is seen whether they are turned alike;
            with a batch, positions are `(batch, seq)`, and it is seen whether each row is turned by its own.

    Raises:
        ValueError: `head_dim` is not a whole number ≥ 2 or not the spec's, `against` is no RopeSpec, `takes` names
            no such axes, or a call near position 0 fails or does not return finite real numbers in the shape of
            x; the sentence names the call.

    >>> from rope_edu import apply_rope, inv_freq, rope_angles
    >>> mine = lambda x, positions: apply_rope(x, rope_angles(positions + 1, inv_freq(8)))
    >>> found = diagnose(mine, 8)
    >>> found.layout, found.sense, round(found.base), found.first_position, found.mistakes
    ('interleaved', 1, 10000, 1.0, ('counts_from_one',))
    >>> found.evidence["counts_from_one"]
    'Found the first token at position 1, wanted 0.'

    Chapter 22.
    """
    if check_positive_int("head_dim", head_dim) < 2:
        raise ValueError(f"head_dim must be at least 2, got {head_dim}")
    if against is not None and not isinstance(against, RopeSpec):
        hint = "; rope_from_config makes one of a config" if isinstance(against, dict | str) else ""
        raise ValueError(f"against must be a RopeSpec or None, got {type(against).__name__}{hint}")
    if against is not None and against.head_dim != head_dim:
        raise ValueError(f"head_dim must be that of the spec, {against.head_dim}, got {head_dim}")
    probe = Probe(function, head_dim, Axes.parse(takes))
    mistakes, readable = find_side_effects(probe)
    if not readable:
        return _not_a_rotation(probe, mistakes)
    pairs, wrong, factor = _read(probe)
    if wrong or factor is None:
        found = {wrong or "not_a_rotation": evidence.of_matrix(probe, pairs, wrong or "", against)}
        return _not_a_rotation(probe, mistakes | found, pairs.layout)
    return _rotation(probe, pairs, factor, mistakes, against)


def _not_a_rotation(probe: Probe, mistakes: dict[str, str], layout: str | None = None) -> Diagnosis:
    return Diagnosis(probe.head_dim, layout=layout, mistakes=tuple(mistakes), evidence=mistakes)


def find_side_effects(probe: Probe) -> tuple[dict[str, str], bool]:
    """Mistakes, with evidence, that show before a matrix is read, and whether one can be read.

    Where rows do not take the positions given, the probe is told how to read matrices all the same.
    """
    mistakes: dict[str, str] = {}
    for ask, is_the_end in QUESTIONS.items():
        if ask is Probe.depends_on_longest_row and mistakes:
            continue
        if found := ask(probe):
            mistakes[ask.__name__] = found
            if is_the_end:
                return mistakes, False
    if miscount := probe.miscounts():
        name, mistakes[name] = miscount
        probe.by_place = name in ("ignores_positions", "counts_from_the_first")
        probe.by_row = not probe.by_place
    elif found := probe.depends_on_length():
        mistakes["depends_on_length"] = found
    return mistakes, True


def _read(probe: Probe) -> tuple[reading.Pairs, str | None, float | None]:
    """Pairs, their mistake if any, and their factor; as if features came out in order, if that helps."""
    found = _judged(probe)
    at_0 = probe.matrix_of(0)
    negated = (np.diag(at_0) < 0).any() and np.array_equal(at_0, np.diag(np.diag(at_0)))
    unclear = negated or found[1] in ("mixes_features", "table_of_other_layout")
    if not unclear or not probe.undo_order():
        return found
    undone = _judged(probe)
    if undone[1]:
        probe.order = None
        return found
    return undone


def _judged(probe: Probe) -> tuple[reading.Pairs, str | None, float | None]:
    pairs = reading.find_pairs(probe)
    return pairs, *(reading.judge_blocks(probe, pairs) if len(pairs.members) else (pairs.mistake, None))


@dataclass(frozen=True)
class _Seen:
    """A rotation as read from its matrices."""

    pairs: reading.Pairs
    clock: reading.Clock
    factor: float
    close: float  # relative error of speeds that are equal

    @property
    def signed(self) -> np.ndarray:
        """Speeds by pair of the layout, 0 for pairs that never turn."""
        if self.pairs.layout is None:
            return self.clock.speed
        ordered = np.zeros(self.pairs.rotary_dim // 2)
        first = self.pairs.members[:, 0] - self.pairs.begin
        ordered[first // (2 if self.pairs.layout == "interleaved" else 1)] = self.clock.speed
        return ordered

    @property
    def speeds(self) -> np.ndarray:
        """Sizes of the speeds, by pair of the layout; falling where the layout has no name."""
        sizes = np.abs(self.signed)
        return sizes if self.pairs.layout is not None else np.sort(sizes)[::-1]

    @property
    def senses(self) -> set[int]:
        """Signs of all pairs that turn."""
        return set(np.sign(self.clock.speed[np.abs(self.clock.speed) > 1e-9]).astype(int).tolist())

    @property
    def sense(self) -> int | None:
        return next(iter(self.senses)) if len(self.senses) == 1 else None

    @property
    def swapped(self) -> bool:
        """True if cosine and sine are exchanged: a quarter turn at position 0."""
        return bool((np.abs(np.abs(self.clock.start) - np.pi / 2) < 1e-3).all())


def _rotation(
    probe: Probe, pairs: reading.Pairs, factor: float, mistakes: dict[str, str], against: RopeSpec | None
) -> Diagnosis:
    """Diagnosis of a function that turns pairs."""
    near = np.stack([probe.matrix_of(p) for p in SMALL])
    clock = reading.read_clock(probe, pairs, 512 if "depends_on_longest_row" in mistakes else math.inf)
    result = next((name for name in WIDE if reading.is_rounded(near, name)), "")
    seen = _Seen(pairs, clock, factor, COARSE.get(result, frequencies.CLOSE))
    first = 0.0 if seen.swapped else clock.first_position
    rising = frequencies.rises(seen.speeds)
    ladder = frequencies.ladder(seen.speeds[::-1] if rising else seen.speeds, pairs.rotary_dim, seen.close)
    few_bits = _few_bits(probe, seen, against)
    found = mistakes | _unusual(probe, seen, first, rising, against) | few_bits
    if result:
        found[f"result_in_{result}"] = f"Found {WIDE[result]} significant bits, wanted those of x."
    comes_out = "" if probe.order is None else reading.describe_order(probe.order, pairs)
    if against is not None:
        if comes_out and probe.order is not None:
            found |= {"reordered": evidence.of_order(probe.order, comes_out)}
        found |= _differences(seen, against, ladder.base, found, ask_speeds=not few_bits)
    return Diagnosis(
        head_dim=probe.head_dim,
        is_rotation=True,
        layout=pairs.layout,
        sense=seen.sense,
        base=None if {"one_clock", "exponent_sign"} & set(found) else ladder.base or None,
        rotary_dim=pairs.rotary_dim,
        first_feature=pairs.begin,
        comes_out=comes_out,
        first_position=first,
        attention_factor=factor,
        inv_freq=seen.speeds,
        precision=_precision(probe, seen, ladder, rising),
        mistakes=tuple(found),
        evidence=found,
    )


def _unusual(
    probe: Probe, seen: _Seen, first: float | None, rising: bool, against: RopeSpec | None
) -> dict[str, str]:
    """Mistakes of any model, with evidence: in pairs, phases, senses, frequencies or the tail."""
    speeds, pairs, start = seen.speeds, seen.pairs, seen.clock.start
    still = pairs.layout == "interleaved" and abs(seen.factor - 1) > SAME
    wanted = None if against is None else against.inv_freq
    positive = pairs.layout is not None and frequencies.has_positive_exponent(seen.signed, wanted)
    senses = pairs.layout is not None and len(seen.senses) > 1 and not positive
    tail = reading.tail_changes(probe, pairs, seen.factor, still)
    one_clock = len(speeds) > 1 and np.ptp(speeds) <= seen.close * speeds.max()
    at_zero = int(np.abs(start).argmax())
    phase = f"Found {start[at_zero]:.4g} radians at position 0 in pair {at_zero}, wanted 0."
    ends = f"Found {speeds[0]:.6g} radians per token in pair 0 and {speeds[-1]:.6g} in the last"
    known = {
        pairs.mistake: (pairs.mistake is not None, evidence.of_pairs(pairs)),
        "cos_and_sin_swapped": (seen.swapped, f"Found an angle of {start[0]:.4g} at position 0, wanted 0."),
        "phase_at_zero": (first is None, phase),
        "counts_from_one": (bool(first), f"Found the first token at position {first or 0:g}, wanted 0."),
        "exponent_sign": (positive, evidence.of_exponent(seen.signed, wanted)),
        "senses_differ": (senses, evidence.of_senses(seen.clock.speed)),
        "tail_changes": (bool(tail), tail),
        "one_clock": (one_clock, f"{ends}, wanted less."),
        "frequencies_reversed": (rising, f"{ends}, wanted the reverse."),
    }
    return {name: words for name, (present, words) in known.items() if present and name is not None}


def _precision(probe: Probe, seen: _Seen, found: frequencies.Ladder, rising: bool) -> dict[str, str]:
    """Widths in which angles, and cosines and sines, are kept."""
    exact = seen.clock.speed
    whole = found.off < 1e-6 and found.follow == len(seen.speeds) == len(exact)
    if whole and seen.pairs.layout:
        exact = np.sign(exact) * (found.steps[::-1] if rising else found.steps)
    return {
        "angles": reading.angle_width(probe, seen.pairs, seen.clock, exact),
        "cosines and sines": reading.turn_width(probe, seen.pairs, seen.factor),
    }


def _few_bits(probe: Probe, seen: _Seen, against: RopeSpec | None) -> dict[str, str]:
    """Which of a position, a frequency or an angle is kept in too few bits, or whether a table ends."""
    row = reading.row_taken(probe, seen.pairs, seen.clock)
    if row is not None:
        return {"table_ends": f"Found position {seen.clock.lost_at} turned as {row}."}
    wanted, exact = _wanted_speeds(seen, against), against is not None
    for number_format, off_clock in (("bfloat16", 1e-3), ("float16", 1e-4)):
        if not _are_rounded(seen.speeds, wanted, number_format, exact):
            continue
        odd = [p for p in (101, 109, 123, 127) if probe.matrix(p) is not None]
        off = [np.abs(seen.clock.off(probe, seen.pairs, position)).max() for position in odd]
        kind = "angles" if max(off, default=0) > off_clock else "frequencies"
        words = frequencies.first_difference(seen.speeds, wanted, frequencies.CLOSE)
        return {f"{kind}_in_{number_format}": words}
    for low, name in ((256, "positions_in_bfloat16"), (2048, "positions_in_float16")):
        one, next_one = probe.matrix(low), probe.matrix(low + 1)
        if one is not None and next_one is not None and np.array_equal(one, next_one):
            return {name: f"Found position {low + 1} turned as {low}."}
    return {}


def _are_rounded(speeds: np.ndarray, wanted: np.ndarray, number_format: str, exact: bool) -> bool:
    """True if speeds have few bits, and are near those wanted, and not equal; a ladder is not `exact` itself."""
    if len(wanted) != len(speeds) or not reading.has_few_bits(speeds, number_format, 1e-6):
        return False
    near = 2.0 ** -WIDE[number_format] * (1 if exact else 2)
    off = np.abs(speeds - wanted)
    smallest = 2.0**-24 if number_format == "float16" else 0.0  # between neighbours near 0
    return bool((off > frequencies.CLOSE * wanted).any() and (off <= near * wanted + smallest).all())


def _wanted_speeds(seen: _Seen, against: RopeSpec | None) -> np.ndarray:
    """Speeds wanted, or those of the ladder that all speeds follow; empty if they follow none."""
    if against is not None:
        return against.inv_freq
    found = frequencies.ladder(seen.speeds, seen.pairs.rotary_dim)
    return found.steps if found.base > 1 and found.follow == len(seen.speeds) else np.empty(0)


def _differences(
    seen: _Seen, against: RopeSpec, base: float, found: dict[str, str], ask_speeds: bool
) -> dict[str, str]:
    """Differences from the rotation wanted, with evidence."""
    pairs, differ, memory = seen.pairs, {}, _memory(seen, against)
    if pairs.layout is not None and pairs.layout != against.layout and against.rotary_dim > 2:
        differ["other_layout"] = evidence.of_layout(pairs, against)
    if seen.sense == -1 and not seen.swapped:
        found_speed = f"Found {seen.signed[0]:.6g} radians per token in pair 0"
        differ["turns_backwards"] = f"{found_speed}, wanted {against.inv_freq[0]:.6g}."
    if name := _factor_differs(seen.factor, against.attention_factor):
        differ[name] = f"Found a factor of {seen.factor:.6g}, wanted {against.attention_factor:.6g}."
    if pairs.begin and not memory:
        differ["other_part"] = f"Found feature {pairs.begin} as the first that turns, wanted 0."
    explained = {"one_clock", "frequencies_reversed", "exponent_sign"}
    explained |= {"depends_on_longest_row", "remembers_earlier_calls"}
    ask_speeds = ask_speeds and not explained & set(found)
    if ask_speeds and memory:
        return differ | memory
    spanned = _spanned(against, pairs.layout)
    if pairs.rotary_dim != spanned:
        turning = against.inv_freq[against.inv_freq > 0]
        same = len(turning) == len(seen.speeds) and np.allclose(seen.speeds, turning, rtol=seen.close)
        name = "zeros_dropped" if same and len(turning) < len(against.inv_freq) else "other_width"
        return differ | {name: f"Found {pairs.rotary_dim} features that turn, wanted {spanned}."}
    if not ask_speeds:
        return differ
    speeds = np.pad(seen.speeds, (0, len(against.inv_freq) - len(seen.speeds)))
    return differ | frequencies.differ(speeds, against, base, seen.close)


def _memory(seen: _Seen, against: RopeSpec) -> dict[str, str]:
    """Frequencies of a buffer that was never filled, with evidence; {} if they are not such."""
    speeds, wanted = np.zeros(len(against.inv_freq)), against.inv_freq
    places = seen.pairs.members[:, 0] // (2 if seen.pairs.layout == "interleaved" else 1)
    if seen.pairs.layout != against.layout or places.max() >= len(speeds):
        return {}
    speeds[places] = np.abs(seen.clock.speed)
    if not frequencies.is_uninitialised(speeds, wanted):
        return {}
    return {"frequencies_uninitialised": frequencies.first_difference(speeds, wanted, seen.close)}


def _spanned(against: RopeSpec, layout: str | None) -> int:
    """Width that shows: neighbours at the end that stand still look like the tail."""
    turning = np.flatnonzero(against.inv_freq)
    return 2 * (int(turning[-1]) + 1) if layout == "interleaved" and len(turning) else against.rotary_dim


def _factor_differs(factor: float, wanted: float) -> str | None:
    """Name of the mistake in a factor, None if it is the one wanted."""
    same, missing, twice = (abs(factor / value - 1) <= 0.005 for value in (wanted, 1.0, wanted**2))
    if same:
        return None
    if missing:
        return "attention_factor_missing"
    if abs(wanted - 1) <= SAME:
        return "attention_factor_unwanted"
    return "attention_factor_twice" if twice else "other_attention_factor"
