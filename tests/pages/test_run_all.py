"""*Run All* leaves a chapter's first figure as its first question needs it."""

import nbformat
import pytest
from playwright.sync_api import expect

from .conftest import ROOT, at_rest, soon
from .lab import opened, save, served

pytestmark = pytest.mark.browser
PICTURE = "image/svg+xml"
END = "from pathlib import Path\nPath('end').touch()"
TO_THE_TOP = "() => (document.querySelector('.jp-WindowedPanel-outer').scrollTop = 0)"


def first_figure(notebook):
    """Return the line of Python and the words of the first figure that a notebook shows."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    data = next(output.data for output in outputs if PICTURE in output.get("data", {}))
    return data["text/plain"], data[PICTURE].partition("<desc>")[2].partition("</desc>")[0]


@pytest.mark.nightly
@pytest.mark.parametrize(
    "chapter", ["04_rotate_one_pair", "09_score_against_distance", "18_break_and_mend_a_model"]
)
def test_run_all_leaves_the_first_figure_to_its_question(browser, tmp_path, chapter):
    notebook = nbformat.read(ROOT / "notebooks" / f"{chapter}.ipynb", as_version=4)
    line, words = first_figure(notebook)
    notebook.cells.append(nbformat.v4.new_code_cell(END))
    path = tmp_path / f"{chapter}.ipynb"
    nbformat.write(notebook, path)

    with served(tmp_path) as lab, opened(browser, lab, chapter) as (page, _):
        for item in ("Run", "Run All Cells"):
            page.get_by_role("menuitem", name=item, exact=True).click()
        soon(page, (tmp_path / "end").exists)
        page.evaluate(TO_THE_TOP)
        figure = page.locator('[data-live][data-ready="true"]').first
        expect(figure).to_have_attribute("aria-busy", "false")
        at_rest(page)
        assert figure.locator(".rl-python code").text_content() == "figure.set()"  # as its cell made it
        save(page)
    assert first_figure(nbformat.read(path, as_version=4)) == (line, words)
