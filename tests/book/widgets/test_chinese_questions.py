"""Questions and exercises of the Chinese chapters: every sentence is translated, and no translation is unused."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rope_book.check.in_page import challenges_in_page, in_page
from rope_book.widgets._questions import questions

from .v8 import scripts

FOLDER = Path(__file__).resolve().parents[3] / "book" / "zh"
FILES = sorted((FOLDER / "questions").glob("*.json"))
CHAPTERS = {
    path.name.partition("_")[0].lstrip("0") for path in FOLDER.rglob("*.po") if path.name[0].isdigit()
}
WORD = re.compile(r"[A-Za-z]{2}")
CODE = re.compile(r"[\d\s()*/+,.-]+")  # a hint may be a line of Python: (1, 8 ** (31 / 63), 8)


def table() -> dict[str, str]:
    """Return {English: Chinese} of all files."""
    found: dict[str, str] = {}
    for file in FILES:
        found |= json.loads(file.read_text(encoding="utf-8"))
    return found


def sentences(asked: dict[str, Any]) -> Iterator[str]:
    """Yield the sentences of a question or an exercise."""
    yield from (asked[name] for name in ("ask", "because", "otherwise", "unit") if name in asked)
    yield from asked.get("hints", [])
    yield from (words for choice in asked.get("choices", []) for words in choice)
    yield from (why for _, why in asked.get("slips", []))
    yield from asked.get("verdicts", {}).values()
    rules = asked.get("rules", {"rules": []})
    yield from (rule[1] for rule in rules["rules"])  # {0}, {1} … for its numbers
    yield from [rules["shows"][1]] if "shows" in rules else []


def of_chapters() -> list[dict[str, Any]]:
    """Return the questions and exercises of the translated chapters."""
    chosen = [asked for asked in questions().values() if asked["chapter"].lstrip("0") in CHAPTERS]
    judged = in_page() | challenges_in_page()
    return chosen + [asked for name, asked in judged.items() if name.partition(".")[0] in CHAPTERS]


WANTED = {text for asked in of_chapters() for text in sentences(asked) if text and not CODE.fullmatch(text)}
PLACES = {place for asked in of_chapters() for place in asked.get("places", [])}


def test_every_sentence_has_its_chinese_and_no_entry_is_left_over():
    assert {"4", "5", "15", "16"} <= CHAPTERS
    assert sorted(WANTED - table().keys()) == []
    assert sorted(table().keys() - WANTED - PLACES) == []


def test_no_two_files_say_a_sentence_differently():
    whole = table()
    for file in FILES:
        said = json.loads(file.read_text(encoding="utf-8"))
        assert said == {english: whole[english] for english in said}


def test_a_translation_has_the_numbers_and_the_symbols_of_its_english():
    marks = re.compile(r"\*\w\*|`[^`]+`|\{\d\}|\d+(?:[.,]\d+)*")
    lost = {
        english: missing
        for english, chinese in table().items()
        if (missing := set(marks.findall(english)) - set(marks.findall(chinese)))
    }
    assert lost == {}


RULED = {name: asked for name, asked in in_page().items() if "rules" in asked}


@pytest.mark.parametrize(
    ("brings", "said"),
    [({}, "There m − n is 4, and 9 − 4 = 5."), (table(), "这时 m − n 是 4，而 9 − 4 = 5。")],
)
def test_a_rule_speaks_the_language_of_the_page(brings, said):
    with scripts("lib/judge") as page:
        page.evaluate(f"globalThis.RopeWords = {json.dumps(brings)}")
        assert page.answer([("judge", [RULED["4.3"], [5, 1]])]) == [{"right": False, "why": said}]
