r"""Probe a rotation as a black box: call it with fresh arrays, read its matrices, and detect side effects."""

import sys
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from rope_doctor.clinic.axes import SIZES, Axes
from rope_doctor.clinic.broken import Rotation

ROWS = 8  # rows per call
SMALL = tuple(range(1, 8))
DOUBLING = tuple(2**n for n in range(18))  # exact in bfloat16 and, up to 32,768, in float16
FAR = 1_048_573  # odd and near 2²⁰
MAX_INDEX = 64  # farthest position read if the rotation uses a row's index instead of its position
MANY_ROWS = 8_200  # exceeds every length at which a rule changes
ZERO_BELOW = 1e-8  # relative to a matrix's largest entry
ENTRY_TOLERANCE = 1e-6  # allowed error of entries of order 1


class Probe:
    """A rotation under examination: call it with fresh arrays, or read its matrix at any position.

    A failed call raises ValueError with its rows and positions, the exception, and the expected shape.
    """

    def __init__(self, function: Rotation, head_dim: int, axes: Axes) -> None:
        self.function, self.head_dim, self.axes = function, head_dim, axes
        self.x = np.random.default_rng(22).normal(size=(ROWS, head_dim))
        self.changed_input = ""  # a description of the first input value that a call overwrote
        self.by_index = False  # True if it rotates by array index, so position p is read from row p
        self.by_row = False  # True if rows in a call affect each other, so each unit vector gets its own call
        self.order: np.ndarray | None = None  # signed permutation of output features, undone by `matrix`
        self._raw = lru_cache(maxsize=None)(self._read_matrix)
        self._indices = lru_cache(maxsize=None)(self._read_indices)

    def call(self, x: np.ndarray, positions: Sequence[int]) -> np.ndarray:
        """Rotate x, `(seq, head_dim)`, at positions `(seq,)`; return float64 `(seq, head_dim)`."""
        return self.axes.first_rows(self.call_whole(*self.axes.spread(x, positions)))

    def call_whole(self, x: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """Call the function with x and positions in its axis order; return the rotated x as float64."""
        x_passed, positions_passed = x.copy(), positions.copy()
        try:
            result = _as_float64(self.function(x_passed, positions_passed), x.shape)
        except (Exception, SystemExit) as error:
            raise ValueError(self._failure(error, x, positions)) from error
        if not self.changed_input:
            self.changed_input = _overwritten(x_passed, x, "x")
            self.changed_input = self.changed_input or _overwritten(positions_passed, positions, "positions")
        return result

    def _failure(self, error: BaseException, x: np.ndarray, positions: np.ndarray) -> str:
        """Return a sentence that describes the failed call and the expected result."""
        rows = x.shape[self.axes.names.index("seq")]
        where = _listed(np.ravel(positions)[:rows].tolist())
        content = "" if x.any() else " of zeros"
        why = str(error) if isinstance(error, _ResultError) else f"{type(error).__name__}: {error}"
        return (
            f"function fails on {rows} {'row' if rows == 1 else 'rows'}{content} at {where}: {why}; "
            f"expected the rotated x, {x.shape}{_advice(error)}"
        )

    def matrix(self, position: int) -> np.ndarray | None:
        """Return the matrix for column vectors, `(head_dim, head_dim)`, or None if a distant call fails."""
        raw = self._raw(position)
        return raw if raw is None or self.order is None else self.order.T @ raw

    def matrix_of(self, position: int) -> np.ndarray:
        """Return the matrix at a position that is known to be readable."""
        matrix = self.matrix(position)
        assert matrix is not None
        return matrix

    def _read_matrix(self, position: int) -> np.ndarray | None:
        vectors = self._unit_vectors()
        if self.by_index and position > MAX_INDEX:
            return None
        try:
            if self.by_index:
                out = self._indices()[:, position]
            elif self.by_row:
                out = np.concatenate([self.call(vector[None], [position]) for vector in vectors])
            else:
                out = self.call(vectors, [position] * len(vectors))
        except ValueError:
            if position in SMALL or position == 0:
                raise
            return None  # a call beyond the end of a table is not a mistake
        matrix: np.ndarray = (out[:-1] - out[-1]).T
        return np.where(np.abs(matrix) > ZERO_BELOW * np.abs(matrix).max(), matrix, 0.0)

    def _read_indices(self) -> np.ndarray:
        """Return the rotated unit vectors, and the rotated zero vector, (vectors, array indices, features)."""
        rows = range(MAX_INDEX + 1)
        return np.stack([self.call(np.tile(vector, (len(rows), 1)), rows) for vector in self._unit_vectors()])

    def _unit_vectors(self) -> np.ndarray:
        return np.concatenate((np.eye(self.head_dim), np.zeros((1, self.head_dim))))

    def undo_order(self) -> bool:
        """If position 0 permutes or negates features, undo that from now on. Return whether it did."""
        order = np.sign(self.matrix_of(0))
        if not (np.abs(order).sum(axis=0) == 1).all() or not (np.abs(order).sum(axis=1) == 1).all():
            return False
        if np.array_equal(order, np.eye(self.head_dim)):
            return False
        self.order = order
        return True

    # Checks, named after the mistakes; each returns a sentence of evidence, or None.

    def turns_along_heads(self) -> str | None:
        if "heads" not in self.axes.names:
            return None
        sizes = SIZES | {"heads": ROWS}  # as many heads as rows, so that using the wrong axis raises no error
        x = self.axes.fill(np.tile(self.x[0], (ROWS, 1)), sizes)
        rotated = self.axes.in_order(self.call_whole(x, self.axes.repeat(range(ROWS))))
        by_head, by_token = np.abs(rotated - rotated[:, :1]).max(), np.abs(rotated - rotated[:, :, :1]).max()
        heads = f"Heads at one position differ by {by_head:.3g}, expected 0"
        words = f"{heads}; positions in one head by {by_token:.3g} (axes: {' '.join(self.axes.names)})."
        return words if by_head > ENTRY_TOLERANCE else None

    def differs_when_repeated(self) -> str | None:
        self.call(np.ones_like(self.x), range(ROWS))
        off = _apart(self.call(self.x, range(ROWS)), self.call(self.x, range(ROWS)))
        return f"Two equal calls differ by {off:.3g}, expected 0." if off > 0 else None

    def keeps_first_positions(self) -> str | None:
        first, later = self.call(self.x, range(8)), self.call(self.x, range(100, 108))
        fewer = self.call(self.x[:5], range(100, 105))
        if _apart(first, later) > ENTRY_TOLERANCE or _apart(later[:5], fewer) <= ENTRY_TOLERANCE:
            return None
        return "8 rows at positions 100 to 107 are rotated as at 0 to 7, the first call; 5 rows are not."

    def remembers_earlier_calls(self) -> str | None:
        before = self.call(self.x, range(8))
        try:
            self.call(self.x, range(FAR - 7, FAR + 1))
        except ValueError:
            return None
        off = _apart(before, self.call(self.x, range(8)))
        return f"After a call at {FAR}, rows 0 to 7 differ by {off:.3g}, expected 0." if off else None

    def changes_its_input(self) -> str | None:
        return self.changed_input or None

    def mixes_tokens(self) -> str | None:
        x = self.x[:3]
        other = x * [[1], [-1], [2]]
        off = _apart(self.call(x, [3, 4, 5])[0], self.call(other, [3, 4, 5])[0])
        words = f"With other tokens after it, the token at 3 differs by {off:.3g}, expected 0."
        return words if off > ENTRY_TOLERANCE else None

    def mixes_batch(self) -> str | None:
        if "batch" not in self.axes.names:
            return None
        x = self.axes.fill(np.tile(self.x[0], (ROWS, 1)), SIZES)
        early, late = np.arange(ROWS), 20 + np.arange(ROWS)
        equal, mixed = (
            self.axes.in_order(self.call_whole(x, np.stack((first, late)))) for first in (late, early)
        )
        off = max(_apart(equal[1], equal[0]), _apart(mixed[1], equal[1]))
        words = f"Beside a row at 0 to 7, the batch row at 20 to 27 differs by {off:.3g}, expected 0."
        return words if off > ENTRY_TOLERANCE else None

    def depends_on_longest_row(self) -> str | None:
        try:
            off = _apart(self.call(self.x[:1], [5]), self.call(self.x[:2], [5, FAR])[:1])
        except ValueError:
            return None
        words = f"Beside a row at {FAR}, the row at 5 differs by {off:.3g}, expected 0."
        return words if off > ENTRY_TOLERANCE else None

    def depends_on_length(self) -> str | None:
        x = self.x[:1]
        try:
            off = _apart(self.call(x, [5]), self.call(np.tile(x, (MANY_ROWS, 1)), [5] * MANY_ROWS)[:1])
        except ValueError:
            return None
        words = f"In {MANY_ROWS} rows, all at 5, the first differs by {off:.3g}, expected 0."
        return words if off > ENTRY_TOLERANCE else None

    def adds_instead_of_turning(self) -> str | None:
        ones = self.call(np.ones((1, self.head_dim)), [3])
        try:
            added = np.abs(self.call(np.zeros((1, self.head_dim)), [3])).max()
        except ValueError:  # e.g. a function that divides x by its norm
            return None
        words = f"Zeros give {added:.3g}, expected 0."
        return words if added > ENTRY_TOLERANCE * np.abs(ones).max() else None

    def not_linear(self) -> str | None:
        x, y = self.x[:2]
        a, b, both = (self.call(row[None], [3])[0] for row in (x, y, 2 * x + y))
        off = _apart(both, 2 * a + b)
        wrong = off > 0.03 * np.abs(both).max()  # a bfloat16 result is rounded three times
        return f"f(2x + y) − 2f(x) − f(y) reaches {off:.3g}, expected 0." if wrong else None

    def miscounts(self) -> tuple[str, str] | None:
        """Return a mistake's name and evidence if rows ignore the positions passed in, otherwise None.

        One vector is rotated alone at several positions, then as both rows of a call. The second row must equal the
        vector rotated alone at that row's position.
        """
        x = np.tile(self.x[0], (2, 1))
        alone = {p: self.call(x[:1], [p])[0] for p in (5, 6, 9, 10)}
        if _apart(alone[9], alone[5]) <= ENTRY_TOLERANCE:
            for positions, name in (([5, 5], "ignores_positions"), ([5, 9], "counts_from_the_first")):
                if _apart(*self.call(x, positions)) > ENTRY_TOLERANCE:
                    return name, "A row alone at 9 is rotated as at 5, expected as at 9."
            return None
        second = self.call(x, [5, 9])[1]
        if _apart(second, alone[9]) <= ENTRY_TOLERANCE:
            return None
        names = {5: "takes_first_for_all", 6: "fills_gaps", 10: "adds_row_number"}
        for position, name in names.items():
            if _apart(second, alone[position]) <= ENTRY_TOLERANCE:
                return name, f"Of rows at 5 and 9, the second is rotated as at {position}, expected 9."
        return None


class _ResultError(ValueError):
    """A result of the wrong type, shape or value; the message explains how to fix it."""


def _overwritten(after: np.ndarray, before: np.ndarray, name: str) -> str:
    """Return the first changed value as evidence that a call modified an argument, or "" if nothing changed."""
    changed = np.argwhere(after != before)
    if not len(changed):
        return ""
    place = tuple(changed[0].tolist())
    index = ", ".join(map(str, place))
    return f"Found {name}[{index}] = {after[place]:.6g} after the call, expected {before[place]:.6g}."


def _as_float64(result: object, shape: tuple[int, ...]) -> np.ndarray:
    """Return a result as float64 in the given shape; otherwise raise _ResultError with advice on wrapping."""
    if result is None:
        raise _ResultError("it returns nothing: return the rotated x, even if it works in place")
    array = np.array(result)
    if np.iscomplexobj(array):
        raise _ResultError("it returns complex numbers: return real features, two per complex number")
    array = array.astype(np.float64)
    if array.shape != shape:
        several = array.ndim == len(shape) + 1 and array.shape[1:] == shape
        wrap = ": wrap it, so that it returns one array of that shape" if several else ""
        raise _ResultError(f"it must return the shape of x, {shape}, got {array.shape}{wrap}")
    if not np.isfinite(array).all():
        raise _ResultError("it returns numbers that are not finite")
    return array


def _advice(error: BaseException) -> str:
    """Return advice to pass tensors if the error suggests that the function needs them; otherwise ""."""
    wants = "torch" in sys.modules and isinstance(error, TypeError | AttributeError)
    if not wants or not any(word in str(error) for word in ("ensor", "ndarray", "dtype")):
        return ""
    wrap = "wrap it: lambda x, p: yours(torch.tensor(x), torch.tensor(p)).numpy()"
    return f"; if it needs tensors, {wrap}, or pass --torch on the command line"


def _listed(positions: list[int]) -> str:
    """Return positions as text: "positions 0 to 7", "position 9", "positions 5 and 9"."""
    kinds = sorted(set(positions))
    if len(kinds) == 1:
        return f"position {kinds[0]}"
    joined = " to " if kinds == list(range(kinds[0], kinds[-1] + 1)) and len(kinds) > 2 else " and "
    return f"positions {positions[0]}{joined}{positions[-1]}"


def _apart(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.abs(one - other).max())
