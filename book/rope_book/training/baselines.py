r"""Baselines that do not use positions, but only match tokens with earlier tokens.

If such a rule scores high on a task, the task does not need positions, because a model without them may solve it.
"""

import numpy as np

from rope_book.training.tasks import Task
from rope_edu.encodings.validation import check_one_of, check_positive_int

SIDES = ("after", "before")


def match_last(tokens: np.ndarray, n: int, side: str = "after") -> np.ndarray:
    r"""Return the token next to the latest earlier match of the last n tokens at each position, `(rows, seq)`.

    If there is no match, the last n − 1 tokens are tried, and so on. The result is −1 if no token matches.

    Args:
        tokens: ints `(rows, seq)`.
        n: number of tokens to match, at least 1.
        side: "after" for the token that follows the match, "before" for the token that precedes the match.

    Raises:
        ValueError: `n` or `side` is invalid.

    >>> match_last(np.array([[7, 8, 9, 7, 8]]), 2).tolist()
    [[-1, -1, -1, 8, 9]]
    >>> match_last(np.array([[7, 8, 9, 8]]), 1, "before").tolist()
    [[-1, -1, -1, 7]]

    Source: the induction-head rule, Olsson 2022, arXiv 2209.11895. Chapter A3.
    """
    check_positive_int("n", n)
    check_one_of("side", side, SIDES)
    return np.array([_match_row(row, n, side) for row in tokens.tolist()])


def _match_row(row: list[int], n: int, side: str) -> list[int]:
    seen: dict[tuple[int, ...], int] = {}  # n-gram -> index of the last token of its latest occurrence
    answers = []
    for i in range(len(row)):
        ngrams = [tuple(row[i - m + 1 : i + 1]) for m in range(min(n, i + 1), 0, -1)]
        match = next((ngram for ngram in ngrams if ngram in seen), None)
        source = -1 if match is None else seen[match] + (1 if side == "after" else -len(match))
        answers.append(-1 if source < 0 else row[source])
        seen |= dict.fromkeys(ngrams, i)
    return answers


def rule_accuracy(
    task: Task, n: int, *, length: int | None = None, side: str = "after", rows: int = 192
) -> float:
    r"""Return the accuracy, 0 … 1, of `match_last` on test texts; on longer texts, only new positions count.

    Args:
        task: a task from `make_task`.
        n, side: as for `match_last`.
        length: text length in the task's unit, or None for the training length.
        rows: number of texts.

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
    r"""Return the test accuracy, 0 … 1, of always giving the most common answer in training.

    Args:
        task, length, rows: as for `rule_accuracy`, except that all positions count even on longer texts.

    >>> from rope_book.training.tasks import make_task
    >>> 0.04 < chance(make_task("copy")) < 0.08  # one of 16 letters
    True

    Chapter 18.
    """
    batches = [task.batch(0, step, 64) for step in range(64)]
    answers = np.concatenate([batch.targets.numpy()[batch.weights.numpy() > 0] for batch in batches])
    batch = task.batch(0, 0, rows, length, split="test")
    return float((batch.targets.numpy()[batch.weights.numpy() > 0] == np.bincount(answers).argmax()).mean())
