r"""Read the matrices of a black box: which features pair, whether pairs turn, by which angles, how exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rope_edu.clinic.probe import BY_PLACE, DOUBLING, FAR, SMALL, Probe
from rope_edu.encodings.precision import round_to

SAME = 1e-5  # of an entry: float32 tables are off by 1e-7, and a rounded pair is rounded alike
LOST = 0.5  # radians: farther off, a turn is no longer that of its position


@dataclass
class Pairs:
    """Which features pair: (first, second) of each, and how that is called."""

    members: np.ndarray  # (pairs, 2)
    layout: str | None
    rotary_dim: int
    mistake: str | None = None
    begin: int = 0  # the first feature of the part that turns


def positions_of(probe: Probe) -> list[int]:
    """Return the positions at which the box is read, rising, and answers."""
    reach = BY_PLACE if probe.by_place else math.inf
    wanted = sorted({*SMALL, *DOUBLING})
    return [p for p in wanted if p <= reach and probe.matrix(p) is not None]


def find_pairs(probe: Probe) -> Pairs:
    """Find which features meet, from all positions together."""
    matrices = np.stack([probe.matrix(p) for p in positions_of(probe)])
    meets = (matrices != 0).any(axis=0) & ~np.eye(probe.head_dim, dtype=bool)  # [to, from]
    if not meets.any():
        moved = np.abs(matrices - matrices[0]).max() > SAME
        return Pairs(np.empty((0, 2), int), None, 0, "sine_missing" if moved else "no_position")
    partner = np.where(meets.any(axis=0), meets.argmax(axis=0), np.arange(probe.head_dim))
    alone = meets.sum(axis=0) <= 1
    if alone.all() and (partner[partner] == np.arange(probe.head_dim)).all():
        first = np.flatnonzero(partner > np.arange(probe.head_dim))
        return name_pairs(np.stack((first, partner[first]), axis=1))
    width = int(np.flatnonzero(meets.any(axis=0)).max()) + 1
    rolled = alone.all() and (partner[:width] == (np.arange(width) + 1) % width).all()
    return Pairs(np.empty((0, 2), int), None, 0, "rolls_features" if rolled else "mixes_features")


def name_pairs(members: np.ndarray) -> Pairs:
    """Name the layout of pairs, where they begin, and the width that they span."""
    first, second = members.T
    steps = set((second - first).tolist())
    step, begin, end = max(steps), int(first.min()), int(second.max()) + 1
    if steps == {1} and not ((first - begin) % 2).any() and not begin % 2:
        return Pairs(members, "interleaved", end - begin, begin=begin)
    if len(steps) == 1 and begin and len(members) == step == first.max() + 1 - begin:
        return Pairs(members, "half_split", 2 * step, begin=begin)
    if len(steps) == 1 and first.max() < step:
        return Pairs(members, "half_split", 2 * step)
    return Pairs(members, None, 2 * len(members), "wrong_pairs")


def blocks(probe: Probe, pairs: Pairs, position: int) -> np.ndarray:
    """Return the 2 × 2 block of each pair at a position, `(pairs, 2, 2)`."""
    index = pairs.members
    return probe.matrix(position)[index[:, :, None], index[:, None, :]]


def judge_blocks(probe: Probe, pairs: Pairs) -> tuple[str | None, float | None]:
    """Return what is wrong with the blocks, or None, and the factor that multiplies them, if it is one."""
    there = [p for p in SMALL if p in positions_of(probe)]
    found = np.stack([blocks(probe, pairs, p) for p in there])  # (positions, pairs, 2, 2)
    lengths = np.linalg.norm(found, axis=-1)  # of the rows
    gain = lengths.mean(axis=0)
    steady = bool((np.abs(lengths - gain) <= 0.01 * gain).all())  # a bfloat16 table is off by 0.004
    if _turns(found):
        if drifts(probe, pairs, gain):
            return "length_by_position", None
        even = np.ptp(gain) <= 0.01 * gain.max()
        return (
            (None, float(gain.mean()))
            if even and steady
            else ("uneven_gain" if steady else "not_a_rotation", None)
        )
    (a, b), (c, d) = np.moveaxis(found, (2, 3), (0, 1))
    if steady and np.abs(a - d).max() <= SAME and np.abs(b - c).max() <= SAME:
        return "minus_sign_missing", None
    if steady and _turns(found / lengths[..., None]):
        return "uneven_gain", None
    even = steady and np.ptp(gain) <= 0.01 * gain.max()
    return ("table_of_other_layout" if even else "not_a_rotation"), None


def drifts(probe: Probe, pairs: Pairs, gain: np.ndarray) -> bool:
    """Tell whether far positions change lengths, though each pair is turned."""
    far = [blocks(probe, pairs, p) for p in positions_of(probe)]
    lengths = np.linalg.norm(np.stack(far), axis=-1)
    return bool((np.abs(lengths - gain) > 0.03 * gain).any()) and _turns(np.stack(far))


def tail_changes(probe: Probe, pairs: Pairs, factor: float, still: bool) -> bool:
    """Tell whether features outside the part that turns come out changed; `still` ones may have the factor."""
    outside = np.ones(probe.head_dim, dtype=bool)
    outside[pairs.members.ravel()] = False
    inside = np.zeros(probe.head_dim, dtype=bool)
    inside[pairs.begin : pairs.begin + pairs.rotary_dim] = pairs.layout is not None
    there = [p for p in SMALL if p in positions_of(probe)]
    kept = np.stack([np.diag(probe.matrix(p)) for p in there])  # (positions, features)
    may_be = np.where(inside, factor, 1.0)
    off = np.abs(kept - may_be) > 0.01
    if still:  # pairs of p-RoPE that never turn, at the end
        off &= np.abs(kept - factor) > 0.01
    return bool((off & outside).any())


def _turns(found: np.ndarray) -> bool:
    (a, b), (c, d) = np.moveaxis(found, (-2, -1), (0, 1))
    bound = SAME * np.abs(found).max()
    return bool(np.abs(a - d).max() <= bound and np.abs(b + c).max() <= bound)


def phase(probe: Probe, pairs: Pairs, position: int) -> np.ndarray:
    """Return the angle of each pair at a position, −π … π."""
    found = blocks(probe, pairs, position)
    return np.arctan2(found[:, 1, 0] - found[:, 0, 1], found[:, 0, 0] + found[:, 1, 1])


def wrap(angle: np.ndarray) -> np.ndarray:
    """Return an angle in −π … π."""
    return (angle + np.pi) % (2 * np.pi) - np.pi


@dataclass
class Clock:
    """How fast the pairs turn, and to which position that was seen."""

    start: np.ndarray  # (pairs,) the phase at position 0
    speed: np.ndarray  # (pairs,) radians per position, with their sign
    lost_at: int | None  # the first position of those read at which a turn is not start + position · speed


def read_clock(probe: Probe, pairs: Pairs, limit: float = math.inf) -> Clock:
    """Follow the phases from position 1 to farther and farther ones, so that the speed becomes exact."""
    start = phase(probe, pairs, 0)
    speed = wrap(phase(probe, pairs, 1) - start)
    for position in positions_of(probe):
        if position > limit or position not in DOUBLING:
            continue
        off = wrap(phase(probe, pairs, position) - start - position * speed)
        if np.abs(off).max() > LOST:
            return Clock(start, speed, position)
        speed = speed + off / position
    return Clock(start, speed, None)


def off_clock(probe: Probe, pairs: Pairs, clock: Clock, position: int) -> float:
    """Return how far a turn is from start + position · speed, in radians, at most."""
    return float(np.abs(wrap(phase(probe, pairs, position) - clock.start - position * clock.speed)).max())


def takes_other_row(probe: Probe, pairs: Pairs, clock: Clock) -> bool:
    """Tell whether the turn where the clock is lost is that of an earlier position."""
    seen = phase(probe, pairs, clock.lost_at)
    earlier = clock.start + np.arange(clock.lost_at)[:, None] * clock.speed
    return bool(np.abs(wrap(earlier - seen)).max(axis=1).min() < 0.02)


def first_position(clock: Clock) -> float | None:
    """Return which position the first token has, or None if the phases at 0 are not those of one position."""
    speed = np.abs(clock.speed)
    if np.abs(clock.start).max() < 1e-6:
        return 0.0
    slow = np.flatnonzero(speed > 1e-7)[speed[speed > 1e-7].argmin()]
    first = clock.start[slow] / clock.speed[slow]
    if np.abs(wrap(clock.start - first * clock.speed)).max() > 0.02:
        return None
    return float(round(first)) if abs(first - round(first)) < 0.01 else float(first)


def order_said(order: np.ndarray, pairs: Pairs) -> str:
    """Say how features come out: `order` has ±1 where the feature of a column comes out in a row."""
    source = np.abs(order).argmax(axis=1)
    negated = int((order.sum(axis=1) < 0).sum())
    if (source == np.arange(len(source))).all():
        return "negated" if negated == len(source) else f"with {negated} of them negated"
    part = (
        np.arange(pairs.rotary_dim).reshape((-1, 2) if pairs.layout == "interleaved" else (2, -1)).T.ravel()
    )
    dealt = np.array_equal(source[pairs.begin :][: len(part)], pairs.begin + part)
    others = {"interleaved": "in halves", "half_split": "as neighbours"}
    words = others[pairs.layout] if dealt and pairs.layout else "in another order"
    return f"{words}, {negated} of them negated" if negated else words


def same_turn(probe: Probe, one: int, other: int) -> bool:
    """Tell whether two positions are turned exactly alike."""
    a, b = probe.matrix(one), probe.matrix(other)
    return a is not None and b is not None and bool(np.array_equal(a, b))


def is_rounded(values: np.ndarray, number_format: str, within: float = 0.0) -> bool:
    """Tell whether all numbers are of a format (to a relative error)."""
    rounded = round_to(values, number_format)
    return bool((np.abs(rounded - values) <= within * np.abs(values)).all())


def has_few_bits(values: np.ndarray, number_format: str, within: float) -> bool:
    """Tell whether all numbers have as few digits as a format gives (to a relative error), however small."""
    scale = 2.0 ** np.floor(np.log2(np.where(values > 0, values, 1.0)))
    return is_rounded(values / scale, number_format, within) or is_rounded(values, number_format, within)


def result_is_rounded(probe: Probe, number_format: str) -> bool:
    """Tell whether every entry of the matrices is a number of a format."""
    there = [p for p in SMALL if p in positions_of(probe)]
    return all(is_rounded(probe.matrix(p), number_format) for p in there)


def angle_width(probe: Probe, pairs: Pairs, clock: Clock, speed: np.ndarray) -> str:
    """Say in which width angles are kept, from the error at a far position; `speed` is taken as exact."""
    if clock.lost_at is not None or probe.by_place or probe.matrix(FAR) is None:
        return "not seen: it does not reach 2^20"
    off = np.abs(wrap(phase(probe, pairs, FAR) - clock.start - FAR * speed)).max()
    for bound, name in ((1e-5, "float64"), (0.3, "float32")):
        if off <= bound:
            return name
    return "less than float32"


def turn_width(probe: Probe, pairs: Pairs, factor: float) -> str:
    """Say in which width cosines and sines are kept, from the lengths of turned unit vectors."""
    there = [p for p in SMALL if p in positions_of(probe)]
    lengths = np.linalg.norm(np.stack([blocks(probe, pairs, p) for p in there]), axis=-1)
    off = np.abs(lengths / factor - 1).max()
    for bound, name in ((1e-12, "float64"), (1e-6, "float32"), (1e-3, "float16")):
        if off <= bound:
            return name
    return "bfloat16"
