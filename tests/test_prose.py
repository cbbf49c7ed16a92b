"""The prose reads as written in English, and a chapter's spine as something that one finishes."""

import pytest
from prose import CHAPTERS, PAGES, findings, markdown, sentences
from words import ALONE, read

LONGEST_SPINE = 1_800  # words of a chapter that stay unfolded
ALL_SPINES = 30_000


@pytest.mark.parametrize("path", [*PAGES, *CHAPTERS], ids=lambda path: path.stem)
def test_no_phrase_reads_as_translated(path):
    found = [f"{path.name}: {name}: {sentence}" for name, sentence in findings(markdown(path))]
    assert not found, "\n".join(found)


def test_no_spine_is_too_long_and_all_of_them_are_read_in_four_hours():
    spines = {path.stem: read(path)["spine"] for path in CHAPTERS if not path.stem.startswith(ALONE)}
    assert {name: words for name, words in spines.items() if words > LONGEST_SPINE} == {}
    assert sum(spines.values()) <= ALL_SPINES


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
