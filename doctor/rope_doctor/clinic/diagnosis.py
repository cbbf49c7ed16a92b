r"""Diagnose a rotation by describing it and naming its known mistakes."""

import math
from dataclasses import dataclass, field

import numpy as np

from rope_doctor.clinic import evidence, frequencies, matrices
from rope_doctor.clinic.axes import Axes
from rope_doctor.clinic.broken import Rotation
from rope_doctor.clinic.mistakes import MISTAKES
from rope_doctor.clinic.probe import SMALL, Probe
from rope_edu.encodings.spec import RopeSpec
from rope_edu.encodings.validation import check_positive_int

FACTOR_TOLERANCE = 1e-4  # attention factors this close to 1 count as 1
SIDE_EFFECTS = {  # checks in order; True if a failure makes the matrices unreadable and ends the diagnosis
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
BITS = {"bfloat16": 8, "float16": 11}  # significant bits
NARROW_TOLERANCE = {
    "bfloat16": 0.01,
    "float16": 0.002,
}  # relative tolerance for frequencies, keyed by the result's number format


@dataclass(frozen=True)
class Diagnosis:
    r"""A description of a black box and its mistakes, which `print` shows as text. None means unknown.

    Attributes:
        is_rotation: True if it rotates pairs of features by angles that grow with the position.
        layout: "interleaved" or "half_split".
        sense: +1 counter-clockwise, as in the papers; −1 clockwise; None if pairs differ.
        base: the frequencies' base, or that of the first pairs if a rule changed the others.
        rotary_dim, first_feature: width and first feature of the rotated part; the other features are unchanged.
        comes_out: a description of how output features are reordered or negated; "" if they are not.
        first_position: position of the first token, usually 0; None if the phases match no single position.
        attention_factor: the multiplier on cosines and sines.
        inv_freq: absolute frequencies in radians per token, `(pairs,)`.
        precision: the number formats of the angles, cosines and sines, as text.
        mistakes, evidence: names from `MISTAKES`, and sentences with the actual and the expected numbers. The first
            mistake is the likeliest cause. Fix it and diagnose again, because the others often disappear.

    >>> from rope_edu import plain_rope
    >>> from rope_doctor.clinic import right
    >>> print(diagnose(right(plain_rope(8, 500.0, layout="half_split")), 8))
    A rotation of 8 of 8 features, half_split, counter-clockwise, base 500.
    Precision: angles float64, cosines and sines float64.
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
            formats = ", ".join(f"{kind} {width}" for kind, width in self.precision.items())
            lines.append(f"Precision: {formats}.")
        for name in self.mistakes[:1]:
            lines.append(f"{name}: {MISTAKES[name].does}")
            if name in self.evidence:
                lines.append(f"    {self.evidence[name]}")
            lines.append(f"    Fix: {MISTAKES[name].fix}")
        for name in self.mistakes[1:]:
            lines.append(f"Also seen: {name}. {self.evidence.get(name, MISTAKES[name].does)}")
        return "\n".join(lines if self.mistakes else [*lines, "No known mistake."])

    def _kind(self) -> str:
        if self.inv_freq is None or self.rotary_dim is None or self.attention_factor is None:
            return f"Not a rotation of pairs by position (heads of {self.head_dim})."
        words = [f"A rotation of {self.rotary_dim} of {self.head_dim} features"]
        if self.first_feature:
            words[0] += f" ({self.first_feature} to {self.first_feature + self.rotary_dim - 1})"
        words.append(self.layout or "in unusual pairs")
        if self.sense is not None:
            words.append("counter-clockwise" if self.sense == 1 else "clockwise")
        words.append(frequencies.describe_base(self.inv_freq, self.rotary_dim, self.head_dim))
        if still := int(np.count_nonzero(self.inv_freq == 0)):
            words.append(f"{still} of {len(self.inv_freq)} pairs do not turn")
        if self.first_position:
            words.append(f"first token at position {self.first_position:g}")
        if abs(self.attention_factor - 1) > FACTOR_TOLERANCE:
            words.append(f"attention factor {self.attention_factor:.6g}")
        if self.comes_out:
            words.append(f"features come out {self.comes_out}")
        return ", ".join(words) + "."


def diagnose(
    function: Rotation, head_dim: int, *, against: RopeSpec | None = None, takes: str = "seq head_dim"
) -> Diagnosis:
    r"""Diagnose any rotation by probing it as a black box; return a description with its mistakes.

    The inputs are unit vectors, so the outputs at a position are the columns of its matrix. The nonzero entries
    determine the pairs, and their 2 × 2 blocks determine the angles. Frequencies are computed from the angles up to
    position 2¹⁷, and the precision from those near 2²⁰.

    Args:
        function: `(x, positions) -> rotated x` with NumPy arrays, x `(seq, head_dim)` float64, positions `(seq,)`
            int64. Wrap yours: `lambda x, positions: mine(torch.tensor(x), torch.tensor(positions)).numpy()`.
        against: the expected rotation. Without it, a function is wrong only if it is not a rotation, or is a
            rotation that models never use; an unusual base, layout or sense is not a mistake.
        takes: axes of x, such as "batch seq heads head_dim". With heads, all must rotate in the same way. With
            a batch, positions are `(batch, seq)`, and every row must rotate by its own positions.

    Raises:
        ValueError: if `head_dim` is not a whole number ≥ 2 or differs from the spec's, `against` is not a RopeSpec,
            `takes` is invalid, or a call near position 0 fails or does not return finite real numbers in the shape
            of x; the message names the call.

    >>> from rope_edu import apply_rope, inv_freq, rope_angles
    >>> mine = lambda x, positions: apply_rope(x, rope_angles(positions + 1, inv_freq(8)))
    >>> diagnosis = diagnose(mine, 8)
    >>> diagnosis.layout, diagnosis.sense, round(diagnosis.base), diagnosis.first_position, diagnosis.mistakes
    ('interleaved', 1, 10000, 1.0, ('counts_from_one',))
    >>> diagnosis.evidence["counts_from_one"]
    'Found the first token at position 1, expected 0.'

    Chapter 22.
    """
    if check_positive_int("head_dim", head_dim) < 2:
        raise ValueError(f"head_dim must be at least 2, got {head_dim}")
    if against is not None and not isinstance(against, RopeSpec):
        hint = "; rope_from_config makes one from a config" if isinstance(against, dict | str) else ""
        raise ValueError(f"against must be a RopeSpec or None, got {type(against).__name__}{hint}")
    if against is not None and against.head_dim != head_dim:
        raise ValueError(f"head_dim must be that of the spec, {against.head_dim}, got {head_dim}")
    probe = Probe(function, head_dim, Axes.parse(takes))
    mistakes, readable = find_side_effects(probe)
    if not readable:
        return _not_a_rotation(probe, mistakes)
    pairs, wrong, factor = _read(probe)
    if wrong or factor is None:
        mistakes |= {wrong or "not_a_rotation": evidence.of_matrix(probe, pairs, wrong or "", against)}
        return _not_a_rotation(probe, mistakes, pairs.layout)
    return _rotation(probe, pairs, factor, mistakes, against)


def _not_a_rotation(probe: Probe, mistakes: dict[str, str], layout: str | None = None) -> Diagnosis:
    return Diagnosis(probe.head_dim, layout=layout, mistakes=tuple(mistakes), evidence=mistakes)


def find_side_effects(probe: Probe) -> tuple[dict[str, str], bool]:
    """Return the mistakes found without a matrix, with evidence, and whether matrices can be read at all.

    If rows do not use the positions passed in, the probe is set to read matrices by row index or row by row.
    """
    mistakes: dict[str, str] = {}
    for check, is_fatal in SIDE_EFFECTS.items():
        if check is Probe.depends_on_longest_row and mistakes:
            continue
        if sentence := check(probe):
            mistakes[check.__name__] = sentence
            if is_fatal:
                return mistakes, False
    if miscount := probe.miscounts():
        name, mistakes[name] = miscount
        probe.by_index = name in ("ignores_positions", "counts_from_the_first")
        probe.by_row = not probe.by_index
    elif sentence := probe.depends_on_length():
        mistakes["depends_on_length"] = sentence
    return mistakes, True


def _read(probe: Probe) -> tuple[matrices.Pairs, str | None, float | None]:
    """Return the pairs, their mistake or None, and their factor or None; undo reordered features if needed."""
    as_is = _judged(probe)
    at_0 = probe.matrix_of(0)
    is_diagonal = np.array_equal(at_0, np.diag(np.diag(at_0)))
    unclear = is_diagonal or as_is[1] in ("mixes_features", "table_of_other_layout")
    if not unclear or not probe.undo_order():
        return as_is
    undone = _judged(probe)
    if undone[1]:
        probe.order = None
        return as_is
    return undone


def _judged(probe: Probe) -> tuple[matrices.Pairs, str | None, float | None]:
    pairs = matrices.find_pairs(probe)
    return pairs, *(matrices.judge_blocks(probe, pairs) if len(pairs.members) else (pairs.mistake, None))


@dataclass(frozen=True)
class _Measured:
    """A rotation's measured properties."""

    pairs: matrices.Pairs
    clock: matrices.Clock
    factor: float
    tolerance: float  # relative difference below which speeds count as equal

    @property
    def signed(self) -> np.ndarray:
        """Signed speeds in the layout's pair order; 0 for pairs that never turn."""
        if self.pairs.layout is None:
            return self.clock.speed
        ordered = np.zeros(self.pairs.rotary_dim // 2)
        first = self.pairs.members[:, 0] - self.pairs.begin
        ordered[first // (2 if self.pairs.layout == "interleaved" else 1)] = self.clock.speed
        return ordered

    @property
    def speeds(self) -> np.ndarray:
        """Absolute speeds in the layout's pair order; descending if the layout has no name."""
        sizes = np.abs(self.signed)
        return sizes if self.pairs.layout is not None else np.sort(sizes)[::-1]

    @property
    def senses(self) -> set[int]:
        """Signs of the speeds of all pairs that turn."""
        return set(np.sign(self.clock.speed[np.abs(self.clock.speed) > 1e-9]).astype(int).tolist())

    @property
    def sense(self) -> int | None:
        return next(iter(self.senses)) if len(self.senses) == 1 else None

    @property
    def swapped(self) -> bool:
        """True if cosine and sine are swapped, so that position 0 is rotated by a quarter turn."""
        return bool((np.abs(np.abs(self.clock.start) - np.pi / 2) < 1e-3).all())


def _rotation(
    probe: Probe, pairs: matrices.Pairs, factor: float, mistakes: dict[str, str], against: RopeSpec | None
) -> Diagnosis:
    """Diagnose a function that rotates pairs."""
    near = np.stack([probe.matrix_of(p) for p in SMALL])
    clock = matrices.read_clock(probe, pairs, 512 if "depends_on_longest_row" in mistakes else math.inf)
    result = next((name for name in BITS if matrices.is_rounded(near, name)), "")
    measured = _Measured(pairs, clock, factor, NARROW_TOLERANCE.get(result, frequencies.SPEED_TOLERANCE))
    first = 0.0 if measured.swapped else clock.first_position
    speeds, rising = measured.speeds, frequencies.rises(measured.speeds)
    fit = frequencies.fit_base(speeds[::-1] if rising else speeds, pairs.rotary_dim, measured.tolerance)
    few_bits = _few_bits(probe, measured, against)
    mistakes = mistakes | _unusual(probe, measured, first, rising, against) | few_bits
    if result:
        mistakes[f"result_in_{result}"] = f"Found {BITS[result]} significant bits, expected those of x."
    comes_out = "" if probe.order is None else matrices.describe_order(probe.order, pairs)
    if against is not None:
        if comes_out and probe.order is not None:
            mistakes |= {"reordered": evidence.of_order(probe.order, comes_out)}
        mistakes |= _differences(measured, against, fit.base, mistakes, ask_speeds=not few_bits)
    return Diagnosis(
        head_dim=probe.head_dim,
        is_rotation=True,
        layout=pairs.layout,
        sense=measured.sense,
        base=None if {"one_clock", "exponent_sign"} & set(mistakes) else fit.base or None,
        rotary_dim=pairs.rotary_dim,
        first_feature=pairs.begin,
        comes_out=comes_out,
        first_position=first,
        attention_factor=factor,
        inv_freq=speeds,
        precision=_precision(probe, measured, fit, rising),
        mistakes=tuple(mistakes),
        evidence=mistakes,
    )


def _unusual(
    probe: Probe, measured: _Measured, first: float | None, rising: bool, against: RopeSpec | None
) -> dict[str, str]:
    """Return mistakes in pairs, phases, senses, frequencies and tail that are wrong for any spec, with evidence."""
    speeds, pairs, start = measured.speeds, measured.pairs, measured.clock.start
    still = pairs.layout == "interleaved" and abs(measured.factor - 1) > FACTOR_TOLERANCE
    expected = None if against is None else against.inv_freq
    positive = pairs.layout is not None and frequencies.has_positive_exponent(measured.signed, expected)
    senses = pairs.layout is not None and len(measured.senses) > 1 and not positive
    tail = matrices.tail_changes(probe, pairs, measured.factor, still)
    one_clock = len(speeds) > 1 and np.ptp(speeds) <= measured.tolerance * speeds.max()
    at_zero = int(np.abs(start).argmax())
    phase = f"Found {start[at_zero]:.4g} radians at position 0 in pair {at_zero}, expected 0."
    ends = f"Found {speeds[0]:.6g} radians per token in pair 0 and {speeds[-1]:.6g} in the last"
    known = {
        pairs.mistake: (pairs.mistake is not None, evidence.of_pairs(pairs)),
        "cos_and_sin_swapped": (measured.swapped, f"Found {start[0]:.4g} radians at position 0, expected 0."),
        "phase_at_zero": (first is None, phase),
        "counts_from_one": (bool(first), f"Found the first token at position {first or 0:g}, expected 0."),
        "exponent_sign": (positive, evidence.of_exponent(measured.signed, expected)),
        "senses_differ": (senses, evidence.of_senses(measured.clock.speed)),
        "tail_changes": (bool(tail), tail),
        "one_clock": (one_clock, f"{ends}, expected a slower one."),
        "frequencies_reversed": (rising and not positive, f"{ends}, expected the reverse."),
    }
    return {name: words for name, (present, words) in known.items() if present and name is not None}


def _precision(probe: Probe, measured: _Measured, fit: frequencies.BaseFit, rising: bool) -> dict[str, str]:
    """Return the number formats of the angles and of the cosines and sines."""
    exact = measured.clock.speed
    whole = fit.off < 1e-6 and fit.follow == len(measured.speeds) == len(exact)
    if whole and measured.pairs.layout:
        exact = np.sign(exact) * (fit.steps[::-1] if rising else fit.steps)
    return {
        "angles": matrices.angle_width(probe, measured.pairs, measured.clock, exact),
        "cosines and sines": matrices.table_width(probe, measured.pairs, measured.factor),
    }


def _few_bits(probe: Probe, measured: _Measured, against: RopeSpec | None) -> dict[str, str]:
    """Return evidence of positions, frequencies or angles with too few bits, or of a table with too few rows."""
    row = matrices.row_taken(probe, measured.pairs, measured.clock)
    if row is not None:
        return {"table_ends": f"Found position {measured.clock.lost_at} rotated as {row}."}
    expected, exact = _expected_speeds(measured, against), against is not None
    for number_format, off_clock in (("bfloat16", 1e-3), ("float16", 1e-4)):
        if not _are_rounded(measured.speeds, expected, number_format, exact):
            continue
        odd = [p for p in (101, 109, 123, 127) if probe.matrix(p) is not None]
        off = [np.abs(measured.clock.off(probe, measured.pairs, position)).max() for position in odd]
        kind = "angles" if max(off, default=0) > off_clock else "frequencies"
        words = frequencies.first_difference(measured.speeds, expected, frequencies.SPEED_TOLERANCE)
        return {f"{kind}_in_{number_format}": words}
    for low, name in ((256, "positions_in_bfloat16"), (2048, "positions_in_float16")):
        one, next_one = probe.matrix(low), probe.matrix(low + 1)
        if one is not None and next_one is not None and np.array_equal(one, next_one):
            return {name: f"Found position {low + 1} rotated as {low}."}
    return {}


def _are_rounded(speeds: np.ndarray, expected: np.ndarray, number_format: str, exact: bool) -> bool:
    """Return whether speeds are `expected` rounded to a format; `exact` is False if `expected` was fitted."""
    if len(expected) != len(speeds) or not matrices.has_few_bits(speeds, number_format, 1e-6):
        return False
    rounding = 2.0 ** -BITS[number_format] * (1 if exact else 2) * expected
    spacing = 2.0**-24 if number_format == "float16" else 0.0  # spacing of float16 numbers near 0
    off = np.abs(speeds - expected)
    return bool((off > frequencies.SPEED_TOLERANCE * expected).any() and (off <= rounding + spacing).all())


def _expected_speeds(measured: _Measured, against: RopeSpec | None) -> np.ndarray:
    """Return the expected speeds; without a spec, those of a base that fits all pairs, or an empty array."""
    if against is not None:
        return against.inv_freq
    fit = frequencies.fit_base(measured.speeds, measured.pairs.rotary_dim)
    return fit.steps if fit.base > 1 and fit.follow == len(measured.speeds) else np.empty(0)


def _differences(
    measured: _Measured, against: RopeSpec, base: float, mistakes: dict[str, str], ask_speeds: bool
) -> dict[str, str]:
    """Return differences from the expected rotation, with evidence."""
    pairs, differ, memory = measured.pairs, {}, _memory(measured, against)
    if pairs.layout is not None and pairs.layout != against.layout and against.rotary_dim > 2:
        differ["other_layout"] = evidence.of_layout(pairs, against)
    if measured.sense == -1 and not measured.swapped:
        found_speed = f"Found {measured.signed[0]:.6g} radians per token in pair 0"
        differ["turns_backwards"] = f"{found_speed}, expected {against.inv_freq[0]:.6g}."
    if name := _factor_differs(measured.factor, against.attention_factor):
        differ[name] = f"Found a factor of {measured.factor:.6g}, expected {against.attention_factor:.6g}."
    if pairs.begin and not memory:
        differ["other_part"] = f"Found feature {pairs.begin} as the first that is rotated, expected 0."
    explained = {"one_clock", "frequencies_reversed", "exponent_sign"}
    explained |= {"depends_on_longest_row", "remembers_earlier_calls"}
    ask_speeds = ask_speeds and not explained & set(mistakes)
    if ask_speeds and memory:
        return differ | memory
    spanned = _spanned(against, pairs.layout)
    if pairs.rotary_dim != spanned:
        turning, speeds = against.inv_freq[against.inv_freq > 0], measured.speeds
        same = len(turning) == len(speeds) and np.allclose(speeds, turning, rtol=measured.tolerance)
        name = "zeros_dropped" if same and len(turning) < len(against.inv_freq) else "other_width"
        return differ | {name: f"Found {pairs.rotary_dim} rotated features, expected {spanned}."}
    if not ask_speeds:
        return differ
    speeds = np.pad(measured.speeds, (0, len(against.inv_freq) - len(measured.speeds)))
    wrong = frequencies.differ(speeds, against, base, measured.tolerance)
    # If the rule was never applied, its factor is missing too, and adding the factor alone would not help.
    return wrong | differ if "rule_missing" in wrong else differ | wrong


def _memory(measured: _Measured, against: RopeSpec) -> dict[str, str]:
    """Return evidence that the frequencies are the contents of a buffer that was never filled; otherwise {}."""
    speeds, expected = np.zeros(len(against.inv_freq)), against.inv_freq
    places = measured.pairs.members[:, 0] // (2 if measured.pairs.layout == "interleaved" else 1)
    if measured.pairs.layout != against.layout or places.max() >= len(speeds):
        return {}
    speeds[places] = np.abs(measured.clock.speed)
    if not frequencies.is_uninitialised(speeds, expected):
        return {}
    return {"frequencies_uninitialised": frequencies.first_difference(speeds, expected, measured.tolerance)}


def _spanned(against: RopeSpec, layout: str | None) -> int:
    """Return the width that visibly rotates; trailing interleaved pairs that do not turn look like a tail."""
    turning = np.flatnonzero(against.inv_freq)
    return 2 * (int(turning[-1]) + 1) if layout == "interleaved" and len(turning) else against.rotary_dim


def _factor_differs(factor: float, expected: float) -> str | None:
    """Return the name of the mistake in a factor, or None if the factor is as expected."""
    same, missing, twice = (abs(factor / value - 1) <= 0.005 for value in (expected, 1.0, expected**2))
    if same:
        return None
    if missing:
        return "attention_factor_missing"
    if abs(expected - 1) <= FACTOR_TOLERANCE:
        return "attention_factor_unwanted"
    return "attention_factor_twice" if twice else "other_attention_factor"
