r"""What all result files share: where they lie, the format that each names, predictions written before the runs."""

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any


def read(name: str, path: str | Path | None = None) -> str:
    """Return the text of a file that comes with the library, or of another in its place.

    >>> read("predictions.md")[:1]
    '#'
    """
    source = files("rope_book.results").joinpath(name) if path is None else Path(path)
    return source.read_text(encoding="utf-8")


def parse(text: str, format_: str, name: str) -> dict[str, Any]:
    r"""Return what a JSON text holds, if it names this format.

    Args:
        text: of a file.
        format_: what its "format" must be.
        name: of the file, for the error.

    Raises:
        ValueError: the text is no JSON, or of another format.

    >>> parse('{"format": "tea 1", "leaves": 3}', "tea 1", "tea.json")["leaves"]
    3
    """
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"{name} is no JSON: {error}") from None
    found = content.get("format") if isinstance(content, dict) else type(content).__name__
    if found != format_:
        raise ValueError(f"{name} must have the format {format_!r}, got {found!r}")
    return content


def numbered(text: str) -> dict[int, str]:
    r"""Return the numbered sentences of a Markdown text: number -> words, lines that go on indented joined.

    >>> numbered("# Expected\n\n1. Rain,\n    and wind.\n2. Sun.\n")
    {1: 'Rain, and wind.', 2: 'Sun.'}
    """
    found = re.findall(r"^(\d+)\. (.+(?:\n {4}.+)*)$", text, re.MULTILINE)
    return {int(number): " ".join(words.split()) for number, words in found}
