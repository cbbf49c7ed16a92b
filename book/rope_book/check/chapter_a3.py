"""Appendix A3 exercises: seeds, signs and learning rates."""

from collections.abc import Sequence
from itertools import product

import numpy as np

from rope_book.check.exercise import Known, judges, of_cases

DIFFERENCES = (
    [0.3, 0.1],
    [0.2, 0.1, 0.4, 0.2, 0.3, 0.1, 0.2, 0.1],
    [-0.5, 0.1, 0.2, -0.2, -0.3],
    [0.4, -0.1, 0.3, 0.2, 0.1, -0.2, 0.5],
    [0.0, 0.0, 0.0],
)


def _flipped(differences: Sequence[float]) -> np.ndarray:
    """Return the sums for all choices of signs, `(2ⁿ,)`, rounded so that equal sums compare equal."""
    signs = np.array(list(product((1, -1), repeat=len(differences))))
    return (signs @ np.array(differences)).round(9)


@judges("A3.1")
@of_cases([(differences,) for differences in DIFFERENCES], "It must return one number, the chance.", tol=1e-9)
def _flips_signs(result: float, differences: list[float]) -> Known:
    """Judge exercise A3.1 on 2 to 8 differences with equal or mixed signs, with ties, or all zero."""
    sums, total = _flipped(differences), round(sum(differences), 9)
    as_far, farther = abs(sums) >= abs(total), abs(sums) > abs(total)
    one_side = "That counts one side. Nobody said beforehand who would be better: compare sizes."
    slips = {
        one_side: (sums >= total).mean(),
        "That counts only sums further out: one that is as far out counts too.": farther.mean(),
        f"{result} is how many choices of signs: divide by all 2ⁿ.": as_far.sum(),
    }
    right = as_far.mean()
    return right, slips, f"For the differences {differences} you gave {result:g}, expected {right:.4f}."
