r"""Run the test vectors on a Python function."""

import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np

FILES = ("rotate", "frequencies", "configs", "batch", "axes", "shift", "scale")
WIDTHS = ("float64", "float32", "float32, angles in float32", "bfloat16", "float16")
KEYWORDS = ("layout", "rotary_dim", "base", "attention_factor")
CALLS = {  # argument names of the function that each case file calls
    "rotate": ("x", "positions", *KEYWORDS),
    "batch": ("x", "positions", *KEYWORDS),
    "axes": ("x", "positions", *KEYWORDS, "axes"),
    "shift": ("x", "shift", *KEYWORDS),
}


@dataclass(frozen=True)
class Result:
    """The outcome of a case: its name, whether it passed, the error, and the mistakes that it detects.

    >>> Result("one pair", True, "off by 0").passed
    True

    Chapter 22.
    """

    name: str
    passed: bool
    seen: str
    catches: tuple[str, ...] = ()


def load(name: str) -> list[dict[str, Any]]:
    r"""Return the cases in one of the `FILES` as dicts of plain lists and numbers; ValueError for any other name.

    >>> load("rotate")[0]["name"]
    'one pair, interleaved'

    Chapter 22.
    """
    if name not in FILES:
        raise ValueError(f"name must be {', '.join(map(repr, FILES[:-1]))} or {FILES[-1]!r}, got {name!r}")
    text = files("rope_doctor.vectors").joinpath(f"{name}.json").read_text(encoding="utf-8")
    return json.loads(text)["cases"]


def run(function: Callable[..., object], *, width: str = "float64", cases: str = "rotate") -> list[Result]:
    r"""Run a function on all cases in a file and return the results; a failure lists mistakes that may explain it.

    A result passes if it is real, has x's shape, and is within the tolerance. A different shape fails even if it
    broadcasts, and a complex result fails even if its imaginary part is 0.

    Args:
        function: `(x, positions, *, layout, rotary_dim, base, attention_factor) -> rotated x`; x is a float64 NumPy
            array of shape `(seq, head_dim)`, and positions an int64 array of shape `(seq,)`.
        width: the function's number format, which determines the tolerance: "float64", "float32", "float32, angles
            in float32", "bfloat16" or "float16".
        cases: the file of cases. "rotate" calls the function as above. In "batch", x is `(batch, seq, head_dim)`
            and positions `(batch, seq)`. In "axes", positions is `(axes, seq)`, and an extra argument `axes` gives
            the index of the coordinate that each pair uses. In "shift", x holds keys that are already rotated, and
            `shift`, the number of tokens to move them by, replaces positions.

    ValueError if `width` or `cases` is unknown, or the function has a different signature. A case fails if the
    function raises an exception.

    >>> from rope_edu import apply_rope, inv_freq, rope_angles
    >>> def mine(x, positions, *, layout, rotary_dim, base, attention_factor):
    ...     angles = rope_angles(positions, inv_freq(rotary_dim, base))
    ...     return apply_rope(x, angles, layout=layout, attention_factor=attention_factor)
    >>> all(result.passed for cases in ("rotate", "batch") for result in run(mine, cases=cases))
    True

    Chapter 22.
    """
    check_call(function, width, cases)
    return [run_case(function, case, width, cases) for case in load(cases)]


def check_call(function: Callable[..., object], width: str, cases: str) -> None:
    """Raise ValueError, with advice on wrapping, if a function does not accept a case's fields as arguments."""
    for name, value, allowed in (("width", width, WIDTHS), ("cases", cases, tuple(CALLS))):
        if value not in allowed:
            raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a built-in without a signature; the cases will fail instead
        return
    first, second, *keywords = CALLS[cases]
    try:
        signature.bind(first, second, **dict.fromkeys(keywords))
    except TypeError as error:
        fields = ", ".join(keywords)
        name = getattr(function, "__name__", "yours")
        raise ValueError(
            f"the function must take ({first}, {second}, *, {fields}), but {name}{signature} does not ({error}): "
            f"wrap it in a function with that signature, which builds yours from {fields} and calls it"
        ) from None


def run_case(function: Callable[..., object], case: dict[str, Any], width: str, cases: str) -> Result:
    """Run a case and return its outcome."""
    first, second, *keywords = CALLS[cases]
    bound, inputs = case["tolerance"][width], (np.array(case[first]), np.array(case[second]))
    real = np.array(case["real"], dtype=bool) if "real" in case else np.s_[:]
    try:
        result = np.asarray(function(*inputs, **{name: case[name] for name in keywords}))
        passed, seen = _compare(result, np.array(case["expected"]), bound, real)
    except (
        Exception,
        SystemExit,
    ) as error:  # SystemExit too: a function that calls sys.exit() fails its case
        passed, seen = False, f"{type(error).__name__}: {_message(error)}"
    except BaseException as error:  # such as KeyboardInterrupt
        error.add_note(f"raised in the case {case['name']!r}")
        raise
    return Result(case["name"], passed, seen, tuple(case["catches"]))


def _message(error: BaseException) -> str:
    """Return the message of an exception, even if its `__str__` fails."""
    try:
        return str(error)
    except Exception as failure:
        return f"(its message raises {type(failure).__name__})"


def _compare(result: np.ndarray, expected: np.ndarray, bound: float, real: Any) -> tuple[bool, str]:
    """Return whether a result matches the expected one, ignoring padding, and the difference as text."""
    if np.iscomplexobj(result):
        return False, f"complex numbers, expected real numbers of shape {expected.shape}"
    if result.shape != expected.shape:
        return False, f"shape {result.shape}, expected the shape of x, {expected.shape}"
    off = float(np.abs(result.astype(np.float64) - expected)[real].max())
    return off <= bound, f"off by {off:.2g}, allowed {bound:.2g}"  # False for NaN
