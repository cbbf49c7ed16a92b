"""Generate random numbers that are identical in Python and in every browser, by hashing 32-bit counters."""

from collections.abc import Iterable

import numpy as np

STEP = np.uint32(0x9E3779B9)  # 2³² divided by the golden ratio


def mixed(x: np.ndarray) -> np.ndarray:
    """Hash `x` as uint32, so that every input bit affects about half of the output bits."""
    x = np.asarray(x, np.uint32)
    with np.errstate(over="ignore"):
        x = (x ^ (x >> 16)) * np.uint32(0x7FEB352D)
        x = (x ^ (x >> 15)) * np.uint32(0x846CA68B)
    return x ^ (x >> 16)


def stream_of(keys: Iterable[int]) -> np.uint32:
    """Return the initial state of the stream identified by these integer keys."""
    state = np.uint32(0)
    with np.errstate(over="ignore"):
        for key in keys:
            state = mixed((state ^ np.uint32(key)) + STEP)[()]
    return state


def uniform(keys: Iterable[int], count: int) -> np.ndarray:
    """Return the first `count` numbers of a stream, uniform in [0, 1), as float64 `(count,)`.

    >>> uniform([1, 2], 3).round(4).tolist()
    [0.4748, 0.4371, 0.2417]
    """
    with np.errstate(over="ignore"):
        counted = stream_of(keys) + (np.arange(count, dtype=np.uint32) + np.uint32(1)) * STEP
    return mixed(counted) / 2**32


def whole(keys: Iterable[int], count: int, most: int) -> np.ndarray:
    """Return the first `count` numbers of a stream as integers from 0 to `most` − 1, int64 `(count,)`."""
    return np.floor(uniform(keys, count) * most).astype(np.int64)


def normal(keys: Iterable[int], count: int) -> np.ndarray:
    """Return approximately normal numbers, `(count,)`, each the sum of twelve uniform numbers minus 6."""
    summed = np.full(count, -6.0)
    for part in uniform(keys, 12 * count).reshape(count, 12).T:  # summed in the same order as in JavaScript
        summed = summed + part
    return summed
