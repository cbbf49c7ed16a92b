"""Exercises of appendix A1: rotate as fast as memory, exact to a million tokens."""

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import numpy as np

from rope_edu.check.exercise import Exercise, Verdict, close
from rope_edu.encodings import inv_freq, rope_angles

A_FUNCTION = "The answer is a function: give check the name, without parentheses."


def _holds_whole_numbers(last_whole: Callable[[int], Any]) -> Verdict:
    """Judge exercise A1.1."""
    if not callable(last_whole):
        return A_FUNCTION
    if last_whole(8) is ...:
        return ...
    if close(last_whole(8), 2 ^ 8):
        return "In Python a power is written 2**p; ^ is another operation."
    if close(last_whole(8), 255):
        return "256 fits too: it is one digit and zeros. 257 is the first that does not."
    if close(last_whole(8), 257):
        return "257 is 100000001 in binary: nine digits."
    return all(close(last_whole(p), 2.0**p) for p in (1, 8, 11, 24, 53))


def _makes_turns(turns_until: Callable[[int, np.ndarray], Any]) -> Verdict:
    """Judge exercise A1.2: right, and with few exponentials or sines, counted in numbers that go in."""
    if not callable(turns_until):
        return A_FUNCTION
    if turns_until(1, inv_freq(4)) is ...:
        return ...
    for length, head_dim in [(1, 4), (255, 8), (257, 6), (1000, 16), (65_536, 4)]:
        theta = inv_freq(head_dim)
        found, taken = _counted(turns_until, length, theta.copy())
        expected = np.exp(1j * rope_angles(np.arange(length), theta))
        if np.shape(found) != expected.shape:
            return f"For length {length} and {len(theta)} pairs it returns shape {np.shape(found)}."
        if not close(found, expected, 1e-9):
            return _what_is_wrong(found, expected)
        if taken > 600 * len(theta):
            return f"For length {length} it took {taken // len(theta):,} angles of each pair."
    return True


def _what_is_wrong(found: np.ndarray, expected: np.ndarray) -> Verdict:
    """Say what a table of turns that is not right may be."""
    if close(found, np.conj(expected), 1e-9):
        return "It turns the other way: the turn of position 1 is e^{+iθ}."
    if close(found, expected, 1e-5):
        return "Nearly: right to 10⁻⁵, not to 10⁻⁹. Is something kept in complex64?"
    if close(np.sort_complex(np.ravel(found)), np.sort_complex(np.ravel(expected)), 1e-9):
        return "These are the right numbers, in another order."
    return False


def _counted(turns_until: Callable, length: int, theta: np.ndarray) -> tuple[Any, int]:
    """Call the answer; return what it returns and of how many angles NumPy took the exponential, cosine or sine."""
    taken = {"exp": 0, "cos": 0, "sin": 0}

    def watched(name: str, function: Callable) -> Callable:
        def count(x, *args, **kwargs):
            taken[name] += np.size(x)
            return function(x, *args, **kwargs)

        return count

    with ExitStack() as stack:
        for name in taken:
            stack.enter_context(patch.object(np, name, watched(name, getattr(np, name))))
        found = turns_until(length, theta)
    return found, taken["exp"] + max(taken["cos"], taken["sin"])


def _angles_are_right(mended: Callable[[np.ndarray, np.ndarray], Any]) -> Verdict:
    """Judge exercise A1.3 with an input of each dtype, longer than float16 can count."""
    if not callable(mended):
        return A_FUNCTION
    theta = inv_freq(8)
    if mended(np.ones((2, 8)), theta) is ...:
        return ...
    for dtype, length in [("float64", 5), ("float16", 3000), ("float32", 3000), ("float16", 70_000)]:
        found = np.asarray(mended(np.ones((length, 8), dtype), theta))
        expected = rope_angles(np.arange(length), theta)
        if found.shape != expected.shape:
            return f"For an x of shape ({length}, 8) it returns shape {found.shape}."
        if not close(found, expected, 1e-9):
            at = int(np.argmax(~(np.abs(found - expected) <= 1e-9).all(axis=-1)))
            return f"For an x in {dtype} the angles are off from position {at} on."
    return True


EXERCISES = (
    Exercise(
        id="A1.1",
        right=_holds_whole_numbers,
        hints=(
            "Write 255, 256 and 257 in binary.",
            "With p digits you can write all numbers below 2^p. Does 2^p itself need more digits than p?",
        ),
        shows="256 in bfloat16, 2048 in float16, 16 777 216 in float32.",
    ),
    Exercise(
        id="A1.2",
        right=_makes_turns,
        hints=(
            "e^{i(a + b)} = e^{ia} · e^{ib}: which two small tables give all sums?",
            "m = 256 b + r: take the turns of r = 0 … 255, and those of 0, 256, 512, …",
            "Multiply every coarse turn by every fine one, make both axes one, and cut at the length.",
        ),
        shows="Turns multiply: few sines make many positions.",
    ),
    Exercise(
        id="A1.3",
        right=_angles_are_right,
        hints=(
            "Which whole number does float16 not have?",
            "Positions are whole numbers, and frequencies have nothing to do with the dtype of x.",
            "np.arange(len(x)) without a dtype, and theta in float64.",
        ),
        shows="The dtype of x is none of the angles' business.",
    ),
)
