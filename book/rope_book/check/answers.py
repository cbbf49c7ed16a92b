"""Answers in one form: what a reader may type, read in one place, so that a judge sees plain numbers only.

A number may come as an int, a float, a NumPy scalar, an array or a tensor of one element; a row as a list, a tuple,
a range, an array or a tensor. `plain` makes them alike; `number`, `whole`, `truth`, `row`, `names`, `array` and
`function` each read one kind of answer, and reply with a sentence where the answer is of another kind.
"""

import functools
import inspect
import math
from collections.abc import Callable, Collection, Iterable, Mapping
from fractions import Fraction
from numbers import Number
from typing import Any

import numpy as np

Answer = Callable[..., Any]  # a function that the reader wrote; its results are plain
NOT_A_FUNCTION = "The answer is a function: give check the name, without parentheses."
LONG = 1000  # rows; longer lists of numbers are read at once


class Reply(Exception):  # noqa: N818 - no error: a verdict that ends the judging, wherever it is found
    """End the judging with a verdict: a sentence, or `...` for what is not answered yet."""

    def __init__(self, verdict: Any) -> None:
        super().__init__(verdict)
        self.verdict = verdict


def plain(answer: Any) -> Any:
    """Return an answer as Python's own scalar, as a list of such answers, or as a NumPy array of one or more axes.

    Words, functions, sets of words and `...` stay as they are.

    >>> plain(np.float64(0.5)), plain(np.array(7)), plain((np.int64(1), range(2)))
    (0.5, 7, [1, [0, 1]])
    """
    if hasattr(answer, "detach"):  # a torch tensor; NumPy has no bfloat16
        answer = answer.detach().cpu()
        answer = (answer.float() if "bfloat16" in str(answer.dtype) else answer).numpy()
    if isinstance(answer, Fraction):
        return float(answer)
    if isinstance(answer, np.generic) or (isinstance(answer, np.ndarray) and answer.ndim == 0):
        return answer.item()
    if isinstance(answer, np.ndarray) and answer.dtype.kind in "OUS":
        return plain(answer.tolist())
    if isinstance(answer, list | tuple) and len(answer) > LONG and _is_table(answer):
        return np.asarray(answer)
    if isinstance(answer, list | tuple | range):
        return [plain(part) for part in answer]
    if isinstance(answer, set | frozenset):
        return {plain(part) for part in answer}
    if isinstance(answer, Mapping):
        return {plain(key): plain(value) for key, value in answer.items()}
    if isinstance(answer, Iterable) and not isinstance(answer, str | bytes | np.ndarray):
        return [plain(part) for part in answer]  # a generator, a map, a zip, the keys of a dict
    return answer


def number(answer: Any, ask: str = "The answer is one number.") -> int | float:
    """Return one real, finite number, whatever it came in; reply with `ask` to anything else.

    >>> number(np.array([0.5])), number(3)
    (0.5, 3)
    """
    found = complex_number(answer, ask)
    if isinstance(found, complex) or not math.isfinite(found):
        raise Reply(ask)
    return found


def complex_number(answer: Any, ask: str = "The answer is one complex number.") -> int | float | complex:
    """Return one number, real or complex, whatever it came in; reply with `ask` to anything else.

    >>> complex_number(np.complex64(1 + 2j))
    (1+2j)
    """
    found = _only(plain(answer))
    if isinstance(found, str):
        raise Reply(f"{ask} A number has no quotes.")
    if isinstance(found, bool) or not isinstance(found, Number):
        raise Reply(ask)
    return found


def whole(answer: Any, ask: str = "The answer is a whole number.") -> int:
    """Return a whole number as an int, 16.0 like 16; reply with `ask` to anything else.

    >>> whole(16.0), whole(np.int64(16))
    (16, 16)
    """
    found = number(answer, ask)
    if found % 1:
        raise Reply(ask)
    return int(found)


def truth(answer: Any, ask: str = "The answer is True or False.") -> bool:
    """Return True or False, which may come as 1 or 0; reply with `ask` to anything else.

    >>> truth(np.bool_(True)), truth(0)
    (True, False)
    """
    found = _only(plain(answer))
    if not isinstance(found, bool | int | float) or found not in (0, 1):
        raise Reply(ask)
    return bool(found)


