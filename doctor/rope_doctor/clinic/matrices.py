r"""Find the pairs in the matrices of a black box, and their blocks, angles, speeds and precision."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from rope_doctor.clinic.probe import DOUBLING, FAR, MAX_INDEX, SMALL, Probe
from rope_doctor.precision import round_to

# maximum relative error of an entry; float32 tables have about 1e-7, the same in both entries compared
BLOCK_TOLERANCE = 1e-5
MAX_DRIFT = 0.5  # in radians; an angle with a larger error does not match its position


@dataclass
class Pairs:
    """Pairs of features (first, second), with the name of their layout."""

    members: np.ndarray  # (pairs, 2)
    layout: str | None
    rotary_dim: int
    mistake: str | None = None
    begin: int = 0  # the first feature of the rotated part


def positions_of(probe: Probe) -> list[int]:
    """Return the positions at which the black box can be probed, in ascending order."""
    reach = MAX_INDEX if probe.by_index else math.inf
    return [p for p in sorted({*SMALL, *DOUBLING}) if p <= reach and probe.matrix(p) is not None]


def find_pairs(probe: Probe) -> Pairs:
    """Return the pairs of features that mix at any position."""
    matrices = np.stack([probe.matrix_of(p) for p in positions_of(probe)])
    none = np.empty((0, 2), int)
    mixes = (matrices != 0).any(axis=0) & ~np.eye(probe.head_dim, dtype=bool)  # [to, from]
    if not mixes.any():
        moved = np.abs(matrices - matrices[0]).max() > BLOCK_TOLERANCE
        return Pairs(none, None, 0, "sine_missing" if moved else "no_position")
    features = np.arange(probe.head_dim)
    partner = np.where(mixes.any(axis=0), mixes.argmax(axis=0), features)
    single = mixes.sum(axis=0) <= 1
    if single.all() and (partner[partner] == features).all():
        first = np.flatnonzero(partner > features)
        return name_pairs(np.stack((first, partner[first]), axis=1))
    width = int(np.flatnonzero(mixes.any(axis=0)).max()) + 1
    rolled = single.all() and (partner[:width] == (np.arange(width) + 1) % width).all()
    return Pairs(none, None, 0, "rolls_features" if rolled else "mixes_features")


def name_pairs(members: np.ndarray) -> Pairs:
    """Return pairs with the name of their layout, their total width, and their first feature."""
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
    """Return the pairs' 2 × 2 blocks at the given positions, `(positions, pairs, 2, 2)`."""
    index = pairs.members
    return np.stack([probe.matrix_of(p)[index[:, :, None], index[:, None, :]] for p in positions])


def judge_blocks(probe: Probe, pairs: Pairs) -> tuple[str | None, float | None]:
    """Return the name of the mistake in the blocks, or None, and the factor that they share, or None."""
    near = blocks(probe, pairs, SMALL)
    lengths = np.linalg.norm(near, axis=-1)  # row lengths
    gain = lengths.mean(axis=0)
    steady = bool((np.abs(lengths - gain) <= 0.01 * gain).all())  # a bfloat16 table is off by 0.004
    even = steady and bool(np.ptp(gain) <= 0.01 * gain.max())
    if _are_rotations(near):
        far = blocks(probe, pairs, positions_of(probe))
        drifts = (np.abs(np.linalg.norm(far, axis=-1) - gain) > 0.03 * gain).any()
        if drifts and _are_rotations(far):
            return _name_drift(probe, pairs), None
        if even:
            return None, float(gain.mean())
        return ("uneven_gain" if steady else "not_a_rotation"), None
    (a, b), (c, d) = np.moveaxis(near, (2, 3), (0, 1))
    if steady and np.abs(a - d).max() <= BLOCK_TOLERANCE and np.abs(b - c).max() <= BLOCK_TOLERANCE:
        return "minus_sign_missing", None
    if steady and _are_rotations(near / lengths[..., None]):
        return "uneven_gain", None
    return ("table_of_other_layout" if even else "not_a_rotation"), None


