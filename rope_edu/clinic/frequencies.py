r"""Read the speeds of pairs: which base they have, how far they follow it, how they differ from the wanted ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from rope_edu.encodings.spec import RopeSpec

CLOSE = 1e-4  # relative: as near as float32 angles let a speed be known
SAME = 1e-5
ROUGH = 0.01  # so near the ladder, and no nearer, are frequencies that were rounded to 8 bits
FIRST = 3  # pairs that must follow a base before it is called one


@dataclass(frozen=True)
class Ladder:
    """The ladder times · base^(−2i/rotary_dim) that speeds follow.

    Attributes:
        base: of the ladder; None if they follow none.
        times: θ_0, 1 as a rule.
        follow: as many pairs follow it, from the first on.
        off: how far those are from it at most, relative.
        steps: `(pairs,)` the ladder itself, in the order of the speeds; 0 where a pair stands still.
    """

    base: float | None
    times: float = 1.0
    follow: int = 0
    off: float = math.inf
    steps: np.ndarray | None = None


def ladder(speeds: np.ndarray, rotary_dim: int, close: float = CLOSE) -> Ladder:
    """Return the ladder of speeds `(pairs,)`, by all pairs where one fits them, else by the first ones."""
    turning = speeds[speeds > 0]
    count = len(turning)
    if count < 2 or not (speeds[:count] > 0).all():
        return Ladder(None)
    index = np.arange(count)
    logs = np.log(turning)
    slope = -(index @ logs) / (index @ index)  # through θ_0 = 1
    by_all = _follows(turning, 1.0, slope, rotary_dim, max(close, ROUGH), speeds.shape)
    if by_all.follow == count:
        return by_all
    by_first = _follows(turning, turning[0], logs[0] - logs[1], rotary_dim, close, speeds.shape)
    return by_first if by_first.follow >= min(FIRST, count) and by_first.base > 1 else Ladder(None)


def _follows(
    turning: np.ndarray, times: float, slope: float, rotary_dim: int, close: float, shape: tuple[int, ...]
) -> Ladder:
    """Return the ladder of a first speed and a slope, and how many of the speeds follow it."""
    steps = times * np.exp(-slope * np.arange(len(turning)))
    off = np.abs(turning / steps - 1)
    follow = int(np.argmax(off > close)) if (off > close).any() else len(turning)
    whole = np.zeros(shape)
    whole[: len(turning)] = steps
    base = math.exp(min(slope * rotary_dim / 2, 700.0))
    return Ladder(base, float(times), follow, float(off[:follow].max(initial=0.0)), whole)


def falls(speeds: np.ndarray) -> bool:
    """Tell whether the speeds never rise from pair to pair."""
    return all(later <= earlier * (1 + SAME) for earlier, later in pairwise(speeds.tolist()))


def rises(speeds: np.ndarray) -> bool:
    """Tell whether the speeds are those of a ladder in the reverse order."""
    return len(speeds) > 1 and falls(speeds[::-1]) and not falls(speeds)


def said(speeds: np.ndarray, rotary_dim: int, head_dim: int) -> str:
    """Return in words which base speeds `(pairs,)` have."""
    if len(speeds) > 1 and np.ptp(speeds) <= CLOSE * speeds.max():
        return "one speed for all pairs"
    found = ladder(speeds[::-1] if rises(speeds) else speeds, rotary_dim)
    if found.base is None:
        return "one pair, so any base" if len(speeds) == 1 else "no base fits"
    if found.off > CLOSE:
        return f"base about {found.base:.2g}"
    words = f"base {found.base:.6g}"
    over_head = min(found.base, 1e30) ** (head_dim / rotary_dim)
    if rotary_dim < head_dim and not _is_round(found.base) and _is_round(over_head):
        words += f" (that is {over_head:.6g} over the head's {head_dim} features)"
    if abs(found.times - 1) > CLOSE:
        words += f", all frequencies times {found.times:.6g}"
    turning = int((speeds > 0).sum())
    if found.follow < turning:
        words += f" in the first {found.follow} of {turning} pairs, as if by a scaling rule"
    return words


def _is_round(value: float) -> bool:
    """Tell whether a number has two digits at most, as bases do."""
    return abs(float(f"{value:.1e}") / value - 1) < 1e-6


def differ(speeds: np.ndarray, against: RopeSpec, base: float | None, close: float) -> list[str]:
    """Say how the frequencies came to be other than those wanted."""
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
    plain = base ** (-2 * np.arange(len(speeds)) / against.rotary_dim)
    if not equal(plain) and not np.allclose(speeds, plain, rtol=CLOSE):
        return "other_frequencies"
    own = ladder(against.inv_freq, against.rotary_dim)
    if own.base is not None and (own.follow < (against.inv_freq > 0).sum() or abs(own.times - 1) > CLOSE):
        return "rule_missing" if abs(base / own.base - 1) <= ROUGH else "other_frequencies"
    return "other_base"
