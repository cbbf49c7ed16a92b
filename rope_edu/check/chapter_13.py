"""Exercises of chapter 13: curves, seeds and verdicts."""

from collections.abc import Callable, Sequence
from math import comb
from typing import Any

import numpy as np

from rope_edu.check.answers import array, number, of_function, whole
from rope_edu.check.exercise import Exercise, Verdict, close

STEPS = (0, 50, 100, 150, 200, 250)


def _stays(steps: Sequence[int], accuracy: Sequence[float], level: float) -> int | None:
    """Return the first step from which on every accuracy is at least the level, or None."""
    below = [n for n, share in enumerate(accuracy) if share < level]
    first = below[-1] + 1 if below else 0
    return steps[first] if first < len(steps) else None


@of_function(or_none=True)
def _waits_for_the_last_rise(settled: Callable[..., Any]) -> Verdict:
    """Judge exercise 13.1 on curves that rise, fall back, start high, never arrive, or touch the level."""
    curves = (
        (0.1, 0.4, 0.92, 0.95, 0.97, 0.99),
        (0.1, 0.95, 0.6, 0.7, 0.93, 0.94),
        (0.95, 0.96, 0.97, 0.9, 0.96, 0.99),
        (0.1, 0.2, 0.3, 0.4, 0.5, 0.6),
        (0.1, 0.95, 0.95, 0.95, 0.95, 0.2),
    )
    for accuracy in curves:
        found, right = settled(list(STEPS), list(accuracy), 0.9), _stays(STEPS, accuracy, 0.9)
        found = None if found is None else number(found, "It must return one step, or None.")
        if found == right and (found is None) == (right is None):
            continue
        if found is not None and right is not None and found in range(1, 6) and STEPS[int(found)] == right:
            return f"{found} counts the points; the step there is {right}."
        case = f"steps {list(STEPS)}, accuracies {list(accuracy)}, level 0.9"
        if right is not None and found is not None and found < right:
            return f"For {case} you gave {found}; but the curve falls below 0.9 again after that."
        return f"For {case} you gave {found}, expected {right}."
    return True


@of_function
def _adds_both_tails(p_value: Callable[[int, int], Any]) -> Verdict:
    """Judge exercise 13.2 on every result of 1 to 8 pairs."""
    for n in range(1, 9):
        for wins in range(n + 1):
            found = number(p_value(wins, n), "It must return one number, the chance.")
            tail = sum(comb(n, k) for k in range(max(wins, n - wins), n + 1)) / 2**n
            right = min(1.0, 2 * tail)
            if close(found, tail, 1e-9) and not close(tail, right, 1e-9):
                return "That is one side. Nobody said beforehand who would win: count both sides."
            if close(found, 2 * tail, 1e-9) and tail > 0.5:
                return f"For {wins} wins of {n} it is {found}: no chance is above 1."
            if close(found, min(1.0, 2 * comb(n, wins) / 2**n), 1e-9) and not close(found, right, 1e-9):
                return "That is the chance of this very result: add those that are more one-sided."
            if not close(found, right, 1e-9):
                return f"For {wins} wins of {n} you gave {found}, expected {right:.4f}."
    return True


def _seven(seeds: object) -> Verdict:
    """Judge exercise 13.3."""
    seeds = whole(seeds, "The answer is one whole number.")
    if not 1 <= seeds <= 500:
        return "It lies between 1 and 500."
    chance = 2 / comb(2 * seeds, seeds)
    if chance > 0.001:
        return f"With {seeds} each, chance alone sets them apart once in {1 / chance:,.0f}."
    if seeds > 7:
        return f"That is enough ({1 / chance:,.0f}), but fewer would do."
    return True


def _wins_yet_ranks_lower(ranks: object) -> Verdict:
    """Judge exercise 13.4: A is ahead on four of five tasks, B has the larger mean reciprocal rank."""
    ask = "The answer is two lists of five whole numbers each: the ranks of A, then those of B."
    table = array(ranks, (2, 5), ask)
    if not np.array_equal(table, np.round(table)):
        return ask
    if table.min() < 1 or table.max() > 5:
        return "A rank is 1 to 5."
    a, b = table
    if (a == b).any():
        return "On one task two encodings cannot have one rank."
    if (a < b).sum() != 4:
        return f"A must be ahead on exactly 4 tasks; it is on {(a < b).sum()}."
    means = (1 / a).mean(), (1 / b).mean()
    if means[0] >= means[1]:
        return f"A is ahead on 4 tasks, but its mean, {means[0]:.3f}, is not below B's, {means[1]:.3f}."
    return True


EXERCISES = (
    Exercise(
        "13.1",
        _waits_for_the_last_rise,
        hints=(
            "What matters is the last point that lies below the level.",
            "Walk from the end: go back while the accuracy is at least the level.",
            "below = [n for n, a in enumerate(accuracy) if a < level]; the answer is the step after below[-1].",
        ),
        shows="A curve that touches a level once has not learned: ask that it stays.",
    ),
    Exercise(
        "13.2",
        _adds_both_tails,
        hints=(
            "If neither is better, each seed is a fair coin: n wins of n have the chance 1/2ⁿ.",
            "Add up comb(n, k)/2ⁿ for all results at least as far from n/2 as the one you have, on both sides.",
            "min(1, 2 · Σ_{k ≥ max(wins, n − wins)} comb(n, k) / 2ⁿ)",
        ),
        shows="Five of five give 0.0625: five pairs alone can never pass the usual 0.05.",
    ),
    Exercise(
        "13.3",
        _seven,
        hints=(
            "Of comb(2n, n) equally likely orders one puts all n runs of A first, and one all n of B.",
            "You need 2 / comb(2n, n) ≤ 1/1000.",
            "comb(12, 6) = 924 is too few, comb(14, 7) = 3432 enough.",
        ),
        shows="Two seeds more and chance falls from 1 in 126 to 1 in 1,716.",
    ),
    Exercise(
        "13.4",
        _wins_yet_ranks_lower,
        hints=(
            "1/rank drops from 1 to 1/2 between first and second, but only from 1/4 to 1/5 further down.",
            "Let A be second and B third on four tasks.",
            "On the fifth task let B be first and A last.",
        ),
        shows="Mean reciprocal rank pays for first places: a summary is a choice of what counts.",
    ),
)
