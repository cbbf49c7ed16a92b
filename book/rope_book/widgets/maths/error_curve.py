"""Compute the largest error of a pipeline up to each position, each step's contribution, and an upper bound."""

import math

import numpy as np

from rope_doctor.precision import SIGNIFICAND_BITS, Pipeline, angle_error, round_to

FARTHEST = 2**20  # last position shown
GOLDEN = (math.sqrt(5) - 1) / 2
FEW = 6  # number of pairs to examine at `spread_positions`
SMALLEST = {"float16": 2.0**-24}  # spacing of subnormal numbers, for formats where it matters


def roundoff(number_format: str) -> float:
    """Return the unit roundoff of a format: half a unit in the last place, relative to the number."""
    return 2.0 ** -SIGNIFICAND_BITS[number_format]


def tie_positions() -> list[int]:
    """Return the positions up to 2²⁰ at which rounding to 16 bits is worst.

    In each doubling, these are its start, its middle, the first ties in float16 and bfloat16, and the tokens right
    after the ties, where the rounded position jumps. The last finite position in float16 is also included.

    >>> tie_positions()[-6:]
    [524544, 524545, 526336, 526337, 786432, 1048576]

    Chapter A1.
    """
    positions = {65_519, FARTHEST}
    for power in range(20):
        start = 2**power
        ties = [start + math.ceil(2.0 ** (power - bits)) for bits in (11, 8)]
        positions |= {start, *ties, *(tie + 1 for tie in ties), math.floor(1.5 * start + 0.5)}
    return sorted(positions)


def spread_positions() -> list[int]:
    """Return ten evenly spread positions per doubling from 2⁸, because the worst float32 error can be anywhere."""
    shares = [n * GOLDEN % 1 for n in range(1, 11)]
    return sorted({math.floor(2**power * (1 + share) + 0.5) for power in range(8, 20) for share in shares})


def error_parts(position: int, inv_freq: float, pipeline: Pipeline, step: int = 0) -> dict[str, float]:
    r"""Return the error, in radians, that each step of a pipeline adds to a pair's angle.

    With `step` > 0, the angle is the pair's rotation since the token `step` positions earlier. The error of cosine
    and sine is assumed to be half the unit roundoff.

    Chapter A1.
    """
    before = position - step if step else 0
    m, n = (float(round_to(p, pipeline.positions)) for p in (position, before))
    rate = float(round_to(inv_freq, pipeline.frequencies))
    to, start = (float(round_to(p * rate, pipeline.angles)) for p in (m, n))
    return {
        "positions": abs(m - n - (position - before)) * inv_freq,
        "frequencies": abs((rate - inv_freq) * (m - n)),
        "angles": abs(to - start - (m - n) * rate),
        "cos_sin": roundoff(pipeline.cos_sin) / 2,
    }


def error_bound(position: int, inv_freq: np.ndarray, pipeline: Pipeline, step: int = 0) -> np.ndarray | None:
    r"""Return an upper bound on each pair's error at a position: the sum of all steps' worst cases.

        |round(m) − m| θ  +  m |round(θ) − θ|  +  u_angles m θ  +  u_cos_sin / √2

    The bound needs no sine or cosine. With `step` > 0, two angles and two cosines and sines are rounded.

    Args:
        position: m in tokens.
        inv_freq: θ, radians per token, `(pairs,)`, in decreasing order.
        pipeline: the number format of each step.
        step: k in tokens.

    Returns:
        Radians, float64 `(pairs,)`; None if the fastest pair's angle overflows.

    >>> error_bound(257, np.array([1.0]), Pipeline(positions="bfloat16")).round(3).tolist()
    [1.0]

    Chapter A1.
    """
    rates = round_to(inv_freq, pipeline.frequencies)
    to = float(round_to(position, pipeline.positions))
    start = float(round_to(position - step, pipeline.positions)) if step else 0.0
    with np.errstate(over="ignore"):
        if not np.isfinite(round_to(to * rates[0], pipeline.angles)):
            return None
    astray = abs(to - start - (step or position))
    gap = SMALLEST.get(pipeline.angles, 0.0) / 2 * (2 if step else 1)
    angles = roundoff(pipeline.angles) * (to + start) * rates + gap
    cos_sin = (2 if step else 1) * math.sqrt(0.5) * roundoff(pipeline.cos_sin)
    return astray * inv_freq + abs(to - start) * np.abs(rates - inv_freq) + angles + cos_sin


def error_curve(inv_freq: np.ndarray, pipeline: Pipeline, step: int = 0) -> tuple[list[int], list[float]]:
    """Return positions, and the largest error of any pair up to each, in radians, until an angle overflows.

    The positions are `tie_positions` and, if float32 is the coarsest format before the cosine, `spread_positions`,
    at which only the `FEW` fastest pairs are examined.

    Chapter A1.
    """
    formats = (pipeline.frequencies, pipeline.positions, pipeline.angles)
    fine = "float32" in formats and not any(number_format.endswith("float16") for number_format in formats)
    spread = set(spread_positions())
    positions, largest, most = [], [], 0.0
    for position in sorted({*tie_positions(), *(spread if fine else ())}):
        errors = angle_error(
            position, inv_freq[:FEW] if position in spread else inv_freq, pipeline, step=step
        )
        if error_bound(position, inv_freq, pipeline, step) is None:
            break
        most = max(most, float(errors.max()))
        positions.append(position)
        largest.append(most)
    return positions, largest
