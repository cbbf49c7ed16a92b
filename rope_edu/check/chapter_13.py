"""Exercises of chapter 13: curves, seeds and verdicts."""

from collections.abc import Callable, Sequence
from itertools import product
from math import ceil, log
from typing import Any

import numpy as np

from rope_edu.check.answers import number, of_function, row, whole
from rope_edu.check.exercise import Verdict, close, judges

STEPS = (0, 50, 100, 150, 200, 250)


def _stays(steps: Sequence[int], accuracy: Sequence[float], level: float) -> int | None:
    """Return the first step from which on every accuracy is at least the level, or None."""
    below = [n for n, share in enumerate(accuracy) if share < level]
    first = below[-1] + 1 if below else 0
    return steps[first] if first < len(steps) else None


@judges("13.1")
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


def _flipped(differences: Sequence[float]) -> np.ndarray:
    """Return the sum under every choice of signs, `(2ⁿ,)`, rounded so that equal sums are equal."""
    signs = np.array(list(product((1, -1), repeat=len(differences))))
    return (signs @ np.array(differences)).round(9)


@judges("13.2")
@of_function
def _flips_signs(p_value: Callable[[list[float]], Any]) -> Verdict:
    """Judge exercise 13.2 on differences of 2 to 8 seeds: of one sign, of both, with ties, and all zero."""
    cases = (
        [0.3, 0.1],
        [0.2, 0.1, 0.4, 0.2, 0.3, 0.1, 0.2, 0.1],
        [-0.5, 0.1, 0.2, -0.2, -0.3],
        [0.4, -0.1, 0.3, 0.2, 0.1, -0.2, 0.5],
        [0.0, 0.0, 0.0],
    )
    for differences in cases:
        found = number(p_value(list(differences)), "It must return one number, the chance.")
        sums, total = _flipped(differences), round(sum(differences), 9)
        right = float((abs(sums) >= abs(total)).mean())
        if close(found, right, 1e-9):
            continue
        if close(found, float((sums >= total).mean()), 1e-9):
            return "That counts one side. Nobody said beforehand who would be better: compare sizes."
        if close(found, float((abs(sums) > abs(total)).mean()), 1e-9):
            return "That counts only sums that lie further out: one that lies as far out counts too."
        if close(found, float((abs(sums) >= abs(total)).sum()), 1e-9):
            return f"{found} is how many choices of signs: divide by all 2ⁿ."
        return f"For the differences {differences} you gave {found:g}, expected {right:.4f}."
    return True


@judges("13.3")
def _eleven(seeds: object) -> Verdict:
    """Judge exercise 13.3."""
    seeds = whole(seeds, "The answer is one whole number.")
    if not 1 <= seeds <= 500:
        return "It lies between 1 and 500."
    if seeds == 10:
        return "1 in 1,024 is one side. All on the other side would be as far out: 2 in 1,024."
    if 2 / 2**seeds >= 0.001:
        return f"With {seeds} the smallest p-value is {2 / 2**seeds:.4f}."
    if seeds > 11:
        return f"That is enough (1 in {2 ** (seeds - 1):,}), but fewer would do."
    return True


@judges("13.4")
def _half_the_weight(answer: object) -> Verdict:
    """Judge exercise 13.4: the bias that gives one of 33 keys half of the weight, and the steps that it takes."""
    bias, steps = row(answer, 2, "The answer is two numbers: the bias, and the number of steps.")
    bias, steps = number(bias, "The bias is one number."), number(steps, "The steps are one number.")
    if close(bias, 0.5, 1e-3):
        return "0.5 is the weight that you want. The softmax makes weights of exp(score)."
    if close(bias, log(33), 2e-3):
        return f"e^{bias:.2f} = 33 would be against 33 others; the key itself is one of the 33."
    if not close(bias, log(32), 6e-3):
        return f"With that bias it gets {np.exp(bias) / (np.exp(bias) + 32):.0%} of the weight."
    if not ceil(bias / 0.001 - 1e-6) - 1 <= steps <= ceil(log(32) / 0.001) + 6:
        return f"The bias is right. It moves by 0.001 a step: it takes more or fewer than {steps:g} steps."
    return True
