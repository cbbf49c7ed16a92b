"""Compare a curve that a reader has drawn with the true curve."""

import math
from collections.abc import Sequence


def guess_at(start: float, heights: Sequence[float], share: float) -> float:
    r"""Return the height of a drawn line at a fraction of its length, 0 to 1, by linear interpolation.

    The line begins at height `start` and passes through `heights` at equal horizontal intervals.

    >>> guess_at(1.0, [0.5, 0.0], 0.75)
    0.25

    Chapter 9.
    """
    line = [start, *heights]
    place = share * (len(line) - 1)
    left = min(len(line) - 2, math.floor(place)) if heights else 0
    right = min(left + 1, len(line) - 1)
    return line[left] + (line[right] - line[left]) * (place - left)


def guess_gap(
    start: float, heights: Sequence[float], shares: Sequence[float], truth: Sequence[float]
) -> float:
    r"""Return the mean vertical distance between a drawn line and the true curve at some fractions of its length.

    >>> guess_gap(1.0, [0.5, 0.0], [0.0, 0.5, 1.0], [1.0, 0.5, 0.3])
    0.09999999999999999

    Chapter 9.
    """
    gaps = [abs(guess_at(start, heights, x) - y) for x, y in zip(shares, truth, strict=True)]
    return sum(gaps) / len(gaps)
