r"""Read what rotating costs, and how exact it is: ours and the libraries that people run."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rope_book.results.files import parse, read

FORMAT = "rope_book rotation 2"
SECTIONS = ("decode", "door", "speed", "backward", "memory", "numpy", "building", "precision")
Row = dict[str, Any]


@dataclass(frozen=True)
class Rotation:
    r"""All that one run of the benchmark has measured.

    Attributes:
        machine: processor, threads, clock, date, versions.
        head_dim: features of a head.
        left_out: a sentence for each library that could not be measured.
        sections: name -> rows. `speed`: name, length, heads, dtype, allocator, milliseconds, ratio (to copy_).
            `backward`, `memory`: peak_memory in sizes of q and k. `decode`: microseconds for q and k of a token,
            and their ratio to one torch.mul. `door`: our functions against transformers' eager ones.
            `numpy`: ratio to np.copyto. `building`: ratio of making a table anew. `precision`: the largest angle
            error just before a position, radians, or None where a library gave no number.
    """

    machine: Row
    head_dim: int
    left_out: tuple[str, ...]
    sections: dict[str, tuple[Row, ...]]

    def rows(self, section: str, **like: object) -> list[Row]:
        r"""Return the rows of a section that have these values, in the order in which they were measured.

        Raises:
            ValueError: there is no such section, or no such row.
        """
        if section not in self.sections:
            raise ValueError(f"section must be one of {', '.join(self.sections)}, got {section!r}")
        found = [row for row in self.sections[section] if all(row.get(key) == like[key] for key in like)]
        if not found:
            raise ValueError(f"no row of {section!r} has {like}")
        return found

    def value(self, section: str, column: str, **like: object) -> float:
        r"""Return one number: the column of the only row that has these values.

        Raises:
            ValueError: there is no such section, row or column, or several rows.
        """
        found = self.rows(section, **like)
        if len(found) > 1 or column not in found[0]:
            raise ValueError(
                f"{len(found)} rows of {section!r} have {like}, with the columns {', '.join(found[0])}"
            )
        return found[0][column]


def load_rotation(path: str | Path | None = None) -> Rotation:
    r"""Load the measurements: those that come with the library, or another file of `book/tools/bench_rotation.py`.

    Raises:
        ValueError: the file is not one of that benchmark, or a section is missing.

    >>> load_rotation().rows("speed", name="copy_")[0]["ratio"]
    1.0
    """
    name = str(path or "rotation.json")
    content = parse(read("rotation.json", path), FORMAT, name)
    missing = [key for key in ("machine", "head_dim", "left_out", *SECTIONS) if key not in content]
    if missing:
        raise ValueError(f"{name} lacks {', '.join(missing)}")
    sections = {section: tuple(content[section]) for section in SECTIONS}
    return Rotation(content["machine"], content["head_dim"], tuple(content["left_out"]), sections)
