"""Chapter 23: a section, a question and an experiment for every claim, and one table of their verdicts."""

import collections
import re
from pathlib import Path

import nbformat
import pytest

PATH = Path(__file__).resolve().parents[1] / "notebooks" / "23_test_the_claims.ipynb"
NOTEBOOK = nbformat.read(PATH, as_version=4)
CODE = [cell for cell in NOTEBOOK.cells if cell.cell_type == "code"]


def the_cell(words: str):
    (cell,) = (cell for cell in CODE if words in cell.source)
    return cell


LISTED = the_cell("CLAIMS = [").source.partition('"""')[2].partition('"""')[0]
CLAIMS = dict(enumerate((line.partition(" | ")[0] for line in LISTED.strip().splitlines()), 1))
AT_THE_END = "".join(
    output["data"]["text/plain"] for output in the_cell("assert sorted(FOUND)").outputs if "data" in output
)
SUMMARY = the_cell("assert sorted(FOUND)").outputs[0]["text"]
VERDICTS = {
    int(number): verdict
    for cell in CODE
    for output in cell.outputs
    for number, verdict in re.findall(
        r"^(\d+)\. .+\n   (HOLDS IF|HOLDS|FALSE|OPEN)\b", output.get("text", ""), re.MULTILINE
    )
}


@pytest.mark.parametrize("number", CLAIMS)
def test_a_claim_has_a_section_and_an_experiment_that_the_table_repeats(number):
    claim = CLAIMS[number]
    headings = [
        i
        for i, cell in enumerate(NOTEBOOK.cells)
        if re.search(rf"^#{{3,4}} {number}\. {re.escape(claim)}$", cell.source, re.MULTILINE)
    ]
    assert len(headings) == 1
    after = NOTEBOOK.cells[headings[0] + 1 :]
    experiment = next(cell for cell in after if cell.cell_type == "code" and "Question(" not in cell.source)
    assert re.search(rf"decide\(\s*{number},", experiment.source)
    said = "".join(output.get("text", "") for output in experiment.outputs)
    found = re.search(rf"{number}\. {re.escape(claim)}\n   (.+)\n   (.+)\n", said)
    assert found, said
    verdict, seen = found.groups()
    assert re.match("HOLDS IF .|HOLDS$|FALSE$|OPEN$", verdict)
    row = next(line for line in AT_THE_END.splitlines() if line.startswith(f"{number}. "))
    assert verdict.casefold() in row.casefold()
    assert " ".join(seen.split()) in " ".join(row.split())


def test_one_claim_and_then_ten_that_cost_money_lead_and_all_but_the_first_are_tested_in_folds():
    order, shown, fold = [], set(), None  # fold: the rank of the heading whose section is folded
    for cell in NOTEBOOK.cells:
        for rank, title in re.findall(r"^(#{1,4}) (.+)$", cell.source, re.MULTILINE):
            if fold is None or len(rank) <= fold:
                fold = len(rank) if title.startswith("Detour: ") else None
            if number := re.match(r"(\d+)\. ", title):
                order.append(int(number[1]))
                shown |= {order[-1]} if fold is None else set()
    assert order[0] == 1
    assert set(order[1:11]) == {15, 19, 20, 22, 23, 24, 26, 27, 28, 29}
    assert order[-17:] == list(range(30, 47))
    assert shown == {1}


def test_the_verdicts_on_the_ten_are_told_in_the_open_below_their_questions_as_the_experiments_found_them():
    for number in (15, 19, 20, 22, 23, 24, 26, 27, 28, 29):
        lead = rf"^\*\*Claim {number}\. “{re.escape(CLAIMS[number])}\.” (.+?)\.?\*\*"
        ((place, told),) = (
            (place, found[1])
            for place, cell in enumerate(NOTEBOOK.cells)
            if (found := re.search(lead, cell.source, re.MULTILINE))
        )
        assert told.upper() == VERDICTS[number]
        assert "Question(" in NOTEBOOK.cells[place - 1].source


def test_the_verdicts_are_counted_as_they_were_found():
    counts = collections.Counter(VERDICTS.values())
    found = [str(counts[kind]) for kind in ("HOLDS", "HOLDS IF", "FALSE", "OPEN")]
    assert re.findall(r"\d+", SUMMARY) == [found[0], found[2], found[3], found[1]]
    short = next(cell.source for cell in NOTEBOOK.cells if cell.source.startswith("> **In short.**"))
    told = re.search(
        r"RoPE (\w+) simply holds, (\w+) hold under .+, (\w+) are false and (\w+) are open", short
    )
    words = dict(
        zip(
            ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"], "123456789", strict=True
        )
    )
    assert [words.get(number, number) for number in told.groups()] == found
    assert f"Of {len(CLAIMS)} common claims" in short


def test_every_claim_is_asked_once_in_its_part_before_its_experiment():
    claims, asked = [0], [0]  # of each part
    for cell in NOTEBOOK.cells:
        for part in re.split(r"(?m)^(?=## )", cell.source):
            if part.startswith("## "):
                claims.append(0)
                asked.append(0)
            claims[-1] += len(re.findall(r"^#{3,4} \d+\. ", part, re.MULTILINE))
        if cell.source.startswith("from rope_book.widgets import Question"):
            asked[-1] += len(re.findall(r'"23-[\w-]+"', cell.source))
        elif re.search(r"decide\(\s*\d+,", cell.source):
            assert asked[-1] >= claims[-1]
    assert sum(claims) == len(CLAIMS)
    assert [n for n, claimed in zip(asked, claims, strict=True) if claimed] == [n for n in claims if n]


def test_the_list_of_claims_gives_no_verdict_away():
    shown = str(the_cell("CLAIMS = [").outputs)
    assert not re.search(r"\b(holds if|false|verdict is)\b", shown, re.IGNORECASE)


def test_a_verdict_that_changed_fails():
    names = {"CLAIMS": [["Water is wet", "1"]]}
    exec(the_cell("def decide(").source, names)
    names["decide"](1, "holds if it rains", "1.0", under_condition=True)
    assert names["FOUND"][1] == ("holds if it rains", "1.0")
    for found in ({}, {"always": True}, {"open": True}):
        with pytest.raises(AssertionError, match="1: the text says holds if, found"):
            names["decide"](1, "holds if it rains", "1.0", **found)
