"""Right answers and known mistakes of chapter 13."""

from math import comb


def settled(steps, accuracy, level):
    below = [n for n, share in enumerate(accuracy) if share < level]
    start = below[-1] + 1 if below else 0
    return steps[start] if start < len(steps) else None


def first_touch(steps, accuracy, level):
    return next((s for s, a in zip(steps, accuracy, strict=True) if a >= level), None)


def its_index(steps, accuracy, level):
    found = settled(steps, accuracy, level)
    return None if found is None else steps.index(found)


def above(steps, accuracy, level):
    return settled(steps, accuracy, level + 1e-6)


def tail(wins, n):
    return sum(comb(n, k) for k in range(max(wins, n - wins), n + 1)) / 2**n


RANKS = ([2, 2, 2, 2, 5], [3, 3, 3, 3, 1])
RIGHT = {
    "13.1": [settled],
    "13.2": [lambda wins, n: min(1.0, 2 * tail(wins, n))],
    "13.3": [7],
    "13.4": [RANKS, ([4, 4, 4, 4, 5], [5, 5, 5, 5, 1])],
}
WRONG = {
    "13.1": [
        (first_touch, "but the curve falls below 0.9 again after that"),
        (its_index, "2 counts the points; the step there is 100."),
        (above, "you gave 200, expected 0."),
        (lambda steps, accuracy, level: "never", "It must return one step, or None."),
    ],
    "13.2": [
        (tail, "That is one side."),
        (lambda wins, n: 2 * tail(wins, n), "no chance is above 1"),
        (lambda wins, n: min(1, 2 * comb(n, wins) / 2**n), "the chance of this very result"),
        (lambda wins, n: 0.05, "you gave 0.05, expected 1.0000"),
    ],
    "13.3": [
        (6, "With 6 each, chance alone sets them apart once in 462."),
        (8, "fewer would do"),
        (7.5, "The answer is one whole number."),
        (0, "It lies between 1 and 500."),
    ],
    "13.4": [
        (RANKS[::-1], "A must be ahead on exactly 4 tasks; it is on 1."),
        (([1, 1, 1, 1, 5], [2, 2, 2, 2, 1]), "is not below B's"),
        (([2, 2, 2, 2, 6], [3, 3, 3, 3, 1]), "A rank is 1 to 5."),
        (([2, 2, 2, 2, 1], [3, 3, 3, 3, 1]), "two encodings cannot have one rank"),
        ((2, 3), "The answer is two lists of five whole numbers each"),
    ],
}
