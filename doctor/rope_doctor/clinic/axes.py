r"""The order of the axes in a rotation's input arrays."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

SIZES = {"batch": 2, "heads": 3}
LEADING = ("batch", "heads", "seq")  # the order of axes in which results are compared


@dataclass(frozen=True)
class Axes:
    """The order of x's axes, such as ("batch", "heads", "seq", "head_dim").

    >>> x, positions = Axes.parse("heads seq head_dim").spread(np.zeros((5, 4)), range(5))
    >>> x.shape, positions.shape
    ((3, 5, 4), (5,))

    Chapter 22.
    """

    names: tuple[str, ...]

    @staticmethod
    def parse(takes: str) -> "Axes":
        """Parse space-separated axis names; ValueError unless they are valid axes of x."""
        names = tuple(takes.split()) if isinstance(takes, str) else ()
        leading = set(names[:-1])
        once = len(leading) == len(names) - 1
        if names[-1:] == ("head_dim",) and {"seq"} <= leading <= set(LEADING) and once:
            return Axes(names)
        examples = '"batch heads seq head_dim" or "seq head_dim"'
        raise ValueError(f"takes must name the axes of x, such as {examples}, got {takes!r}")

    def spread(self, x: np.ndarray, positions: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Return x in this axis order, copied to all heads and batch rows, and positions (see `repeat`)."""
        return self.fill(np.array(x, dtype=np.float64), SIZES), self.repeat(positions)

    def fill(self, rows: np.ndarray, sizes: dict[str, int]) -> np.ndarray:
        """Return rows, `(seq, head_dim)`, in this axis order, copied to all heads and batch rows."""
        sizes = sizes | {"seq": rows.shape[0], "head_dim": rows.shape[1]}
        thin = [1 if name in SIZES else sizes[name] for name in self.names]
        return np.broadcast_to(rows.reshape(thin), [sizes[name] for name in self.names]).copy()

    def repeat(self, positions: Sequence[int]) -> np.ndarray:
        """Return positions as int64 `(seq,)`, or `(batch, seq)` if the axes include a batch."""
        row = np.array(positions, dtype=np.int64)
        return np.tile(row, (SIZES["batch"], 1)) if "batch" in self.names else row

    def in_order(self, whole: np.ndarray) -> np.ndarray:
        """Transpose an array from this axis order to `(batch, heads, seq, head_dim)`; missing axes get size 1."""
        present = [name for name in LEADING if name in self.names]
        moved = whole.transpose(*(self.names.index(name) for name in present), -1)
        missing = tuple(place for place, name in enumerate(LEADING) if name not in self.names)
        return np.expand_dims(moved, missing)

    def first_rows(self, whole: np.ndarray) -> np.ndarray:
        """Return the rows `(seq, head_dim)` of the first head in the first batch row."""
        return self.in_order(whole)[0, 0]
