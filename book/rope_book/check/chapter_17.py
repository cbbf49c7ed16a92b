"""Exercises of chapter 17: choose the base."""

import math

import numpy as np

from rope_book.check.answers import Answer, number, of_function
from rope_book.check.exercise import Verdict, against, close, judges
from rope_book.check.ruled import ruled
from rope_edu.encodings import first_negative_distance, inv_freq, smallest_base

FAR = 20_000  # tokens


@judges("17.1")
@of_function
def _finds_the_first(first_below_zero: Answer) -> Verdict:
    """Judge exercise 17.1 on four heads."""
    for head_dim, base in ((16, 100.0), (64, 1000.0), (128, 1000.0), (64, 10_000.0)):
        frequencies = inv_freq(head_dim, base)
        found = number(first_below_zero(frequencies.copy()), "It must return one distance.")
        right = first_negative_distance(frequencies, FAR)
        if close(found, right):
            continue
        sines = np.flatnonzero(np.sin(np.arange(1, FAR)[:, None] * frequencies).sum(axis=1) < 0) + 1
        slips = {
            " That is one distance off: distances begin at 0.": (right - 1, right + 1),
            " There a single pair is negative; the sum of all must be.": (2,),
            " The score is a sum of cosines, not of sines.": tuple(sines[:1]),
        }
        why = next((words for words, slip in slips.items() if any(close(found, x) for x in slip)), "")
        return f"For d = {head_dim}, base {base:g} you found {found}; the sum there says otherwise.{why}"
    return True


@judges("17.2")
def _inverts_the_line(base: object) -> Verdict:
    """Judge exercise 17.2: b = r e^γ, to a percent."""
    found, grown = number(base, "The answer is one base."), math.exp(np.euler_gamma)
    right = 100_000 * grown
    slips = {
        "The constant γ is in the line too: ln b = ln r + γ.": 100_000,
        "γ is on the other side: the base is larger than the distance.": 100_000 / grown,
        "That is ln b.": math.log(right),
    }
    if found <= 1:
        return "A base is above 1."
    unknown = f"With that base the line is zero at {found / grown:,.0f} tokens."
    return against(found, right, slips, unknown, tol=0.01, ratio=True)


@judges("17.3")
def _is_the_smallest(base: object) -> Verdict:
    """Judge exercise 17.3: heads of 64, 2,000 tokens; within the grid of a search, 1 %."""
    found = number(base, "The answer is one base.")
    if found <= 1:
        return "A base is above 1."
    right = smallest_base(2000, 64)
    if close(found / right, 1, 0.01):
        return True
    if close(found / smallest_base(2000), 1, 0.01):
        return "That is for heads of 128: fewer pairs need a larger base."
    first = first_negative_distance(inv_freq(64, found), FAR)
    if first is not None and first < 2000:
        return f"With that base like vectors score below zero at distance {first:,}."
    return "That base will do; but a smaller one will do too."


@judges("17.4")
def _is_larger_and_fails(base: object) -> Verdict:
    """Judge exercise 17.4: above the smallest base for 2,048, and negative within 2,048."""
    return ruled("17.4", number(base, "The answer is one base."))


@judges("17.5")
@of_function(or_none=True)
def _counts_still_features(reach: Answer) -> Verdict:
    """Judge exercise 17.5 on whole and partial rotation."""
    for rotary_dim, head_dim, base in ((64, 64, 1e4), (64, 72, 1e4), (24, 96, 1e4), (128, 136, 1e3)):
        found = reach(rotary_dim, head_dim, base)
        plain = first_negative_distance(inv_freq(rotary_dim, base), FAR + 1)
        still = np.zeros((head_dim - rotary_dim) // 2)
        right = first_negative_distance(np.concatenate([inv_freq(rotary_dim, base), still]), FAR + 1)
        if found is None and right is None:
            continue
        if found is not None and right is not None and close(number(found, "One distance, or None."), right):
            continue
        case = f"reach_of({rotary_dim}, {head_dim}, {base:g}) gave {found}, not {right}."
        doubled = np.concatenate([inv_freq(rotary_dim, base), np.zeros(head_dim - rotary_dim)])
        slips = {
            " A feature that stands still adds its cosine of 1: count it.": plain,
            " Two features make a pair.": first_negative_distance(doubled, FAR + 1),
            " The frequencies belong to rotary_dim, not to the whole head.": first_negative_distance(
                inv_freq(head_dim, base), FAR + 1
            ),
        }
        return case + next((why for why, slip in slips.items() if slip == found), "")
    return True
