"""Chapter 13 exercises: curves, and longer texts."""

from collections.abc import Sequence

from rope_book.check.answers import Answer, number, of_function
from rope_book.check.exercise import Verdict, close, judges

STEPS = (0, 50, 100, 150, 200, 250)


def _stays(steps: Sequence[int], accuracy: Sequence[float], level: float) -> int | None:
    """Return the first step from which the accuracy stays at or above `level`, or None."""
    below = [n for n, share in enumerate(accuracy) if share < level]
    first = below[-1] + 1 if below else 0
    return steps[first] if first < len(steps) else None


@judges("13.1")
@of_function(or_none=True)
def _waits_for_the_last_rise(settled: Answer) -> Verdict:
    """Judge exercise 13.1 on curves that rise, fall back, touch the level, never reach it or end below it."""
    curves = (
        (0.1, 0.4, 0.92, 0.95, 0.97, 0.99),
        (0.1, 0.95, 0.6, 0.7, 0.93, 0.94),
        (0.95, 0.96, 0.97, 0.9, 0.96, 0.99),
        (0.1, 0.2, 0.3, 0.4, 0.5, 0.6),
        (0.1, 0.95, 0.95, 0.95, 0.95, 0.2),
    )
    for accuracy in curves:
        result, right = settled(list(STEPS), list(accuracy), 0.9), _stays(STEPS, accuracy, 0.9)
        result = None if result is None else number(result, "It must return one step, or None.")
        if result == right and (result is None) == (right is None):
            continue
        if result is not None and right is not None and result in range(1, 6) and STEPS[int(result)] == right:
            return f"{result} counts the points; the step there is {right}."
        case = f"steps {list(STEPS)}, accuracies {list(accuracy)}, level 0.9"
        if right is not None and result is not None and result < right:
            return f"For {case} you gave {result}; but the curve falls below 0.9 again after that."
        return f"For {case} you gave {result}, expected {right}."
    return True


@judges("13.2")
@of_function
def _counts_new_places(at_new_places: Answer) -> Verdict:
    """Judge exercise 13.2 on texts whose accuracies at trained and at new positions differ."""
    cases = (
        ([True] * 4 + [False, True, False, False], 4),
        ([False, True, True, False, True], 2),
        ([True] * 6, 3),
    )
    for right, trained in cases:
        result = number(at_new_places(list(right), trained), "It must return one number, the share.")
        new = right[trained:]
        if close(result, sum(new) / len(new), 1e-9):
            continue
        case = f"right = {right}, trained = {trained}"
        if close(result, sum(new), 1e-9):
            return f"{result:g} is how many are right: divide by the number of new places."
        if close(result, sum(right) / len(right), 1e-9):
            return f"For {case} {result:g} is the share at all places: the first {trained} are not new."
        if close(result, sum(right[trained + 1 :]) / max(1, len(right) - trained - 1), 1e-9):
            return f"Places count from 0, so a text of {trained} tokens ends at place {trained - 1}."
        return f"For {case} you gave {result:g}, expected {sum(new) / len(new):g}."
    return True
