r"""Run the vectors on a function of Python."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np

FILES = ("rotate", "frequencies", "configs")
WIDTHS = ("float64", "float32", "float32, angles in float32", "bfloat16", "float16")
KEYWORDS = ("layout", "rotary_dim", "base", "attention_factor")  # of every case of rotate.json


@dataclass(frozen=True)
class Result:
    """The outcome of one case: its name, whether it passed, the error seen, and the mistakes that would fail it.

    >>> Result("one pair", True, "off by 0").passed
    True

    Chapter 22.
    """

    name: str
    passed: bool
    seen: str
    catches: tuple[str, ...] = ()


def load(name: str) -> list[dict[str, Any]]:
    r"""Read the cases of a file.

    Args:
        name: "rotate", "frequencies" or "configs".

    Returns:
        Cases as dicts of plain lists and numbers.

    Raises:
        ValueError: there is no such file.

    >>> load("rotate")[0]["name"]
    'one pair, interleaved'

    Chapter 22.
    """
    if name not in FILES:
        raise ValueError(f"name must be {', '.join(map(repr, FILES[:-1]))} or {FILES[-1]!r}, got {name!r}")
    return json.loads(files("rope_edu.vectors").joinpath(f"{name}.json").read_text(encoding="utf-8"))["cases"]


def run(function: Callable[..., object], *, width: str = "float64") -> list[Result]:
    r"""Run every case of rotate.json on a function.

    A result passes if it is real, has the shape of x, and is near enough: another shape fails, even one that
    broadcasts, and so does a complex result, even one whose imaginary part is 0.

    Args:
        function: `(x, positions, *, layout, rotary_dim, base, attention_factor) -> rotated x`; x is NumPy float64
            `(seq, head_dim)`, positions int64 `(seq,)`.
        width: number format in which the function computes, which sets the tolerance: "float64", "float32",
            "float32, angles in float32", "bfloat16" or "float16".

    Returns:
        A Result for each case; one that fails names the mistakes that would make it fail.

    Raises:
        ValueError: `width` is misspelt, or the function cannot be called in this way. An exception that the
            function raises is a failure of the case, not an error.

    >>> from rope_edu import apply_rope, inv_freq, rope_angles
    >>> def mine(x, positions, *, layout, rotary_dim, base, attention_factor):
    ...     angles = rope_angles(positions, inv_freq(rotary_dim, base))
    ...     return apply_rope(x, angles, layout=layout, attention_factor=attention_factor)
    >>> all(result.passed for result in run(mine))
    True

    Chapter 22.
    """
    if width not in WIDTHS:
        raise ValueError(f"width must be one of {', '.join(map(repr, WIDTHS))}, got {width!r}")
    _check_signature(function)
    return [_run_case(function, case, width) for case in load("rotate")]


def _check_signature(function: Callable[..., object]) -> None:
    """Raise ValueError that says how to wrap a function that cannot be called with the fields of a case."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a builtin without one: the cases will tell
        return
    try:
        signature.bind("x", "positions", **dict.fromkeys(KEYWORDS))
    except TypeError as error:
        fields = ", ".join(KEYWORDS)
        name = getattr(function, "__name__", "yours")
        raise ValueError(
            f"the function must take (x, positions, *, {fields}), but {name}{signature} does not ({error}): wrap "
            f"it in a function with that signature, which builds yours from {fields} and calls it"
        ) from None


def _run_case(function: Callable[..., object], case: dict[str, Any], width: str) -> Result:
    x, positions, bound = np.array(case["x"]), np.array(case["positions"]), case["tolerance"][width]
    try:
        found = np.asarray(function(x, positions, **{name: case[name] for name in KEYWORDS}))
        passed, seen = _compare(found, np.array(case["expected"]), bound)
    except Exception as error:  # somebody else's function may raise anything: a case that fails
        passed, seen = False, f"{type(error).__name__}: {error}"
    return Result(case["name"], passed, seen, tuple(case["catches"]))


def _compare(found: np.ndarray, expected: np.ndarray, bound: float) -> tuple[bool, str]:
    """Return whether a result is the expected one, and how they differ."""
    if np.iscomplexobj(found):
        return False, f"complex numbers, where real ones {expected.shape} are expected"
    if found.shape != expected.shape:
        return False, f"shape {found.shape}, where that of x, {expected.shape}, is expected"
    off = float(np.abs(found.astype(np.float64) - expected).max())
    return off <= bound, f"off by {off:.2g}, allowed {bound:.2g}"  # False for NaN
