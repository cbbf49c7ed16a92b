r"""An independent form of the vectors: plain loops over Python's numbers, none of the library's code.

Formulas are written from the papers, one pair at a time. `tests/doctor/vectors` holds the library to the files, and
the files are written from here.
"""

from __future__ import annotations

import cmath
import math

PLAIN = {"base": 10_000.0}


def pairs_of(layout: str, rotary_dim: int) -> list[tuple[int, int]]:
    """Features of each pair, (first, second)."""
    half = rotary_dim // 2
    if layout == "interleaved":
        return [(2 * i, 2 * i + 1) for i in range(half)]
    return [(i, i + half) for i in range(half)]


def rotate(
    x: list[float], position: int, frequencies: list[float], layout: str, attention_factor: float
) -> list[float]:
    """One vector, rotated as complex numbers: z′ = a · z · e^{i·m·θ}; the tail passes."""
    turned = list(x)
    for (first, second), speed in zip(pairs_of(layout, 2 * len(frequencies)), frequencies, strict=True):
        z = attention_factor * complex(x[first], x[second]) * cmath.exp(1j * position * speed)
        turned[first], turned[second] = z.real, z.imag
    return turned


def frequencies_of(rule: str, width: int, base: float, **more: object) -> tuple[list[float], float]:
    """Frequencies and attention factor, (θ_i, a), of a rule; `width` is the denominator of the exponent."""
    plain = [base ** (-2 * i / width) for i in range(width // 2)]
    return RULES[rule](plain, width, base, **more)


def _plain(plain, width, base):
    return plain, 1.0


def _linear(plain, width, base, factor):
    return [speed / factor for speed in plain], 1.0


def _ntk(plain, width, base, factor):
    larger = base * factor ** (width / (width - 2))
    return [larger ** (-2 * i / width) for i in range(width // 2)], 1.0


def _dynamic(plain, width, base, factor, trained_length, length):
    reach = max(length, trained_length) / trained_length
    return _ntk(plain, width, base, factor * reach - (factor - 1))


def _by_turns(plain, factor, trained_length, slow, fast):
    changed = []
    for speed in plain:
        turns = trained_length * speed / (2 * math.pi)
        if slow == fast:  # a ramp of no width is a step
            kept = 1.0 if turns > fast else 0.0
        else:
            kept = min(1.0, max(0.0, (turns - slow) / (fast - slow)))
        changed.append((1 - kept) * speed / factor + kept * speed)
    return changed


def _by_parts(plain, width, base, factor, trained_length, beta_slow=1.0, beta_fast=32.0):
    return _by_turns(plain, factor, trained_length, beta_slow, beta_fast), 1.0


def _llama3(plain, width, base, factor, trained_length, low_freq_factor=1.0, high_freq_factor=4.0):
    return _by_turns(plain, factor, trained_length, low_freq_factor, high_freq_factor), 1.0


def _yarn(
    plain, width, base, factor, trained_length, beta_fast=32.0, beta_slow=1.0, truncate=True,
    mscale=1.0, mscale_all_dim=0.0,
):  # fmt: skip
    def pair_that_makes(turns):
        return width * math.log(trained_length / (2 * math.pi * turns)) / (2 * math.log(base))

    low, high = pair_that_makes(beta_fast), pair_that_makes(beta_slow)
    if truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, width - 1)
    high = high if high != low else high + 0.001
    changed = []
    for i, speed in enumerate(plain):
        divided = min(1.0, max(0.0, (i - low) / (high - low)))
        changed.append(divided * speed / factor + (1 - divided) * speed)
    grown = 0.1 * math.log(factor)
    return changed, (mscale * grown + 1) / (mscale_all_dim * grown + 1)


def _longrope(plain, width, base, factor, trained_length, length, short_factor, long_factor):
    divisors = long_factor if length > trained_length else short_factor
    speeds = [speed / divisor for speed, divisor in zip(plain, divisors, strict=True)]
    return speeds, math.sqrt(1 + math.log(factor) / math.log(trained_length)) if factor > 1 else 1.0


def _p_rope(plain, width, base, p):
    turning = int(p * width // 2)
    return [speed if i < turning else 0.0 for i, speed in enumerate(plain)], 1.0


RULES = {
    "rope": _plain,
    "linear": _linear,
    "ntk-aware": _ntk,
    "dynamic": _dynamic,
    "by parts": _by_parts,
    "yarn": _yarn,
    "llama3": _llama3,
    "longrope": _longrope,
    "p-rope": _p_rope,
}
