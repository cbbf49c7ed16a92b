"""Known mistakes, and more right answers, of appendix A1."""

import numpy as np
from solutions import answers_of

SOLUTION = answers_of("chapter_a1")


turns_until = SOLUTION["A1.2"]


def all_taken(length, theta):
    return np.exp(1j * np.arange(length)[:, None] * theta)


def suspect(x, theta):
    positions = np.arange(len(x), dtype=x.dtype)
    return positions[:, None] * theta.astype(x.dtype)


def half_mended(x, theta):
    return np.arange(len(x), dtype=x.dtype)[:, None].astype(float) * theta


mended = SOLUTION["A1.3"]


ALSO_RIGHT = {
    "A1.1": [lambda digits: 2**digits],
}
WRONG = {
    "A1.1": [
        (lambda p: 2 ^ p, "^ is a different operation"),
        (lambda p: 2**p - 1, "2^8 fits too"),
        (lambda p: 2**p + 1, "it has 9 digits"),
        (lambda p: 2 ** (p - 1), "and so have many above it"),
        (lambda p: 7, "With 8 digits it is not 7."),
    ],
    "A1.2": [
        (lambda n, theta: turns_until(n, -theta), "It turns the other way"),
        (lambda n, theta: turns_until(n, theta).astype(np.complex64), "Is something kept in complex64?"),
        (lambda n, theta: turns_until(n, theta)[::-1], "in a different order"),
        (all_taken, "it took 1,000 angles of each pair; 600 are allowed."),
        (lambda n, theta: turns_until(n, theta).real, "A turn is a complex number"),
        (
            lambda n, theta: turns_until(256 * (n // 256 + 1), theta),
            "it must be (1, 2). Its shape is (256, 2)",
        ),
        (lambda n, theta: turns_until(n + 1, theta)[1:], "from m = 0 on"),
    ],
    "A1.3": [
        (suspect, "off from position 1 on: the frequencies are rounded"),
        (half_mended, "off from position 2049 on: float16 has no 2049"),
        (lambda x, theta: mended(x, theta)[0], "the angles are (5, 4). Its shape is (4,)"),
        (lambda x, theta: mended(x, theta) + 1, "For an x in float64 the angles are off from position 0 on"),
    ],
}
