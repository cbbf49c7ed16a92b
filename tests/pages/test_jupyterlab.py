"""The same figure in JupyterLab: a hand moves the trait, code moves the picture, arrow keys stay in the slider."""

import ast
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from rope_book import widgets
from rope_book.widgets import LiveFigure

from .conftest import at_rest, soon
from .lab import opened, served, told, write

pytestmark = pytest.mark.browser
PARTS = (".rl-picture", ".rl-controls")
SCREEN = 700  # pixels of a small screen that a notebook has for a picture with its first control
HOSTS = Path(__file__).with_name("hosts.js")
ALL = [
    "from rope_book.widgets import LiveFigure\n"
    "made = {name: figure() for name, figure in sorted(LiveFigure.figures.items())}\n"
    "for figure in made.values():\n    display(figure)",
    "print('lines', {name: repr(figure) for name, figure in made.items()}, 'end')",
    "for figure in made.values():\n    figure.reset()\nprint('reset', 'done')",
]
SIDES = [
    "from rope_book.widgets import RotatePair\n"
    'display(RotatePair(layout="beside"), RotatePair(layout="below"))',
    'RotatePair(layout="left")',
]
CELLS = [
    "from rope_book.widgets import RotatePair\nfigure = RotatePair(position=7)\nfigure",
    "print('position is', figure.position)",
    "figure.position = 33\nfigure.lock = True",
    "@figure.follow\ndef mine(figure):\n    print('mine', figure.position)\n    return figure.lock",
    'from rope_book.widgets import Question\nQuestion("04-lock", figure=figure)',
    "print('shown:', figure.position, figure.key_position, figure.lock)",
    "from rope_book.widgets import Clocks\nclocks = Clocks()\nclocks",
    'Question("06-whole", figure=clocks)',
    "print('clocks at', clocks.position)",
]


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """JupyterLab with two notebooks."""
    folder = tmp_path_factory.mktemp("lab")
    for name, texts in {"figure": CELLS, "sides": SIDES, "all": ALL}.items():
        write(folder / f"{name}.ipynb", texts)
    with served(folder) as address:
        yield address


def lines_in(printed):
    """Return the states that a cell has printed; none where its words are not there yet."""
    _, begun, rest = printed.partition("lines ")
    return ast.literal_eval(rest.partition(" end")[0]) if begun and " end" in rest else None


def reach(figure):
    """Return how far the first control reaches below the figure's top, in pixels."""
    control = figure.locator(":is(.rl-controls [data-trait], .rl-bar > *):visible").first.bounding_box()
    return control["y"] + control["height"] - figure.bounding_box()["y"]


@pytest.mark.nightly
def test_every_figure_in_jupyterlab_moves_both_ways(browser, lab):
    with opened(browser, lab, "all") as (page, run):
        run(0)
        page.evaluate(HOSTS.read_text(encoding="utf-8"))
        page.wait_for_function("(count) => hosts.alive().length === count", arg=len(LiveFigure.figures))
        at_rest(page)
        first = page.evaluate("hosts.lines()")
        assert first == {name: repr(figure()) for name, figure in sorted(LiveFigure.figures.items())}

        # a hand: every trait follows
        assert page.evaluate("hosts.hand()").keys() == first.keys()
        moved = page.evaluate("hosts.lines()")
        assert [name for name in first if moved[name] == first[name]] == []
        held = {name: repr(eval(line, dict(vars(widgets)))) for name, line in moved.items()}
        told(run, 1, lambda printed: lines_in(printed) == held)

        # nobody has to scroll between a picture and its first control, beside it or, in a narrow notebook, below it
        for width in (900, 1200):
            page.set_viewport_size({"width": width, "height": 1400})
            at_rest(page)
            low = {name: reach(page.locator(f'[data-live="{name}"]').first) for name in first}
            assert {name: pixels for name, pixels in low.items() if pixels > SCREEN} == {}, width

        # code: every picture follows
        assert run(2).strip() == "reset done"
        page.wait_for_function(
            "(first) => JSON.stringify(hosts.lines()) === JSON.stringify(first)", arg=first
        )


