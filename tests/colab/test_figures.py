"""Figures with Colab's ipywidgets 7, in the classic Notebook: a hand, keys, links, and what a saved notebook shows.

Colab's own page cannot be had here. Its widgets are in frames of their own, out of reach of the notebook's text.
"""

from contextlib import contextmanager

import nbformat
import pytest
from playwright.sync_api import expect

from tests.pages.conftest import soon
from tests.pages.lab import App, end_kernels, save, served, write

pytestmark = [pytest.mark.browser, pytest.mark.timeout(1800)]
OPTIONS = (
    "--NotebookApp.port_retries=0",
    "--NotebookApp.token=",
    "--NotebookApp.disable_check_xsrf=True",  # so that a test can end kernels
)
CELLS = [
    "from rope_book.widgets import Question, RotatePair\nfigure = RotatePair(position=7)\nfigure",
    'Question("04-lock", figure=figure)',
    "figure.position = 31",
    "print('position is', figure.position)",
]
WORDS = "Both words, ten places on: [▶ 19 and 12](#live=RotatePair&position=19&key_position=12)"
SVG, PNG = "image/svg+xml", "image/png"
IS_CONNECTED = "() => window.Jupyter?.notebook?.kernel?.is_connected()"


@pytest.fixture
def classic(colab, installed) -> App:
    """The classic Notebook in Colab's environment, as the setup cell leaves it."""
    return App("notebook", "notebooks", OPTIONS, str(colab.python), colab.variables)


@contextmanager
def opened(browser, address, name):
    """Open a notebook; yield its page, and a function that runs a cell by its number and returns its output."""
    page = browser.new_page(viewport={"width": 1200, "height": 1400})
    page.goto(f"{address}/{name}.ipynb")
    cells = page.locator(".code_cell")
    cells.first.wait_for()
    page.wait_for_function(IS_CONNECTED)

    def run(number):
        """Run a cell by the keys."""
        cell = cells.nth(number)
        cell.locator(".CodeMirror").click()
        page.keyboard.press("Control+Enter")
        page.wait_for_function(
            "(el) => /\\d/.test(el.textContent)", arg=cell.locator(".input_prompt").element_handle()
        )
        return cell.locator(".output")

    yield page, run
    page.close()


def test_the_classic_notebook_moves_saves_and_shows_what_the_student_left(browser, classic, tmp_path):
    path = tmp_path / "mine.ipynb"
    write(path, CELLS, WORDS)

    def saved(page, kind):
        """Save; the picture in the file, of this kind."""
        save(page)
        (output,) = nbformat.read(path, as_version=4).cells[0].outputs
        return output.data.get(kind, "")

    with served(tmp_path, classic) as address:
        with opened(browser, address, "mine") as (page, run):
            for number in (0, 1):
                run(number)
            page.locator('[data-live="Question"][data-ready="true"]').wait_for()
            slider = page.locator('[data-live="RotatePair"][data-ready="true"] [data-trait="position"] input')

            # a hand: the arrows are the slider's, the keys that it does not use are the notebook's
            slider.press("ArrowRight")
            slider.press("ArrowRight")
            assert "At position 9, q has turned" in saved(page, SVG)
            expect(slider).to_be_focused()
            soon(page, lambda: saved(page, PNG))
            expect(run(3)).to_have_text("position is 9\n")

            # a link in the text, and at once a save
            page.get_by_role("link", name="▶ 19 and 12").click()
            expect(slider).to_have_value("19")
            assert "At position 19, q has turned" in saved(page, SVG)

            # code
            run(2)
            expect(slider).to_have_value("31")
            assert "At position 31, q has turned" in saved(page, SVG)
            soon(page, lambda: saved(page, PNG))

            # B makes a cell below
            cells = page.locator(".code_cell")
            slider.press("b")
            expect(cells).to_have_count(len(CELLS) + 1)
            save(page)

        # reopened without that kernel: the still, and the questions as a list
        end_kernels(address)
        with opened(browser, address, "mine") as (page, run):
            expect(page.locator(".rope-still svg desc")).to_contain_text("At position 31, q has turned")
            expect(page.locator(".rope-still ol")).to_contain_text("The answer")
            assert not page.get_by_text("A Jupyter widget could not be displayed").count()
            run(0)
            page.locator('[data-live="RotatePair"][data-ready="true"]').wait_for()

        # elsewhere the notebook is not trusted: a picture that any front end shows
        (tmp_path / "handed_in.ipynb").write_text(path.read_text(encoding="utf-8").replace("31", "32"))
        with opened(browser, address, "handed_in") as (page, _):
            page.locator(".output img[src^='data:image/png']").first.wait_for()
            assert not page.get_by_text("A Jupyter widget could not be displayed").count()
