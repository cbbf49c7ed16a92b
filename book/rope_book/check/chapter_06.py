"""Exercises of chapter 6: many clocks."""

import math

import numpy as np

from rope_book.check.answers import Answer, number, of_function, whole
from rope_book.check.exercise import Verdict, against, judges
from rope_edu.encodings import completes_turn, inv_freq, wavelength

HANDS = (1.0, 0.1, 0.01, 0.001)  # radians per token, exercise 6.3
POSITIONS = 64
MISREAD = 0.2  # radians


@judges("6.1")
@of_function
def _outlasts(smallest_base: Answer) -> Verdict:
    """Judge exercise 6.1 on three lengths and widths: the slowest turn takes exactly that long."""
    for length, head_dim in [(131_072, 128), (4096, 64), (1000, 8)]:
        base = number(smallest_base(length, head_dim), "A base is one number.")
        if base <= 1:
            return f"A base is a number above 1; got {base!r} for {length} tokens and a head of {head_dim}."
        slips = {
            "A turn is 2π radians: λ = 2π/θ.": length ** (head_dim / (head_dim - 2)),
            "Upside down: b is to be freed of its power (d − 2)/d.": (length / (2 * math.pi))
            ** ((head_dim - 2) / head_dim),
        }
        if known := [why for why, slip in slips.items() if math.isclose(base, slip, rel_tol=1e-9)]:
            return known[0]
        if math.isclose(base, length / (2 * math.pi), rel_tol=1e-9):
            return "The last pair is number d/2 − 1, so its exponent is (d − 2)/d, not 1."
        found = wavelength(inv_freq(head_dim, float(base)))[-1]
        if not math.isclose(found, length, rel_tol=1e-6):
            short = "short" if found < length else "long"
            return f"For {length} tokens and a head of {head_dim} the slowest turn takes {found:.0f}: too {short}."
    return True


@judges("6.2")
def _counts_llama_3(pairs: object) -> Verdict:
    """Judge exercise 6.2: pairs of a head of 128 with base 500,000 that turn within 8192 tokens."""
    expected = completes_turn(inv_freq(128, 500_000), 8192).sum()
    pairs = number(pairs, "The answer is a number of pairs.")
    if pairs % 1:
        return "A number of pairs is whole: all pairs up to that i complete a turn."
    usual = completes_turn(inv_freq(128), 8192).sum()
    slips = {
        "That is the last pair that completes a turn; how many are there, from 0 to it?": expected - 1,
        "Those are features; two of them make a pair.": 2 * expected,
        "Those are the ones that do not complete a turn.": 64 - expected,
        "That is so for a base of 10,000; Llama-3's is 500,000.": usual,
    }
    return against(pairs, expected, slips, f"{pairs:g} of 64 it is not: which i has a wavelength of 8192?")


@judges("6.3")
@of_function
def _reads_the_clock(decode: Answer) -> Verdict:
    """Judge exercise 6.3 on exact angles first, then on angles that are up to 0.2 rad wrong."""
    exact = np.outer(np.arange(POSITIONS), HANDS)
    misread = np.random.default_rng(6).uniform(-MISREAD, MISREAD, size=(20, *exact.shape))
    for words, errors in [("exact angles", [0]), ("angles that are a little wrong", misread)]:
        for angles in ((exact + error) % (2 * math.pi) for error in errors):
            found = [
                number(decode(seen.copy()), "It must return one position, a whole number.") for seen in angles
            ]
            wrong = [position for position in range(POSITIONS) if found[position] != position]
            if wrong:
                case = f"With {words}, position {wrong[0]} was read as {found[wrong[0]]:g}."
                return case + _why_misread(np.array(found), angles)
    return True


def _why_misread(found: np.ndarray, angles: np.ndarray) -> str:
    """Say why 64 positions were misread, if that is known; `angles` is (64, 4)."""
    expected = np.outer(np.arange(POSITIONS), HANDS)
    if (found % 1).any():
        return " A position is a whole number."
    for straight in (expected, expected % (2 * math.pi)):
        apart = np.abs(straight[None] - angles[:, None])
        if any(np.array_equal(found, (apart**size).sum(axis=-1).argmin(axis=1)) for size in (1, 2)):
            return " Angles are compared round the circle: 6.2 is close to 0.1."
    if (np.abs(found - angles[:, 3] / HANDS[3]) < 1).all():
        return " The slowest hand alone says only roughly where."
    fast = (np.abs(found - angles[:, 0] / HANDS[0]) < 1).all()
    return " The fastest hand alone starts anew every 6.28 tokens." if fast else ""


@judges("6.4")
def _separates(head_dim: object) -> Verdict:
    """Judge exercise 6.4: the first width for which neighbours are the nearest look-alikes."""
    head_dim = whole(head_dim, "A head's width is an even whole number.")
    if head_dim < 2 or head_dim % 2:
        return "A head's width is an even whole number."
    if head_dim > 512:
        return "It is much smaller."
    if not _neighbours_are_nearest(int(head_dim)):
        return "At that width some far position still looks more alike than a neighbour."
    if head_dim > 2 and _neighbours_are_nearest(int(head_dim) - 2):
        return "A smaller width does it too."
    return True


def _neighbours_are_nearest(head_dim: int) -> bool:
    """Tell whether no offset from 2 to 99,999 brings all hands closer to their start than offset 1."""
    offsets = np.arange(1, 100_000)
    squared = sum(2 - 2 * np.cos(offsets * 10_000 ** (-2 * i / head_dim)) for i in range(head_dim // 2))
    return bool(squared.argmin() == 0)
