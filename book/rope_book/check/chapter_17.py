"""Chapter 17 exercises: choose the base."""

import numpy as np

from rope_book.check.answers import Answer, number, of_function
from rope_book.check.exercise import Verdict, close, judges
from rope_book.results import first_negative_distance
from rope_edu.encodings import inv_freq

FAR = 20_000  # distance, in tokens, at which the search for a negative sum ends


@judges("17.1")
@of_function
def _finds_the_first(first_below_zero: Answer) -> Verdict:
    """Judge exercise 17.1 with four combinations of width and base."""
    for head_dim, base in ((16, 100.0), (64, 1000.0), (128, 1000.0), (64, 10_000.0)):
        frequencies = inv_freq(head_dim, base)
        result = number(first_below_zero(frequencies.copy()), "It must return one distance.")
        right = first_negative_distance(frequencies, FAR)
        if close(result, right):
            continue
        sines = np.flatnonzero(np.sin(np.arange(1, FAR)[:, None] * frequencies).sum(axis=1) < 0) + 1
        slips = {
            " That is one distance off: distances begin at 0.": (right - 1, right + 1),
            " There a single pair is negative; the sum of all must be.": (2,),
            " The score is a sum of cosines, not of sines.": tuple(sines[:1]),
        }
        why = next((words for words, slip in slips.items() if any(close(result, x) for x in slip)), "")
        return f"For d = {head_dim}, base {base:g} you found {result}; the sum there says otherwise.{why}"
    return True


@judges("17.5")
@of_function(or_none=True)
def _counts_still_features(reach: Answer) -> Verdict:
    """Judge exercise 17.5 with full and partial rotation."""
    for rotary_dim, head_dim, base in ((64, 64, 1e4), (64, 72, 1e4), (24, 96, 1e4), (128, 136, 1e3)):
        result = reach(rotary_dim, head_dim, base)
        rotated_only = first_negative_distance(inv_freq(rotary_dim, base), FAR + 1)
        still = np.zeros((head_dim - rotary_dim) // 2)
        right = first_negative_distance(np.concatenate([inv_freq(rotary_dim, base), still]), FAR + 1)
        if result is None and right is None:
            continue
        if (
            result is not None
            and right is not None
            and close(number(result, "One distance, or None."), right)
        ):
            continue
        case = f"reach_of({rotary_dim}, {head_dim}, {base:g}) gave {result}, not {right}."
        doubled = np.concatenate([inv_freq(rotary_dim, base), np.zeros(head_dim - rotary_dim)])
        slips = {
            " A feature that does not turn adds its cosine of 1: count it.": rotated_only,
            " Two features make a pair.": first_negative_distance(doubled, FAR + 1),
            " The frequencies belong to rotary_dim, not to the whole head.": first_negative_distance(
                inv_freq(head_dim, base), FAR + 1
            ),
        }
        return case + next((why for why, slip in slips.items() if slip == result), "")
    return True