def row(answer: Any, length: int, ask: str) -> list:
    """Return `length` things that stand in order, as a list; reply with `ask` to anything else.

    >>> row(np.array([10, 5]), 2, "The answer is two positions.")
    [10, 5]
    """
    found = plain(answer)
    if isinstance(found, dict):
        found = list(found.values())
    if not isinstance(found, list | np.ndarray) or len(found) != length:
        raise Reply(ask)
    parts = [plain(part) for part in found]
    if any(part is ... for part in parts):
        raise Reply(...)
    return parts


def numbers(answer: Any, length: int, ask: str) -> list[int | float]:
    """Return `length` numbers that stand in order; reply with `ask` to anything else.

    >>> numbers(range(3), 3, "The answer is three numbers.")
    [0, 1, 2]
    """
    return [number(part, ask) for part in row(answer, length, ask)]


def names(answer: Any, allowed: Collection[str], ask: str) -> set[str]:
    """Return a set of names in whatever collection they came; reply with `ask`, or with the names there are.

    >>> sorted(names(("b", "a"), {"a", "b", "c"}, "The answer is a set of names."))
    ['a', 'b']
    """
    found = plain(answer)
    if isinstance(found, str) or not isinstance(found, list | set | dict):
        raise Reply(ask)
    if unknown := {str(name) for name in found} - set(allowed):
        raise Reply(f"Names are {', '.join(sorted(allowed))}; got {', '.join(sorted(unknown))}.")
    return {str(name) for name in found}


def array(answer: Any, shape: tuple[int, ...] | None = None, ask: str = "") -> np.ndarray:
    """Return numbers as an array, of the `shape` if one is given; reply with `ask` and the shape seen to others.

    >>> array([[1, 2], (3, 4.5)], (2, 2)).tolist()
    [[1.0, 2.0], [3.0, 4.5]]
    """
    ask = ask or ("The answer is an array of numbers." if shape is None else f"The answer has shape {shape}.")
    try:
        found = np.asarray(plain(answer))
    except ValueError:  # rows of unequal length
        raise Reply(f"{ask} Its rows have different lengths.") from None
    if found.dtype.kind not in "biufc":
        raise Reply(ask)
    if shape is not None and found.shape != shape:
        raise Reply(f"{ask} Its shape is {found.shape}.")
    return found


def function(answer: Any, *, or_none: bool = False) -> Answer:
    """Return a function whose results are plain; reply with a sentence where it is none, or returns nothing.

    Arguments: `or_none` where None is an answer too. A stub's `...` ends the judging as not answered yet.
    """
    if not callable(answer):
        raise Reply(NOT_A_FUNCTION)

    @functools.wraps(answer, assigned=())
    def called(*arguments: Any) -> Any:
        _check_signature(answer, len(arguments))
        found = plain(answer(*arguments))
        if found is ... or (isinstance(found, list) and any(part is ... for part in found)):
            raise Reply(...)
        if found is None and not or_none:
            raise Reply("It returned nothing: does it end with return and the result?")
        return found

    return called


def of_function(judge: Callable | None = None, *, or_none: bool = False) -> Callable:
    """Make a judge of functions: the decorated judge is given `function(answer)`."""
    if judge is None:
        return functools.partial(of_function, or_none=or_none)

    @functools.wraps(judge)
    def judged(answer: Any) -> Any:
        return judge(function(answer, or_none=or_none))

    return judged


def _is_table(answer: list | tuple) -> bool:
    """Tell whether a list holds numbers, or rows of as many numbers each."""
    try:
        return np.asarray(answer).dtype.kind in "iufc"
    except (ValueError, TypeError, RuntimeError):  # rows of unequal length; tensors with gradients
        return False


def _only(found: Any) -> Any:
    """Take a single number out of the list or array that holds it alone."""
    while isinstance(found, list | np.ndarray) and len(found) == 1:
        found = plain(found[0])
    return found


def _check_signature(answer: Callable, given: int) -> None:
    """Say how many arguments are given, where the answer cannot take so many."""
    try:
        signature = inspect.signature(answer)
    except (TypeError, ValueError):  # some functions of NumPy have none
        return
    try:
        signature.bind(*range(given))
    except TypeError:
        takes = f"{answer.__name__}{signature}" if hasattr(answer, "__name__") else str(signature)
        many = f"{given} argument{'s' * (given != 1)}"
        raise Reply(f"It is called with {many}, as the exercise says; yours is {takes}.") from None
