"""Exercises of chapter 17: choose the base."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from rope_edu.check.answers import number, of_function
from rope_edu.check.exercise import Exercise, Verdict, close, slip_of
from rope_edu.encodings import first_negative_distance, inv_freq, smallest_base

FAR = 20_000  # tokens


@of_function
def _finds_the_first(first_below_zero: Callable[[np.ndarray], Any]) -> Verdict:
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


def _inverts_the_line(base: object) -> Verdict:
    """Judge exercise 17.2: b = r e^γ, to a percent."""
    found = number(base, "The answer is one base.")
    right = 100_000 * math.exp(np.euler_gamma)
    slips = {
        "The constant γ is in the line too: ln b = ln r + γ.": 100_000,
        "γ stands on the other side: the base is larger than the distance.": 100_000
        / math.exp(np.euler_gamma),
        "That is ln b.": math.log(right),
    }
    if close(found / right, 1, 0.01):
        return True
    if found <= 1:
        return "A base is above 1."
    zero = found * math.exp(-np.euler_gamma)
    unknown = f"With that base the line is zero at {zero:,.0f} tokens."
    return slip_of(found, slips, unknown, tol=0.01, ratio=True)


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


def _is_larger_and_fails(base: object) -> Verdict:
    """Judge exercise 17.4: above the smallest base for 2,048, and negative within 2,048."""
    found = number(base, "The answer is one base.")
    least = smallest_base(2048)
    if found <= least:
        return f"It must be above smallest_base(2048) = {least:,.0f}."
    if first_negative_distance(inv_freq(128, found), 2048) is None:
        return f"With base {found:,.0f} no distance within 2,048 is negative: that one will do."
    return True


@of_function(or_none=True)
def _counts_still_features(reach: Callable[[int, int, float], Any]) -> Verdict:
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


EXERCISES = (
    Exercise(
        "17.1",
        _finds_the_first,
        hints=(
            "At each distance r = 0, 1, 2, … you need one number: the sum of cos(r θ) over all frequencies.",
            "np.cos(r * np.asarray(frequencies)).sum(), and stop where it is below 0.",
            "Begin with r = 0, add 1 while the sum is at least 0, return r.",
        ),
        shows="A few lines find where a head begins to prefer a random key to a matching one.",
    ),
    Exercise(
        "17.2",
        _inverts_the_line,
        hints=(
            "Set 1 − (ln r + γ)/ln b to 0.",
            "ln b = ln r + γ, with r = 100,000 and γ = 0.577.",
            "b = 100,000 · e^0.577, about 178,000.",
        ),
        shows="The trend asks for 178,000; the wiggles ask for millions.",
    ),
    Exercise(
        "17.3",
        _is_the_smallest,
        hints=(
            "The library has a function for it.",
            "Its second argument is the width of the head.",
            "smallest_base(2000, 64).",
        ),
        shows="Half the pairs, and the base must be more than twice as large.",
    ),
    Exercise(
        "17.4",
        _is_larger_and_fails,
        hints=(
            "The first window of good bases is half a percent wide.",
            "Try 1 % more than smallest_base(2048), and ask first_negative_distance.",
            "12,000 lies between the first window and the second.",
        ),
        shows="Larger than the bound is no promise: ask about the base itself.",
    ),
    Exercise(
        "17.5",
        _counts_still_features,
        hints=(
            "A pair that is not rotated has the frequency 0.",
            "Append (head_dim − rotary_dim)/2 zeros to inv_freq(rotary_dim, base).",
            "first_negative_distance(np.concatenate([…, np.zeros(…)]), 20_001).",
        ),
        shows="A few features that stand still lift the sum: partial rotation has no bound on the base.",
    ),
)
