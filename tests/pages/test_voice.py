"""What a screen reader hears: words when the hand rests, not at every step of the way."""

import pytest

from .conftest import UNFOLD, WHERE, settle, soon

pytestmark = pytest.mark.browser
FEW = 2  # announcements of one move, however long it takes
REST = 1000  # milliseconds after which everything is said: a glide of 400, a rest of 500, and frames between
HOUR = 3600  # seconds: by then a page is drawn


@pytest.fixture(scope="module")
def opened(reader, watched_figures, name):
    """A figure in its page, opened once with what counts announcements; its clock goes on when a test says so."""
    seen = reader.blank(root=watched_figures, fresh=True)
    seen.page.clock.install(time=0)
    seen.page.goto(seen.root + WHERE[name])
    settle(seen.page, maths=False)
    seen.page.clock.pause_at(HOUR)
    yield seen.page.locator(f'[data-live="{name}"]').first
    seen.page.context.close()


@pytest.fixture
def figure(opened):
    """A figure at rest; from now on its live regions are counted."""
    opened.evaluate(UNFOLD)
    opened.locator(".rl-reset").evaluate("(el) => el.click()")
    opened.page.clock.run_for(REST)
    opened.evaluate("() => { window.heard = book.listen(); }")
    return opened


def said(figure) -> str:
    """Return what the picture says now."""
    return figure.locator(".rl-readout").text_content()


def rests(figure) -> bool:
    """Return whether the figure's work is done, and let its clock go on."""
    figure.page.clock.run_for(20)
    return figure.get_attribute("aria-busy") != "true"


def heard(figure) -> int:
    """Return how many announcements there were, once the hand has rested."""
    figure.page.clock.run_for(REST)
    soon(figure.page, lambda: rests(figure))  # a worker has a clock of its own
    figure.page.clock.run_for(REST)
    return figure.page.evaluate("heard.count")


@pytest.mark.sampled(6)
def test_a_drag_of_a_second_is_announced_once(figure):
    slider = figure.locator("input[type=range]:visible").first
    slider.scroll_into_view_if_needed()
    at = slider.bounding_box()
    mouse, value, words = figure.page.mouse, slider.input_value(), said(figure)
    mouse.move(at["x"] + 0.2 * at["width"], at["y"] + at["height"] / 2)
    mouse.down()
    for step in range(10):
        mouse.move(at["x"] + (0.2 + 0.6 * step / 9) * at["width"], at["y"] + at["height"] / 2)
        figure.page.clock.run_for(100)
    mouse.up()
    assert slider.input_value() != value
    news = said(figure) != words  # what did not change need not be said again
    assert news <= heard(figure) <= FEW


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
@pytest.mark.sampled(6)
def test_play_is_announced_when_it_stops(figure, motion):
    play = figure.locator(".rl-play")
    if not play.count():
        return
    figure.page.emulate_media(reduced_motion=motion)
    picture = figure.locator("svg > g").first
    first = picture.inner_html()
    play.click()
    figure.page.clock.run_for(2600)  # who asks for less motion gets a step a second
    assert picture.inner_html() != first, "it does not play"
    assert figure.page.evaluate("heard.count") == 0, "it speaks while it plays"
    play.click()
    assert heard(figure) <= FEW


@pytest.mark.sampled
def test_copying_is_announced(figure):
    figure.locator(".rl-share > button").click()
    figure.locator(".rl-copy").click()
    figure.page.wait_for_function("() => heard.count > 0")
    spoken = figure.locator('[role="status"]').all_text_contents()
    assert any(word in " ".join(spoken) for word in ("Copied", "Selected"))
