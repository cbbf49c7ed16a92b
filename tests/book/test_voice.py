"""What a screen reader hears: words when the hand rests, not at every step of the way."""

import time

import pytest

from .conftest import WATCH, WHERE

pytestmark = pytest.mark.browser
FEW = 2  # announcements of one move, however long it takes


@pytest.fixture(scope="module")
def opened(reader, name):
    """A figure in its page, opened once with what counts announcements."""
    seen = reader.open(WHERE[name], maths=False, script=WATCH.read_text(encoding="utf-8"))
    found = seen.page.locator(f'[data-live="{name}"]').first
    yield found
    seen.page.close()


@pytest.fixture
def figure(opened):
    """A figure at rest; from now on its live regions are counted, and the pauses of a hand."""
    opened.locator(".rl-reset").evaluate("(el) => el.click()")
    opened.page.wait_for_timeout(REST)
    opened.evaluate(LISTEN)
    return opened


REST = 900  # milliseconds after which everything is said
LISTEN = """(el) => {
    window.heard = book.listen();
    window.pauses = 0;
    let last;
    el.addEventListener("input", () => {
        const now = performance.now();
        if (now - last > 400) pauses += 1;
        last = now;
    });
}"""


def heard(figure) -> int:
    """Return how many announcements there were, once the hand has rested and the figure's work is done."""
    figure.page.wait_for_function("(el) => el.ariaBusy !== 'true'", arg=figure.element_handle())
    figure.page.wait_for_timeout(REST)
    return figure.page.evaluate("heard.count")


def test_a_drag_of_a_second_is_announced_once(figure):
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
    # on a busy machine the pointer itself may stand still for so long that the figure takes it for a rest
    assert heard(figure) <= FEW + figure.page.evaluate("pauses")


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_play_is_announced_when_it_stops(figure, motion):
    play = figure.locator(".rl-play")
    if not play.count():
        return
    figure.page.emulate_media(reduced_motion=motion)
    before = figure.locator(".rl-readout").text_content()
    play.click()
    figure.page.wait_for_timeout(2600)  # who asks for less motion gets a step a second
    assert figure.locator(".rl-readout").text_content() != before, "it does not play"
    assert figure.page.evaluate("heard.count") == 0, "it speaks while it plays"
    play.click()
    assert heard(figure) <= FEW


def test_copying_is_announced(figure):
    figure.locator(".rl-copy").click()
    figure.page.wait_for_function("() => heard.count > 0")
    said = figure.locator('[role="status"]').all_text_contents()
    assert any(word in " ".join(said) for word in ("Copied", "Selected"))
