"""Appendix A1 exercises: rotate as fast as memory, exact to a million tokens."""

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import numpy as np

from rope_book.check.answers import Answer, array, of_function
from rope_book.check.exercise import Known, Verdict, close, judges, of_cases
from rope_edu.encodings import inv_freq, rope_angles


@judges("A1.1")
@of_cases([(digits,) for digits in (8, 1, 11, 24, 53)])
def _holds_whole_numbers(result: float, digits: int) -> Known:
    """Judge exercise A1.1 with five digit counts."""
    slips = {
        "In Python a power is written 2**p; ^ is a different operation.": 2 ^ digits,
        f"2^{digits} fits too: it is one digit and zeros. The next one is the first that does not.": 2**digits
        - 1,
        f"2^{digits} + 1 begins and ends with a 1 in binary: it has {digits + 1} digits.": 2**digits + 1,
        f"That has {digits} digits, and so have many above it.": 2 ** (digits - 1),
    }
    return 2.0**digits, slips, f"With {digits} digits it is not {result}."


@judges("A1.2")
@of_function
def _makes_turns(turns_until: Answer) -> Verdict:
    """Judge exercise A1.2: the table must be correct and use few exponentials or sines, counted per element."""
    for length, head_dim in [(1, 4), (255, 8), (257, 6), (1000, 16), (65_536, 4)]:
        theta = inv_freq(head_dim)
        result, taken = _counted(turns_until, length, theta.copy())
        expected = np.exp(1j * rope_angles(np.arange(length), theta))
        result = array(
            result, expected.shape, f"For length {length} and {len(theta)} pairs it must be {expected.shape}."
        )
        if not close(result, expected, 1e-9):
            return _what_is_wrong(result, expected)
        if taken > 600 * len(theta):
            return (
                f"For length {length} it took {taken // len(theta):,} angles of each pair; 600 are allowed."
            )
    return True


def _what_is_wrong(result: np.ndarray, expected: np.ndarray) -> Verdict:
    """Return a sentence that explains what is wrong with a table of e^{iθm}."""
    if not np.iscomplexobj(result):
        return "A turn is a complex number, e^{iθm}."
    if close(result, np.conj(expected), 1e-9):
        return "It turns the other way: the turn of position 1 is e^{+iθ}."
    if close(result, expected, 1e-5):
        return "Nearly: right to 10⁻⁵, not to 10⁻⁹. Is something kept in complex64?"
    if close(np.sort_complex(np.ravel(result)), np.sort_complex(np.ravel(expected)), 1e-9):
        return "These are the right numbers, in a different order."
    return "Row m must hold e^{imθ} for each frequency, from m = 0 on."


def _counted(turns_until: Callable, length: int, theta: np.ndarray) -> tuple[Any, int]:
    """Return the answer's result, and the number of elements for which it called NumPy's exp, cos or sin."""
    taken = {"exp": 0, "cos": 0, "sin": 0}

    def counting(name: str, function: Callable) -> Callable:
        def count(x, *args, **kwargs):
            taken[name] += np.size(x)
            return function(x, *args, **kwargs)

        return count

    with ExitStack() as stack:
        for name in taken:
            stack.enter_context(patch.object(np, name, counting(name, getattr(np, name))))
        result = turns_until(length, theta)
    return result, taken["exp"] + max(taken["cos"], taken["sin"])


@judges("A1.3")
@of_function
def _angles_are_right(mended: Answer) -> Verdict:
    """Judge exercise A1.3 on three dtypes, including more rows than float16 can represent."""
    theta = inv_freq(8)
    for dtype, length in [("float64", 5), ("float16", 3000), ("float32", 3000), ("float16", 70_000)]:
        expected = rope_angles(np.arange(length), theta)
        result = mended(np.ones((length, 8), dtype), theta)
        result = array(
            result, expected.shape, f"For {length} rows and 4 frequencies the angles are {expected.shape}."
        )
        if not close(result, expected, 1e-9):
            at = int(np.argmax(~(np.abs(result - expected) <= 1e-9).all(axis=-1)))
            why = "the frequencies are rounded" if at < 2049 else f"{dtype} has no {at}"
            return f"For an x in {dtype} the angles are off from position {at} on: {why}."
    return True
