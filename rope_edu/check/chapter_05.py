"""Exercises of chapter 5: derive the rotation with complex numbers."""

import cmath
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from rope_edu.check.exercise import Exercise, Verdict, close

SQUARE_STEP = 0.1  # θ of exercise 5.2: the angle at position m is 0.1 · m²
RADIANS_PER_TOKEN = 0.25
HALF_LIFE = 10  # tokens of distance that halve the score in exercise 5.3


def _rope(x: list[float], position: int, inv_freq: list[float]) -> list[float]:
    """Turn each pair (x[2i], x[2i+1]) by position · inv_freq[i], one complex number at a time."""
    out: list[float] = []
    for i, frequency in enumerate(inv_freq):
        turned = complex(x[2 * i], x[2 * i + 1]) * cmath.exp(1j * position * frequency)
        out += [turned.real, turned.imag]
    return out


def _is_rope(rope: Callable[[Any, Any, Any], Any]) -> Verdict:
    """Judge exercise 5.1 on one pair and on three, near and far."""
    if not callable(rope):
        return "The answer is a function: give check the name, without parentheses."
    cases = [
        ([1.0, 0.0], 1, [math.pi / 2]),
        ([0.3, -1.2, 2.0, 0.5, -0.7, 1.1], 3, [1.0, 0.1, 0.01]),
        ([0.3, -1.2, 2.0, 0.5], 1000, [0.7, 0.05]),
    ]
    for x, position, inv_freq in cases:
        got = rope(np.array(x), position, np.array(inv_freq))
        if got is ...:
            return ...
        if np.iscomplexobj(got):
            return "The result is complex: a model needs the pairs back as real numbers."
        if close(got, _rope(x, -position, inv_freq)):
            return "It turns clockwise: (1, 0) by π/2 should become (0, 1)."
        if not close(got, _rope(x, position, inv_freq)):
            return f"x = {x}, position {position}, inv_freq {inv_freq} gives something else."
    return True


def _square_score(m: int, n: int) -> float:
    """Score q = k = 1 when the angle is quadratic in the position."""
    return math.cos(SQUARE_STEP * (m * m - n * n))


def _exposes_the_square(answer: object) -> Verdict:
    """Judge exercise 5.2: two places with one distance and scores more than 1.9 apart."""
    try:
        (m, n), (m2, n2) = answer
    except (TypeError, ValueError):
        return "The answer is two places, ((m, n), (m2, n2))."
    if ... in (m, n, m2, n2):
        return ...
    if any(isinstance(p, bool) or not isinstance(p, int) or not 0 <= p <= 100 for p in (m, n, m2, n2)):
        return "Positions are whole numbers from 0 to 100."
    if m - n != m2 - n2:
        return f"The distances differ: {m - n} and {m2 - n2}."
    gap = abs(_square_score(m, n) - _square_score(m2, n2))
    return gap > 1.9 or f"The scores differ by {gap:.2f} only."


def _halves_every_ten(answer: object) -> Verdict:
    """Judge exercise 5.3: f_q and f_k whose score halves every ten tokens of distance."""
    if not isinstance(answer, tuple | list) or len(answer) != 2 or not all(map(callable, answer)):
        return "The answer is two functions, (f_q, f_k)."
    f_q, f_k = answer
    q, k = 1.2 + 0.3j, -0.4 + 0.8j
    if f_q(q, 0) is ... or f_k(k, 0) is ...:
        return ...
    if not (close(f_q(q, 0), q) and close(f_k(k, 0), k)):
        return "At position 0 both must return their pair unchanged."

    def score(m: int, n: int) -> float:
        return (complex(f_q(q, m)) * complex(f_k(k, n)).conjugate()).real

    if not close(score(7, 4), score(57, 54)):
        return "The score at (7, 4) differs from the score at (57, 54): it sees more than the distance."
    for m, n in [(0, 0), (10, 0), (7, 4), (33, 12), (5, 9)]:
        turned = (q * k.conjugate() * cmath.exp(1j * (m - n) * RADIANS_PER_TOKEN)).real
        if not close(score(m, n), turned * 2 ** (-(m - n) / HALF_LIFE)):
            return f"At distance {m - n} the score is {score(m, n):.4f}."
    return True


def _hides_the_sign(answer: object) -> Verdict:
    """Judge exercise 5.4: q and k for which conj on the wrong one changes no score."""
    try:
        q, k = (complex(z) for z in answer)
    except (TypeError, ValueError):
        return "The answer is two complex numbers, (q, k)."
    if abs(q) < 1e-3 or abs(k) < 1e-3:
        return "A zero hides everything; take two numbers that are not 0."
    if close(q, k):
        return "q = k works; now find one where they differ."
    for distance in (1, 5, 12):
        turn = cmath.exp(1j * distance * RADIANS_PER_TOKEN)
        right, wrong = (q * k.conjugate() * turn).real, (q.conjugate() * k * turn).real
        if not close(right, wrong):
            return f"At distance {distance} the right score is {right:.3f}, the colleague's {wrong:.3f}."
    return True


EXERCISES = (
    Exercise(
        "5.1",
        _is_rope,
        hints=(
            "x[0::2] holds the real parts and x[1::2] the imaginary parts.",
            "Multiply x[0::2] + 1j * x[1::2] by np.exp(1j * position * inv_freq).",
            "np.stack([z.real, z.imag], axis=-1).ravel() puts the pairs back beside each other.",
        ),
        shows="All pairs turn in one multiplication.",
    ),
    Exercise(
        "5.2",
        _exposes_the_square,
        hints=(
            "The score is cos(0.1 · (m² − n²)), and m² − n² = (m − n)(m + n): keep m − n and change m + n.",
            "With m − n = 1 the angle is 0.1 · (m + n). One place should have it near 0, the other near π.",
            "Try m + n = 1 and m + n = 31.",
        ),
        shows="With an angle quadratic in m, neighbours can agree in one place and disagree in another.",
    ),
    Exercise(
        "5.3",
        _halves_every_ten,
        hints=(
            "Start from z · e^(i · position · 0.25) for both, and give each a real factor of its position.",
            "The product of the factors must be 2^(−(m − n)/10): one part belongs to m, the other to n.",
            "q shrinks by 2^(−m/10), k grows by 2^(n/10).",
        ),
        shows="With two functions the length may change with position: this is xPos's idea.",
    ),
    Exercise(
        "5.4",
        _hides_the_sign,
        hints=(
            "The colleague computes the right score at the distance −d.",
            "Re[h e^(idθ)] is the same for d and −d when h = q k* has no imaginary part.",
            "q k* is real when q and k lie on one line through 0: k = 2 q, say.",
        ),
        shows="A test with q = k, or with parallel pairs, cannot see the sign of a rotation.",
    ),
)
