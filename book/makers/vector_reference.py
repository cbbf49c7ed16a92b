r"""Independent reference for the test vectors: loops over Python floats, without the library's code.

The formulas come from the papers, one pair at a time. `makers.vectors` writes the files from them, and
`tests/doctor/vectors` tests the library against the files.
"""

from __future__ import annotations

import cmath
import math


def pairs_of(layout: str, rotary_dim: int) -> list[tuple[int, int]]:
    """Return the features of every pair as (first, second)."""
    half = rotary_dim // 2
    if layout == "interleaved":
        return [(2 * i, 2 * i + 1) for i in range(half)]
    return [(i, i + half) for i in range(half)]


def rotate(
    x: list[float], position: int, frequencies: list[float], layout: str, attention_factor: float
) -> list[float]:
    """Rotate one vector as complex numbers, z′ = a · z · e^{i·m·θ}; the tail passes through."""
    rotated = list(x)
    for (first, second), frequency in zip(pairs_of(layout, 2 * len(frequencies)), frequencies, strict=True):
        z = attention_factor * complex(x[first], x[second]) * cmath.exp(1j * position * frequency)
        rotated[first], rotated[second] = z.real, z.imag
    return rotated


def frequencies_of(rule: str, width: int, base: float, **more: object) -> tuple[list[float], float]:
    """Return a rule's frequencies and attention factor, (θ_i, a); `width` is the exponent's denominator."""
    plain = [base ** (-2 * i / width) for i in range(width // 2)]
    return RULES[rule](plain, width, base, **more)


def _plain(plain, width, base):
    return plain, 1.0


def _linear(plain, width, base, factor):
    return [frequency / factor for frequency in plain], 1.0


def _ntk(plain, width, base, factor):
    larger = base * factor ** (width / (width - 2))
    return [larger ** (-2 * i / width) for i in range(width // 2)], 1.0


def _dynamic(plain, width, base, factor, trained_length, length):
    reach = max(length, trained_length) / trained_length
    return _ntk(plain, width, base, factor * reach - (factor - 1))


def _by_turns(plain, factor, trained_length, slow, fast):
    scaled = []
    for frequency in plain:
        turns = trained_length * frequency / (2 * math.pi)
        if slow == fast:  # a ramp of width 0 is a step
            unscaled = 1.0 if turns > fast else 0.0
        else:
            unscaled = min(1.0, max(0.0, (turns - slow) / (fast - slow)))
        scaled.append((1 - unscaled) * frequency / factor + unscaled * frequency)
    return scaled


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
    scaled = []
    for i, frequency in enumerate(plain):
        divided = min(1.0, max(0.0, (i - low) / (high - low)))
        scaled.append(divided * frequency / factor + (1 - divided) * frequency)
    growth = 0.1 * math.log(factor)
    return scaled, (mscale * growth + 1) / (mscale_all_dim * growth + 1)


def _longrope(plain, width, base, factor, trained_length, length, short_factor, long_factor):
    divisors = long_factor if length > trained_length else short_factor
    frequencies = [frequency / divisor for frequency, divisor in zip(plain, divisors, strict=True)]
    return frequencies, math.sqrt(1 + math.log(factor) / math.log(trained_length)) if factor > 1 else 1.0


def _p_rope(plain, width, base, p):
    rotating = int(p * width // 2)
    return [frequency if i < rotating else 0.0 for i, frequency in enumerate(plain)], 1.0


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
