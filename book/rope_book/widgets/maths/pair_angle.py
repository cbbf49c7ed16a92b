"""Compute the angle between two arrows that turn with their positions, and the position of a dragged arrow."""

import math
from collections.abc import Sequence

Pair = Sequence[float]


def content_angle(q: Pair, k: Pair) -> float:
    r"""Return φ, the angle from k to q before rotation, in radians in [−π, π].

    >>> round(content_angle((0.0, 1.0), (1.0, 0.0)) / math.pi, 12)
    0.5

    Chapter 4.
    """
    return math.remainder(_angle(q) - _angle(k), 2 * math.pi)


def angle_between(q: Pair, k: Pair, distance: float, inv_freq: float) -> float:
    r"""Return φ + (m − n)θ, the angle from the rotated k to the rotated q, in radians, including whole turns.

    `distance` is m − n in tokens, and `inv_freq` is θ in radians per token.

    >>> angle_between((1.0, 0.0), (1.0, 0.0), 30, 0.25)  # more than a turn
    7.5

    Chapter 4.
    """
    return content_angle(q, k) + distance * inv_freq


def position_towards(pair: Pair, position: float, inv_freq: float, pointed: Pair, most: int) -> float:
    r"""Return the position from 0 to `most`, possibly fractional, at which a pair points towards `pointed`.

    Of several such positions, the result is the one within half a turn of `position`, so that an arrow can be
    dragged around several times. If `inv_freq` is 0, the pair never turns, and the result is `position`.

    >>> position_towards((1.0, 0.0), 6, math.pi / 4, (0.0, -1.0), 64)  # it points down already
    6.0
    >>> position_towards((1.0, 0.0), 6, math.pi / 4, (1.0, 0.0), 64)  # a quarter turn on: not back to 0
    8.0

    Chapter 4.
    """
    if not inv_freq:
        return position
    more = math.remainder(_angle(pointed) - _angle(pair) - position * inv_freq, 2 * math.pi) / inv_freq
    return min(most, max(0.0, position + more))


def _angle(pair: Pair) -> float:
    return math.atan2(pair[1], pair[0])
