"""Exercises whose answer is numbers, names or an order, for a page without Python: it has the words of `check`."""

from functools import cache
from itertools import combinations, permutations
from typing import Any

import numpy as np

from rope_book.check.exercise import Exercise, _judge, find_exercises
from rope_book.check.ruled import as_trees, entries


@cache
def in_page() -> dict[str, dict[str, Any]]:
    """Return each of these exercises by its id, as `widgets.Question` has a question.

    >>> in_page()["4.2"]["numbers"], in_page()["4.2"]["slips"][0]
    ([0.5], [[-0.5], 'The size is right, the sign is not.'])
    """
    exercises = {exercise.id: exercise for exercise in find_exercises()}
    return {name: _asked(exercises[name], entry) for name, entry in entries().items()}


def judged(exercise: Exercise, numbers: list[Any], shape: list[int] | None = None) -> Any:
    """Return what the judge of an exercise says to these numbers, or to the one that there is."""
    if shape:
        return _judge(exercise, np.reshape(numbers, shape).tolist())
    return _judge(exercise, numbers[0] if len(numbers) == 1 else numbers)


def _asked(exercise: Exercise, entry: dict[str, Any]) -> dict[str, Any]:
    """Return an exercise with the sentences that its judge has."""
    answered = {"names": _names, "order": _order, "rules": _ruled, "answer": _row}
    kind = next(kind for kind in answered if kind in entry)
    return {
        "id": exercise.id,
        "ask": f"Exercise {exercise.id}, answered here" + entry.get("form", ""),
        "because": exercise.shows,
        "hints": list(exercise.hints),
    } | answered[kind](exercise, entry)


def _row(exercise: Exercise, entry: dict[str, Any]) -> dict[str, Any]:
    """Return how numbers are judged: the right ones, and a sentence for each known mistake."""
    said = [[slip, judged(exercise, slip, entry.get("shape"))] for slip in entry["slips"]]
    slips = [[slip, why if isinstance(why, str) else ""] for slip, why in said]
    return {"kind": "row", "numbers": entry["answer"], "within": entry["within"], "slips": slips}


def _ruled(exercise: Exercise, entry: dict[str, Any]) -> dict[str, Any]:
    """Return the rules on numbers, of which many are right, and one right answer."""
    return {"kind": "row", "numbers": entry["answer"], "rules": as_trees(exercise.id)}


def _names(exercise: Exercise, entry: dict[str, Any]) -> dict[str, Any]:
    """Return the verdict on every choice among a few names."""
    names = entry["names"]
    chosen = [some for count in range(len(names) + 1) for some in combinations(names, count)]
    verdicts = {" ".join(some): _verdict(exercise, set(some)) for some in chosen}
    return {"kind": "several", "items": names, "verdicts": verdicts}


def _order(exercise: Exercise, entry: dict[str, Any]) -> dict[str, Any]:
    """Return the verdict on every order of a few words."""
    orders = [" ".join(words) for words in permutations(entry["order"])]
    verdicts = {order: _verdict(exercise, order) for order in orders}
    return {"kind": "order", "items": entry["order"], "verdicts": verdicts}


def _verdict(exercise: Exercise, answer: Any) -> str:
    """Return the sentence on an answer, empty where it is right."""
    said = _judge(exercise, answer)
    return "" if said is True else said if isinstance(said, str) else "Not all of it is right."
