"""Known mistakes, and more right answers, of appendix A3."""

from itertools import product
from math import log


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
    "A3.3": [(3.47, 3470)],
}
WRONG = {
    "A3.1": [
        (one_side, "That counts one side."),
        (further_out, "one that is as far out counts too"),
        (lambda differences: sum(flipped(differences)), "divide by all 2ⁿ"),
        (lambda differences: 0.05, "you gave 0.05, expected 0.5000"),
        (lambda differences: "rarely", "It must return one number, the chance."),
    ],
    "A3.2": [
        (8, "With 8 the smallest p-value is 0.0078."),
        (10, "All on the other side would be as far out"),
        (12, "fewer would do"),
        (7.5, "The answer is one whole number."),
        (0, "It is between 1 and 500."),
    ],
    "A3.3": [
        ((0.5, 500), "0.5 is the weight that you want"),
        ((log(33), 3497), "the key itself is one of the 33"),
        ((3.0, 3000), "With that bias it gets 39% of the weight."),
        ((log(32), 347), "it takes more or fewer than 347 steps"),
        (3.47, "The answer is two numbers"),
    ],
}
