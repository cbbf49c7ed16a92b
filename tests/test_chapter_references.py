"""Every docstring that names a chapter names one that exists and speaks of the thing described."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[1]
CHAPTERS = {
    path.name.partition("_")[0].lstrip("0"): "\n".join(
        cell.source for cell in nbformat.read(path, as_version=4).cells
    ).lower()
    for path in sorted((ROOT / "notebooks").glob("*.ipynb"))
}
NUMBER = r"(?:[A-Z]\d|\d+)"
REFERENCE = re.compile(rf"[Cc]hapters?\s+({NUMBER}(?:(?:,\s+|,?\s+and\s+|,?\s+to\s+|–){NUMBER})*)")


LEFT_OUT = {"spec"}  # words of a name that a reader never meets


def chapters_in(words: str) -> list[str]:
    """Return the chapters that a docstring names, with those between "1 to 4" or "1–4"."""
    found: list[str] = []
    for listed in REFERENCE.findall(words):
        for first, last in re.findall(rf"({NUMBER})(?:\s+to\s+|–)({NUMBER})", listed):
            found += map(str, range(int(first), int(last) + 1))
        found += re.findall(NUMBER, listed)
    return list(dict.fromkeys(found))


def documented() -> Iterator[tuple[str, str, str]]:
    """Yield (module, name, docstring) of every module, class and function of the package that names a chapter."""
    for path in sorted((ROOT / "rope_edu").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                continue
            words = ast.get_docstring(node) or ""
            if REFERENCE.search(words):
                yield path.relative_to(ROOT).as_posix(), getattr(node, "name", path.stem), words


CASES = [
    (module, name, chapter)
    for module, name, words in documented()
    for chapter in chapters_in(words)
    if "/check/" not in module
]


def speaks_of(chapter: str, name: str) -> bool:
    """Tell whether a chapter has the name, or each of the name's words, in the singular or the plural."""
    words = [part.lower() for part in re.findall(r"[A-Z]+(?![a-z])\d*|[A-Z]?[a-z]+\d*|\d+", name)]
    return "".join(words) in chapter.replace("_", "") or all(
        word.rstrip("s") in chapter for word in words if word not in LEFT_OUT
    )


def test_references_are_read_in_every_form():
    assert chapters_in("Chapters 1 to 3 and 10.") == ["1", "2", "3", "10"]
    assert chapters_in("Chapters 10–12. Chapter A1.") == ["10", "11", "12", "A1"]
    assert chapters_in("as in chapters 2, 3 and 4") == ["2", "3", "4"]


def test_a_name_may_be_spelt_in_words():
    assert speaks_of("rows of scores under attention", "attention_score")
    assert speaks_of("w = orderblindness()", "order_blindness")
    assert not speaks_of("the bias of t5", "XPosRotary")


@pytest.mark.parametrize(("module", "name", "chapter"), CASES)
def test_a_chapter_that_a_docstring_names_exists_and_speaks_of_it(module, name, chapter):
    assert chapter in CHAPTERS
    behind_a_figure = "/widgets/maths/" in module  # the chapter shows the figure, never these names
    assert behind_a_figure or speaks_of(CHAPTERS[chapter], name), f"{module}: {name}"
