r"""Probe a rotation as a black box: calls with fresh arrays, matrices from unit vectors, side effects."""

import sys
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from rope_doctor.clinic.axes import SIZES, Axes
from rope_doctor.clinic.broken import Rotation

ROWS = 8  # of a call
SMALL = tuple(range(1, 8))
DOUBLING = tuple(2**n for n in range(18))  # exact in bfloat16 and float16 (to 65,536)
FAR = 1_048_573  # odd, and near 2²⁰
BY_PLACE = 64  # farthest position that is read where only the place in the array counts
LONG = 8_200  # rows of a long call: beyond the lengths at which rules switch
NOISE = 1e-8  # of an entry: below, it counts as 0
SAME = 1e-6  # of an entry of order 1


class Probe:
    """A rotation under examination: calls with fresh arrays, and its matrix at every position.

    A call that fails raises ValueError with a sentence: the rows and positions of the call, the exception, and the
    shape that was expected.
    """

    def __init__(self, function: Rotation, head_dim: int, axes: Axes) -> None:
        self.function, self.head_dim, self.axes = function, head_dim, axes
        self.x = np.random.default_rng(22).normal(size=(ROWS, head_dim))
        self.changed_input = ""  # the first number that a call wrote over, found and wanted
        self.by_place = False  # it turns by the place in the array: position p is read from row p
        self.by_row = False  # rows of one call disturb each other: every unit vector has a call of its own
        self.order: np.ndarray | None = None  # how features come out, undone when a matrix is read
        self._raw = lru_cache(maxsize=None)(self._read_matrix)
        self._places = lru_cache(maxsize=None)(self._read_places)

    def call(self, x: np.ndarray, positions: Sequence[int]) -> np.ndarray:
        """Rotated rows, float64 `(seq, head_dim)`, of x `(seq, head_dim)` at positions `(seq,)`."""
        return self.axes.first_rows(self.call_whole(*self.axes.spread(x, positions)))

    def call_whole(self, x: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """Rotated x, float64, with x and positions in the axes of the function."""
        given, given_positions = x.copy(), positions.copy()
        try:
            result = _as_float64(self.function(given, given_positions), x.shape)
        except (Exception, SystemExit) as error:
            raise ValueError(self._failure(error, x, positions)) from error
        if not self.changed_input:
            over = _written_over(given, x, "x") or _written_over(given_positions, positions, "positions")
            self.changed_input = over
        return result

    def _failure(self, error: BaseException, x: np.ndarray, positions: np.ndarray) -> str:
        """A sentence that names the call that failed and the result expected."""
        rows = x.shape[self.axes.names.index("seq")]
        where = _listed(np.ravel(positions)[:rows].tolist())
        content = "" if x.any() else " of zeros"
        why = str(error) if isinstance(error, _ResultError) else f"{type(error).__name__}: {error}"
        return (
            f"function fails on {rows} {'row' if rows == 1 else 'rows'}{content} at {where}: {why}; "
            f"expected the rotated x, {x.shape}{_advice(error)}"
        )

    def matrix(self, position: int) -> np.ndarray | None:
        """Matrix `(head_dim, head_dim)` that multiplies columns at a position; None where a far call fails."""
        raw = self._raw(position)
        return raw if raw is None or self.order is None else self.order.T @ raw

    def matrix_of(self, position: int) -> np.ndarray:
        """The matrix at a position that is known to be readable."""
        found = self.matrix(position)
        assert found is not None
        return found

    def _read_matrix(self, position: int) -> np.ndarray | None:
        vectors = self._unit_vectors()
        if self.by_place and position > BY_PLACE:
            return None
        try:
            if self.by_place:
                out = self._places()[:, position]
            elif self.by_row:
                out = np.concatenate([self.call(vector[None], [position]) for vector in vectors])
            else:
                out = self.call(vectors, [position] * len(vectors))
        except ValueError:
            if position in SMALL or position == 0:
                raise
            return None  # a table that ends with an error is honest
        matrix: np.ndarray = (out[:-1] - out[-1]).T
        return np.where(np.abs(matrix) > NOISE * np.abs(matrix).max(), matrix, 0.0)

    def _read_places(self) -> np.ndarray:
        """Image of each unit vector, and of 0, at each place: (vectors, places, features)."""
        rows = range(BY_PLACE + 1)
        return np.stack([self.call(np.tile(vector, (len(rows), 1)), rows) for vector in self._unit_vectors()])

    def _unit_vectors(self) -> np.ndarray:
        return np.concatenate((np.eye(self.head_dim), np.zeros((1, self.head_dim))))

    def undo_order(self) -> bool:
        """Read matrices as if features came out where they went in, if position 0 only moves or negates them."""
        found = self.matrix_of(0)
        lit = found != 0
        if not (lit.sum(axis=0) == 1).all() or not (lit.sum(axis=1) == 1).all():
            return False
        if np.array_equal(np.sign(found), np.eye(self.head_dim)):
            return False
        self.order = np.sign(found)
        return True

    # Questions, by the names of the mistakes: each returns evidence, a sentence, or None

    def turns_along_heads(self) -> str | None:
        if "heads" not in self.axes.names:
            return None
        x = self.axes.fill(
            np.tile(self.x[0], (ROWS, 1)), SIZES | {"heads": ROWS}
        )  # square: no wrong axis fails
        found = self.axes.in_order(self.call_whole(x, self.axes.repeat(range(ROWS))))
        by_head, by_token = np.abs(found - found[:, :1]).max(), np.abs(found - found[:, :, :1]).max()
        heads = f"Heads at one position differ by {by_head:.3g}, wanted 0"
        words = f"{heads}; positions in one head by {by_token:.3g} (axes: {' '.join(self.axes.names)})."
        return words if by_head > SAME else None

    def differs_when_repeated(self) -> str | None:
        self.call(np.ones_like(self.x), range(ROWS))
        off = _apart(self.call(self.x, range(ROWS)), self.call(self.x, range(ROWS)))
        return f"Two equal calls differ by {off:.3g}, wanted 0." if off > 0 else None

    def keeps_first_positions(self) -> str | None:
        first, later = self.call(self.x, range(8)), self.call(self.x, range(100, 108))
        fewer = self.call(self.x[:5], range(100, 105))
        if _apart(first, later) > SAME or _apart(later[:5], fewer) <= SAME:
            return None
        return "8 rows at positions 100 to 107 are turned as at 0 to 7, which came first; 5 rows are not."

    def remembers_earlier_calls(self) -> str | None:
        before = self.call(self.x, range(8))
        try:
            self.call(self.x, range(FAR - 7, FAR + 1))
        except ValueError:
            return None
        off = _apart(before, self.call(self.x, range(8)))
        return f"After a call at position {FAR}, rows 0 to 7 differ by {off:.3g}, wanted 0." if off else None

    def changes_its_input(self) -> str | None:
        return self.changed_input or None

    def mixes_tokens(self) -> str | None:
        x = self.x[:3]
        other = x * [[1], [-1], [2]]
        off = _apart(self.call(x, [3, 4, 5])[0], self.call(other, [3, 4, 5])[0])
        words = f"With other tokens behind it, the token at 3 differs by {off:.3g}, wanted 0."
        return words if off > SAME else None

    def mixes_batch(self) -> str | None:
        if "batch" not in self.axes.names:
            return None
        x = self.axes.fill(np.tile(self.x[0], (ROWS, 1)), SIZES)
        here, ahead = np.arange(ROWS), 20 + np.arange(ROWS)
        alike, own = (
            self.axes.in_order(self.call_whole(x, np.stack((first, ahead)))) for first in (ahead, here)
        )
        off = max(_apart(alike[1], alike[0]), _apart(own[1], alike[1]))
        words = f"Beside a row at 0 to 7, the batch row at 20 to 27 differs by {off:.3g}, wanted 0."
        return words if off > SAME else None

    def depends_on_longest_row(self) -> str | None:
        try:
            off = _apart(self.call(self.x[:1], [5]), self.call(self.x[:2], [5, FAR])[:1])
        except ValueError:
            return None
        return f"Beside a row at {FAR}, the row at 5 differs by {off:.3g}, wanted 0." if off > SAME else None

    def depends_on_length(self) -> str | None:
        x = self.x[:1]
        try:
            off = _apart(self.call(x, [5]), self.call(np.tile(x, (LONG, 1)), [5] * LONG)[:1])
        except ValueError:
            return None
        return f"In {LONG} rows, all at 5, the first differs by {off:.3g}, wanted 0." if off > SAME else None

    def adds_instead_of_turning(self) -> str | None:
        ones = self.call(np.ones((1, self.head_dim)), [3])
        try:
            added = np.abs(self.call(np.zeros((1, self.head_dim)), [3])).max()
        except ValueError:  # as where it divides by the length of x
            return None
        return f"From zeros comes {added:.3g}, wanted 0." if added > SAME * np.abs(ones).max() else None

    def not_linear(self) -> str | None:
        x, y = self.x[:2]
        a, b, both = (self.call(row[None], [3])[0] for row in (x, y, 2 * x + y))
        off = _apart(both, 2 * a + b)
        wrong = off > 0.03 * np.abs(both).max()  # a bfloat16 result rounds thrice
        return f"f(2x + y) − 2f(x) − f(y) reaches {off:.3g}, wanted 0." if wrong else None

    def miscounts(self) -> tuple[str, str] | None:
        """Name and evidence of positions that rows do not take as given, or None.

        One vector is turned alone at several positions, then in pairs of rows; the second row must be turned as
        the vector alone at the position of that row.
        """
        x = np.tile(self.x[0], (2, 1))
        alone = {p: self.call(x[:1], [p])[0] for p in (5, 6, 9, 10)}
        if _apart(alone[9], alone[5]) <= SAME:
            for positions, name in (([5, 5], "ignores_positions"), ([5, 9], "counts_from_the_first")):
                if _apart(*self.call(x, positions)) > SAME:
                    return name, "A row alone at 9 is turned as one at 5, wanted as at 9."
            return None
        second = self.call(x, [5, 9])[1]
        if _apart(second, alone[9]) <= SAME:
            return None
        taken = {5: "takes_first_for_all", 6: "fills_gaps", 10: "adds_row_number"}
        for position, name in taken.items():
            if _apart(second, alone[position]) <= SAME:
                return name, f"Of rows at 5 and 9, the second is turned as at {position}, wanted 9."
        return None


class _ResultError(ValueError):
    """A result that cannot be read; its words say how to mend that."""


def _written_over(after: np.ndarray, before: np.ndarray, name: str) -> str:
    """The first number of an argument that a call changed, with its value before; "" if it changed none."""
    changed = np.argwhere(after != before)
    if not len(changed):
        return ""
    place = tuple(changed[0].tolist())
    found = f"Found {name}[{', '.join(map(str, place))}] to be {after[place]:.6g} after the call"
    return f"{found}, wanted {before[place]:.6g}, as it was given."


def _as_float64(result: object, shape: tuple[int, ...]) -> np.ndarray:
    """A result as float64 of a shape; _ResultError says how to wrap a function that returns anything else."""
    if result is None:
        raise _ResultError("it returns nothing: let it return the rotated x, also if it works in place")
    found = np.array(result)
    if np.iscomplexobj(found):
        raise _ResultError("it returns complex numbers: return the real features, two for each of them")
    found = found.astype(np.float64)
    if found.shape != shape:
        several = found.ndim == len(shape) + 1 and found.shape[1:] == shape
        wrap = ": wrap it, so that it returns one array of that shape" if several else ""
        raise _ResultError(f"it must return the shape of x, {shape}, got {found.shape}{wrap}")
    if not np.isfinite(found).all():
        raise _ResultError("it returns numbers that are not finite")
    return found


def _advice(error: BaseException) -> str:
    """Advice on handing tensors to a function whose failure sounds as if it wanted them; else ""."""
    wants = "torch" in sys.modules and isinstance(error, TypeError | AttributeError)
    if not wants or not any(word in str(error) for word in ("ensor", "ndarray", "dtype")):
        return ""
    return "; if it wants tensors, wrap it: lambda x, p: yours(torch.tensor(x), torch.tensor(p)).numpy()"


def _listed(positions: list[int]) -> str:
    """Positions in words: "positions 0 to 7", "position 9", "positions 5 and 9"."""
    kinds = sorted(set(positions))
    if len(kinds) == 1:
        return f"position {kinds[0]}"
    joined = " to " if kinds == list(range(kinds[0], kinds[-1] + 1)) and len(kinds) > 2 else " and "
    return f"positions {positions[0]}{joined}{positions[-1]}"


def _apart(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.abs(one - other).max())
