"""The prose reads as written in English, and a chapter's spine as something that one finishes."""

import pytest
from prose import CHAPTERS, PAGES, findings, markdown, sentences
from words import ALONE, PACE, PRACTICE, Chapter, read

LONGEST_SPINE = 1_800  # words of a chapter that stay unfolded
ALL_SPINES = 30_000
FIVE_HOURS = 300  # minutes: the spines of chapters 1 to 24, words and code, without exercises


@pytest.mark.parametrize("path", [*PAGES, *CHAPTERS], ids=lambda path: path.stem)
def test_no_phrase_reads_as_translated(path):
    found = [f"{path.name}: {name}: {sentence}" for name, sentence in findings(markdown(path))]
    assert not found, "\n".join(found)


def test_no_spine_is_too_long_and_all_of_them_are_done_in_five_hours():
    rows = {path.stem: read(path) for path in CHAPTERS if not path.stem.startswith(ALONE)}
    assert {name: row["spine"] for name, row in rows.items() if row["spine"] > LONGEST_SPINE} == {}
    assert sum(row["spine"] for row in rows.values()) <= ALL_SPINES
    numbered = [row["minutes"] for name, row in rows.items() if not name.startswith("A")]
    assert len(numbered) == 24
    assert sum(numbered) <= FIVE_HOURS


def test_an_exercise_is_counted_once_and_apart_and_what_is_folded_takes_no_time_of_the_spine():
    chapter = Chapter()
    chapter.add_markdown("one " * PACE)
    chapter.add_code("x = 1", [])
    before = chapter.minutes()
    chapter.add_code('a = ...\n\ncheck("1.1", a)', [])
    chapter.add_code("assert x", ["hide-input"])
    chapter.add_code("import x", ["setup", "hide-cell"])
    after = chapter.minutes()
    assert before == {"read": 1, "code": 1, "minutes": 2, "practice": 0, "everything": 2}
    assert after == before | {"practice": PRACTICE, "everything": 2 + PRACTICE + 1}


WRONG = [
    "The base stands in the config.",
    "The base\nstood in the config.",
    "It makes a turn a token.",
    "It works all the same.",
    "It gets its own rate.",
    "A parameter with an own learning rate.",
    "Now it shall read numbers.",
    "Who says so is wrong.",
    "It knows nothing of positions.",
    "True. What it costs is a table.",
    "- one\n- What it costs is a table.",
    "**What it costs** is a table.",
    "| a | What it costs is a table. |",
    "Who guesses is right in a quarter of cases.",
]
RIGHT = [
    "You understand an outstanding standard.",
    "It stands alone; it stands for a token; pairs stand still; it stands out; it runs as it stands.",
    "They are all the same.",
    "What does it cost?",
    'They write "What it costs stands in the table." and mean it.',
    "## What it costs\n\nIt costs a table.",
    "| What it costs | Who ships it |\n|---|---|\n| `stands` | $shall$ |",
    "```\nshall\n```",
    "<details><summary>What you should have seen</summary>\n\nA table.\n\n</details>",
    "See [What it costs is a table](https://example.org/shall).",
]


@pytest.mark.parametrize("text", WRONG)
def test_a_phrase_is_found_once(text):
    assert len(list(findings(text))) == 1


@pytest.mark.parametrize("text", RIGHT)
def test_what_is_english_passes(text):
    assert list(findings(text)) == []


def test_sentences_are_taken_apart():
    text = "One is here. **Two** is, too: $x$.\n\n- three\n- Four? Yes.\n\n| a | b. |\n|---|---|"
    assert list(sentences(text))[:6] == ["One is here.", "Two** is, too: X.", "three", "Four?", "Yes.", "a"]
