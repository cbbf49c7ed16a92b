"""Known mistakes, and more right answers, of chapter 14."""

import math

import numpy as np
from solutions import answers_of

SOLUTION = answers_of("chapter_14")

TURN = 2 * math.pi


new_pairs = SOLUTION["14.1"]


def backwards(r, frequencies, length):
    return new_pairs(r, frequencies, length)[::-1]


distances = SOLUTION["14.4"]


def both_ways(length, window, leak):
    r = np.abs(np.subtract.outer(np.arange(length), np.arange(length)))
    return np.where(r < window, r, window + (r - window) / leak)


def jumps(length, window, leak):
    r = np.maximum(np.subtract.outer(np.arange(length), np.arange(length)), 0)
    return np.where(r < window, r, r / leak)


def divides_all(length, window, leak):
    r = distances(length, window, 1)
    return np.where(r < window, r, window + r / leak)


def cut(length, window, leak):
    return np.minimum(np.maximum(np.subtract.outer(np.arange(length), np.arange(length)), 0), window)


advantage = SOLUTION["14.2"]


ALSO_RIGHT = {
    "14.1": [backwards, lambda *a: set(new_pairs(*a))],
}
WRONG = {
    "14.1": [
        (lambda r, f, n: np.flatnonzero(r * f > n * f), "a hand shows at most one turn"),
        (lambda r, f, n: np.flatnonzero(n * f < TURN), "Those are all slow pairs."),
        (lambda r, f, n: np.flatnonzero(r * f % TURN > n * f % TURN), "not off what training showed"),
        (lambda r, f, n: np.flatnonzero(r * f % TURN <= n * f), "the pairs whose angle is known"),
        (lambda r, f, n: r * f % TURN > n * f, "That says yes or no for every pair"),
        (lambda *a: [f"pair {i}" for i in new_pairs(*a)], "The answer is a list of pairs."),
    ],
    "14.2": [
        (lambda n, w: np.log(w / (1 - w) * n), "The others are n − 1 keys."),
        (lambda n, w: np.log(w * (n - 1)), "the weight is on both sides"),
        (lambda n, w: np.log(n - 1), "The weight does not come into it yet."),
        (lambda n, w: advantage(n, w) / np.log(10), "the natural logarithm"),
        (lambda n, w: np.log((1 - w) / w * (n - 1)), "Upside down"),
        (lambda n, w: w / (1 - w) * (n - 1), "That is e to the advantage."),
        (lambda n, w: np.log2(w / (1 - w) * (n - 1)), "With 4,096 keys and weight 0.84 it is not"),
    ],
    "14.3": [
        ((17_205, 2794), "which whole distance is the first beyond it?"),
        ((17_206, 3616), "not whole trained lengths"),
        ((2794, 17_206), "The other way round"),
        ((21_302, 2794), "when does it enter the arc?"),
        ((4097, 2794), "that takes a whole turn"),
        ((17_300, 2794), "but not for the first time"),
        ((17_206, 100), "which distance leaves the same rest?"),
    ],
    "14.4": [
        (both_ways, "Keys that come later than the query have 0."),
        (jumps, "at its edge nothing may jump"),
        (lambda n, w, k: np.floor(distances(n, w, k)), "/ and not //"),
        (divides_all, "Divide r − w"),
        (cut, "leak is not used"),
        (lambda *a: distances(*a).T, "Queries are rows"),
        (lambda n, w, k: distances(n, w, k)[0], "The matrix has a row for each of the 10 queries"),
        (lambda n, w, k: distances(n, w, 1 / k), "Wrong for 10 tokens, window 4, leak 5."),
        (lambda n, w, k: distances(n, w, 5), "Wrong for 6 tokens, window 3, leak inf."),
    ],
}
