"""What chapters print."""

import re
from functools import cache
from pathlib import Path

import nbformat

NOTEBOOKS = Path(__file__).resolve().parents[4] / "notebooks"


@cache
def _code(chapter: str) -> list[nbformat.NotebookNode]:
    """Return a chapter's cells of code."""
    (path,) = NOTEBOOKS.glob(f"{chapter}_*.ipynb")
    return [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]


def source(chapter: str) -> str:
    """Return a chapter's code."""
    return "\n".join(cell.source for cell in _code(chapter))


@cache
def printed(chapter: str) -> str:
    """Return all text that a chapter's cells print, tables included."""
    outputs = [output for cell in _code(chapter) for output in cell.outputs]
    return "\n".join(out.get("text", "") or out.get("data", {}).get("text/plain", "") for out in outputs)


@cache
def seen(claim: int) -> str:
    """Return the numbers on which chapter 23 rests its verdict."""
    return re.search(rf"^{claim}\. .+\n   .+\n   (.+)$", printed("23"), re.MULTILINE)[1]


def after(text: str, words: str) -> float:
    """Return the first number after these words.

    >>> after("drift 1.78; shared in pairs 0.00", "shared")
    0.0
    """
    return numbers(text.partition(words)[2])[0]


def numbers(text: str) -> list[float]:
    """Return all numbers of a text.

    >>> numbers("copy +0, back −7, 76,288 of them")
    [0.0, -7.0, 76288.0]
    """
    found = re.findall(r"[-−+]?\d[\d,]*(?:\.\d+)?", text)
    return [float(number.rstrip(",").replace(",", "").replace("−", "-")) for number in found]


def row(chapter: str, start: str) -> list[float]:
    """Return the numbers of the first printed line that begins with these words."""
    line = next(line for line in printed(chapter).splitlines() if line.startswith(start))
    return numbers(line.removeprefix(start))
