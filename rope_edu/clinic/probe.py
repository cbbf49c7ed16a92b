r"""Probe a rotation as a black box: what it does to unit vectors, position by position."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from rope_edu.clinic.broken import Rotation

SMALL = tuple(range(1, 8))
DOUBLING = tuple(2**n for n in range(18))  # exact in bfloat16 and float16 (to 65,536)
FAR = 1_048_573  # odd, and near 2²⁰
NOISE = 1e-8  # of an entry: below, it counts as 0


class Probe:
    """A rotation under examination: calls with fresh arrays, and the matrix of every position.

    Args:
        function: x `(seq, head_dim)`, positions `(seq,)` -> rotated x.
        head_dim: width of x.
        dtype: of x.

    Raises:
        ValueError: the function fails, or gives another shape, or no finite numbers, at positions 0 to 7.
    """

    def __init__(self, function: Rotation, head_dim: int, dtype: type = np.float64) -> None:
        self.function, self.head_dim, self.dtype = function, head_dim, dtype
        self.changed_input = False
        self.by_place = False  # it turns by the place in the array: then position p is read from row p
        try:
            self.call(np.ones((8, head_dim)), range(8))
        except Exception as error:
            raise ValueError(
                f"function fails at positions 0 to 7: {type(error).__name__}: {error}"
            ) from error
        self.matrix = lru_cache(maxsize=None)(self._matrix)

    def call(self, x: np.ndarray, positions: range | list[int]) -> np.ndarray:
        """Return float64 rows for x `(seq, head_dim)`, or raise what the function raises, or ValueError."""
        x = np.array(x, dtype=self.dtype)
        given = x.copy()
        result = self.function(given, np.array(positions, dtype=np.int64))
        self.changed_input |= not np.array_equal(given, x)
        result = np.array(result, dtype=np.float64)
        if result.shape != x.shape:
            raise ValueError(f"it must return the shape of x, {x.shape}, got {result.shape}")
        if not np.isfinite(result).all():
            raise ValueError("it returns numbers that are not finite")
        return result

    def _matrix(self, position: int) -> np.ndarray | None:
        """Return the matrix that a position multiplies columns with, or None where the function fails."""
        vectors = np.concatenate((np.eye(self.head_dim), np.zeros((1, self.head_dim))))
        try:
            if self.by_place:
                out = np.array([self._at_place(vector, position) for vector in vectors])
            else:
                out = self.call(vectors, [position] * len(vectors))
        except Exception:  # a table that ends with an error is honest, and known by this
            return None
        matrix = (out[:-1] - out[-1]).T
        return np.where(np.abs(matrix) > NOISE * np.abs(matrix).max(), matrix, 0.0)

    def _at_place(self, vector: np.ndarray, place: int) -> np.ndarray:
        x = np.zeros((place + 1, self.head_dim))
        x[place] = vector
        return self.call(x, range(place + 1))[place]

    def remembers(self) -> bool:
        """Tell whether the same input gives another result after positions far away."""
        x = _sample(8, self.head_dim)
        before = self.call(x, range(8))
        try:
            self.call(x, range(FAR - 7, FAR + 1))
        except Exception:
            return False
        return not np.array_equal(before, self.call(x, range(8)))

    def depends_on_longest(self) -> bool:
        """Tell whether a row changes when another row of the call is far away."""
        x, bound = _sample(2, self.head_dim), 1e-6
        try:
            apart = self.call(x[:1], [5]), self.call(x, [5, FAR])[:1]
        except Exception:
            return False
        return bool(np.abs(apart[0] - apart[1]).max() > bound)

    def mixes_tokens(self) -> bool:
        """Tell whether a row changes when the content of another row does."""
        x = _sample(3, self.head_dim)
        other = np.concatenate((x[:1], -x[1:2], 2 * x[2:]))
        return bool(np.abs(self.call(x, [3, 4, 5])[0] - self.call(other, [3, 4, 5])[0]).max() > 1e-6)

    def ignores_positions(self) -> bool:
        """Tell whether rows at one position differ, and one row at different positions does not."""
        x = np.repeat(_sample(1, self.head_dim), 2, axis=0)
        same = self.call(x, [5, 5])
        moved = self.call(x[:1], [9]) - self.call(x[:1], [5])
        return bool(np.abs(same[0] - same[1]).max() > 1e-6 > np.abs(moved).max())

    def is_linear(self) -> bool:
        """Tell whether twice the input gives twice the output, and sums give sums."""
        x = _sample(2, self.head_dim)
        a, b, both = (self.call(row[None], [3])[0] for row in (x[0], x[1], 2 * x[0] + x[1]))
        return bool(
            np.abs(both - 2 * a - b).max() <= 0.03 * np.abs(both).max()
        )  # a bfloat16 result rounds thrice


def _sample(rows: int, width: int) -> np.ndarray:
    return np.random.default_rng(22).normal(size=(rows, width))
