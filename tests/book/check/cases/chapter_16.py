"""Known mistakes, and more right answers, of chapter 16."""

import math

import numpy as np
from solutions import answers_of

from rope_edu import inv_freq, wavelength

SOLUTION = answers_of("chapter_16")


by_parts = SOLUTION["16.1"]


def by_wavelength(theta, s, length, slow, fast):
    share = np.clip((length / wavelength([theta])[0] - slow) / (fast - slow), 0, 1)
    return theta * (share + (1 - share) / s)


def exchanged(theta, s, length, slow, fast):
    return theta + theta / s - by_parts(theta, s, length, slow, fast)


def unclipped(theta, s, length, slow, fast):
    share = (length * theta / (2 * math.pi) - slow) / (fast - slow)
    return (1 - share) * theta / s + share * theta


def by_tokens(theta, s, length, slow, fast):
    share = min(max((2 * math.pi / theta - slow) / (fast - slow), 0), 1)
    return (1 - share) * theta / s + share * theta


divisors = SOLUTION["16.5"]


def multiplied(theta, s, length, slow, fast):
    share = np.clip((length * theta / (2 * math.pi) - slow) / (fast - slow), 0, 1)
    return theta * (share + (1 - share) * s)


A = 0.1 * math.log(8) + 1
ALSO_RIGHT = {
    "16.1": [by_wavelength],
    "16.2": [1.459],
    "16.3": [63],
    "16.5": [lambda spec, base: [1 / x for x in spec.inv_freq / inv_freq(spec.rotary_dim, base)]],
}
WRONG = {
    "16.1": [
        (exchanged, "yours are exchanged"),
        (unclipped, "The share must stay between 0 and 1"),
        (lambda t, s, n, slow, fast: by_parts(t, s, 2 * math.pi * n, slow, fast), "a turn has 2π of them"),
        (lambda t, s, n, slow, fast: t / s, "gave"),
        (by_tokens, "blends by the wavelength"),
        (lambda t, s, n, slow, fast: by_parts(t, s, n, 1.0, fast), "4096, 2, 16) gave"),
        (lambda t, s, n, slow, fast: by_parts(t, s, n, 2.0, fast), "4096, 1, 32) gave"),
        (lambda t, s, n, slow, fast: by_parts(t, s, n, slow, 32.0), "4096, 2, 16) gave"),
        (multiplied, "The interpolated frequency is θ/s, not θ · s."),
        (lambda t, s, n, slow, fast: (t / s, t), "It must return one frequency."),
    ],
    "16.2": [
        (A, "That is a, on cos and sin"),
        ((0.1 * math.log10(8) + 1) ** 2, "the natural one"),
        ((0.1 * math.log(8)) ** 2, "Add 1"),
        (8, "Scores are not multiplied by 8."),
    ],
    "16.3": [
        (math.exp(10), "a is 2"),
        (10 ** (10 * (math.sqrt(2) - 1)), "not with 10"),
        (10 * (math.sqrt(2) - 1), "That is ln s."),
        (2, "the scores grow by 1.143"),
        (-1, "above 0"),
    ],
    "16.4": [
        ((14, 3, 15), "Kept come first"),
        ((29, 6, 29), "A head of 64 has 32 pairs"),
        ((15, 3, 15), "add up to 33"),
        ((10, 12, 10), "divided differently"),
    ],
    "16.5": [
        (lambda spec, base: 1 / divisors(spec, base), "a divisor is the inverse"),
        (lambda spec, base: divisors(spec, 10_000), "Does the base reach inv_freq?"),
        (lambda spec, base: spec.inv_freq, "These are the frequencies"),
        (lambda spec, base: divisors(spec, base)[:3], "One divisor for each pair"),
        (
            lambda spec, base: divisors(spec, base)[::-1],
            "For the yarn spec the first divisors should be [1.0, 1.0, 1.0].",
        ),
    ],
}
