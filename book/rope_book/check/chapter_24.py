"""Chapter 24 exercises: find it."""

from typing import Any

import numpy as np

from rope_book.check.answers import Answer, names, number, of_function, whole
from rope_book.check.exercise import Verdict, close, judges
from rope_doctor.probes import Kept, Specimen

BUGS = {"A", "B", "C", "D", "E"}
SEEN = {"A": True, "B": False, "C": True, "D": False, "E": True}
WHY = {
    "A": "A: the stored keys turn further, the whole text's do not, so the two ways differ.",
    "B": "B: a different base turns the whole text and every step alike.",
    "C": "C: the row alone has no padding to see.",
    "D": "D: doubled positions are doubled in every way of asking.",
    "E": "E: the same text before and after the longer one differs.",
}


@judges("24.1")
@of_function(or_none=True)
def _finds_the_first_difference(first_difference: Answer) -> Verdict:
    """Judge exercise 24.1 on logits that agree, and on logits that differ from one token on, later ones by more."""
    right = np.random.default_rng(24).normal(size=(9, 6))
    for changed in (None, 0, 5, 8):
        wrong = right + 1e-6
        if changed is not None:
            wrong[changed, 3] -= 0.5  # a negative difference, in one vocabulary entry
            wrong[changed + 1 :, 3] -= 1
        result = first_difference(right.copy(), wrong, 1e-3)
        if changed is None:
            if result is not None:
                return (
                    f"Differences below the bound do not count: it must return None, it returned {result!r}."
                )
        elif result is None:
            return f"Token {changed} differs by 0.5 in one word, and it returned None: look at sizes, word by word."
        elif whole(result, "It must return a token's number, or None.") != changed:
            return f"Token {changed} is the first that differs; it returned {result}."
    return True


class _Mixed(Specimen):
    """A decoder whose logits are wrong in the second row of a batch."""

    def __call__(self, tokens: np.ndarray, **given: Any) -> tuple[np.ndarray, Kept]:
        logits, cache = super().__call__(tokens, **given)
        logits[1:2] -= 0.25
        return logits, cache


@judges("24.2")
@of_function
def _compares_rows(together: Answer) -> Verdict:
    """Judge exercise 24.2 on a correct decoder and on one that is wrong in its second row."""
    rows = np.random.default_rng(24).integers(0, 40, size=(3, 5))
    for decoder, wanted in ((Specimen(), 0.0), (_Mixed(), 0.25)):
        result = number(together(decoder, rows.copy()), "It must return one number.")
        if close(result, wanted, 1e-9):
            continue
        if wanted and abs(result) in (0.0, wanted):
            return "Take the size of the differences, in every row."
        return (
            f"For a decoder that is {'wrong' if wanted else 'right'} it must be {wanted}, not {result:.3g}."
        )
    return True


@judges("24.3")
def _sees_what_differs(answer: Any) -> Verdict:
    """Judge exercise 24.3: find the bugs that make a decoder contradict itself."""
    result = names(answer, BUGS, "The answer is a set of letters.")
    for bug, seen in SEEN.items():
        if (bug in result) is not seen:
            return WHY[bug]
    return True
