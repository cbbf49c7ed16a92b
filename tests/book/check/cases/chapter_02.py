"""Known mistakes, and more right answers, of chapter 2."""

import math

import numpy as np
from solutions import answers_of

from rope_edu.encodings import shift_matrix

NOISE = np.random.default_rng(0).normal(size=(64, 64))
SOLUTION = answers_of("chapter_02")


encode = SOLUTION["2.1"]


def sines_first(position, d_model, base):
    pairs = encode(position, d_model, base)
    return np.concatenate([pairs[0::2], pairs[1::2]])


def half_exponent(position, d_model, base):
    angles = position * base ** (-np.arange(d_model // 2) / d_model)
    return np.stack([np.sin(angles), np.cos(angles)], axis=1).ravel()


first_slow_pair = SOLUTION["2.2"]


def unrounded(d_model, base, tokens):
    return d_model / 2 * math.log(tokens / (2 * math.pi)) / math.log(base)


move = SOLUTION["2.3"]


ALSO_RIGHT = {
    "2.4": [3 * shift_matrix(1, 64)],
    "2.5": [
        frozenset({"word-place", "place-word"}),
        ["word-place", "place-word"],
        ("place-word", "word-place"),
        np.array(["place-word", "word-place"]),
        {"word-place": 1.55, "place-word": 1.55}.keys(),
    ],
}
WRONG = {
    "2.1": [
        (sines_first, "all the sines, then all the cosines"),
        (lambda p, d, b: encode(p, d, b).reshape(-1, 2)[:, ::-1].ravel(), "the sine comes first"),
        (half_exponent, "The exponent of pair i is −2i/d"),
        (lambda p, d, b: encode(p, d, b).reshape(-1, 2), "Its shape is (2, 2)"),
        (lambda p, d, b: encode(p + 1, d, b), "Position 0, d = 4, base 100 comes out wrong."),
    ],
    "2.2": [
        (lambda d, b, t: 2 * first_slow_pair(d, b, t), "Those are features, not pairs"),
        (lambda d, b, t: first_slow_pair(d, b, t) + 1, "Pairs are counted from 0"),
        (lambda d, b, t: first_slow_pair(d, b, t) - 1, "the last pair that does complete"),
        (unrounded, "A pair's number is whole"),
        (lambda d, b, t: 1, "For d = 64, base 10000 and 1000 tokens it says 1."),
        (lambda d, b, t: range(first_slow_pair(d, b, t), d // 2), "It must return the number of one pair."),
    ],
    "2.3": [
        (lambda k, f: move(-k, f), "It moves by k tokens back"),
        (lambda k, f: move(k, 1.0), "k times the frequency"),
        (lambda k, f: move(1, f), "does not carry the pair"),
        (lambda k, f: complex(1, f), "The answer is a 2 × 2 matrix."),
    ],
    "2.4": [
        (shift_matrix(-1, 64), "This head looks 1 token ahead."),
        (shift_matrix(2, 64), "2 tokens back"),
        (np.eye(64), "at itself"),
        (shift_matrix(1, 32), "W is a 64 × 64 matrix. Its shape is (32, 32)"),
        (np.zeros((64, 64)), "1 of 199 positions score their predecessor highest"),
        (shift_matrix(1, 64) + 0.6 * NOISE, "5 of 199 positions score their predecessor highest"),
    ],
    "2.5": [
        ({"word-word", "place-place"}, "These two no longer change"),
        ({"word-place", "place-word", "place-place"}, "That holds for a random W"),
        ({"word-place"}, "One more"),
        ({"word-word", "word-place", "place-word"}, "Two words carry no position"),
        ({"word place"}, "Names are place-place"),
        ("word-place", "The answer is a set of names"),
    ],
}
