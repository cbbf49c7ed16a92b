r"""Rules that know no places: what a task gives to whoever only compares letters with their neighbours.

A task on which such a rule scores high does not ask for a position, and a model without one may do it.
"""

import numpy as np

from rope_book.training.tasks import Task
from rope_edu.encodings.validation import check_one_of, check_positive_int

SIDES = ("after", "before")


def match_last(tokens: np.ndarray, n: int, side: str = "after") -> np.ndarray:
    r"""Answers as it went the last time, at the latest place with the same last n tokens: ints `(rows, seq)`.

    Where there is none, the last n − 1 are tried, and so on; −1 where nothing agrees.

    Args:
        tokens: ints `(rows, seq)`.
        n: tokens that must agree, at least 1.
        side: "after" answers the token that followed there, "before" the one that stood before them.

    Raises:
        ValueError: `n` or `side` is not allowed.

    >>> match_last(np.array([[7, 8, 9, 7, 8]]), 2).tolist()
    [[-1, -1, -1, 8, 9]]
    >>> match_last(np.array([[7, 8, 9, 8]]), 1, "before").tolist()
    [[-1, -1, -1, 7]]

    Source: the rule that induction heads carry out, Olsson 2022, arXiv 2209.11895. Chapter A3.
    """
    check_positive_int("n", n)
    check_one_of("side", side, SIDES)
    return np.array([_match_row(row, n, side) for row in tokens.tolist()])


def _match_row(row: list[int], n: int, side: str) -> list[int]:
    seen: dict[tuple[int, ...], int] = {}  # the last place at which each group of up to n tokens ended
    answers = []
    for here in range(len(row)):
        groups = [tuple(row[here - m + 1 : here + 1]) for m in range(min(n, here + 1), 0, -1)]
        found = next(((seen[group], len(group)) for group in groups if group in seen), None)
        place = None if found is None else (found[0] + 1 if side == "after" else found[0] - found[1])
        answers.append(-1 if place is None or place < 0 else row[place])
        seen |= dict.fromkeys(groups, here)
    return answers


def rule_accuracy(
    task: Task, n: int, *, length: int | None = None, side: str = "after", rows: int = 192
) -> float:
    r"""Share of right answers of the rule, 0 … 1, on a task's test texts: of longer texts, at the new places alone.

    Args:
        task: of `make_task`.
        n, side: of `match_last`.
        length: in the task's unit; the training length if not given.
        rows: texts.

    >>> from rope_book.training.tasks import make_task
    >>> rule_accuracy(make_task("copy"), 2) > 0.8 > 0.2 > rule_accuracy(make_task("back"), 2)
    True

    Chapter A3.
    """
    length = task.length if length is None else length
    batch = task.batch(0, 0, rows, length, split="test")
    counts = batch.weights.numpy() > 0
    if length > task.length:
        counts[:, : task.trained_places] = False
    right = match_last(batch.tokens.numpy(), n, side) == batch.targets.numpy()
    return float(right[counts].mean())


def chance(task: Task, *, length: int | None = None, rows: int = 192) -> float:
    r"""Share of right answers, 0 … 1, of the commonest answer of the training texts: the floor under every model.

    Args:
        task, length, rows: as for `rule_accuracy`; of longer texts all places count.

    >>> from rope_book.training.tasks import make_task
    >>> 0.04 < chance(make_task("copy")) < 0.08  # one of 16 letters
    True

    Chapter 18.
    """
    seen = [task.batch(0, step, 64) for step in range(64)]
    answers = np.concatenate([batch.targets.numpy()[batch.weights.numpy() > 0] for batch in seen])
    batch = task.batch(0, 0, rows, length, split="test")
    return float((batch.targets.numpy()[batch.weights.numpy() > 0] == np.bincount(answers).argmax()).mean())
