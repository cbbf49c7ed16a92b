"""Known mistakes, and more right answers, of chapter 6."""

import math

import numpy as np
from solutions import answers_of

SOLUTION = answers_of("chapter_06")

HANDS = np.array([1, 0.1, 0.01, 0.001])
EXPECTED = np.outer(np.arange(64), HANDS)


decode = SOLUTION["6.3"]


ALSO_RIGHT = {
    "6.3": [lambda angles: [int(decode(angles))], lambda angles: float(decode(angles))],
}
WRONG = {
    "6.1": [
        (lambda n, d: n / (2 * math.pi), "The last pair is number d/2 − 1"),
        (lambda n, d: n ** (d / (d - 2)), "A turn is 2π radians"),
        (lambda n, d: (n / (2 * math.pi)) ** ((d - 2) / d), "Upside down"),
        (lambda n, d: 0.5, "A base is a number above 1"),
        (lambda n, d: 10_000, "too short"),
        (lambda n, d: (n / (2 * math.pi), d / (d - 2)), "A base is one number."),
    ],
    "6.2": [
        (34, "the last pair that completes a turn"),
        (34.98, "A number of pairs is whole"),
        (70, "Those are features"),
        (29, "Those are the ones that do not"),
        (50.0, "That is the count for a base of 10,000"),
    ],
    "6.3": [
        (lambda angles: round(angles[3] / 0.001), "The slowest hand alone"),
        (lambda angles: round(angles[0]), "The fastest hand alone"),
        (
            lambda angles: np.abs(EXPECTED - angles).sum(axis=1).argmin(),
            "Angles are compared round the circle",
        ),
        (lambda angles: decode(angles) + 0.5, "A position is a whole number."),
        (lambda angles: angles / HANDS, "It must return one position, a whole number."),
        (
            lambda angles: np.square(EXPECTED - angles).sum(axis=1).argmin(),
            "Angles are compared round the circle",
        ),
        (
            lambda angles: np.abs(EXPECTED % (2 * math.pi) - angles).sum(axis=1).argmin(),
            "Angles are compared round the circle",
        ),
    ],
    "6.4": [
        (8, "some far position still looks more alike"),
        (32, "A smaller width does it too."),
        (15, "A head's width is an even whole number."),
        (1024, "It is much smaller."),
    ],
}
