"""Exercises of appendix A3: seeds, signs and learning rates."""

from collections.abc import Sequence
from itertools import product
from math import ceil, log

import numpy as np

from rope_book.check.answers import number, row, whole
from rope_book.check.exercise import Known, Verdict, close, judges, of_cases

DIFFERENCES = (
    [0.3, 0.1],
    [0.2, 0.1, 0.4, 0.2, 0.3, 0.1, 0.2, 0.1],
    [-0.5, 0.1, 0.2, -0.2, -0.3],
    [0.4, -0.1, 0.3, 0.2, 0.1, -0.2, 0.5],
    [0.0, 0.0, 0.0],
)


def _flipped(differences: Sequence[float]) -> np.ndarray:
    """Return the sum under every choice of signs, `(2ⁿ,)`, rounded so that equal sums are equal."""
    signs = np.array(list(product((1, -1), repeat=len(differences))))
    return (signs @ np.array(differences)).round(9)


@judges("A3.1")
@of_cases([(differences,) for differences in DIFFERENCES], "It must return one number, the chance.", tol=1e-9)
def _flips_signs(found: float, differences: list[float]) -> Known:
    """Judge exercise A3.1 on differences of 2 to 8 seeds: of one sign, of both, with ties, and all zero."""
    sums, total = _flipped(differences), round(sum(differences), 9)
    as_far, farther = abs(sums) >= abs(total), abs(sums) > abs(total)
    one_side = "That counts one side. Nobody said beforehand who would be better: compare sizes."
    slips = {
        one_side: (sums >= total).mean(),
        "That counts only sums that lie further out: one that lies as far out counts too.": farther.mean(),
        f"{found} is how many choices of signs: divide by all 2ⁿ.": as_far.sum(),
    }
    right = as_far.mean()
    return right, slips, f"For the differences {differences} you gave {found:g}, expected {right:.4f}."


@judges("A3.2")
def _eleven(seeds: object) -> Verdict:
    """Judge exercise A3.2."""
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


@judges("A3.3")
def _half_the_weight(answer: object) -> Verdict:
    """Judge exercise A3.3: the bias that gives one of 33 keys half of the weight, and the steps that it takes."""
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
