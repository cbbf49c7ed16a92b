r"""Read the measurements that decide some claims of chapter 23."""

from pathlib import Path
from typing import Any

from rope_book.results.files import parse, read

FORMAT = "rope_book claims 1"
TABLES = ("times", "rows", "swaps", "linear")


def load_claims(path: str | Path | None = None) -> dict[str, list[dict[str, Any]]]:
    r"""Load the measurements behind chapter 23's claims 17, 34 to 36 and 41.

    Args:
        path: a file of the maker `claims`; the one that comes with the library if None.

    Returns:
        Table -> rows. `times`: length (tokens), way, milliseconds, ratio to attention without position. `rows`:
        mean cosine of learned rows `offset` apart at the start, as trained, and in what training added. `swaps`:
        share of right answers at home, switched to RoPE, and tuned. `linear`: area under the learning curve of
        linear attention on *back* and *text*, with each encoding.

    Raises:
        ValueError: the file is not one of that maker, or lacks a table.

    >>> load_claims()["times"][0]["length"]
    128

    Chapter 23.
    """
    name = str(path or "claims.json")
    content = parse(read("claims.json", path), FORMAT, name)
    if missing := [table for table in TABLES if table not in content]:
        raise ValueError(f"{name} lacks {', '.join(missing)}")
    return {table: content[table] for table in TABLES}
