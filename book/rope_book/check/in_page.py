"""Export exercises and challenges to pages that give the same replies as `check` without Python.

Only exercises answered with numbers, names or an order are exported. Challenges are judged by a figure's state.
"""

from functools import cache
from itertools import combinations, permutations
from typing import Any

from rope_book.check.challenges import challenges
from rope_book.check.exercise import Exercise, _judge, find_exercises
from rope_book.check.rows import as_rule, as_trees, entries, right_numbers


@cache
def in_page() -> dict[str, dict[str, Any]]:
    """Return the exercises for the page by id, in the format of `widgets.Question`.

    >>> in_page()["4.2"]["kind"], in_page()["4.2"]["numbers"], in_page()["2.5"]["items"][0]
    ('row', [0.5], 'word-word')
    """
    exercises = {exercise.id: exercise for exercise in find_exercises()}
    return {name: _asked(exercises[name], entry) for name, entry in entries().items()}


@cache
def challenges_in_page() -> dict[str, dict[str, Any]]:
    """Return the challenges by id, in the format of `widgets.Question`.

    If no rule applies, the sentence under "shows" is the reply to a state that meets the challenge.

    >>> asked = challenges_in_page()["4.c"]
    >>> asked["kind"], asked["figure"], asked["rules"]["rules"][2][0]
    ('state', 'RotatePair', ['>', 'score', 0])
    """
    return {name: _challenge(name, entry) for name, entry in challenges().items()}


def _challenge(name: str, entry: dict[str, Any]) -> dict[str, Any]:
    """Return a challenge with the rules that the page uses to judge the figure."""
    rules = [as_rule(*slip) for slip in entry["slips"]]
    return {
        "id": name,
        "kind": "state",
        "figure": entry["figure"],
        "ask": f"Challenge {name}, judged here: set the figure {entry.get('place', 'at the top')}",
        "because": "",
        "hints": [],
        "rules": {"rules": rules, "shows": as_rule("1", entry["shows"])},
    }


def _asked(exercise: Exercise, entry: dict[str, Any]) -> dict[str, Any]:
    """Return an exercise with the data that the page needs to judge an answer."""
    judging = _names if "names" in entry else _order if "order" in entry else _row
    return {
        "id": exercise.id,
        "ask": f"Exercise {exercise.id}, answered here" + entry.get("form", ""),
        "because": exercise.shows,
        "hints": list(exercise.hints),
    } | judging(exercise, entry)


def _row(exercise: Exercise, entry: dict[str, Any]) -> dict[str, Any]:
    """Return the rules for an answer in numbers, and one right answer."""
    return {"kind": "row", "numbers": right_numbers(exercise.id), "rules": as_trees(exercise.id)}


def _names(exercise: Exercise, entry: dict[str, Any]) -> dict[str, Any]:
    """Return the reply to every subset of the names."""
    names = entry["names"]
    chosen = [some for count in range(len(names) + 1) for some in combinations(names, count)]
    verdicts = {" ".join(some): _verdict(exercise, set(some)) for some in chosen}
    return {"kind": "several", "items": names, "verdicts": verdicts}


def _order(exercise: Exercise, entry: dict[str, Any]) -> dict[str, Any]:
    """Return the reply to every order of the words."""
    orders = [" ".join(words) for words in permutations(entry["order"])]
    verdicts = {order: _verdict(exercise, order) for order in orders}
    return {"kind": "order", "items": entry["order"], "verdicts": verdicts}


def _verdict(exercise: Exercise, answer: Any) -> str:
    """Return the reply to an answer, or "" if the answer is right."""
    said = _judge(exercise, answer)
    return "" if said is True else said if isinstance(said, str) else "Not all of it is right."
