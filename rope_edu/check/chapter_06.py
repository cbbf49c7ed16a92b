"""Exercises of chapter 6: many clocks."""

import math
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np

from rope_edu.check.exercise import Exercise, Verdict

HANDS = (1.0, 0.1, 0.01, 0.001)  # radians per token, exercise 6.3
POSITIONS = 64
MISREAD = 0.2  # radians


def _slowest(base: float, head_dim: int) -> float:
    """Wavelength of the last pair, tokens."""
    return 2 * math.pi * base ** ((head_dim - 2) / head_dim)


def _outlasts(smallest_base: Callable[[float, int], Any]) -> Verdict:
    """Judge exercise 6.1 on three lengths and widths: the slowest turn takes exactly that long."""
    if not callable(smallest_base):
        return "The answer is a function: give check the name, without parentheses."
    for length, head_dim in [(131_072, 128), (4096, 64), (1000, 8)]:
        base = smallest_base(length, head_dim)
        if base is ...:
            return ...
        if not isinstance(base, Real) or not math.isfinite(base) or base <= 1:
            return f"A base is a number above 1; got {base!r} for {length} tokens and a head of {head_dim}."
        if math.isclose(base, length / (2 * math.pi), rel_tol=1e-9):
            return "The last pair is number d/2 − 1, so its exponent is (d − 2)/d, not 1."
        found = _slowest(float(base), head_dim)
        if not math.isclose(found, length, rel_tol=1e-6):
            short = "short" if found < length else "long"
            return f"For {length} tokens and a head of {head_dim} the slowest turn takes {found:.0f}: too {short}."
    return True


def _counts_llama_3(pairs: object) -> Verdict:
    """Judge exercise 6.2: pairs of a head of 128 with base 500 000 that turn within 8192 tokens."""
    expected = sum(2 * math.pi * 500_000 ** (i / 64) <= 8192 for i in range(64))
    if isinstance(pairs, bool) or not isinstance(pairs, Real):
        return "The answer is a number of pairs."
    if not float(pairs).is_integer():
        return "A number of pairs is whole: all pairs up to that i complete a turn."
    if pairs == expected - 1:
        return "That is the last pair that completes a turn; how many are there, from 0 to it?"
    if pairs == 2 * expected:
        return "Those are features; two of them make a pair."
    return bool(pairs == expected)


def _reads_the_clock(decode: Callable[[Any], Any]) -> Verdict:
    """Judge exercise 6.3 on exact angles first, then on angles that are up to 0.2 rad wrong."""
    if not callable(decode):
        return "The answer is a function: give check the name, without parentheses."
    exact = np.outer(np.arange(POSITIONS), HANDS)
    noise = np.random.default_rng(6).uniform(-MISREAD, MISREAD, size=(20, *exact.shape))
    for error, words in [
        (np.zeros((1, *exact.shape)), "exact angles"),
        (noise, "angles that are a little wrong"),
    ]:
        for angles in (exact + error) % (2 * math.pi):
            for position, seen in enumerate(angles):
                found = decode(seen)
                if found is ...:
                    return ...
                if not isinstance(found, Integral | Real) or found != position:
                    return f"With {words}, position {position} was read as {found!r}."
    return True


def _separates(head_dim: object) -> Verdict:
    """Judge exercise 6.4: the first width for which neighbours are the nearest look-alikes."""
    if isinstance(head_dim, bool) or not isinstance(head_dim, Integral) or head_dim < 2 or head_dim % 2:
        return "A head's width is an even whole number."
    if head_dim > 512:
        return "It is much smaller."
    if not _neighbours_are_nearest(int(head_dim)):
        return "At that width some far position still looks more alike than a neighbour."
    if head_dim > 2 and _neighbours_are_nearest(int(head_dim) - 2):
        return "A smaller width does it too."
    return True


def _neighbours_are_nearest(head_dim: int) -> bool:
    """Tell whether no offset from 2 to 99 999 brings all hands closer to their start than offset 1."""
    offsets = np.arange(1, 100_000)
    squared = sum(2 - 2 * np.cos(offsets * 10_000 ** (-2 * i / head_dim)) for i in range(head_dim // 2))
    return bool(squared.argmin() == 0)


EXERCISES = (
    Exercise(
        "6.1",
        _outlasts,
        hints=(
            "Which i has the last pair? Write down its wavelength.",
            "The last pair is i = d/2 − 1, so λ = 2π · b^((d − 2)/d).",
            "Divide by 2π, then take the power d/(d − 2).",
        ),
        shows="The base that a context needs grows a little faster than the context itself.",
    ),
    Exercise(
        "6.2",
        _counts_llama_3,
        hints=(
            "Set 2π · b^(2i/d) = 8192 and take logarithms.",
            "i = (d/2) · ln(8192 / 2π) / ln b, and all pairs up to that i complete a turn.",
            "i = 34.98: pairs 0, 1, …, 34 complete a turn.",
        ),
        shows="A larger base buys length with pairs that never turn fully in training: 29 of Llama-3's 64.",
    ),
    Exercise(
        "6.3",
        _reads_the_clock,
        hints=(
            "Compute what the four hands would show at each of the 64 positions, and compare.",
            "Angles are compared round the circle: 0.1 and 6.2 are close. cos(difference) is 1 where they agree.",
            "Return the position with the largest sum of cos(expected − seen) over the four hands.",
        ),
        shows="Slow hands say roughly where, fast hands exactly where; only together do they name a position.",
    ),
    Exercise(
        "6.4",
        _separates,
        hints=(
            "Use apart(inv_freq(d), offsets) from above, for d = 2, 4, 6, … in turn.",
            "You want the first d for which argmin of the distances is offset 1.",
            "It lies between 10 and 20.",
        ),
        shows="A few hands with speeds in geometric steps are enough for 100 000 positions.",
    ),
)
