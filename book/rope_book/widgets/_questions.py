"""Load the book's questions from ``questions/NN.toml``, for Python, the page and the review.

Each file has the chapter's ``figure`` and ``page``, and ``[[question]]`` tables. Each table has an ``id``
(``"04-lock"``), the question (``ask``), the reason for the answer (``because``), and the state of the figure that
demonstrates it (``show``, with the values that differ from those of a new figure). The other keys determine the
kind of question:

- ``right`` and ``wrong``: a choice; each wrong one is [answer, reply];
- ``number`` with ``within`` and ``unit``: a number; ``slips`` are [number, reply], and ``otherwise`` is the
  reply to any other wrong answer;
- ``order``: names in the right order; ``slips`` are [names, reply];
- ``control`` and ``number``: the value to which the reader must set this control of the figure;
- ``place``: the part of the figure to click, one of ``places``; ``slips`` are [place, reply] for the others.

A question without a figure has ``figure = ""`` and no ``show``.

In texts, ``*a*`` is rendered in italics and ```` `a` ```` as code.
"""

import hashlib
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "questions"
KINDS = {
    "right": "choices",
    "order": "order",
    "control": "setting",
    "place": "place",
    "number": "number",
}  # the first key that is present determines the kind


@cache
def chapters() -> dict[str, dict[str, Any]]:
    """Return the question files by chapter, in book order.

    >>> list(chapters())[3], chapters()["04"]["figure"]
    ('04', 'RotatePair')
    """
    return {
        path.stem: tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.toml"))
    }


@cache
def questions() -> dict[str, dict[str, Any]]:
    """Return all questions by id, each with its kind, figure, page, and choices in display order."""
    return {
        entry["id"]: _complete(chapter, file, entry)
        for chapter, file in chapters().items()
        for entry in file["question"]
    }


def question(name: str) -> dict[str, Any]:
    """Return the question with the given id; for an unknown id, raise ValueError with the ids in the chapter.

    >>> question("04-lock")["figure"]
    'RotatePair'
    """
    known = questions()
    if name not in known:
        near = [other for other in known if other.partition("-")[0] == str(name).partition("-")[0]]
        raise ValueError(f"a question must be one of {', '.join(near or chapters())}, got {name!r}")
    return known[name]


def _complete(chapter: str, file: dict[str, Any], entry: dict[str, Any]) -> dict[str, Any]:
    """Return an entry with its kind, the keys shared by its file, and shuffled choices or items."""
    kind = next(kind for name, kind in KINDS.items() if name in entry)
    whole = {"chapter": chapter, "kind": kind, "figure": file["figure"], "page": file["page"]} | entry
    if kind == "choices":
        right = [[whole.pop("right"), ""]]
        whole["choices"] = sorted(
            [*whole.pop("wrong"), *right], key=lambda choice: _place(entry["id"], choice[0])
        )
        whole["answer"] = whole["choices"].index(right[0])
    if kind == "order":
        whole["items"] = sorted(whole["order"], key=lambda item: _place(entry["id"], item))
        if whole["items"] == whole["order"]:
            whole["items"] = whole["items"][::-1]
    return whole


def _place(name: str, text: str) -> str:
    """Return a sort key for a fixed order that does not give away the answer."""
    return hashlib.sha256(f"{name} {text}".encode()).hexdigest()
