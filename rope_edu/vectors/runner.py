r"""Run the vectors on a function of Python."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

FILES = ("rotate", "frequencies", "configs")
WIDTHS = ("float64", "float32", "float32, angles in float32", "bfloat16", "float16")


@dataclass(frozen=True)
class Result:
    """One case, run: its name, whether it passed, what was seen, and what a failure points to.

    >>> Result("one pair", True, "off by 0").passed
    True

    Chapter 22.
    """

    name: str
    passed: bool
    seen: str
    catches: tuple[str, ...] = ()


def load(name: str) -> list[dict]:
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

    Args:
        function: `(x, positions, *, layout, rotary_dim, base, attention_factor) -> rotated x`; x is NumPy float64
            `(seq, head_dim)`, positions int64 `(seq,)`.
        width: by which tolerance to judge: what the function computes in, "float64", "float32",
            "float32, angles in float32", "bfloat16" or "float16".

    Returns:
        A Result for each case; one that fails names the mistakes that would make it fail.

    Raises:
        ValueError: `width` is misspelt. What the function raises is a failure of the case, not an error.

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
    return [_run_case(function, case, width) for case in load("rotate")]


def _run_case(function: Callable[..., object], case: dict, width: str) -> Result:
    x, positions = np.array(case["x"]), np.array(case["positions"])
    asked = {name: case[name] for name in ("layout", "rotary_dim", "base", "attention_factor")}
    try:
        found = np.asarray(function(x, positions, **asked), dtype=np.float64)
        off = float(np.abs(found - case["expected"]).max())
    except Exception as error:  # of somebody's function: a case that fails
        return Result(case["name"], False, f"{type(error).__name__}: {error}", tuple(case["catches"]))
    bound = case["tolerance"][width]
    passed = off <= bound  # False for NaN
    return Result(case["name"], passed, f"off by {off:.2g}, allowed {bound:.2g}", tuple(case["catches"]))
