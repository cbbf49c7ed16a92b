r"""Speeds of pairs: the base that they follow, how far they follow it, how they differ from those wanted."""

import math
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from rope_doctor.clinic.reading import wrap
from rope_edu.encodings.spec import RopeSpec

CLOSE = 1e-4  # relative: as near as float32 angles let a speed be known
SAME = 1e-5
ROUGH = 0.01  # so near the ladder, and no nearer, are frequencies that were rounded to 8 bits
FIRST = 3  # pairs that must follow a base before it is called one


@dataclass(frozen=True)
class Ladder:
    """The ladder times · base^(−2i/rotary_dim) that speeds follow."""

    base: float = 0.0  # 0 if they follow none
    times: float = 1.0  # θ_0
    follow: int = 0  # as many pairs follow it, from the first on
    off: float = math.inf  # of those at most, relative
    steps: np.ndarray = field(
        default_factory=lambda: np.empty(0)
    )  # (pairs,) its own; 0 where a pair stands still


def ladder(speeds: np.ndarray, rotary_dim: int, close: float = CLOSE) -> Ladder:
    """Ladder of speeds `(pairs,)`, by all pairs where one fits them, else by the first ones."""
    turning = speeds[speeds > 0]
    count = len(turning)
    if count < 2 or not (speeds[:count] > 0).all():
        return Ladder()
    index, logs = np.arange(count), np.log(turning)

    def through(times: float, slope: float, close: float) -> Ladder:
        steps = times * np.exp(-slope * index)
        off = np.abs(turning / steps - 1)
        follow = int(np.argmax(off > close)) if (off > close).any() else count
        base = math.exp(min(slope * rotary_dim / 2, 700.0))
        whole = np.pad(steps, (0, len(speeds) - count))
        return Ladder(base, times, follow, float(off[:follow].max(initial=0.0)), whole)

    by_all = through(1.0, -(index @ logs) / (index @ index), max(close, ROUGH))
    if by_all.follow == count:
        return by_all
    by_first = through(float(turning[0]), logs[0] - logs[1], close)
    return by_first if by_first.follow >= min(FIRST, count) and by_first.base > 1 else Ladder()


def falls(speeds: np.ndarray) -> bool:
    """True if the speeds never rise from pair to pair."""
    return all(later <= earlier * (1 + SAME) for earlier, later in pairwise(speeds.tolist()))


def rises(speeds: np.ndarray) -> bool:
    """True if the speeds are those of a ladder in the reverse order."""
    return len(speeds) > 1 and falls(speeds[::-1]) and not falls(speeds)


def describe_base(speeds: np.ndarray, rotary_dim: int, head_dim: int) -> str:
    """The base of speeds `(pairs,)`, in words."""
    if len(speeds) > 1 and np.ptp(speeds) <= CLOSE * speeds.max():
        return "one speed for all pairs"
    found = ladder(speeds[::-1] if rises(speeds) else speeds, rotary_dim)
    if not found.base:
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
        words += f" in the first {found.follow} of {turning} pairs, as a scaling rule has it"
    return words


def _is_round(value: float) -> bool:
    """True if a number has two digits at most, as bases do."""
    return abs(float(f"{value:.1e}") / value - 1) < 1e-6


def has_positive_exponent(signed: np.ndarray, wanted: np.ndarray | None) -> bool:
    """True if signed speeds `(pairs,)` are those of base^(+2i/d), which whole positions show modulo 2π.

    Without wanted frequencies the base is guessed from pair 1, and four pairs or more must agree.
    """
    if wanted is not None:
        fast = 1 / wanted if len(wanted) == len(signed) and wanted.all() else signed * np.nan
        return bool(fast.max() > 1 + SAME and (np.abs(wrap(signed - fast)) <= 1e-6 * (1 + fast)).all())
    if len(signed) < 4 or abs(signed[0] - 1) > CLOSE:
        return False
    bases = signed[1] + 2 * np.pi * np.arange(9)
    index = np.arange(len(signed))
    return any((np.abs(wrap(signed - ratio**index)) <= 0.05).all() for ratio in bases if ratio > 1.01)


