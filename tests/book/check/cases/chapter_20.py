"""Known mistakes, and more right answers, of chapter 20."""

import numpy as np
from solutions import answers_of

SOLUTION = answers_of("chapter_20")


deal = SOLUTION["20.1"]


could_be = SOLUTION["20.2"]


def row_by_row(first, second):
    return np.allclose(np.sort(first), np.sort(second))


def halves(row):
    half = np.arange(len(row)) < len(row) // 2
    return np.stack([row * half, row * ~half])


same_heads = SOLUTION["20.4"]


def same_sizes(first, second):
    return np.allclose(*(np.sort(np.linalg.norm(f, axis=0)) for f in (first, second)))


ALSO_RIGHT = {
    "20.1": [lambda row: deal(row).tolist()],
    "20.2": [
        lambda s: int(could_be(s)),
        lambda s: np.linalg.matrix_rank(np.exp(s / np.ptp(s) if np.ptp(s) else s), tol=1e-6) == 1,
    ],
    "20.3": [np.array([[-0.5], [0.5]])],
}
WRONG = {
    "20.1": [
        (halves, "Height has the fast half"),
        (lambda row: deal(row)[::-1], "height takes the even ones"),
        (
            lambda row: np.stack([row * (np.arange(len(row)) % 2 == 0), row * (np.arange(len(row)) % 2)]),
            "height's pairs come first",
        ),
        (lambda row: row, "it must return shape (2, 4)"),
        (lambda row: 2 * deal(row), "it returned something else"),
    ],
    "20.2": [
        (lambda s: np.linalg.matrix_rank(s) == 1, "It says False to"),
        (lambda s: np.isclose(s[1, 1] + s[0, 0], s[1, 0] + s[0, 1]), "look at all of them"),
        (lambda s: True, "It says True to"),
        (lambda s: could_be(s) or np.linalg.matrix_rank(s) == 1, "an outer product. It is not a sum"),
        (lambda s: (s + s[0, 0] == s[:, :1] + s[:1]).all(), "Equal up to rounding is equal"),
        (
            lambda s: (
                np.allclose(np.diag(s) + s[0, 0], (s[:, 0] + s[0])[: len(s)])
                if s.shape[0] == s.shape[1]
                else True
            ),
            "row 5 and column 2",
        ),
        (lambda s: "yes", "It must return True or False."),
        (
            lambda s: s.shape[0] == s.shape[1] and could_be(s),
            "It says False to a sum of two rows and three columns, around 100.",
        ),
        (lambda s: np.ptp(s) > 0 and could_be(s), "It says False to a table of ones, which is a sum."),
    ],
    "20.3": [
        ([[1.0], [1.0]], "That is the other diagonal"),
        ([[1.0], [0.0]], "must not turn the pair"),
        ([[0.0], [0.0]], "That pair does not turn at all."),
        ([[1e-3], [-1e-3]], "must lower the score"),
        ([1.0, -1.0], "shape (2, 1). Yours is (2,)"),
        ({"height": 1.0, "width": -1.0}, "The answer is F, of shape (2, 1)."),
        ([[1j], [-1j]], "F holds real numbers."),
    ],
    "20.4": [
        (lambda f, g: np.allclose(f, g), "It says False to the same columns in another order."),
        (row_by_row, "It says True to"),
        (lambda f, g: np.allclose(np.sort(f.sum(0)), np.sort(g.sum(0))), "It says True to contiguous"),
        (lambda f, g: not same_heads(f, g), "It says False to the same matrix twice."),
        (same_sizes, "It says True to mixed at 0 and at 30 degrees."),
        (
            lambda f, g: same_heads(f, g) or same_heads(f, g[::-1]),
            "It says True to height and width exchanged.",
        ),
        (lambda f, g: f == g, "It must return True or False."),
    ],
}