def _name_drift(probe: Probe, pairs: Pairs) -> str:
    """Return the name of the mistake in blocks [[a, −b], [b, a]] whose lengths change with the position.

    If the phases grow evenly, the rotation has a factor that changes with the position. Otherwise, if one factor
    for the cosines and another for the sines put all blocks on the unit circle, the tables have different factors.
    If not, the sines belong to other pairs.
    """
    angles = phases(probe, pairs, SMALL)
    if np.abs(wrap(angles - np.outer(SMALL, angles[0]))).max() < 0.01:
        return "length_by_position"
    return "sines_of_other_pairs" if table_factors(probe, pairs) is None else "one_table_scaled"


def table_factors(probe: Probe, pairs: Pairs) -> tuple[float, float] | None:
    """Return the factors of cosines and sines if the same two factors fit every block, otherwise None."""
    near = blocks(probe, pairs, (0, *SMALL))
    cosines, sines = near[:, :, 0, 0] / near[0, 0, 0, 0], near[:, :, 1, 0]
    open_angle = cosines**2 < 0.99
    if not open_angle.any():
        return None
    factors = np.abs(sines[open_angle]) / np.sqrt(1 - cosines[open_angle] ** 2)
    even = np.ptp(factors) <= 0.02 * factors.max()
    return (float(near[0, 0, 0, 0]), float(factors.mean())) if even else None


def tail_changes(probe: Probe, pairs: Pairs, factor: float, still: bool) -> str:
    """Return evidence from the first unrotated feature whose value changes, or "" if none changes.

    If `still` is True, the factor may also scale these features, since p-RoPE's last pairs do not turn.
    """
    features = np.arange(probe.head_dim)
    inside = (
        (features >= pairs.begin) & (features < pairs.begin + pairs.rotary_dim) & (pairs.layout is not None)
    )
    gains = np.stack([np.diag(probe.matrix_of(p)) for p in SMALL])  # (positions, features)
    expected = np.where(inside, factor, 1.0)
    off = (np.abs(gains - expected) > 0.01) & ~np.isin(features, pairs.members)
    if still:
        off &= np.abs(gains - factor) > 0.01
    if not off.any():
        return ""
    row, feature = np.argwhere(off)[0].tolist()
    where = f"unrotated feature {feature} times {gains[row, feature]:.6g} at position {SMALL[row]}"
    return f"Found {where}, expected {expected[feature]:.6g}."


def _are_rotations(block: np.ndarray) -> bool:
    (a, b), (c, d) = np.moveaxis(block, (-2, -1), (0, 1))
    bound = BLOCK_TOLERANCE * np.abs(block).max()
    return bool(np.abs(a - d).max() <= bound and np.abs(b + c).max() <= bound)


def phases(probe: Probe, pairs: Pairs, positions: Iterable[int]) -> np.ndarray:
    """Return the pairs' angles at the given positions, from −π to π, `(positions, pairs)`."""
    (a, b), (c, d) = np.moveaxis(blocks(probe, pairs, positions), (-2, -1), (0, 1))
    return np.arctan2(c - b, a + d)


def wrap(angle: np.ndarray) -> np.ndarray:
    """Wrap an angle to the range from −π to π."""
    return (angle + np.pi) % (2 * np.pi) - np.pi


@dataclass
class Clock:
    """The phases and speeds of the pairs, and the first position at which they do not predict the angles."""

    start: np.ndarray  # (pairs,), the phase at position 0
    speed: np.ndarray  # (pairs,), signed, radians per position
    lost_at: int | None  # first probed position at which the phase is not start + position · speed

    def off(self, probe: Probe, pairs: Pairs, position: int) -> np.ndarray:
        """Return the difference between the phases and start + position · speed, in radians, `(pairs,)`."""
        return wrap(phases(probe, pairs, [position])[0] - self.start - position * self.speed)

    @property
    def first_position(self) -> float | None:
        """Position of the first token, or None if the phases at 0 match no single position."""
        if np.abs(self.start).max() < 1e-6:
            return 0.0
        speed = np.abs(self.speed)
        slow = np.where(speed > 1e-7, speed, np.inf).argmin()
        first = float(self.start[slow] / self.speed[slow])
        if np.abs(wrap(self.start - first * self.speed)).max() > 0.02:
            return None
        return float(round(first)) if abs(first - round(first)) < 0.01 else first


