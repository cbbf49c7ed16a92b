"""Chapter 20 exercises: turn in more dimensions."""

import numpy as np

from rope_book.check.answers import Answer, array, of_function, truth
from rope_book.check.exercise import Verdict, close, judges
from rope_book.check.rows import judge_row
from rope_edu.encodings import axial_frequencies, inv_freq, mixed_frequencies, section_frequencies

Matrix = np.ndarray


@judges("20.1")
@of_function
def _deals_one_row(deal: Answer) -> Verdict:
    """Judge exercise 20.1 on three rows; the most likely mistake is to give each axis half of the row."""
    for width in (8, 16, 64):
        row = inv_freq(width)
        pairs = len(row)
        result = array(deal(row.copy()), (2, pairs), f"For {pairs} pairs it must return shape (2, {pairs}).")
        halves = [pairs // 2] * 2
        right = section_frequencies(np.concatenate((row[0::2], row[1::2])), halves)
        if close(result, right, 1e-12):
            continue
        if close(result, right[::-1], 1e-12):
            return "Row 0 is height, and height takes the even ones."
        if close(result, section_frequencies(row, halves), 1e-12):
            return "Height has the fast half and width the slow one: deal the row in turn."
        if close(result, section_frequencies(row, halves, "interleaved"), 1e-12):
            return "The frequencies are right; height's pairs come first, then width's."
        return f"For a row of {pairs} frequencies it returned something else."
    return True


def _tables() -> list[tuple[str, Matrix, bool]]:
    """Return score tables as (description, scores, whether a head with one axis per pair can produce them)."""
    rng = np.random.default_rng(20)
    by_row, by_column = rng.normal(size=(2, 6))
    sums = by_row[:, None] + by_column
    places = np.arange(36).reshape(6, 6)
    exact = np.add.outer(np.arange(6.0), 2 * np.arange(6.0))
    moved = "a sum in which one entry was moved, row {} and column {}, counted from 0: look at all of them"
    return [
        ("0, 1, 2, … down plus 0, 2, 4, … across, which is a sum", exact, True),
        ("a sum of numbers drawn at random. Equal up to rounding is equal", sums, True),
        ("a sum of two rows and three columns, around 100", 100 + 50 * sums[:2, :3], True),
        ("a table of ones, which is a sum", np.ones((4, 4)), True),
        ("a diagonal of ones in zeros, which is not a sum", np.eye(6), False),
        (
            "an outer product. It is not a sum: weights after softmax are products, scores are sums",
            np.outer(by_row, by_column),
            False,
        ),
        (moved.format(5, 5), sums + np.where(places == 35, 0.5, 0), False),
        (moved.format(5, 2), sums + np.where(places == 32, 0.5, 0), False),
    ]


@judges("20.2")
@of_function
def _knows_sums(could_be: Answer) -> Verdict:
    """Judge exercise 20.2 on sums, a diagonal, an outer product, and sums with one changed entry."""
    for words, scores, possible in _tables():
        if truth(could_be(scores.copy()), "It must return True or False.") != possible:
            return f"It says {not possible} to {words}."
    return True


@judges("20.3")
def _sees_a_diagonal(frequencies: object) -> Verdict:
    """Judge exercise 20.3: one pair whose score stays the same along the main diagonal and nowhere else."""
    result = array(frequencies, None, "The answer is F, of shape (2, 1).")
    if result.shape != (2, 1):
        return (
            f"F has a row for each axis and a column for the one pair: shape (2, 1). Yours is {result.shape}."
        )
    if result.dtype.kind == "c" or not np.isfinite(result).all():
        return "F holds real numbers."
    return judge_row("20.3", *result[:, 0])


@judges("20.4")
@of_function
def _knows_the_same_heads(same_heads: Answer) -> Verdict:
    """Judge exercise 20.4 on pairs of matrices with reordered columns and on matrices for different heads."""
    rng = np.random.default_rng(204)
    axial, row = axial_frequencies(16, 2, 100.0), inv_freq(16)
    cases = [
        ("the same matrix twice", axial, axial, True),
        ("the same columns in another order", axial, axial[:, rng.permutation(8)], True),
        ("axial, axes dealt in turn", axial, axial[:, np.arange(8).reshape(2, 4).T.ravel()], True),
        ("mixed at 0 and at 30 degrees", mixed_frequencies(16), mixed_frequencies(16, np.pi / 6), False),
        (
            "contiguous and interleaved sections of one row",
            section_frequencies(row, [4, 4]),
            section_frequencies(row, [4, 4], "interleaved"),
            False,
        ),
        (
            "height and width exchanged",
            section_frequencies(row, [5, 3]),
            section_frequencies(row, [5, 3])[::-1],
            False,
        ),
        (
            "each row with the same numbers, paired differently",
            np.array([[1.0, 2.0], [3.0, 4.0]]),
            np.array([[1.0, 2.0], [4.0, 3.0]]),
            False,
        ),
    ]
    for words, first, second, same in cases:
        if truth(same_heads(first.copy(), second.copy()), "It must return True or False.") != same:
            return f"It says {not same} to {words}."
    return True
