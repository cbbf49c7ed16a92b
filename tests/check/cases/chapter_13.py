"""Known mistakes, and more right answers, of chapter 13."""

from itertools import product
from math import log

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


def flipped(differences):
    total = abs(sum(differences))
    sums = [
        abs(sum(s * d for s, d in zip(signs, differences, strict=True))) for signs in all_signs(differences)
    ]
    return [value >= total - 1e-9 for value in sums]


def all_signs(differences):
    return product((1, -1), repeat=len(differences))


def one_side(differences):
    signed = [sum(s * d for s, d in zip(signs, differences, strict=True)) for signs in all_signs(differences)]
    return sum(value >= sum(differences) - 1e-9 for value in signed) / len(signed)


def further_out(differences):
    total = abs(sum(differences))
    sums = [
        abs(sum(s * d for s, d in zip(signs, differences, strict=True))) for signs in all_signs(differences)
    ]
    return sum(value > total + 1e-9 for value in sums) / len(sums)


ALSO_RIGHT = {
    "13.4": [(3.47, 3470)],
}
WRONG = {
    "13.1": [
        (first_touch, "but the curve falls below 0.9 again after that"),
        (its_index, "2 counts the points; the step there is 100."),
        (above, "you gave 200, expected 0."),
        (lambda steps, accuracy, level: "never", "It must return one step, or None."),
    ],
    "13.2": [
        (one_side, "That counts one side."),
        (further_out, "one that lies as far out counts too"),
        (lambda differences: sum(flipped(differences)), "divide by all 2ⁿ"),
        (lambda differences: 0.05, "you gave 0.05, expected 0.5000"),
        (lambda differences: "rarely", "It must return one number, the chance."),
    ],
    "13.3": [
        (8, "With 8 the smallest p-value is 0.0078."),
        (10, "All on the other side would be as far out"),
        (12, "fewer would do"),
        (7.5, "The answer is one whole number."),
        (0, "It lies between 1 and 500."),
    ],
    "13.4": [
        ((0.5, 500), "0.5 is the weight that you want"),
        ((log(33), 3497), "the key itself is one of the 33"),
        ((3.0, 3000), "With that bias it gets 39% of the weight."),
        ((log(32), 347), "it takes more or fewer than 347 steps"),
        (3.47, "The answer is two numbers"),
    ],
}
