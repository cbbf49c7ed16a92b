r"""Read result files, check their format, and parse numbered predictions."""

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any


def read(name: str, path: str | Path | None = None) -> str:
    """Return the text of a file in this package, or of `path` if given.

    >>> read("predictions.md")[:1]
    '#'
    """
    source = files("rope_book.results").joinpath(name) if path is None else Path(path)
    return source.read_text(encoding="utf-8")


def load(name: str, format_: str, path: str | Path | None = None) -> dict[str, Any]:
    r"""Return the content of a results file.

    Only the format's name is checked here; tests/book/results validates the committed files against a schema.

    Args:
        name: a file in this package.
        format_: the required value of the key "format".
        path: a different file to read instead, or None for the packaged file.

    Raises:
        ValueError: the file is not JSON, or has a different format.

    >>> sorted(load("claims.json", "rope_book claims 1"))
    ['format', 'linear', 'meta', 'rows', 'swaps', 'times']
    """
    try:
        content = json.loads(read(name, path))
        stated = repr(content.get("format")) if isinstance(content, dict) else type(content).__name__
    except ValueError as error:
        stated = f"no JSON: {error}"
    if stated != repr(format_):
        raise ValueError(f"{path or name} must have the format {format_!r}, got {stated}")
    return content


def numbered(text: str) -> dict[int, str]:
    r"""Return the items of numbered lists in a Markdown text, {number: item}, with continuation lines joined.

    >>> numbered("# Expected\n\n1. Rain,\n    and wind.\n2. Sun.\n")
    {1: 'Rain, and wind.', 2: 'Sun.'}
    """
    items = re.findall(r"^(\d+)\. (.+(?:\n {4}.+)*)$", text, re.MULTILINE)
    return {int(number): " ".join(words.split()) for number, words in items}
