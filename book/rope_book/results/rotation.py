r"""Load the rotation benchmark: speed, memory and accuracy of our functions and of widely used libraries."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rope_book.results.files import load

FORMAT = "rope_book rotation 2"
SECTIONS = ("decode", "door", "speed", "backward", "memory", "numpy", "building", "precision")
Row = dict[str, Any]


@dataclass(frozen=True)
class Rotation:
    r"""The measurements of one benchmark run.

    Attributes:
        machine: processor, threads, clock, date, versions.
        head_dim: features per head.
        left_out: one sentence for each library that could not be measured.
        sections: name -> rows. `speed`: name, length, heads, dtype, allocator, milliseconds, and ratio to copy_.
            `backward`, `memory`: peak_memory as a multiple of the size of q and k. `decode`: microseconds per
            token for q and k, and ratio to one torch.mul. `door`: ratio of our functions to eager transformers.
            `numpy`: ratio to np.copyto. `building`: ratio for rebuilding a table. `precision`: the largest angle
            error just before a position, in radians, or None if the library returned NaN.
    """

    machine: Row
    head_dim: int
    left_out: tuple[str, ...]
    sections: dict[str, tuple[Row, ...]]

    def rows(self, section: str, **like: object) -> list[Row]:
        r"""Return the rows of a section that have the given values, in the order of measurement.

        Raises:
            ValueError: the section does not exist, or no row matches.
        """
        if section not in self.sections:
            raise ValueError(f"section must be one of {', '.join(self.sections)}, got {section!r}")
        rows = [row for row in self.sections[section] if all(row.get(key) == like[key] for key in like)]
        if not rows:
            raise ValueError(f"no row of {section!r} has {like}")
        return rows

    def value(self, section: str, column: str, **like: object) -> float:
        r"""Return the value in a column of the only row that has the given values.

        Raises:
            ValueError: the section, row or column does not exist, or several rows match.
        """
        rows = self.rows(section, **like)
        if len(rows) > 1 or column not in rows[0]:
            raise ValueError(
                f"{len(rows)} rows of {section!r} have {like}, with the columns {', '.join(rows[0])}"
            )
        return rows[0][column]


def load_rotation(path: str | Path | None = None) -> Rotation:
    r"""Load rotation.json, or another file written by `makers.rotation`.

    Raises:
        ValueError: the file has a different format.

    >>> load_rotation().rows("speed", name="copy_")[0]["ratio"]
    1.0
    """
    content = load("rotation.json", FORMAT, path)
    sections = {section: tuple(content[section]) for section in SECTIONS}
    return Rotation(content["machine"], content["head_dim"], tuple(content["left_out"]), sections)
