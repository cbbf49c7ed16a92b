"""Convert readers' answers to the form that judges expect.

A number may be an int, a float, a NumPy scalar, or an array or tensor with one element. A row may be a list, a
tuple, a range, an array or a tensor. `native` converts them all to one form; `number`, `whole`, `truth`, `row`,
`names`, `array` and `function` each accept one kind of answer and reply to any other kind with a sentence.
"""

import functools
import inspect
import math
from collections.abc import Callable, Collection, Iterable, Mapping
from fractions import Fraction
from numbers import Number
from typing import Any

import numpy as np

Answer = Callable[..., Any]  # a reader's function, wrapped so that its results are native
NOT_A_FUNCTION = "The answer is a function: give check the name, without parentheses."
LONG = 1000  # lists with more numbers than this are converted in one call


class Reply(Exception):  # noqa: N818 - not an error, but a verdict that ends the judging
    """Raised to stop judging with a verdict: a sentence, or `...` if the exercise is not yet answered."""

    def __init__(self, verdict: Any) -> None:
        super().__init__(verdict)
        self.verdict = verdict


def native(answer: Any) -> Any:
    """Convert an answer to Python scalars, lists, sets and dicts, or to a NumPy array with at least one axis.

    Strings, functions and `...` are returned unchanged.

    >>> native(np.float64(0.5)), native(np.array(7)), native((np.int64(1), range(2)))
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
        return native(answer.tolist())
    if isinstance(answer, list | tuple) and len(answer) > LONG and _is_table(answer):
        return np.asarray(answer)
    if isinstance(answer, list | tuple | range):
        return [native(part) for part in answer]
    if isinstance(answer, set | frozenset):
        return {native(part) for part in answer}
    if isinstance(answer, Mapping):
        return {native(key): native(value) for key, value in answer.items()}
    if isinstance(answer, Iterable) and not isinstance(answer, str | bytes | np.ndarray):
        return [native(part) for part in answer]  # generators, map, zip, dict keys
    return answer


def number(answer: Any, ask: str = "The answer is one number.") -> int | float:
    """Return the answer if it is one finite real number, of any type; reply with `ask` to anything else.

    >>> number(np.array([0.5])), number(3)
    (0.5, 3)
    """
    value = complex_number(answer, ask)
    if isinstance(value, complex) or not math.isfinite(value):
        raise Reply(ask)
    return value


def complex_number(answer: Any, ask: str = "The answer is one complex number.") -> int | float | complex:
    """Return the answer if it is one real or complex number, of any type; reply with `ask` to anything else.

    >>> complex_number(np.complex64(1 + 2j))
    (1+2j)
    """
    value = _only(native(answer))
    if isinstance(value, str):
        raise Reply(f"{ask} A number has no quotes.")
    if isinstance(value, bool) or not isinstance(value, Number):
        raise Reply(ask)
    return value


def whole(answer: Any, ask: str = "The answer is a whole number.") -> int:
    """Return the answer as an int if it is a whole number, such as 16 or 16.0; reply with `ask` to anything else.

    >>> whole(16.0), whole(np.int64(16))
    (16, 16)
    """
    value = number(answer, ask)
    if value % 1:
        raise Reply(ask)
    return int(value)


def truth(answer: Any, ask: str = "The answer is True or False.") -> bool:
    """Return the answer as a bool if it is True, False, 1 or 0; reply with `ask` to anything else.

    >>> truth(np.bool_(True)), truth(0)
    (True, False)
    """
    value = _only(native(answer))
    if not isinstance(value, bool | int | float) or value not in (0, 1):
        raise Reply(ask)
    return bool(value)


def row(answer: Any, length: int, ask: str) -> list:
    """Return the answer as a list if it has `length` items in order; reply with `ask` to anything else.

    >>> row(np.array([10, 5]), 2, "The answer is two positions.")
    [10, 5]
    """
    value = native(answer)
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, list | np.ndarray) or len(value) != length:
        raise Reply(ask)
    parts = [native(part) for part in value]
    if any(part is ... for part in parts):
        raise Reply(...)
    return parts


def numbers(answer: Any, length: int, ask: str) -> list[int | float]:
    """Return the answer as a list if it has `length` numbers in order; reply with `ask` to anything else.

    >>> numbers(range(3), 3, "The answer is three numbers.")
    [0, 1, 2]
    """
    return [number(part, ask) for part in row(answer, length, ask)]


def names(answer: Any, allowed: Collection[str], ask: str) -> set[str]:
    """Return a collection of names as a set; reply with `ask` to anything else, and to unknown names with a list.

    >>> sorted(names(("b", "a"), {"a", "b", "c"}, "The answer is a set of names."))
    ['a', 'b']
    """
    value = native(answer)
    if isinstance(value, str) or not isinstance(value, list | set | dict):
        raise Reply(ask)
    if unknown := {str(name) for name in value} - set(allowed):
        raise Reply(f"Names are {', '.join(sorted(allowed))}; got {', '.join(sorted(unknown))}.")
    return {str(name) for name in value}


def array(answer: Any, shape: tuple[int, ...] | None = None, ask: str = "") -> np.ndarray:
    """Return the answer as an array of numbers; reply with `ask` if it is anything else or has a different shape.

    >>> array([[1, 2], (3, 4.5)], (2, 2)).tolist()
    [[1.0, 2.0], [3.0, 4.5]]
    """
    ask = ask or ("The answer is an array of numbers." if shape is None else f"The answer has shape {shape}.")
    try:
        value = np.asarray(native(answer))
    except ValueError:  # rows of unequal length
        raise Reply(f"{ask} Its rows have different lengths.") from None
    if value.dtype.kind not in "biufc":
        raise Reply(ask)
    if shape is not None and value.shape != shape:
        raise Reply(f"{ask} Its shape is {value.shape}.")
    return value


def function(answer: Any, *, or_none: bool = False) -> Answer:
    """Wrap the reader's function so that its results are native; reply with a sentence to anything but a function.

    A call replies with a sentence if the function takes a different number of arguments or, unless `or_none` is
    set, returns None. A stub that returns `...` counts as not yet answered.
    """
    if not callable(answer):
        raise Reply(NOT_A_FUNCTION)

    @functools.wraps(answer, assigned=())
    def called(*arguments: Any) -> Any:
        _check_signature(answer, len(arguments))
        value = native(answer(*arguments))
        if value is ... or (isinstance(value, list) and any(part is ... for part in value)):
            raise Reply(...)
        if value is None and not or_none:
            raise Reply("It returned nothing: does it end with return and the result?")
        return value

    return called


def of_function(judge: Callable | None = None, *, or_none: bool = False) -> Callable:
    """Decorate a judge whose answers are functions, so that it receives `function(answer)`."""
    if judge is None:
        return functools.partial(of_function, or_none=or_none)

    @functools.wraps(judge)
    def judged(answer: Any) -> Any:
        return judge(function(answer, or_none=or_none))

    return judged


def _is_table(answer: list | tuple) -> bool:
    """Return whether a list contains only numbers, or only rows of numbers of equal length."""
    try:
        return np.asarray(answer).dtype.kind in "iufc"
    except (ValueError, TypeError, RuntimeError):  # rows of unequal length; tensors with gradients
        return False


def _only(value: Any) -> Any:
    """Return the only item of a list or array with one item; return any other value unchanged."""
    while isinstance(value, list | np.ndarray) and len(value) == 1:
        value = native(value[0])
    return value


def _check_signature(answer: Callable, count: int) -> None:
    """Reply with a sentence if the answer cannot be called with `count` positional arguments."""
    try:
        signature = inspect.signature(answer)
    except (TypeError, ValueError):  # not every NumPy function has a signature
        return
    try:
        signature.bind(*range(count))
    except TypeError:
        takes = f"{answer.__name__}{signature}" if hasattr(answer, "__name__") else str(signature)
        many = f"{count} argument{'s' * (count != 1)}"
        raise Reply(f"It is called with {many}, as the exercise says; yours is {takes}.") from None