@pytest.mark.nightly
def test_controls_are_beside_the_picture_where_there_is_room(browser, lab):
    with opened(browser, lab, "sides") as (page, run):
        run(0)
        beside, below = page.locator('[data-live="RotatePair"][data-ready="true"]').all()

        def right_of_it(figure):
            picture, controls = (figure.locator(part).first.bounding_box() for part in PARTS)
            return controls["x"] >= picture["x"] + picture["width"]

        assert (right_of_it(beside), right_of_it(below)) == (True, False)
        page.set_viewport_size({"width": 700, "height": 1400})
        soon(page, lambda: not right_of_it(beside))
        refused = run(1)
        assert "RotatePair.layout must be one of beside, below, got 'left'" in refused


def test_figure_in_jupyterlab_syncs_both_ways(browser, lab):
    with opened(browser, lab, "figure") as (page, run):
        run(0)
        figure = page.locator('[data-live="RotatePair"][data-ready="true"]')
        figure.wait_for()
        slider = figure.locator('[data-trait="position"] input')
        expect(slider).to_have_value("7")
        at_rest(page)

        # a hand: the arrow keys reach the slider, not the notebook, and the trait follows
        slider.focus()
        slider.press("ArrowRight")
        slider.press("ArrowUp")
        expect(slider).to_have_value("9")
        expect(slider).to_be_focused()
        told(run, 1, lambda printed: printed.strip() == "position is 9")

        # keys that the slider does not use are the notebook's: B makes a cell below
        slider.focus()
        cells = page.locator(".jp-Notebook .jp-CodeCell")
        slider.press("b")
        expect(cells).to_have_count(len(CELLS) + 1)
        slider.press("z")  # takes it back
        expect(cells).to_have_count(len(CELLS))

        # code: the picture follows the trait
        before = figure.locator("svg").inner_html()
        run(2)
        expect(slider).to_have_value("33")
        expect(figure.locator('[data-trait="lock"] input')).to_be_checked()
        soon(page, lambda: figure.locator("svg").inner_html() != before)

        # a function that follows: what it prints and returns, after a hand's move too
        run(3)
        followed = page.locator(".jp-Notebook .jp-CodeCell").nth(3).locator(".jp-OutputArea").first
        expect(followed).to_contain_text("mine 33")
        slider.press("ArrowRight")
        expect(followed).to_contain_text("mine 34")
        expect(followed).not_to_contain_text("mine 33")

        # a question: its answer sets the figure in Python and on the screen
        run(4)
        asked = page.locator('[data-live="Question"][data-ready="true"]')
        asked.wait_for()
        asked.get_by_role("button", name="It changes, since both arrows point elsewhere").press("Enter")
        said = re.compile("^Not so. They point elsewhere, but both have turned")
        expect(asked.get_by_role("status")).to_have_text(said)
        expect(slider).to_have_value("16")
        told(run, 5, lambda printed: printed.strip() == "shown: 16 12 True")

        # from the answer a button leads to the figure, out of sight above
        asked.evaluate("(el) => el.scrollIntoView({ block: 'start' })")
        expect(figure).not_to_be_in_viewport(ratio=0.5)
        asked.get_by_role("button", name="See it in the figure").click()
        expect(figure.locator(".rl-picture")).to_be_in_viewport(ratio=1)

        # a place to click: the figure frames it once the question is seen; the click comes back through Python
        run(6)
        clocks = page.locator('[data-live="Clocks"][data-ready="true"]')
        clocks.wait_for()
        run(7)
        page.locator('[data-question="06-whole"]').scroll_into_view_if_needed()
        place = clocks.locator('[data-place="pair 0"]')
        place.wait_for()
        place.evaluate("(el) => el.scrollIntoView({ block: 'center' })")
        at_rest(page)
        box = place.bounding_box()
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.get_by_text("Not so. It tells neighbours apart better").wait_for()
        told(run, 8, lambda printed: printed.strip() == "clocks at 4096")
