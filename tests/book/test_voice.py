"""What a screen reader hears: words when the hand rests, not at every step of the way."""

import time

import pytest

from .conftest import WATCH, WHERE

pytestmark = pytest.mark.browser
FEW = 2  # announcements of one move, however long it takes


@pytest.fixture
def listened(visit, name):
    """A figure in its page, and a count of what its live regions announce."""

    def open_page(**options):
        seen = visit(WHERE[name], maths=False, script=WATCH.read_text(encoding="utf-8"), **options)
        page = seen.page
        figure = page.locator(f'[data-live="{name}"]').first
        figure.scroll_into_view_if_needed()
        page.evaluate("window.heard = book.listen()")
        return figure

    return open_page


def heard(figure) -> int:
    """Return how many announcements there were, once the hand has rested and the figure's work is done."""
    figure.page.wait_for_function("(el) => el.ariaBusy !== 'true'", arg=figure.element_handle())
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
    figure.page.wait_for_function("() => heard.count > 0")
    said = figure.locator('[role="status"]').all_text_contents()
    assert any(word in " ".join(said) for word in ("Copied", "Selected"))
