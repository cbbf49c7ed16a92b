r"""Fit a base to pair speeds, count the pairs that it fits, and find deviations from expected speeds."""

import math
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from rope_doctor.clinic.matrices import wrap
from rope_edu.encodings.spec import RopeSpec

SPEED_TOLERANCE = 1e-4  # relative error of a speed measured from float32 angles
ORDER_TOLERANCE = 1e-5  # relative increase from pair to pair that still counts as equal
ROUNDED_TOLERANCE = 0.01  # relative error of frequencies rounded to 8 bits
MIN_PAIRS = 3  # minimum number of pairs for determining a base


@dataclass(frozen=True)
class BaseFit:
    """A fit of θ_i = θ_0 · base^(−2i/rotary_dim) to the speeds."""

    base: float = 0.0  # 0 if no base fits
    times: float = 1.0  # θ_0
    follow: int = 0  # number of leading pairs that the base fits
    off: float = math.inf  # largest relative deviation of these pairs
    steps: np.ndarray = field(default_factory=lambda: np.empty(0))  # fitted, (pairs,); 0 for still pairs


def fit_base(speeds: np.ndarray, rotary_dim: int, tolerance: float = SPEED_TOLERANCE) -> BaseFit:
    """Fit a base to the speeds `(pairs,)` of all pairs if possible, otherwise of the leading pairs."""
    turning = speeds[speeds > 0]
    count = len(turning)
    if count < 2 or not (speeds[:count] > 0).all():
        return BaseFit()
    index, logs = np.arange(count), np.log(turning)

    def through(times: float, slope: float, tolerance: float) -> BaseFit:
        steps = times * np.exp(-slope * index)
        off = np.abs(turning / steps - 1)
        follow = int(np.argmax(off > tolerance)) if (off > tolerance).any() else count
        base = math.exp(min(slope * rotary_dim / 2, 700.0))
        whole = np.pad(steps, (0, len(speeds) - count))
        return BaseFit(base, times, follow, float(off[:follow].max(initial=0.0)), whole)

    by_all = through(1.0, -(index @ logs) / (index @ index), max(tolerance, ROUNDED_TOLERANCE))
    if by_all.follow == count:
        return by_all
    by_first = through(float(turning[0]), logs[0] - logs[1], tolerance)
    return by_first if by_first.follow >= min(MIN_PAIRS, count) and by_first.base > 1 else BaseFit()


def falls(speeds: np.ndarray) -> bool:
    """Return whether the speeds never increase from pair to pair."""
    return all(later <= earlier * (1 + ORDER_TOLERANCE) for earlier, later in pairwise(speeds.tolist()))


def rises(speeds: np.ndarray) -> bool:
    """Return whether the speeds increase somewhere and never decrease from pair to pair."""
    return falls(speeds[::-1]) and not falls(speeds)


def describe_base(speeds: np.ndarray, rotary_dim: int, head_dim: int) -> str:
    """Describe the base that fits speeds `(pairs,)`."""
    if len(speeds) > 1 and np.ptp(speeds) <= SPEED_TOLERANCE * speeds.max():
        return "one speed for all pairs"
    fit = fit_base(speeds[::-1] if rises(speeds) else speeds, rotary_dim)
    if not fit.base:
        return "one pair, so any base" if len(speeds) == 1 else "no base fits"
    if fit.off > SPEED_TOLERANCE:
        return f"base about {fit.base:.2g}"
    words = f"base {fit.base:.6g}"
    over_head = min(fit.base, 1e30) ** (head_dim / rotary_dim)
    if rotary_dim < head_dim and not _is_round(fit.base) and _is_round(over_head):
        words += f" (that is {over_head:.6g} over the head's {head_dim} features)"
    if abs(fit.times - 1) > SPEED_TOLERANCE:
        words += f", all frequencies times {fit.times:.6g}"
    turning = int((speeds > 0).sum())
    if fit.follow < turning:
        words += f" in the first {fit.follow} of {turning} pairs, as under a scaling rule"
    return words


def _is_round(value: float) -> bool:
    """Return whether a number has at most two significant digits, like most bases."""
    return abs(float(f"{value:.1e}") / value - 1) < 1e-6


def has_positive_exponent(signed: np.ndarray, expected: np.ndarray | None) -> bool:
    """Return whether signed speeds `(pairs,)`, which integer positions reveal only modulo 2π, are base^(+2i/d).

    If no frequencies are expected, the base (up to 10⁸) is guessed from pair 1, and the later pairs must agree with
    it. A single later pair could agree by chance, so it must agree to float64 precision.
    """
    if expected is not None:
        fast = 1 / expected if len(expected) == len(signed) and expected.all() else signed * np.nan
        return bool(
            fast.max() > 1 + ORDER_TOLERANCE and (np.abs(wrap(signed - fast)) <= 1e-6 * (1 + fast)).all()
        )
    if len(signed) < MIN_PAIRS or abs(signed[0] - 1) > SPEED_TOLERANCE:
        return False
    largest, within = 1e8 ** (1 / len(signed)), 0.05 if len(signed) > MIN_PAIRS else 1e-8
    ratios = np.arange(signed[1], largest, 2 * np.pi)
    index = np.arange(len(signed))
    return any((np.abs(wrap(signed - ratio**index)) <= within).all() for ratio in ratios if ratio > 1.01)


