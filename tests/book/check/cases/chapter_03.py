"""Known mistakes, and more right answers, of chapter 3."""

import math

import numpy as np
from solutions import answers_of

from rope_edu import t5_bucket

SOLUTION = answers_of("chapter_03")


first_distance = SOLUTION["3.2"]


def rounded_down(bucket, num_buckets, max_distance):
    exact = num_buckets // 2
    way = max(0, bucket - exact) / (num_buckets - exact)
    return min(bucket, exact) if bucket < exact else math.floor(exact * (max_distance / exact) ** way)


def unrounded(bucket, num_buckets, max_distance):
    exact = num_buckets // 2
    return (
        bucket
        if bucket < exact
        else exact * (max_distance / exact) ** ((bucket - exact) / (num_buckets - exact))
    )


def last_distance(bucket, num_buckets, max_distance):
    return first_distance(bucket + 1, num_buckets, max_distance) - 1


blind_from = SOLUTION["3.4"]


index = SOLUTION["3.5"]


def unclipped(length, clip):
    return np.arange(length)[None, :] - np.arange(length)[:, None] + clip


def all_distances(bucket, num_buckets, max_distance):
    buckets = t5_bucket(
        -np.arange(max_distance + 1),
        bidirectional=False,
        num_buckets=num_buckets,
        max_distance=max_distance,
    )
    return np.flatnonzero(buckets == bucket)


SLOPES = [1 / 4, 1 / 16, 1 / 64, 1 / 256, 1 / 2, 1 / 8]
WRONG = {
    "3.1": [
        (t5_bucket(-np.array([0, 15, 16, 32, 64, 1000]), bidirectional=True), "the buckets of an encoder"),
        ([0, 15, 16, 22, 27, 31], "Round down"),
        ([0, 15, 16, 21, 26, 32], "There are 32 buckets"),
        ([0, 15, 16, 32, 26, 31], "Look again at distance 32"),
        ([0, 15], "a list of 6 buckets"),
    ],
    "3.2": [
        (rounded_down, "Round up: below the bound the bucket has not begun."),
        (unrounded, "A distance is whole: round up."),
        (
            last_distance,
            "first_distance(16, 32, 128) should be 16, not 18. That is the last distance of the bucket.",
        ),
        (lambda b, size, far: b, "first_distance(17, 32, 128) should be 19, not 17."),
        (all_distances, "It must return one distance."),
    ],
    "3.3": [
        (2.0 ** (-8 * np.arange(1, 7) / 6), "the paper's formula with H = 6"),
        (sorted(SLOPES, reverse=True), "their order is not"),
        ([2, 4, 6, 8, 1, 3], "Those are the exponents"),
        ([1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64], "the first six of eight heads"),
        (0.25, "The answer is six numbers."),
    ],
    "3.4": [
        (lambda m: blind_from(m) - 1, "count from the query, not from its neighbour"),
        (lambda m: 1 + math.log(100) / m, "A distance is whole"),
        (lambda m: math.floor(1 + 2 / m) + 1, "powers of e, not of 10"),
        (lambda m: 11, "For slope 0.25 the first such distance is 20, not 11."),
        (lambda m: (blind_from(m), math.exp(-m)), "It must return one distance."),
        (lambda m: math.floor(2 / m) + 1, "powers of e, not of 10"),
    ],
    "3.5": [
        (lambda n, k: index(n, k).T, "Rows and columns are swapped"),
        (lambda n, k: index(n, k) - k, "a table has no negative rows"),
        (unclipped, "clip first"),
        (lambda n, k: index(n, k)[0], "For length 4 it is 4 × 4 rows. Its shape is (4,)"),
        (lambda n, k: index(n, k) + 1, "It differs for length 4 and K = 2."),
    ],
}
