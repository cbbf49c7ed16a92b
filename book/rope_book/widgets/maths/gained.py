"""Apply a gain to each feature of a pair, before or after the rotation, and compute the effect on the score."""

import math
from collections.abc import Sequence

from rope_edu.encodings import rotate_pair

Pair = Sequence[float]
Q, K = [1.1, 0.3], [0.7, 0.8]  # query and key pair of the figure


def gained_pair(pair: Pair, angle: float, gains: Pair, after: bool) -> tuple[float, float]:
    r"""Rotate a pair by an angle, applying a gain to each feature before or after the rotation.

        after:  G R(α) x      before:  R(α) G x,      G = diag(gains)

    `pair` and `gains` have two numbers each; any other length raises ValueError. `angle` is in radians.

    >>> gained_pair((1.0, 0.0), math.pi / 2, (2.0, 3.0), after=True)[1]  # turned to the second feature, times 3
    3.0
    >>> gained_pair((1.0, 0.0), math.pi / 2, (2.0, 3.0), after=False)[1]
    2.0

    Chapter 23.
    """
    if not len(pair) == len(gains) == 2:
        raise ValueError(f"pair and gains must have 2 members each, got {len(pair)} and {len(gains)}")
    first, second = gains
    if after:
        x, y = rotate_pair(pair, angle)
        return first * x, second * y
    return rotate_pair((first * pair[0], second * pair[1]), angle)


def gained_score(
    q: Pair, k: Pair, position: float, distance: float, inv_freq: float, gains: Pair, after: bool
) -> float:
    r"""Return the score of a query pair at `position` + `distance` and a key pair at `position`, with equal gains.

    `position` and `distance` are in tokens, and `inv_freq` is in radians per token. The gains are applied as in
    `gained_pair`.

    >>> turned = dict(distance=1, inv_freq=0.5, gains=(2.0, 1.0))
    >>> before = [gained_score((1.0, 0.0), (1.0, 0.0), n, after=False, **turned) for n in (0, 3)]
    >>> [round(score, 3) for score in before]  # the same at both positions
    [3.51, 3.51]
    >>> after = [gained_score((1.0, 0.0), (1.0, 0.0), n, after=True, **turned) for n in (0, 3)]
    >>> [round(score, 3) for score in after]
    [3.51, 0.789]

    Chapter 23.
    """
    q_turned = gained_pair(q, (position + distance) * inv_freq, gains, after)
    k_turned = gained_pair(k, position * inv_freq, gains, after)
    return q_turned[0] * k_turned[0] + q_turned[1] * k_turned[1]


def gained_parts(q: Pair, k: Pair, distance: float, inv_freq: float, gains: Pair) -> tuple[float, float]:
    r"""Return the constant part of a score and the amplitude of the varying part, with gains after the rotation.

        s(n) = |q||k| [ (a+b)/2 · cos(rθ + φ_q − φ_k) + (a−b)/2 · cos((2n+r)θ + φ_q + φ_k) ]

    Here, a and b are the squares of the two gains, r is `distance` in tokens, n is the key's position, and φ_q and
    φ_k are the pairs' angles.

    Returns:
        (first term, |q||k||a−b|/2).

    >>> gained_parts((1.0, 0.0), (1.0, 0.0), 0, 0.1, (2.0, 1.0))  # between 4 and 1
    (2.5, 1.5)

    Chapter 23.
    """
    a, b = gains[0] ** 2, gains[1] ** 2
    lengths = math.hypot(*q) * math.hypot(*k)
    between = math.atan2(q[1], q[0]) - math.atan2(k[1], k[0])
    return lengths * (a + b) / 2 * math.cos(distance * inv_freq + between), lengths * abs(a - b) / 2
