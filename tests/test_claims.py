"""Chapter 23: every claim of its table has a section, an experiment that decides it, and what the table prints."""

import ast
import re
from pathlib import Path

import nbformat
import pytest

PATH = Path(__file__).resolve().parents[1] / "notebooks" / "23_test_the_claims.ipynb"
NOTEBOOK = nbformat.read(PATH, as_version=4)
CODE = [cell for cell in NOTEBOOK.cells if cell.cell_type == "code"]


def table() -> list[tuple[str, str, str, str]]:
    """Return the rows: claim, verdict, number seen, chapter."""
    (cell,) = (cell for cell in CODE if "ROWS = [" in cell.source)
    rows = next(node for node in ast.parse(cell.source).body if isinstance(node, ast.Assign))
    return ast.literal_eval(rows.value)


ROWS = dict(enumerate(table(), 1))


@pytest.mark.parametrize("number", ROWS)
def test_a_claim_has_a_section_and_an_experiment_that_says_what_the_table_says(number):
    claim, verdict, seen, _ = ROWS[number]
    headings = [
        i for i, cell in enumerate(NOTEBOOK.cells) if cell.source.startswith(f"### {number}. {claim}\n")
    ]
    assert len(headings) == 1
    experiment = NOTEBOOK.cells[headings[0] + 1]
    assert re.search(rf"decide\(\s*{number},", experiment.source)
    assert "*Predict:*" in NOTEBOOK.cells[headings[0]].source
    said = "".join(output.get("text", "") for output in experiment.outputs)
    assert said == f"{number}. {claim}\n   {verdict.upper()}\n   {seen}\n"


def test_a_verdict_that_changed_fails():
    (cell,) = (cell for cell in CODE if "def decide(" in cell.source)
    names = {"ROWS": [("Water is wet", "holds if it rains", "1.0", "1")], "as_printed": True}
    exec(cell.source, names)
    names["decide"](1, "1.0", under_condition=True)
    for found in ({}, {"always": True}):
        with pytest.raises(AssertionError, match="1: the table says holds if, found"):
            names["decide"](1, "1.0", **found)
    with pytest.raises(AssertionError, match=r"1: the table says 1.0, found 0.9"):
        names["decide"](1, "0.9", under_condition=True)
