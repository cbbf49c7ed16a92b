"""Known mistakes, and more right answers, of chapter 17."""

import math

import numpy as np
from solutions import answers_of

from rope_book.results import first_negative_distance, smallest_base
from rope_edu import inv_freq

SOLUTION = answers_of("chapter_17")


first_below_zero = SOLUTION["17.1"]


def first_of_sines(frequencies):
    r = 1
    while np.sin(r * np.asarray(frequencies)).sum() >= 0:
        r += 1
    return r


reach_of = SOLUTION["17.5"]


def every_feature(rotary_dim, head_dim, base):
    still = np.zeros(head_dim - rotary_dim)
    return first_negative_distance(np.concatenate([inv_freq(rotary_dim, base), still]), 20_001)


def all_below_zero(frequencies):
    return np.flatnonzero(np.cos(np.arange(2000)[:, None] * frequencies).sum(axis=1) < 0)


ALSO_RIGHT = {
    "17.1": [lambda f: first_negative_distance(f, 20_000)],
    "17.2": [178_000],
    "17.3": [round(smallest_base(2000, 64))],
    "17.4": [1.01 * smallest_base(2048)],
}
WRONG = {
    "17.1": [
        (lambda f: first_below_zero(f) - 1, "one distance off"),
        (lambda f: 2, "a single pair is negative"),
        (first_of_sines, "not of sines"),
        (lambda f: 17, "the sum there says otherwise"),
        (all_below_zero, "It must return one distance."),
        (lambda f: first_below_zero(f) + 1, "one distance off"),
    ],
    "17.2": [
        (100_000, "γ is in the line too"),
        (100_000 / math.exp(np.euler_gamma), "the other side"),
        (math.log(178_107), "That is ln b."),
        (1e6, "the line is zero at 561,459 tokens"),
    ],
    "17.3": [
        (smallest_base(2000), "That is for heads of 128"),
        (10_000, "score below zero at distance 725"),
        (1e7, "a smaller one will do too"),
        (0, "above 1"),
    ],
    "17.4": [
        (10_000, "It must be above smallest_base(2048)"),
        (1e6, "that one will do"),
        ("12,000", "The answer is one base."),
    ],
    "17.5": [
        (lambda rotary, head, base: reach_of(rotary, rotary, base), "adds its cosine of 1"),
        (every_feature, "Two features make a pair"),
        (lambda rotary, head, base: reach_of(head, head, base), "belong to rotary_dim"),
        (lambda rotary, head, base: (rotary, reach_of(rotary, head, base)), "One distance, or None."),
    ],
}