def is_uninitialised(speeds: np.ndarray, wanted: np.ndarray) -> bool:
    """True if speeds rise somewhere though the wanted ones fall, and are not the wanted ones in another order."""
    if not falls(wanted) or falls(speeds) or rises(speeds):
        return False
    return not np.allclose(np.sort(speeds), np.sort(wanted), rtol=0.01, atol=0)


def first_difference(speeds: np.ndarray, wanted: np.ndarray, close: float) -> str:
    """First pair whose speed is not the wanted one, in words."""
    off = np.abs(speeds - wanted) > close * np.abs(wanted)
    pair = int(off.argmax())
    return (
        f"Found {speeds[pair]:.6g} radians per token in pair {pair}, wanted {wanted[pair]:.6g}; "
        f"{int(off.sum())} of {len(wanted)} pairs differ."
    )


def differ(speeds: np.ndarray, against: RopeSpec, base: float, close: float) -> dict[str, str]:
    """Name and evidence of the way in which speeds `(pairs,)` are other than those wanted; {} if they are not."""
    wanted = against.inv_freq
    if _near(speeds, wanted, close):
        return {}
    pair = first_difference(speeds, wanted, close)
    own = ladder(wanted, against.rotary_dim)
    bases = f" Base found {base:.6g}, wanted {own.base:.6g}." if base and own.base else ""
    if width := _exponents_width(speeds, against, close):
        exponent = f"Found 2i/{width} in the exponent, wanted 2i/{against.rotary_dim}."
        return {"other_denominator": f"{pair} {exponent}"}
    ratio = float(speeds[0] / wanted[0]) if wanted[0] > 0 else 0.0
    # a plain ladder from 1 where another first speed is wanted, as by linear scaling, lacks the rule
    is_plain = base > 0 and abs(speeds[0] - 1) <= CLOSE and abs(own.times - 1) > CLOSE
    if ratio > 0 and _near(speeds, ratio * wanted, close) and not is_plain:
        return {"frequencies_scaled": f"{pair} All are {ratio:.6g} times the wanted ones."}
    for name, power in (("exponent_doubled", 2.0), ("exponent_halved", 0.5)):
        if _near(speeds, wanted**power, close):
            return {name: pair + bases}
    return {_by_rule(speeds, against, base, own, close): pair + bases}


def _near(speeds: np.ndarray, wanted: np.ndarray, close: float) -> bool:
    return bool((np.abs(speeds - wanted) <= close * np.abs(wanted)).all())


def _exponents_width(speeds: np.ndarray, against: RopeSpec, close: float) -> int | None:
    """Width that divides the exponent, if that is the whole head, or three heads and more; None otherwise.

    Two heads cannot be told from a factor 2 that is missing, which is commoner.
    """
    wanted, head_dim = against.inv_freq, against.head_dim
    last = int(np.flatnonzero(wanted)[-1]) if wanted.any() else 0
    if last == 0 or not 0 < speeds[last] < 1 or not 0 < wanted[last] < 1:
        return None
    width = against.rotary_dim * math.log(wanted[last]) / math.log(speeds[last])
    heads = round(width / head_dim)
    if heads < 1 or (heads == 2 and against.rotary_dim == head_dim) or heads * head_dim == against.rotary_dim:
        return None
    slower = wanted ** (against.rotary_dim / (heads * head_dim))
    return heads * head_dim if _near(speeds, slower, close) else None


def _by_rule(speeds: np.ndarray, against: RopeSpec, base: float, own: Ladder, close: float) -> str:
    """Name of a missing rule, of a rule with other options, of another base, or of anything else."""
    wanted, ruled = against.inv_freq, against.kind not in ("rope", "p-rope")
    changed = not own.base or own.follow < (wanted > 0).sum() or abs(own.times - 1) > CLOSE
    if base > 1:
        plain = base ** (-2 * np.arange(len(speeds)) / against.rotary_dim)
        is_plain = _near(speeds, plain, close) or np.allclose(speeds, plain, rtol=CLOSE)
        if is_plain and not changed:
            return "rule_missing" if ruled and base < own.base else "other_base"
        if is_plain and own.base and abs(base / own.base - 1) <= ROUGH:
            return "rule_missing"
    first_alike = abs(speeds[0] - wanted[0]) <= close * wanted[0]
    return "rule_differs" if (ruled or changed) and first_alike and falls(speeds) else "other_frequencies"
