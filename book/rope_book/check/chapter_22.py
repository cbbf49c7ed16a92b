"""Chapter 22 exercises: diagnose a rotation."""

from collections.abc import Callable
from itertools import product

import numpy as np

from rope_book.check.answers import Answer, array, number, of_function, truth
from rope_book.check.exercise import Verdict, against, close, judges, slip_of
from rope_doctor.clinic import BROKEN, right
from rope_edu.encodings import apply_rope, inv_freq, plain_rope, rope_angles

SPEC = plain_rope(8)
RELATIVE = {
    "right": True,
    "table_of_other_layout": False,
    "turns_backwards": True,
    "uneven_gain": False,
    "other_base": True,
    "sine_missing": False,
    "counts_from_one": True,
    "table_ends": False,
    "rolls_features": False,
    "other_layout": True,
}
NAMES = ("right", "sine_missing", "minus_sign_missing", "cos_and_sin_swapped", "table_of_other_layout")


def _box(name: str, base: float = 10_000.0) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Return the rotation with the given name, wrapped so that it also accepts lists."""
    spec = plain_rope(8, base)
    rotate = right(spec) if name == "right" else BROKEN[name](spec)
    return lambda x, positions: rotate(np.array(x, dtype=np.float64), np.array(positions))


@judges("22.1")
@of_function
def _sees_relativity(is_relative: Answer) -> Verdict:
    """Judge exercise 22.1 on relative and non-relative rotations."""
    for name, relative in RELATIVE.items():
        result = truth(is_relative(_box(name)), "It must return True or False.")
        if result == relative:
            continue
        if name == "table_ends":
            return (
                "It called a rotation relative whose table ends at 600 tokens: try starts from 0 to 700, "
                "each with a distance above 0."
            )
        if relative:
            return f"It called {name} not relative. Equal up to rounding counts as equal."
        return f"It called {name} relative: are its scores really equal at several starts?"
    return True


@judges("22.2")
@of_function
def _reads_the_base(base_of: Answer) -> Verdict:
    """Judge exercise 22.2 with four bases, in both directions of rotation."""
    for base, sign in product((10_000.0, 500_000.0, 777.0, 1.5e6), (1, -1)):
        result = number(base_of(_turning(base, sign)), "It must return one number, the base.")
        if close(result / base, 1.0, 1e-4):
            continue
        slips = {
            " That is θ_1, the angle of pair 1: solve θ_1 = b^(−2/8) for b.": base**-0.25,
            " The exponent of pair 1 is −2/8.": base**0.5,
            " Pair 0 turns by 1 radian whatever the base: look at pair 1.": 1.0,
        }
        case = f"For base {base:,.0f}{'' if sign == 1 else ', turning clockwise'} it returned {result:,.6g}."
        return case + slip_of(abs(result), slips, tol=1e-4, ratio=True)
    return True


def _turning(base: float, sign: int) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Return an interleaved rotation, clockwise if `sign` is −1."""
    angles = inv_freq(8, base)
    return lambda x, positions: apply_rope(
        np.array(x, dtype=np.float64), sign * rope_angles(np.array(positions), angles)
    )


@judges("22.3")
@of_function
def _names_it(name_it: Answer) -> Verdict:
    """Judge exercise 22.3 on five rotations, with two bases each."""
    for base in (10_000.0, 300.0):
        for name in NAMES:
            result = name_it(_box(name, base))
            if not isinstance(result, str) or result not in NAMES:
                return f"It must return one of {', '.join(NAMES)}; it returned {result!r}."
            if result != name:
                return f"It took {name} (base {base:g}) for {result}.{_why_not_name(name, result)}"
    return True


def _why_not_name(name: str, result: str) -> str:
    """Return a question about the entries that distinguish two rotations, or "" if there is none."""
    if name == "cos_and_sin_swapped" and result == "right":
        return " That turns too: is the entry on the diagonal the cosine of 1 radian?"
    if name == "table_of_other_layout" and result == "right":
        return " Are the two entries on the diagonal of a block equal?"
    if name == "minus_sign_missing" and result == "right":
        return " What is the sign of the entry to the right of the diagonal?"
    return ""


@judges("22.4")
@of_function
def _slides(slide: Answer) -> Verdict:
    """Judge exercise 22.4 with cached keys at scattered positions."""
    keys, rotate = np.random.default_rng(22).normal(size=(5, 8)), right(SPEC)
    places = np.array([40, 41, 57, 300, 1000])
    cached = rotate(keys, places)
    for dropped in (40, 7):
        before = cached.copy()
        result = array(slide(cached, dropped, SPEC.inv_freq), (5, 8), "The keys keep their shape, (rows, 8).")
        if not np.array_equal(cached, before):
            return "It changes the keys that it was given: return new ones."
        onward = "That turns them on by what was dropped: their new positions are smaller."
        slips = {onward: rotate(keys, places + dropped), "They are unchanged.": before}
        otherwise = f"With {dropped} dropped, a key at 300 must come out as one at {300 - dropped}."
        if (
            verdict := against(result, rotate(keys, places - dropped), slips, otherwise, tol=1e-9)
        ) is not True:
            return verdict
    return True
