"""Chapter 6 exercises: many clocks."""

import math

import numpy as np

from rope_book.check.answers import Answer, number, of_function
from rope_book.check.exercise import Verdict, judges
from rope_edu.encodings import inv_freq, wavelength

HANDS = (1.0, 0.1, 0.01, 0.001)  # radians per token in exercise 6.3
POSITIONS = 64
MISREAD = 0.2  # largest error of an angle, in radians


@judges("6.1")
@of_function
def _outlasts(smallest_base: Answer) -> Verdict:
    """Judge exercise 6.1 with three lengths and widths: the slowest full turn must take exactly `length` tokens."""
    for length, head_dim in [(131_072, 128), (4096, 64), (1000, 8)]:
        base = number(smallest_base(length, head_dim), "A base is one number.")
        if base <= 1:
            return f"A base is a number above 1; got {base!r} for {length} tokens and a head of {head_dim}."
        slips = {
            "A turn is 2π radians: λ = 2π/θ.": length ** (head_dim / (head_dim - 2)),
            "Upside down: undo the power (d − 2)/d of b.": (length / (2 * math.pi))
            ** ((head_dim - 2) / head_dim),
        }
        if known := [why for why, slip in slips.items() if math.isclose(base, slip, rel_tol=1e-9)]:
            return known[0]
        if math.isclose(base, length / (2 * math.pi), rel_tol=1e-9):
            return "The last pair is number d/2 − 1, so its exponent is (d − 2)/d, not 1."
        result = wavelength(inv_freq(head_dim, float(base)))[-1]
        if not math.isclose(result, length, rel_tol=1e-6):
            short = "short" if result < length else "long"
            return f"For {length} tokens and a head of {head_dim} the slowest turn takes {result:.0f}: too {short}."
    return True


@judges("6.3")
@of_function
def _reads_the_clock(decode: Answer) -> Verdict:
    """Judge exercise 6.3 first with exact angles, then with angles that are off by up to 0.2 rad."""
    exact = np.outer(np.arange(POSITIONS), HANDS)
    misread = np.random.default_rng(6).uniform(-MISREAD, MISREAD, size=(20, *exact.shape))
    for words, errors in [("exact angles", [0]), ("angles that are a little wrong", misread)]:
        for angles in ((exact + error) % (2 * math.pi) for error in errors):
            result = [
                number(decode(seen.copy()), "It must return one position, a whole number.") for seen in angles
            ]
            wrong = [position for position in range(POSITIONS) if result[position] != position]
            if wrong:
                case = f"With {words}, position {wrong[0]} was read as {result[wrong[0]]:g}."
                return case + _why_misread(np.array(result), angles)
    return True


def _why_misread(result: np.ndarray, angles: np.ndarray) -> str:
    """Return the likely reason for wrong positions, or "" if it is unknown; `angles` has the shape (64, 4)."""
    expected = np.outer(np.arange(POSITIONS), HANDS)
    if (result % 1).any():
        return " A position is a whole number."
    for straight in (expected, expected % (2 * math.pi)):
        apart = np.abs(straight[None] - angles[:, None])
        if any(np.array_equal(result, (apart**size).sum(axis=-1).argmin(axis=1)) for size in (1, 2)):
            return " Angles are compared round the circle: 6.2 is close to 0.1."
    if (np.abs(result - angles[:, 3] / HANDS[3]) < 1).all():
        return " The slowest hand alone gives only a rough position."
    fast = (np.abs(result - angles[:, 0] / HANDS[0]) < 1).all()
    return " The fastest hand alone starts over every 6.28 tokens." if fast else ""
