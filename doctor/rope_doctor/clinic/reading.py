r"""Matrices of a black box, read: the features that pair, their blocks, angles, speeds, and precision."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from rope_doctor.clinic.probe import BY_PLACE, DOUBLING, FAR, SMALL, Probe
from rope_doctor.precision import round_to

SAME = 1e-5  # of an entry: float32 tables are off by 1e-7, and a rounded pair is rounded alike
LOST = 0.5  # radians: farther off, a turn is no longer that of its position


@dataclass
class Pairs:
    """Features that pair, (first, second) of each, with the name of their layout."""

    members: np.ndarray  # (pairs, 2)
    layout: str | None
    rotary_dim: int
    mistake: str | None = None
    begin: int = 0  # the first feature of the part that turns


def positions_of(probe: Probe) -> list[int]:
    """Positions at which the box is read and answers, rising."""
    reach = BY_PLACE if probe.by_place else math.inf
    return [p for p in sorted({*SMALL, *DOUBLING}) if p <= reach and probe.matrix(p) is not None]


def find_pairs(probe: Probe) -> Pairs:
    """Pairs of features that meet, from all positions together."""
    matrices = np.stack([probe.matrix_of(p) for p in positions_of(probe)])
    none = np.empty((0, 2), int)
    meets = (matrices != 0).any(axis=0) & ~np.eye(probe.head_dim, dtype=bool)  # [to, from]
    if not meets.any():
        moved = np.abs(matrices - matrices[0]).max() > SAME
        return Pairs(none, None, 0, "sine_missing" if moved else "no_position")
    features = np.arange(probe.head_dim)
    partner = np.where(meets.any(axis=0), meets.argmax(axis=0), features)
    alone = meets.sum(axis=0) <= 1
    if alone.all() and (partner[partner] == features).all():
        first = np.flatnonzero(partner > features)
        return name_pairs(np.stack((first, partner[first]), axis=1))
    width = int(np.flatnonzero(meets.any(axis=0)).max()) + 1
    rolled = alone.all() and (partner[:width] == (np.arange(width) + 1) % width).all()
    return Pairs(none, None, 0, "rolls_features" if rolled else "mixes_features")


def name_pairs(members: np.ndarray) -> Pairs:
    """Pairs with the name of their layout, their first feature, and the width that they span."""
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


def blocks(probe: Probe, pairs: Pairs, positions: Iterable[int]) -> np.ndarray:
    """The 2 × 2 block of each pair at each position, `(positions, pairs, 2, 2)`."""
    index = pairs.members
    return np.stack([probe.matrix_of(p)[index[:, :, None], index[:, None, :]] for p in positions])


def judge_blocks(probe: Probe, pairs: Pairs) -> tuple[str | None, float | None]:
    """Name of the mistake in the blocks, or None, and the factor that multiplies them, if it is one."""
    found = blocks(probe, pairs, SMALL)
    lengths = np.linalg.norm(found, axis=-1)  # of the rows
    gain = lengths.mean(axis=0)
    steady = bool((np.abs(lengths - gain) <= 0.01 * gain).all())  # a bfloat16 table is off by 0.004
    even = steady and bool(np.ptp(gain) <= 0.01 * gain.max())
    if _turns(found):
        far = blocks(probe, pairs, positions_of(probe))
        drifts = (np.abs(np.linalg.norm(far, axis=-1) - gain) > 0.03 * gain).any()
        if drifts and _turns(far):
            return _name_drift(probe, pairs), None
        if even:
            return None, float(gain.mean())
        return ("uneven_gain" if steady else "not_a_rotation"), None
    (a, b), (c, d) = np.moveaxis(found, (2, 3), (0, 1))
    if steady and np.abs(a - d).max() <= SAME and np.abs(b - c).max() <= SAME:
        return "minus_sign_missing", None
    if steady and _turns(found / lengths[..., None]):
        return "uneven_gain", None
    return ("table_of_other_layout" if even else "not_a_rotation"), None


def _name_drift(probe: Probe, pairs: Pairs) -> str:
    """Name of the mistake in blocks [[a, −b], [b, a]] whose lengths change with the position.

    Phases that grow evenly belong to a turn with a factor. Else cosine and sine have two factors, if one pair of
    factors puts every block on the unit circle, or belong to two angles.
    """
    found = phases(probe, pairs, SMALL)
    if np.abs(wrap(found - np.outer(SMALL, found[0]))).max() < 0.01:
        return "length_by_position"
    return "sines_of_other_pairs" if table_factors(probe, pairs) is None else "one_table_scaled"


def table_factors(probe: Probe, pairs: Pairs) -> tuple[float, float] | None:
    """Factors of the cosines and of the sines, if two numbers explain all blocks; None otherwise."""
    found = blocks(probe, pairs, (0, *SMALL))
    cosines, sines = found[:, :, 0, 0] / found[0, 0, 0, 0], found[:, :, 1, 0]
    open_angle = cosines**2 < 0.99
    if not open_angle.any():
        return None
    factors = np.abs(sines[open_angle]) / np.sqrt(1 - cosines[open_angle] ** 2)
    even = np.ptp(factors) <= 0.02 * factors.max()
    return (float(found[0, 0, 0, 0]), float(factors.mean())) if even else None


def tail_changes(probe: Probe, pairs: Pairs, factor: float, still: bool) -> str:
    """The first feature outside the part that turns that comes out changed, found and wanted; "" if none does.

    Those of `still` pairs, which p-RoPE has at the end, may have the factor.
    """
    features = np.arange(probe.head_dim)
    inside = (
        (features >= pairs.begin) & (features < pairs.begin + pairs.rotary_dim) & (pairs.layout is not None)
    )
    kept = np.stack([np.diag(probe.matrix_of(p)) for p in SMALL])  # (positions, features)
    may_be = np.where(inside, factor, 1.0)
    off = (np.abs(kept - may_be) > 0.01) & ~np.isin(features, pairs.members)
    if still:
        off &= np.abs(kept - factor) > 0.01
    if not off.any():
        return ""
    row, feature = np.argwhere(off)[0].tolist()
    where = f"feature {feature}, which does not turn, times {kept[row, feature]:.6g} at position {SMALL[row]}"
    return f"Found {where}, wanted {may_be[feature]:.6g}."


def _turns(found: np.ndarray) -> bool:
    (a, b), (c, d) = np.moveaxis(found, (-2, -1), (0, 1))
    bound = SAME * np.abs(found).max()
    return bool(np.abs(a - d).max() <= bound and np.abs(b + c).max() <= bound)


def phases(probe: Probe, pairs: Pairs, positions: Iterable[int]) -> np.ndarray:
    """Angle of each pair at each position, −π … π, `(positions, pairs)`."""
    found = blocks(probe, pairs, positions)
    return np.arctan2(found[..., 1, 0] - found[..., 0, 1], found[..., 0, 0] + found[..., 1, 1])


def wrap(angle: np.ndarray) -> np.ndarray:
    """An angle in −π … π."""
    return (angle + np.pi) % (2 * np.pi) - np.pi


@dataclass
class Clock:
    """Speeds of the pairs, and the first position that they do not explain."""

    start: np.ndarray  # (pairs,) the phase at position 0
    speed: np.ndarray  # (pairs,) radians per position, with their sign
    lost_at: int | None  # first position of those read at which a turn is not start + position · speed

    def off(self, probe: Probe, pairs: Pairs, position: int) -> np.ndarray:
        """Distance of each turn from start + position · speed, in radians."""
        return wrap(phases(probe, pairs, [position])[0] - self.start - position * self.speed)

    @property
    def first_position(self) -> float | None:
        """Position of the first token, or None if the phases at 0 are not those of one position."""
        if np.abs(self.start).max() < 1e-6:
            return 0.0
        speed = np.abs(self.speed)
        slow = np.where(speed > 1e-7, speed, np.inf).argmin()
        first = float(self.start[slow] / self.speed[slow])
        if np.abs(wrap(self.start - first * self.speed)).max() > 0.02:
            return None
        return float(round(first)) if abs(first - round(first)) < 0.01 else first


def read_clock(probe: Probe, pairs: Pairs, limit: float = math.inf) -> Clock:
    """Clock of the pairs: phases followed from position 1 to farther ones, so that speeds become exact."""
    start, second = phases(probe, pairs, (0, 1))
    clock = Clock(start, wrap(second - start), None)
    for position in positions_of(probe):
        if position in DOUBLING and position <= limit:
            off = clock.off(probe, pairs, position)
            if np.abs(off).max() > LOST:
                return Clock(start, clock.speed, position)
            clock.speed = clock.speed + off / position
    return clock


def row_taken(probe: Probe, pairs: Pairs, clock: Clock) -> int | None:
    """Earlier position by which pairs are turned where the clock is lost; None if there is none."""
    if clock.lost_at is None:
        return None
    earlier = clock.start + np.arange(clock.lost_at)[:, None] * clock.speed
    off = np.abs(wrap(earlier - phases(probe, pairs, [clock.lost_at]))).max(axis=1)
    return int(off.argmin()) if off.min() < 0.02 else None


def describe_order(order: np.ndarray, pairs: Pairs) -> str:
    """Order of features that come out, in words: `order` has ±1 where that of a column comes out in a row."""
    source = np.abs(order).argmax(axis=1)
    negated = int((order.sum(axis=1) < 0).sum())
    if (source == np.arange(len(source))).all():
        return "negated" if negated == len(source) else f"with {negated} of them negated"
    shape = (-1, 2) if pairs.layout == "interleaved" else (2, -1)
    part = np.arange(pairs.rotary_dim).reshape(shape).T.ravel()
    dealt = np.array_equal(source[pairs.begin :][: len(part)], pairs.begin + part)
    others = {"interleaved": "in halves", "half_split": "as neighbours"}
    words = others[pairs.layout] if dealt and pairs.layout else "in another order"
    return f"{words}, {negated} of them negated" if negated else words


def is_rounded(values: np.ndarray, number_format: str, within: float = 0.0) -> bool:
    """True if all numbers are of a format (to a relative error)."""
    return np.allclose(round_to(values, number_format), values, rtol=within, atol=0)


def has_few_bits(values: np.ndarray, number_format: str, within: float) -> bool:
    """True if all numbers have as few digits as a format gives (to a relative error), however small."""
    scale = 2.0 ** np.floor(np.log2(np.where(values > 0, values, 1.0)))
    return is_rounded(values / scale, number_format, within) or is_rounded(values, number_format, within)


def angle_width(probe: Probe, pairs: Pairs, clock: Clock, speed: np.ndarray) -> str:
    """Width in which angles are kept, from the error at a far position; `speed` is taken as exact."""
    if clock.lost_at is not None or probe.by_place or probe.matrix(FAR) is None:
        return "not seen: it does not reach 2^20"
    off = np.abs(Clock(clock.start, speed, None).off(probe, pairs, FAR)).max()
    return "float64" if off <= 1e-5 else "float32" if off <= 0.3 else "less than float32"


def turn_width(probe: Probe, pairs: Pairs, factor: float) -> str:
    """Width in which cosines and sines are kept, from the lengths of turned unit vectors."""
    lengths = np.linalg.norm(blocks(probe, pairs, SMALL), axis=-1)
    off = np.abs(lengths / factor - 1).max()
    widths = {"float64": 1e-12, "float32": 1e-6, "float16": 1e-3, "bfloat16": math.inf}
    return next(name for name, bound in widths.items() if off <= bound)
