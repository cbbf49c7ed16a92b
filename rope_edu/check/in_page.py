"""Exercises whose answer is a number or a few, for a page without Python: it replies with the words of `check`."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from rope_edu.check.exercise import Exercise, _judge, find_exercises

FILE = Path(__file__).parent / "in_page.toml"


@cache
def in_page() -> dict[str, dict[str, Any]]:
    """Return each of these exercises by its id, as `widgets.Question` has a question.

    >>> in_page()["4.2"]["numbers"], in_page()["4.2"]["slips"][0]
    ([0.5], [[-0.5], 'The size is right, the sign is not.'])
    """
    exercises = {exercise.id: exercise for exercise in find_exercises()}
    entries = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return {name: _asked(exercises[name], entry) for name, entry in entries.items()}


def judged(exercise: Exercise, numbers: list[Any]) -> Any:
    """Return what the judge of an exercise says to these numbers, or to the one that there is."""
    return _judge(exercise, numbers[0] if len(numbers) == 1 else numbers)


def _asked(exercise: Exercise, entry: dict[str, Any]) -> dict[str, Any]:
    """Return an exercise with the sentence that its judge has for each known mistake."""
    said = [[slip, judged(exercise, slip)] for slip in entry["slips"]]
    return {
        "id": exercise.id,
        "kind": "row",
        "ask": f"Exercise {exercise.id}, answered here",
        "numbers": entry["answer"],
        "within": entry["within"],
        "slips": [[slip, why if isinstance(why, str) else ""] for slip, why in said],
        "because": exercise.shows,
        "hints": list(exercise.hints),
    }
