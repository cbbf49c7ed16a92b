"""Validate the values in a parameters cell: convert valid values, and raise a clear error for invalid ones.

A parameters cell sets values and ends with one line per value, which alone defines the allowed range:

    length = 12  # tokens
    slope = 0.125  # ALiBi's μ, for one head

    length = allow.whole("length", length, 8, 64)
    slope = allow.number("slope", slope, 0.01, 2)

Every function takes the parameter's name, its value and the allowed values (bounds are inclusive). It returns the
value in the type that the chapter needs: integers become floats where fractions are allowed, and lists become
arrays. Other values raise a ValueError that contains the name, the allowed values and the value. In a notebook, a
refused cell changes nothing: all names keep the values that they had before it, so that later cells never compute
with a value that was refused.
`tests/test_parameters.py` parses the ranges from these calls and runs every chapter at both ends of each range and
inside it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
from IPython import get_ipython
from IPython.core.interactiveshell import InteractiveShell

from rope_book.errors import seen, short

BEFORE: dict[str, Any] = {}  # the notebook's names before the current cell


def number(name: str, value: object, low: float, high: float) -> float:
    """Return `value` as a float, which must be from `low` to `high`.

    >>> number("slope", 1, 0.01, 2)
    1.0
    >>> number("slope", -1, 0.01, 2)
    Traceback (most recent call last):
    ValueError: slope must be a number from 0.01 to 2, got -1
    """
    parsed = _floats(value, ())
    if parsed is None or not low <= parsed <= high:
        _refuse(name, f"a number {_range(low, high)}", value)
    return float(parsed)


def whole(name: str, value: object, low: int, high: int, *, even: bool = False) -> int:
    """Return `value` as an int, which must be from `low` to `high`. 16.0 is accepted, but 16.5 is not.

    >>> whole("length", 16.0, 8, 64)
    16
    >>> whole("head_dim", 7, 2, 64, even=True)
    Traceback (most recent call last):
    ValueError: head_dim must be an even whole number from 2 to 64, got 7
    """
    parsed = _floats(value, ())
    if parsed is None or not low <= parsed <= high or parsed % (2 if even else 1):
        _refuse(name, f"{'an even' if even else 'a'} whole number {_range(low, high)}", value)
    return int(parsed)


def flag(name: str, value: object) -> bool:
    """Return `value` if it is True or False."""
    return bool(choice(name, value, (True, False)))


def choice(name: str, value: object, options: Sequence) -> object:
    """Return the member of `options` that equals `value`; 1 does not count as True.

    >>> choice("task", "bakc", ["copy", "back"])
    Traceback (most recent call last):
    ValueError: task must be 'copy' or 'back', got 'bakc'
    """
    for option in options:
        if isinstance(value, bool | np.bool_) == isinstance(option, bool) and np.array_equal(value, option):
            return option
    shown = [repr(option) for option in options]
    _refuse(name, " or ".join([", ".join(shown[:-1]), shown[-1]] if shown[1:] else shown), value)


def vector(
    name: str, value: object, size: int, low: float, high: float, *, shortest: float = 0.0
) -> np.ndarray:
    """Return `value` as a float64 array `(size,)` with entries in [`low`, `high`] and norm ≥ `shortest`.

    >>> vector("q", [1, 0], 2, -10, 10)
    array([1., 0.])
    >>> vector("q", [0, 0], 2, -10, 10, shortest=0.1)
    Traceback (most recent call last):
    ValueError: q must be a list of 2 numbers, each from -10 to 10, of length 0.1 or more as an arrow, got [0, 0]
    """
    parsed = _floats(value, (size,))
    if parsed is None or not _inside(parsed, low, high) or np.linalg.norm(parsed) < shortest:
        longer = f", of length {_literal(shortest)} or more as an arrow" if shortest else ""
        _refuse(name, f"a list of {size} numbers, each {_range(low, high)}{longer}", value)
    return parsed


def matrix(name: str, value: object, rows: int, columns: int, low: float, high: float) -> np.ndarray:
    """Return `value` as a float64 array `(rows, columns)` with entries in [`low`, `high`].

    >>> matrix("W", [[1, 0], [0, 1]], 2, 2, -2, 2)
    array([[1., 0.],
           [0., 1.]])
    """
    parsed = _floats(value, (rows, columns))
    if parsed is None or not _inside(parsed, low, high):
        _refuse(
            name, f"a matrix of {rows} rows and {columns} columns, each number {_range(low, high)}", value
        )
    return parsed


def vectors(
    name: str, value: object, keys: Iterable[str], size: int, low: float, high: float
) -> dict[str, np.ndarray]:
    """Return the dict `value` with its vectors as float64 arrays. It must contain `keys`, and may contain others.

    >>> vectors("words", {"dog": [1, 0]}, ["dog"], 2, -2, 2)
    {'dog': array([1., 0.])}
    """
    missing = [key for key in keys if not isinstance(value, Mapping) or key not in value]
    if missing:
        _refuse(name, f"a dict with a list of {size} numbers for {', '.join(map(repr, keys))}", value)
    return {key: vector(f"{name}[{key!r}]", row, size, low, high) for key, row in value.items()}


def complex_number(name: str, value: object, shortest: float, longest: float) -> complex:
    """Return `value` as a complex number, whose absolute value must be from `shortest` to `longest`.

    >>> complex_number("q", 2, 0.1, 10)
    (2+0j)
    """
    real = _floats(value, ())
    parsed = real if real is not None else value if isinstance(value, complex | np.complexfloating) else None
    if parsed is None or not shortest <= abs(parsed) <= longest:
        _refuse(name, f"a complex number such as 1.2 + 0.3j, of a length {_range(shortest, longest)}", value)
    return complex(parsed)


def sentence(
    name: str,
    value: object,
    least: int,
    most: int,
    *,
    known: Iterable[str] | None = None,
    order_of: str | None = None,
) -> str:
    """Return `value` as a sentence with single spaces, which must have `least` to `most` words.

    `known` lists the allowed words. If `order_of` is given, `value` must contain exactly its words, in any order.

    >>> sentence("first", "the  dog", 2, 8, known=["the", "dog"])
    'the dog'
    """
    words = value.split() if isinstance(value, str) else []
    if not least <= len(words) <= most:
        _refuse(name, f"a sentence of {least} to {most} words, in quotes", value)
    if known is not None and (unknown := [word for word in words if word not in known]):
        _refuse(name, f"a sentence of these words: {', '.join(known)}", unknown[0])
    if order_of is not None and sorted(words) != sorted(order_of.split()):
        _refuse(name, f"the words of {order_of!r} in any order", value)
    return " ".join(words)


def _floats(value: object, shape: tuple[int, ...]) -> np.ndarray | None:
    """Return finite real numbers of the given shape as float64, or None for anything else, including bools."""
    try:
        parsed = np.asarray(value)
    except (TypeError, ValueError):
        return None
    if parsed.dtype.kind not in "iuf" or parsed.shape != shape or not np.all(np.isfinite(parsed)):
        return None
    return parsed.astype(np.float64)


def _inside(parsed: np.ndarray, low: float, high: float) -> bool:
    """Return whether all numbers are between `low` and `high`, inclusive."""
    return bool(np.all((low <= parsed) & (parsed <= high)))


def _literal(bound: float) -> str:
    """Return a bound as a Python literal, such as 0.01, 64 or 1_000_000."""
    return f"{int(bound):_}" if float(bound).is_integer() else f"{bound:_}"


def _range(low: float, high: float) -> str:
    """Format a range as "from low to high"."""
    return f"from {_literal(low)} to {_literal(high)}"


def _refuse(name: str, allowed: str, value: object) -> NoReturn:
    """Raise ValueError with the name, the allowed values and the value, after undoing the notebook's cell."""
    sentence = f"{name} must be {allowed}, got {seen(value)}"
    if BEFORE:
        _undo()
        sentence += "; all names keep the values that they had before this cell"
    raise short(ValueError(sentence))


def watch(shell: InteractiveShell) -> None:
    """Note the notebook's names before each cell."""

    def note(*_: object) -> None:
        BEFORE.clear()
        BEFORE.update(_names(shell))

    shell.events.register("pre_run_cell", note)


def _undo() -> None:
    """Restore the notebook's names to their values before the current cell."""
    shell = get_ipython()
    for name in _names(shell).keys() - BEFORE:
        del shell.user_ns[name]
    shell.user_ns.update(BEFORE)


def _names(shell: InteractiveShell) -> dict[str, Any]:
    """Return the notebook's names with their values, except those that IPython maintains."""
    return {name: value for name, value in shell.user_ns.items() if not name.startswith("_")}


if shell := get_ipython():
    watch(shell)
