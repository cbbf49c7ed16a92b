"""Compute a fern, which is a head's clock hands chained tip to tail, slowest first. It curls as the distance grows.

At distance 0, every hand points straight up; at distance r, hand i has turned clockwise by r θ_i. The height of the
tip is therefore a sum of cosines, which is the score.
"""

from collections.abc import Sequence

import numpy as np

STEP = 0.01  # step in log10(1 + distance) between candidate positions of a dragged tip
LOOK = 24  # number of candidate steps to either side


def fern(
    inv_freq: np.ndarray,
    attention_factor: float,
    distance: float,
    lengths: Sequence[float] = (),
    angles: Sequence[float] = (),
) -> np.ndarray:
    """Return a fern's joints (sideways, up) from root to tip, `(pairs + 1, 2)`, relative to the straight stem.

    `lengths` and `angles` (radians) describe the content of each pair. They default to 1 and 0, as for equal
    vectors.

    >>> fern(np.array([np.pi / 2, 0.0]), 1.0, 1.0).round(12).tolist()  # slow hand up, fast hand sideways
    [[0.0, 0.0], [0.0, 0.5], [0.5, 0.5]]

    Chapter 9.
    """
    pairs = len(inv_freq)
    sizes, phases = padded(lengths, pairs, 1.0), padded(angles, pairs, 0.0)
    turned = distance * np.asarray(inv_freq) + phases
    shares = attention_factor**2 * sizes / (sizes.sum() or 1.0)
    hands = (shares * [np.sin(turned), np.cos(turned)]).T[::-1]  # (pairs, 2), slowest first
    return np.vstack([np.zeros((1, 2)), np.cumsum(hands, axis=0)])


def padded(values: Sequence[float], pairs: int, otherwise: float) -> np.ndarray:
    """Return one value per pair, truncating `values` or padding with `otherwise`.

    >>> padded([2.0], 3, 1.0).tolist(), padded([1.0, 2.0, 3.0], 2, 0.0).tolist()
    ([2.0, 1.0, 1.0], [1.0, 2.0])
    """
    given = np.asarray(values, dtype=float)[:pairs]
    return np.concatenate([given, np.full(pairs - len(given), otherwise)])


def content_score(joints: np.ndarray, lengths: Sequence[float] = ()) -> float:
    """Return the score of a query and a key, after division by √d, from the joints of their fern.

    >>> content_score(fern(np.array([1.0, 0.1]), 1.0, 0.0, (2.0, 4.0)), (2.0, 4.0))
    3.0
    """
    pairs = len(joints) - 1
    return float(joints[-1, 1] * padded(lengths, pairs, 1.0).sum() / np.sqrt(2 * pairs))


def extent(joints: Sequence[np.ndarray]) -> list[float]:
    """Return the bounding box of some ferns: left, right, bottom, top.

    >>> extent([fern(np.array([np.pi]), 1.0, r) for r in (0.0, 1.0)])
    [0.0, 0.0, -1.0, 1.0]
    """
    points = np.round(np.concatenate(joints), 12)
    (left, bottom), (right, top) = points.min(axis=0), points.max(axis=0)
    return [float(each) + 0.0 for each in (left, right, bottom, top)]


def followed(
    inv_freq: np.ndarray,
    attention_factor: float,
    distance: float,
    point: Sequence[float],
    lengths: Sequence[float] = (),
    angles: Sequence[float] = (),
) -> float:
    """Return the distance near `distance` at which the tip is closest to a point, for dragging the tip.

    >>> rates = np.array([0.1, 0.01])
    >>> followed(rates, 1.0, 3.0, fern(rates, 1.0, 4.0)[-1])
    4.04

    Chapter 9.
    """
    start = np.log10(1 + distance)
    places = np.maximum(start + STEP * np.arange(-LOOK, LOOK + 1), 0)
    reached = 10**places - 1
    tips = np.array([fern(inv_freq, attention_factor, r, lengths, angles)[-1] for r in reached])
    gaps = np.hypot(*(tips - point).T)
    nearest = int(np.argmin(np.round(gaps, 9)))
    return round(float(reached[nearest]), 2)
