"""Chapter 3 exercises: bias by distance."""

import math
from typing import Any

import numpy as np

from rope_book.check.answers import Answer, array, number, of_function
from rope_book.check.exercise import Verdict, close, judges
from rope_edu.encodings import shaw_index, t5_bucket


def _buckets(distances: Any, num_buckets: int = 32, max_distance: int = 128) -> np.ndarray:
    """Return the causal bucket of each distance, in tokens back from the query."""
    return t5_bucket(
        -np.asarray(distances), bidirectional=False, num_buckets=num_buckets, max_distance=max_distance
    )


@judges("3.2")
@of_function
def _finds_first_distance(first: Answer) -> Verdict:
    """Judge exercise 3.2: the smallest distance of every causal bucket, for three tables."""
    for size, far in ((32, 128), (16, 100), (24, 200)):
        buckets = _buckets(np.arange(far + 1), size, far)
        for bucket in range(size):
            expected = int(np.flatnonzero(buckets == bucket)[0])
            seen = number(first(bucket, size, far), "It must return one distance.")
            if not close(seen, expected):
                case = f"first_distance({bucket}, {size}, {far}) should be {expected}, not {seen}."
                last = bucket < size - 1 and close(seen, int(np.flatnonzero(buckets == bucket)[-1]))
                return case + _why_not_first(seen, expected, last)
    return True


def _why_not_first(seen: float, expected: int, last: bool) -> str:
    """Return a sentence that names the likely mistake behind a wrong first distance, or "" if it is unknown."""
    if seen % 1:
        return " A distance is whole: round up."
    if last:
        return " That is the last distance of the bucket."
    return " Round up: below the bound the bucket has not begun." if seen == expected - 1 else ""


@judges("3.4")
@of_function
def _finds_where_it_goes_blind(blind_from: Answer) -> Verdict:
    """Judge exercise 3.4: the first distance whose weight is less than 1 % of the previous token's."""
    for slope in (0.5, 0.25, 0.1, 1 / 64, 1 / 256):
        expected = math.floor(1 + math.log(100) / slope) + 1
        seen = number(blind_from(slope), "It must return one distance.")
        if not close(seen, round(seen.real)):
            return "A distance is whole: the first one beyond the bound."
        if close(seen, math.floor(1 + 2 / slope) + 1) or close(seen, math.floor(2 / slope) + 1):
            return "The weights are powers of e, not of 10: take the natural logarithm."
        if close(seen, expected - 1):
            return f"For slope {slope:.4g} you are one short: count from the query, not from its neighbour."
        if not close(seen, expected):
            return f"For slope {slope:.4g} the first such distance is {expected}, not {seen}."
    return True


@judges("3.5")
@of_function
def _builds_index(index: Answer) -> Verdict:
    """Judge exercise 3.5: Shaw's index matrix for several lengths and clipping distances K."""
    for length, clip in ((4, 2), (9, 3), (5, 8), (7, 1)):
        expected = shaw_index(length, length, clip)
        seen = array(
            index(length, clip), (length, length), f"For length {length} it is {length} × {length} rows."
        )
        unclipped = np.arange(length)[None] - np.arange(length)[:, None] + clip
        if close(seen, expected.T):
            return "Rows and columns are swapped: a row is a query, and keys to its left come first."
        if close(seen, expected - clip):
            return "Those are clipped relative positions; a table has no negative rows."
        if not close(seen, expected) and close(seen, unclipped):
            return f"Beyond K = {clip} tokens all distances share one row: clip first."
        if not close(seen, expected):
            return f"It differs for length {length} and K = {clip}."
    return True
