r"""Load the measurements that settle some of chapter 23's claims."""

from pathlib import Path
from typing import Any

from rope_book.results.files import load

FORMAT = "rope_book claims 1"
TABLES = ("times", "rows", "swaps", "linear")


def load_claims(path: str | Path | None = None) -> dict[str, list[dict[str, Any]]]:
    r"""Load the measurements behind chapter 23's claims 17, 34 to 36 and 41.

    Args:
        path: a file written by `python -m makers.claims`, or None for the committed file.

    Returns:
        Table name -> rows. `times`: length (tokens), way (encoding and implementation), milliseconds, and ratio to
        attention without positions. `rows`: mean cosine between learned rows `offset` apart, initially and after
        training, and the difference. `swaps`: accuracy as trained, after switching to RoPE, and after more
        training. `linear`: area under the learning curve of linear attention on *back* and *text*, per encoding.

    Raises:
        ValueError: the file has a different format.

    >>> load_claims()["times"][0]["length"]
    128

    Chapter 23.
    """
    content = load("claims.json", FORMAT, path)
    return {table: content[table] for table in TABLES}
