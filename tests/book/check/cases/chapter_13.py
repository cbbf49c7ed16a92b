"""Known mistakes, and more right answers, of chapter 13."""

from itertools import groupby

from solutions import answers_of

SOLUTION = answers_of("chapter_13")


settled = SOLUTION["13.1"]


def first_touch(steps, accuracy, level):
    return next((s for s, a in zip(steps, accuracy, strict=True) if a >= level), None)


def its_index(steps, accuracy, level):
    found = settled(steps, accuracy, level)
    return None if found is None else steps.index(found)


def above(steps, accuracy, level):
    return settled(steps, accuracy, level + 1e-6)


def one_too_late(right, trained):
    new = right[trained + 1 :]
    return sum(new) / len(new)


def longest_run(right, trained):
    new = right[trained:]
    return max(len(list(run)) for is_right, run in groupby(new) if is_right) / len(new)


ALSO_RIGHT = {
    "13.2": [lambda right, trained: 1 - right[trained:].count(False) / (len(right) - trained)],
    "13.3": [(0.297, 0.0625)],
}
WRONG = {
    "13.1": [
        (first_touch, "but the curve falls below 0.9 again after that"),
        (its_index, "2 counts the points; the step there is 100."),
        (above, "you gave 200, expected 0."),
        (lambda steps, accuracy, level: "never", "It must return one step, or None."),
    ],
    "13.2": [
        (lambda right, trained: sum(right) / len(right), "the share at all places: the first 4 are not new"),
        (lambda right, trained: sum(right[trained:]), "divide by the number of new places"),
        (one_too_late, "a text of 4 tokens ends at place 3"),
        (longest_run, "trained = 2 you gave 0.333333, expected 0.666667."),
        (lambda right, trained: 0.5, "you gave 0.5, expected 0.25."),
        (lambda right, trained: "few", "It must return one number, the share."),
    ],
    "13.3": [
        ((0.25, 1 / 16), "the guesses at the other 96 places add to it"),
        ((0.25, 0), "Guessing is right now and then"),
        ((38 / 128, 0.5), "0.5 is not that chance"),
        ((0.5, 1 / 16), "0.5 is not the share of 32 right answers and 96 guesses"),
        (0.297, "The answer is two numbers"),
    ],
}
