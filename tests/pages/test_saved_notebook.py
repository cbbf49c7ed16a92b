"""A saved notebook shows its figures as the student left them: in the file, reopened, and on another machine."""

import nbformat
import pytest
from playwright.sync_api import expect

from .conftest import soon
from .lab import LAB, NOTEBOOK, end_kernels, opened, save, served, told, write

pytestmark = pytest.mark.browser
CELLS = [
    "from rope_book.widgets import Question, RotatePair\nfigure = RotatePair(position=7)\nfigure",
    'Question("04-lock", figure=figure)',
    "figure.position = 31",
    "data = figure._repr_mimebundle_()[0]\nprint('q has turned by 7.75 rad' in data['image/svg+xml'])",
]
VIEW = "application/vnd.jupyter.widget-view+json"
SVG, PNG = "image/svg+xml", "image/png"
WORDS = "Both words, ten places on: [▶ 19 and 12](#live=RotatePair&position=19&key_position=12)"
ERROR = "Error displaying widget"


def stored(path):
    """Return what the first cell of a notebook shows, by kind."""
    (output,) = nbformat.read(path, as_version=4).cells[0].outputs
    return output.data


@pytest.mark.nightly
@pytest.mark.parametrize("app", [LAB, NOTEBOOK], ids=lambda app: app.module)
def test_a_saved_notebook_shows_what_the_student_left(browser, tmp_path, app):
    pytest.importorskip(app.module, reason="Notebook 7 is not installed: pip install notebook")
    path = tmp_path / "mine.ipynb"
    write(path, CELLS, WORDS)

    def saved(page, kind):
        """Save; the picture in the file, of this kind."""
        save(page)
        return stored(path).get(kind, "")

    with served(tmp_path, app) as lab:
        with opened(browser, lab, "mine") as (page, run):
            for cell in (0, 1):
                run(cell)
            slider = page.locator('[data-live="RotatePair"] [data-trait="position"] input')
            page.locator('[data-live="Question"][data-ready="true"]').wait_for()

            # a hand: the picture is of the last place, and nothing was drawn anew under the hand
            slider.press("ArrowRight")
            slider.press("ArrowRight")
            assert "At position 9, q has turned" in saved(page, SVG)
            expect(slider).to_be_focused()

            # the image for an untrusted notebook comes a moment later
            soon(page, lambda: saved(page, PNG))
            assert VIEW in stored(path)
            expect(slider).to_be_focused()

            # keys that the slider does not use are the notebook's: B makes a cell below, and Z takes it back
            cells = page.locator(".jp-Notebook .jp-CodeCell")
            for key, count in (("b", len(CELLS) + 1), ("z", len(CELLS))):
                slider.press(key)
                expect(cells).to_have_count(count)

            # a link in the text sets the figure; what is saved does not wait until the picture has glided there
            page.get_by_role("link", name="▶ 19 and 12").click()
            expect(slider).to_have_value("19")
            assert "At position 19, q has turned" in saved(page, SVG)

            # code: the same, and Python has it for the next display
            run(2)
            expect(slider).to_have_value("31")
            assert "At position 31, q has turned" in saved(page, SVG)
            told(run, 3, lambda printed: printed.strip() == "True")
            soon(page, lambda: saved(page, PNG))

        # reopened without that kernel: the still, and the questions as a list
        end_kernels(lab)
        with opened(browser, lab, "mine") as (page, run):
            expect(page.locator(".rope-still svg desc")).to_contain_text("At position 31, q has turned")
            expect(page.locator(".rope-still ol")).to_contain_text("The answer")
            assert not page.get_by_text(ERROR).count()
            run(0)
            figure = page.locator('[data-live="RotatePair"][data-ready="true"]')
            figure.wait_for()

            # a restart of Python, by the keys of the notebook, is told below the figure
            for key in ("Escape", "0", "0"):
                page.keyboard.press(key)
            page.locator(".jp-Dialog .jp-mod-accept").last.click()
            expect(figure.locator(".rl-gone")).to_contain_text("stopped or restarted")

        # elsewhere the notebook is not trusted: a picture that any front end shows
        (tmp_path / "handed_in.ipynb").write_text(path.read_text(encoding="utf-8").replace("31", "32"))
        with opened(browser, lab, "handed_in") as (page, _):
            page.locator(".jp-OutputArea img[src^='data:image/png']").first.wait_for()
            assert not page.locator(".jp-OutputArea").get_by_text("RotatePair(position").count()
