"""The questions of the book, from ``questions/NN.toml``: one source for Python, the page and the review.

A file has the chapter's ``figure``, its ``page``, and ``[[question]]`` tables. Each has an ``id``
(``"04-lock"``), what it asks (``ask``), why the answer is what it is (``because``) and the state of the figure
that shows it (``show``: what differs from the figure as it is made). Its kind follows from what else it has:

- ``right`` and ``wrong``: choices; each wrong one is [answer, the sentence that it gets];
- ``number`` with ``within`` and ``unit``: a number; ``slips`` are [number, sentence], ``otherwise`` is for others;
- ``order``: names in the right order; ``slips`` are [names, sentence];
- ``control`` and ``number``: the value at which a reader leaves that control of the figure;
- ``place``: what to click in the figure, one of ``places``; ``slips`` are [place, sentence] for each of the others.

A question that no figure answers has ``figure = ""`` and no ``show``.

In words ``*a*`` is set in italics and ```` `a` ```` as code.
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
}  # the first that it has


@cache
def chapters() -> dict[str, dict[str, Any]]:
    """Return every file of questions by its chapter, in the order of the book.

    >>> list(chapters())[3], chapters()["04"]["figure"]
    ('04', 'RotatePair')
    """
    return {
        path.stem: tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.toml"))
    }


@cache
def questions() -> dict[str, dict[str, Any]]:
    """Return every question by its id, complete: kind, figure, page, and choices in the order that is shown."""
    return {
        entry["id"]: _complete(chapter, file, entry)
        for chapter, file in chapters().items()
        for entry in file["question"]
    }


def question(name: str) -> dict[str, Any]:
    """Return the question of that id; ValueError names those of its chapter.

    >>> question("04-lock")["figure"]
    'RotatePair'
    """
    found = questions()
    if name not in found:
        near = [each for each in found if each.partition("-")[0] == str(name).partition("-")[0]]
        raise ValueError(f"a question must be one of {', '.join(near or chapters())}, got {name!r}")
    return found[name]


def _complete(chapter: str, file: dict[str, Any], entry: dict[str, Any]) -> dict[str, Any]:
    """Return an entry of a file with what its file says once for all."""
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
    whole.pop("computed", None)  # for the tests
    return whole


def _place(name: str, text: str) -> str:
    """Return a key by which choices are in an order that tells nothing and is always the same."""
    return hashlib.sha256(f"{name} {text}".encode()).hexdigest()
