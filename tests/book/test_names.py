"""What a screen reader hears: a name for every control, and words when the hand rests, not at every step."""

import time

import pytest

from rope_edu.widgets import LiveFigure

from .conftest import WATCH, WHERE
from .test_engines import box, opened, points

pytestmark = pytest.mark.browser
FEW = 2  # announcements of one move, however long it takes
NAMED = """const all = book.figure(arguments[0]).querySelectorAll("input, select, button");
return [...all].map((el, i) => {
    el.dataset.asked = i;
    return el.closest("[data-trait]")?.dataset.trait ?? "";
})"""


def test_every_control_has_its_name_in_the_accessibility_tree(engine, watched, name):
    opened(engine, watched, name)
    controls = LiveFigure.figures[name].controls()
    for number, trait in enumerate(engine.js(NAMED, name)):
        said = engine.label(f'[data-live="{name}"] [data-asked="{number}"]')
        assert said.strip(), f"{engine.name}: a control of {name} ({trait or 'button'}) has no name"
        if trait:
            assert controls[trait].label in said
        if trait and controls[trait].kind == "slider":
            assert said.count(controls[trait].unit) <= 1 + controls[trait].label.count(controls[trait].unit)


def test_a_click_on_a_label_reaches_its_control(engine, watched, name):
    opened(engine, watched, name)
    for trait, kind, _ in engine.js("return book.controls(arguments[0])", name):
        if kind == "number":
            continue  # two boxes under one legend, each with a name of its own
        engine.js("document.activeElement.blur()")
        engine.drag(*points(engine, box(name, trait, "span"), 0.1))
        reached = engine.js("return document.activeElement.closest('[data-trait]')?.dataset.trait")
        assert reached == trait, f"{engine.name}: the label of {name}.{trait} focuses {reached}"


@pytest.fixture
def listened(visit, name):
    """A figure in its page, and a count of what its live regions announce."""

    def open_page(**options):
        seen = visit(WHERE[name], maths=False, **options)
        page = seen.page
        page.add_script_tag(path=WATCH)
        figure = page.locator(f'[data-live="{name}"]').first
        figure.scroll_into_view_if_needed()
        page.evaluate("window.heard = book.listen()")
        return figure

    return open_page


def heard(figure) -> int:
    """Return how many announcements there were, once the hand has rested."""
    figure.page.wait_for_timeout(900)
    return figure.page.evaluate("heard.count")


def test_a_drag_of_a_second_is_announced_once(listened, name):
    figure = listened()
    slider = figure.locator("input[type=range]").first
    slider.scroll_into_view_if_needed()
    at = slider.bounding_box()
    mouse = figure.page.mouse
    mouse.move(at["x"] + 0.2 * at["width"], at["y"] + at["height"] / 2)
    mouse.down()
    end = time.monotonic() + 1
    while (left := end - time.monotonic()) > 0:
        mouse.move(at["x"] + (0.8 - 0.6 * left) * at["width"], at["y"] + at["height"] / 2)
        figure.page.wait_for_timeout(20)
    mouse.up()
    assert 1 <= heard(figure) <= FEW


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_play_is_announced_when_it_stops(listened, name, motion):
    figure = listened(reduced_motion=motion)
    play = figure.locator(".rl-play")
    if not play.count():
        return
    play.click()
    figure.page.wait_for_timeout(5000)
    assert figure.page.evaluate("heard.count") <= FEW
    play.click()
    assert 1 <= heard(figure) <= FEW


def test_copying_is_announced(listened, name):
    figure = listened()
    figure.locator(".rl-copy").click()
    figure.page.wait_for_function("heard.count > 0")
    said = figure.locator('[role="status"]').all_text_contents()
    assert any(word in " ".join(said) for word in ("Copied", "Selected"))