def read_clock(probe: Probe, pairs: Pairs, limit: float = math.inf) -> Clock:
    """Return the pairs' clock, refining the speeds at ever larger positions, starting at 1."""
    start, second = phases(probe, pairs, (0, 1))
    clock = Clock(start, wrap(second - start), None)
    for position in positions_of(probe):
        if position in DOUBLING and position <= limit:
            off = clock.off(probe, pairs, position)
            if np.abs(off).max() > MAX_DRIFT:
                return Clock(start, clock.speed, position)
            clock.speed = clock.speed + off / position
    return clock


def row_taken(probe: Probe, pairs: Pairs, clock: Clock) -> int | None:
    """Return an earlier position with the same phases as `clock.lost_at`, or None."""
    if clock.lost_at is None:
        return None
    earlier = clock.start + np.arange(clock.lost_at)[:, None] * clock.speed
    off = np.abs(wrap(earlier - phases(probe, pairs, [clock.lost_at]))).max(axis=1)
    return int(off.argmin()) if off.min() < 0.02 else None


def describe_order(order: np.ndarray, pairs: Pairs) -> str:
    """Describe the order of the output; `order[row, column]` is ±1 if input `column` becomes output `row`."""
    source = np.abs(order).argmax(axis=1)
    negated = int((order < 0).sum())
    if (source == np.arange(len(source))).all():
        return "negated" if negated == len(source) else f"with {negated} of them negated"
    shape = (-1, 2) if pairs.layout == "interleaved" else (2, -1)
    part = np.arange(pairs.rotary_dim).reshape(shape).T.ravel()
    dealt = np.array_equal(source[pairs.begin :][: len(part)], pairs.begin + part)
    others = {"interleaved": "in halves", "half_split": "as neighbours"}
    words = others[pairs.layout] if dealt and pairs.layout else "in another order"
    return f"{words}, {negated} of them negated" if negated else words


def is_rounded(values: np.ndarray, number_format: str, within: float = 0.0) -> bool:
    """Return whether a format can represent all values to within a relative error."""
    return np.allclose(round_to(values, number_format), values, rtol=within, atol=0)


def has_few_bits(values: np.ndarray, number_format: str, within: float) -> bool:
    """Return whether all values, however small, fit a format's significand to within a relative error."""
    scale = 2.0 ** np.floor(np.log2(np.where(values > 0, values, 1.0)))
    return is_rounded(values / scale, number_format, within) or is_rounded(values, number_format, within)


def angle_width(probe: Probe, pairs: Pairs, clock: Clock, speed: np.ndarray) -> str:
    """Infer the angles' number format from the error at a distant position; `speed` is assumed to be exact."""
    if clock.lost_at is not None or probe.by_index or probe.matrix(FAR) is None:
        return "unknown: it does not reach 2^20"
    off = np.abs(Clock(clock.start, speed, None).off(probe, pairs, FAR)).max()
    return "float64" if off <= 1e-5 else "float32" if off <= 0.3 else "less than float32"


def table_width(probe: Probe, pairs: Pairs, factor: float) -> str:
    """Infer the number format of cosines and sines from the lengths of rotated unit vectors."""
    lengths = np.linalg.norm(blocks(probe, pairs, SMALL), axis=-1)
    off = np.abs(lengths / factor - 1).max()
    widths = {"float64": 1e-12, "float32": 1e-6, "float16": 1e-3, "bfloat16": math.inf}
    return next(name for name, bound in widths.items() if off <= bound)