def is_uninitialised(speeds: np.ndarray, expected: np.ndarray) -> bool:
    """Return whether speeds are neither sorted nor a reordering of the expected ones, which must be sorted."""
    if not falls(expected) or falls(speeds) or rises(speeds):
        return False
    return not np.allclose(np.sort(speeds), np.sort(expected), rtol=0.01, atol=0)


def first_difference(speeds: np.ndarray, expected: np.ndarray, tolerance: float) -> str:
    """Return evidence from the first pair whose speed differs from the expected one."""
    off = np.abs(speeds - expected) > tolerance * np.abs(expected)
    pair = int(off.argmax())
    return (
        f"Found {speeds[pair]:.6g} radians per token in pair {pair}, expected {expected[pair]:.6g}; "
        f"{int(off.sum())} of {len(expected)} pairs differ."
    )


def differ(speeds: np.ndarray, against: RopeSpec, base: float, tolerance: float) -> dict[str, str]:
    """Return the name of the mistake in speeds `(pairs,)`, with evidence, or {} if they are as expected."""
    expected = against.inv_freq
    if _near(speeds, expected, tolerance):
        return {}
    pair = first_difference(speeds, expected, tolerance)
    own = fit_base(expected, against.rotary_dim)
    bases = f" Found base {base:.6g}, expected {own.base:.6g}." if base and own.base else ""
    if width := _exponents_width(speeds, against, tolerance):
        exponent = f"Found 2i/{width} in the exponent, expected 2i/{against.rotary_dim}."
        return {"other_denominator": f"{pair} {exponent}"}
    ratio = float(speeds[0] / expected[0]) if expected[0] > 0 else 0.0
    # These speeds start at 1, unlike those of a rule such as linear scaling, so the rule was not applied.
    is_plain = base > 0 and abs(speeds[0] - 1) <= SPEED_TOLERANCE and abs(own.times - 1) > SPEED_TOLERANCE
    if ratio > 0 and _near(speeds, ratio * expected, tolerance) and not is_plain:
        return {"frequencies_scaled": f"{pair} All are {ratio:.6g} times the expected ones."}
    for name, power in (("exponent_doubled", 2.0), ("exponent_halved", 0.5)):
        if _near(speeds, expected**power, tolerance):
            return {name: pair + bases}
    return {_by_rule(speeds, against, base, own, tolerance): pair + bases}


def _near(speeds: np.ndarray, expected: np.ndarray, tolerance: float) -> bool:
    return bool((np.abs(speeds - expected) <= tolerance * np.abs(expected)).all())


def _exponents_width(speeds: np.ndarray, against: RopeSpec, tolerance: float) -> int | None:
    """Return the divisor in the exponent if it is the width of one or more heads instead of rotary_dim, else None.

    If the whole head rotates, the result for two heads is None, because a missing factor of 2 looks the same and is
    more common.
    """
    expected, head_dim = against.inv_freq, against.head_dim
    last = int(np.flatnonzero(expected)[-1]) if expected.any() else 0
    if last == 0 or not 0 < speeds[last] < 1 or not 0 < expected[last] < 1:
        return None
    width = against.rotary_dim * math.log(expected[last]) / math.log(speeds[last])
    heads = round(width / head_dim)
    if heads < 1 or (heads == 2 and against.rotary_dim == head_dim) or heads * head_dim == against.rotary_dim:
        return None
    slower = expected ** (against.rotary_dim / (heads * head_dim))
    return heads * head_dim if _near(speeds, slower, tolerance) else None


def _by_rule(speeds: np.ndarray, against: RopeSpec, base: float, own: BaseFit, tolerance: float) -> str:
    """Name the mistake: a missing rule, a rule with different options, a different base, or something else."""
    expected, ruled = against.inv_freq, against.kind not in ("rope", "p-rope")
    changed = not own.base or own.follow < (expected > 0).sum() or abs(own.times - 1) > SPEED_TOLERANCE
    if base > 1:
        plain = base ** (-2 * np.arange(len(speeds)) / against.rotary_dim)
        is_plain = _near(speeds, plain, tolerance) or np.allclose(speeds, plain, rtol=SPEED_TOLERANCE)
        if is_plain and not changed:
            return "rule_missing" if ruled and base < own.base else "other_base"
        if is_plain and own.base and abs(base / own.base - 1) <= ROUNDED_TOLERANCE:
            return "rule_missing"
    first_alike = abs(speeds[0] - expected[0]) <= tolerance * expected[0]
    return "rule_differs" if (ruled or changed) and first_alike and falls(speeds) else "other_frequencies"
