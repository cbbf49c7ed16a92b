"""Test vectors for rotary position embedding, as JSON: where they are, and what is in them."""

import json
from pathlib import Path

HERE = Path(__file__).resolve().parent
FILES = ("rotate", "frequencies", "configs", "batch", "axes", "shift", "scale")
KEYWORDS = ("layout", "rotary_dim", "base", "attention_factor")


def cases(name):
    """Return the cases of a file, as dicts of plain lists and numbers."""
    return json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))["cases"]


def version():
    """Return the version of the data."""
    return json.loads((HERE / "rotate.json").read_text(encoding="utf-8"))["version"]


def flat(value):
    """Yield the numbers of nested lists."""
    if isinstance(value, (int, float)):
        yield float(value)
    else:
        for each in value:
            yield from flat(each)


def off(function, case, array):
    """Return the largest difference from the expected numbers; infinity for another shape."""
    found = function(array(case["x"]), array(case["positions"]), **{name: case[name] for name in KEYWORDS})
    found, expected = list(flat(getattr(found, "tolist", lambda: found)())), list(flat(case["expected"]))
    if len(found) != len(expected):
        return float("inf")
    return max(abs(a - b) if a == a else float("inf") for a, b in zip(found, expected, strict=True))
