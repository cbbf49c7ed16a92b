r"""Probe a rotation as a black box: what it does to unit vectors, position by position."""

from __future__ import annotations

import sys
from functools import lru_cache

import numpy as np

from rope_edu.clinic.broken import Rotation

SMALL = tuple(range(1, 8))
DOUBLING = tuple(2**n for n in range(18))  # exact in bfloat16 and float16 (to 65,536)
FAR = 1_048_573  # odd, and near 2²⁰
BY_PLACE = 64  # positions beyond are not read where only the place in the array counts
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
        self.order: np.ndarray | None = None  # how features come out, undone before a matrix is read
        try:
            self.call(np.ones((8, head_dim)), range(8))
        except Exception as error:
            raise ValueError(
                f"function fails at positions 0 to 7: {type(error).__name__}: {error}{_advice(error)}"
            ) from error
        self.matrix = lru_cache(maxsize=None)(self._matrix)
        self.places = lru_cache(maxsize=None)(self._places)

    def call(self, x: np.ndarray, positions: range | list[int]) -> np.ndarray:
        """Return float64 rows for x `(seq, head_dim)`, or raise what the function raises, or ValueError."""
        x, positions = np.array(x, dtype=self.dtype), np.array(positions, dtype=np.int64)
        given, given_positions = x.copy(), positions.copy()
        result = self.function(given, given_positions)
        self.changed_input |= not (np.array_equal(given, x) and np.array_equal(given_positions, positions))
        return _rows(result, x.shape)

    def _matrix(self, position: int) -> np.ndarray | None:
        """Return the matrix that a position multiplies columns with, or None where the function fails."""
        vectors = np.concatenate((np.eye(self.head_dim), np.zeros((1, self.head_dim))))
        try:
            same = [position] * len(vectors)
            out = self.places()[:, position] if self.by_place else self.call(vectors, same)
        except Exception:  # a table that ends with an error is honest, and known by this
            return None
        matrix = (out[:-1] - out[-1]).T
        matrix = matrix if self.order is None else self.order.T @ matrix
        return np.where(np.abs(matrix) > NOISE * np.abs(matrix).max(), matrix, 0.0)

    def _places(self) -> np.ndarray:
        """Return what becomes of each unit vector, and of 0, at each place: (vectors, places, features)."""
        vectors = np.concatenate((np.eye(self.head_dim), np.zeros((1, self.head_dim))))
        rows = range(BY_PLACE + 1)
        return np.stack([self.call(np.tile(vector, (len(rows), 1)), rows) for vector in vectors])

    def undo_order(self) -> bool:
        """Read matrices as if features came out where they went in, if position 0 only moves or negates them."""
        found = self.matrix(0)
        if found is None:
            return False
        lit = found != 0
        if not (lit.sum(axis=0) == 1).all() or not (lit.sum(axis=1) == 1).all():
            return False
        if np.array_equal(np.sign(found), np.eye(self.head_dim)):
            return False
        self.order = np.sign(found)
        self.matrix.cache_clear()
        return True

    def keep_order(self) -> None:
        """Read matrices as they are again."""
        self.order = None
        self.matrix.cache_clear()

    def repeats(self) -> bool:
        """Tell whether the same call gives the same result twice."""
        x = _sample(8, self.head_dim)
        return bool(np.array_equal(self.call(x, range(8)), self.call(x, range(8))))

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

    def counts_for_itself(self) -> str | None:
        """Name how it finds positions of its own, if one row at different positions is turned alike."""
        x = np.repeat(_sample(1, self.head_dim), 2, axis=0)
        if np.abs(self.call(x[:1], [9]) - self.call(x[:1], [5])).max() > 1e-6:
            return None
        for positions, name in (([5, 5], "ignores_positions"), ([5, 9], "counts_from_the_first")):
            first, second = self.call(x, positions)
            if np.abs(first - second).max() > 1e-6:
                return name
        return None

    def adds(self) -> bool:
        """Tell whether something comes out where nothing goes in."""
        nothing, ones = np.zeros((1, self.head_dim)), np.ones((1, self.head_dim))
        try:
            return bool(np.abs(self.call(nothing, [3])).max() > 1e-6 * np.abs(self.call(ones, [3])).max())
        except ValueError:  # not finite: it divides by the length of x
            return False

    def is_linear(self) -> bool:
        """Tell whether twice the input gives twice the output, and sums give sums."""
        x = _sample(2, self.head_dim)
        a, b, both = (self.call(row[None], [3])[0] for row in (x[0], x[1], 2 * x[0] + x[1]))
        return bool(
            np.abs(both - 2 * a - b).max() <= 0.03 * np.abs(both).max()
        )  # a bfloat16 result rounds thrice


def _rows(result: object, shape: tuple[int, int]) -> np.ndarray:
    """Return what came out as float64 rows, or raise ValueError that says how to wrap the function."""
    if result is None:
        raise ValueError("it returns nothing: let it return the rotated x, also if it works in place")
    found = np.array(result)
    if np.iscomplexobj(found):
        raise ValueError("it returns complex numbers: return the real features, two for each of them")
    found = found.astype(np.float64)
    if found.shape != shape:
        several = found.ndim == 3 and found.shape[1:] == shape
        wrap = ": wrap it, so that it returns one array of that shape" if several else ""
        raise ValueError(f"it must return the shape of x, {shape}, got {found.shape}{wrap}")
    if not np.isfinite(found).all():
        raise ValueError("it returns numbers that are not finite")
    return found


def _advice(error: Exception) -> str:
    """Say how to hand tensors to a function that wants them, where its failure sounds like that."""
    wants = "torch" in sys.modules and isinstance(error, TypeError | AttributeError)
    if not wants or not any(word in str(error) for word in ("ensor", "ndarray", "dtype")):
        return ""
    return "; if it wants tensors, wrap it: lambda x, p: yours(torch.tensor(x), torch.tensor(p)).numpy()"


def _sample(rows: int, width: int) -> np.ndarray:
    return np.random.default_rng(22).normal(size=(rows, width))
