"""Known mistakes, and more right answers, of chapter 5."""

import cmath
from fractions import Fraction

import numpy as np
from solutions import answers_of

SOLUTION = answers_of("chapter_05")


rope = SOLUTION["5.1"]


def complex_rope(x, position, inv_freq):
    return (x[0::2] + 1j * x[1::2]) * np.exp(1j * position * inv_freq)


def parts_apart(x, position, inv_freq):
    z = complex_rope(x, position, inv_freq)
    return np.concatenate([z.real, z.imag])


def half_split(x, position, inv_freq):
    first, second = np.split(x, 2)
    z = (first + 1j * second) * np.exp(1j * position * inv_freq)
    return np.concatenate([z.real, z.imag])


def turn(z, position, factor=1.0, sense=1):
    return z * cmath.exp(sense * 0.25j * position) * factor**position


def as_pair(z, position):
    turned = turn(z, position)
    return turned.real, turned.imag


DOWN, UP = 2**-0.1, 2**0.1
FADING = (lambda q, m: turn(q, m, DOWN), lambda k, n: turn(k, n, UP))
ALSO_RIGHT = {
    "5.2": [((16, 15), (1, 0)), [[0, 1], [15, 16]]],
    "5.3": [FADING],
    "5.4": [((1, 2), (2, 4)), (1, -3), (1e4 + 3e4j, 2e4 + 6e4j), (Fraction(1, 3), Fraction(2, 3))],
}
WRONG = {
    "5.1": [
        (complex_rope, "The result is complex"),
        (lambda x, m, f: rope(x, -m, f), "It turns clockwise"),
        (parts_apart, "all the first numbers, then all the second ones"),
        (half_split, "numbers half a row apart"),
        (lambda x, m, f: rope(x, m, f).reshape(-1, 2), "its shape is (1, 2)"),
        (lambda x, m, f: rope(x, m + 1, f), "gives something else"),
        (lambda x, m, f: [f"{number:.2f}" for number in rope(x, m, f)], "an array of real numbers"),
    ],
    "5.2": [
        (((1, 0), (5, 4)), "The scores differ by"),
        (((1, 0), (16, 14)), "The distances differ: 1 and 2."),
        (((101, 100), (16, 15)), "Positions are whole numbers from 0 to 100."),
        (((1, 0), (15.5, 14.5)), "Positions are whole numbers from 0 to 100."),
        ((1, 16), "The answer is two places"),
    ],
    "5.3": [
        ((turn, turn), "does not fade"),
        (FADING[::-1], "It grows with distance: exchange the two factors."),
        ((lambda q, m: turn(q, m, DOWN), lambda k, n: turn(k, n, DOWN)), "it sees more than the distance"),
        ((lambda q, m: turn(q, m, DOWN, -1), lambda k, n: turn(k, n, UP, -1)), "turns the other way"),
        ((lambda q, m: 2 * turn(q, m, DOWN), lambda k, n: turn(k, n, UP)), "At position 0"),
        (turn, "The answer is two functions"),
        (
            (lambda q, m: turn(q, m, DOWN**0.5), lambda k, n: turn(k, n, UP**0.5)),
            "At distance 10 the score is",
        ),
        ((turn(1, 0), turn(1, 0)), "two functions, (f_q, f_k), without parentheses"),
        ((as_pair, as_pair), "Each must return one complex number."),
    ],
    "5.4": [
        ((1 + 2j, 1 + 2j), "q = k works; now find one where they differ."),
        ((0, 1), "A zero hides everything"),
        ((1, 1j), "At distance 1 the right score is"),
        (1 + 2j, "The answer is two complex numbers"),
    ],
}
