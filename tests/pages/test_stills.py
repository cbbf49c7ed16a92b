"""What the notebooks store of a figure is in step with the figure's sources."""

import fern_stills
import nbformat
import pytest
from readme_picture import pictures

from notebooks import STUB, draw_still, views
from rope_book.widgets import LiveFigure, Question
from rope_book.widgets.base import LONG_LIST
from rope_book.widgets.question import as_list

from .conftest import ROOT

pytestmark = pytest.mark.browser
STORED = [
    pytest.param(
        data, model, id=f"{path.stem}-{model['state'].get('_anywidget_id', 'other').rpartition('.')[2]}"
    )
    for path in sorted((ROOT / "notebooks").glob("*.ipynb"))
    for data, model in views(nbformat.read(path, as_version=4))
]
QUESTIONS = [case for case in STORED if case.id.endswith("-Question")]
LIVE = [case for case in STORED if "_anywidget_id" in case.values[1]["state"] and case not in QUESTIONS]


@pytest.fixture(scope="module")
def sheet(browser):
    """A page on which one figure after another is drawn, as `make notebooks` draws them."""
    page = browser.new_page()
    yield page
    page.close()


@pytest.mark.sampled
@pytest.mark.parametrize(("data", "model"), LIVE)
def test_still_is_what_the_figure_draws_today(sheet, data, model):
    drawn = draw_still(sheet, model)
    stored = data["image/svg+xml"]
    assert "".join(stored) == drawn, "run `make notebooks`"


def test_the_picture_of_the_readme_is_what_its_figure_draws_today(sheet):
    for name, text in pictures(sheet).items():
        assert (ROOT / ".github" / name).read_text(encoding="utf-8") == text, (
            "run book/tools/readme_picture.py"
        )


def test_the_stages_of_the_fern_are_what_it_draws_today(sheet):
    for name, text in fern_stills.stills(sheet).items():
        stored = (fern_stills.FOLDER / name).read_text(encoding="utf-8")
        assert stored == text, "run book/tools/fern_stills.py"


@pytest.mark.parametrize(("data", "model"), LIVE)
def test_stored_state_is_small_and_of_today(data, model):
    state = model["state"]
    figure = LiveFigure.figures[state["_anywidget_id"].rpartition(".")[2]]
    assert state["_esm"] == STUB
    values = {name: state[name] for name in figure.controls()}
    if "only" in state:
        values["only"] = state["only"]
    fresh = figure(**values)
    assert state["_controls"] == fresh._controls, "run `make notebooks`"
    assert data["text/plain"] == LONG_LIST.sub("[…]", repr(fresh))


@pytest.mark.parametrize(("data", "model"), STORED)
def test_every_widget_has_a_picture_beside_it(data, model):
    printed = model["model_name"] == "OutputModel"  # what a followed function printed; the page leaves it out
    assert (
        printed or "image/png" in data or "questions" in model["state"]
    )  # shown before the notebook is trusted


@pytest.mark.parametrize(("data", "model"), QUESTIONS)
def test_questions_are_stored_as_their_file_has_them_today(data, model):
    fresh = Question(*(asked["id"] for asked in model["state"]["questions"]))
    assert model["state"]["_esm"] == STUB
    assert model["state"]["questions"] == fresh.questions, "run `make notebooks`"
    assert "".join(data["text/html"]) == as_list(fresh.questions)
    assert data["text/plain"] == repr(fresh)
