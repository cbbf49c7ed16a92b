"""The right answer to every question, found by something that is not the question.

``chapter_NN.py`` has a function for each question of its chapter, such as ``reach`` for "15-reach". It computes
with the library or with the figure's own results, or reads numbers that the chapter prints, which nbval compares
with those of the notebook's code. It returns

- for a choice or a place to click: ``{words: whether they are so}``, two or more, each found in one answer alone;
- for a number: the number; for an order: the names.
"""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
Finding = dict[str, bool] | float | list[str]


def findings() -> dict[str, Callable[[], Finding]]:
    """Return the functions by question."""
    modules = [import_module(f"{__name__}.{path.stem}") for path in sorted(HERE.glob("chapter_*.py"))]
    return {
        f"{module.__name__.rpartition('_')[2].upper()}-{name.replace('_', '-')}": function
        for module in modules
        for name, function in vars(module).items()
        if getattr(function, "__module__", "") == module.__name__ and not name.startswith("_")
    }


def agrees(asked: dict[str, Any], found: Finding) -> bool:
    """Return whether the answer that a question calls right is the one that was found."""
    if isinstance(found, dict):
        answers = asked.get("places") or [answer for answer, _ in asked["choices"]]
        right = asked.get("place") or answers[asked["answer"]]
        (so,) = (words for words, true in found.items() if true)
        return _answer_with(so, answers) == right
    if isinstance(found, list):
        return found == asked["order"]
    return abs(found - asked["number"]) <= asked["within"]


def unread(asked: dict[str, Any], found: dict[str, bool]) -> list[str]:
    """Return the words of a finding that stand in no answer, or in more than one."""
    answers = asked.get("places") or [answer for answer, _ in asked["choices"]]
    return [words for words in found if _answer_with(words, answers) is None]


def _answer_with(words: str, answers: list[str]) -> str | None:
    """Return the only answer with these words, or None."""
    found = [words] if words in answers else [answer for answer in answers if words in answer]
    return found[0] if len(found) == 1 else None
