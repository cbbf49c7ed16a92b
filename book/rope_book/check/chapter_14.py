"""Chapter 14 exercises: leave the trained range."""

import math

import numpy as np

from rope_book.check.answers import Answer, array, of_function
from rope_book.check.exercise import Known, Verdict, against, close, judges, of_cases, slip_of
from rope_edu.encodings import completes_turn, inv_freq, meets_new_angle


@judges("14.1")
@of_function
def _names_new_pairs(new_pairs: Answer) -> Verdict:
    """Judge exercise 14.1 at distances within training, just beyond it, and far beyond."""
    for rates, length in ((inv_freq(128), 4096), (inv_freq(32, 500_000.0), 512)):
        for r in (length - 5, length + 100, 2 * length, 5 * length + 1):
            expected = np.flatnonzero(meets_new_angle([r], rates, length)[0])
            named = new_pairs(r, rates.copy(), length)
            named = sorted(named) if isinstance(named, set) else named
            result = array(named, None, "The answer is a list of pairs.").ravel()
            if result.dtype.kind == "b" and result.shape == rates.shape and len(rates) != len(expected):
                return (
                    "That says yes or no for every pair; name those that say yes: np.flatnonzero gives them."
                )
            if close(np.sort(result), expected):
                continue
            why = _why_not_these(result, r, rates, length)
            return f"At distance {r:,}, trained to {length:,}, it is wrong.{why}"
    return True


def _why_not_these(result: np.ndarray, r: int, rates: np.ndarray, length: int) -> str:
    """Return a sentence about the known mistake that leads to these pairs, or "" if no known mistake does."""
    turned, shown = np.mod(r * rates, 2 * math.pi), length * rates
    slips = {
        " Those are the pairs whose total angle is beyond training; a hand shows at most one turn.": r * rates
        > shown,
        " Those are all slow pairs. Some have come round: only the part of a turn counts.": ~completes_turn(
            rates, length
        ),
        " Take the turns off the angle at r, not off what training showed.": turned
        > np.mod(shown, 2 * math.pi),
        " Those are the pairs whose angle is known.": turned <= shown,
    }
    return slip_of(np.sort(result), {why: np.flatnonzero(slip) for why, slip in slips.items()})


@judges("14.2")
@of_cases(((4096, 0.84), (100_000, 0.1), (2, 0.5), (3, 0.9)))
def _outweighs(result: float, n: int, weight: float) -> Known:
    """Judge exercise 14.2 with few keys and with many."""
    odds = weight / (1 - weight)
    expected = math.log(odds * (n - 1))
    slips = {
        "The others are n − 1 keys.": math.log(odds * n),
        "The weight does not come into it yet.": math.log(n - 1),
        "Upside down: a larger weight needs a larger advantage.": math.log((n - 1) / odds),
        "Solve e^g / (e^g + n − 1) = weight: the weight is on both sides of it.": math.log(weight * (n - 1)),
        "The softmax takes e to the score: the natural logarithm.": expected / math.log(10),
        "That is e to the advantage.": math.exp(expected),
    }
    return expected, slips, f"With {n:,} keys and weight {weight:g} it is not {result:.3f}."


@judges("14.4")
@of_function
def _leaks(distances_of: Answer) -> Verdict:
    """Judge exercise 14.4 with and without a leak."""
    for length, window, leak in ((10, 4, 5.0), (6, 3, math.inf), (5, 8, 2.0)):
        r = np.maximum(np.subtract.outer(np.arange(length), np.arange(length)), 0)
        near, right = r < window, np.where(r < window, r, window + (r - window) / leak)
        ask = f"The matrix has a row for each of the {length} queries and a column for each key."
        result = array(distances_of(length, window, leak), (length, length), ask)
        divided = "Divide only the part beyond the window: at its edge nothing may jump."
        whole_r = "Divide r − w, not r: at the window's edge nothing may jump."
        slips = {
            "Queries are rows: the last row has the longest distances.": right.T,
            "Beyond the window positions go on, only slower: leak is not used.": np.minimum(r, window),
            divided: np.where(near, r, r / leak),
            whole_r: np.where(near, r, window + r / leak),
            "Beyond the window the distances are fractions: / and not //.": np.floor(right),
        }
        later = "Keys that come later than the query have 0." if np.triu(result, 1).any() else ""
        case = f"Wrong for {length} tokens, window {window}, leak {leak:g}."
        if (verdict := against(result, right, slips, later or case)) is not True:
            return verdict
    return True
