"""A phone held in a hand: fingers scroll, slide and drag, and see what they move."""

from collections.abc import Iterator

import pytest

from .conftest import FRAMES, UNFOLD, WHERE, at_rest, in_sight_is_told, soon

pytestmark = pytest.mark.browser
PHONE = {"width": 390, "height": 844, "has_touch": True, "is_mobile": True, "device_scale_factor": 2}


@pytest.fixture(scope="module")
def opened(reader, name) -> Iterator:
    """A figure on a phone, opened once: its page, and what sends touches."""
    seen = reader.open(WHERE[name], maths=False, **PHONE)
    seen.figure = seen.page.locator(f'[data-live="{name}"]').first
    seen.figure.evaluate(UNFOLD)
    seen.devtools = seen.page.context.new_cdp_session(seen.page)
    yield seen
    seen.page.close()


@pytest.fixture
def phone(opened) -> Iterator:
    """The figure at rest."""
    opened.figure.locator(".rl-reset").evaluate("(el) => el.click()")
    at_rest(opened.page)
    yield opened
    opened.assert_clean()


FRAME = "() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))"


def touch(seen, kind: str, *points: tuple[float, float]) -> None:
    """Send touchStart, touchMove or touchEnd with fingers at these points."""
    fingers = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(points)]
    seen.devtools.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": fingers})
    seen.page.evaluate(FRAME)


def stroke(seen, start: tuple[float, float], end: tuple[float, float], steps: int = 12) -> None:
    """Touch, move in a straight line, let go."""
    touch(seen, "touchStart", start)
    for i in range(1, steps + 1):
        touch(seen, "touchMove", tuple(a + (b - a) * i / steps for a, b in zip(start, end, strict=True)))
    touch(seen, "touchEnd")


def centre(target, share: float = 0.5) -> tuple[float, float]:
    """Bring an element to the middle of the window; the point at this share of its width, at half its height."""
    target.evaluate("(el) => el.scrollIntoView({ block: 'center', behavior: 'instant' })")
    in_sight_is_told(target.locator("xpath=ancestor::*[@data-live]").locator(".rl-picture"))
    box = target.bounding_box()
    return box["x"] + share * box["width"], box["y"] + box["height"] / 2


def line(seen) -> str:
    """Return the state as a line of Python."""
    return seen.figure.locator(".rl-python code").inner_text()


PLACE = "(el) => (el.value - el.min) / (el.max - el.min)"  # of a slider, from 0 to 1


def test_a_swipe_over_a_slider_scrolls_and_moves_nothing(phone):
    for slider in phone.figure.locator("input[type=range]:visible").all()[:3]:
        x, y = centre(slider, 0.15 if slider.evaluate(PLACE) > 0.5 else 0.85)  # far from where it stands
        before, scrolled = line(phone), phone.page.evaluate("scrollY")
        stroke(phone, (x, y), (x, y - 200), steps=8)
        phone.page.wait_for_function("(least) => scrollY > least", arg=scrolled + 50)
        at_rest(phone.page)
        assert line(phone) == before, "the slider has moved"


def test_a_finger_moves_a_slider_and_sees_the_picture(phone):
    for slider in phone.figure.locator("input[type=range]:visible").all():
        phone.figure.locator(".rl-reset").evaluate(
            "(el) => el.click()"
        )  # another slider's end may hide this one
        (x, y), (far, _) = centre(slider, 0.2), centre(slider, 0.8)
        touch(phone, "touchStart", (x, y))
        before = phone.figure.locator("svg").first.inner_html()
        for i in range(1, 9):
            touch(phone, "touchMove", (x + (far - x) * i / 8, y))
        seen = phone.page.evaluate(TOGETHER, slider.element_handle())
        touch(phone, "touchEnd")
        drawn = phone.figure.locator("svg").first
        soon(phone.page, lambda drawn=drawn, before=before: drawn.inner_html() != before)
        assert seen["picture"] >= 0.7, seen
        assert seen["control"] == 1, seen
        assert not seen["covered"], seen


# how much of the picture and of the control is in the window while the control is in use
TOGETHER = """(slider) => {
    const share = ({ top, bottom, height }) => (Math.min(bottom, innerHeight) - Math.max(top, 0)) / height;
    const picture = slider.closest(".rope-live").querySelector("svg").getBoundingClientRect();
    const control = slider.closest(".rl-control").getBoundingClientRect();
    return { picture: share(picture), control: share(control),
        covered: picture.top < control.bottom - 1 && control.top < picture.bottom - 1 };
}"""


def test_what_can_be_dragged_follows_one_finger_and_one_button(phone):
    if not phone.figure.locator(".rl-handle").count():
        return
    handle = phone.figure.locator(".rl-handle").first
    x, y = centre(handle)
    way = -100 if x > 195 else 100
    states, scrolled = [line(phone)], phone.page.evaluate("scrollY")
    touch(phone, "touchStart", (x, y))
    for i in range(1, 21):
        touch(phone, "touchMove", (x + way * i / 20, y + 1.5 * i))
        states.append(line(phone))
    touch(phone, "touchEnd")
    at_rest(phone.page)
    assert len(set(states)) >= 3, "it does not follow the finger"  # it may arrive at an end
    assert phone.page.evaluate("scrollY") == scrolled, "the page scrolls under the finger"

    x, y = centre(handle)
    before = line(phone)
    phone.page.mouse.move(x, y)
    phone.page.mouse.down(button="right")
    phone.page.mouse.move(x - way, y - 30)
    phone.page.mouse.up(button="right")
    phone.page.evaluate(FRAMES)
    assert line(phone) == before, "the right button drags"

    x, y = centre(handle)
    touch(phone, "touchStart", (x, y))
    touch(phone, "touchStart", (x, y), (x + 30, y + 120))
    held = line(phone)
    for i in range(1, 6):
        touch(phone, "touchMove", (x, y), (x + 30 + way * i / 5, y + 120))
    phone.page.evaluate(FRAMES)
    assert line(phone) == held, "a second finger drags"
    touch(phone, "touchEnd")


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_word_can_be_dragged_by_a_finger_wherever_it_is_taken(visit, share):
    seen = visit(WHERE["OrderBlindness"], maths=False, **PHONE)
    seen.figure = seen.page.locator('[data-live="OrderBlindness"]').first
    seen.devtools = seen.page.context.new_cdp_session(seen.page)
    x, y = centre(seen.figure.locator(".rl-handle").first, share)
    before = line(seen)
    stroke(seen, (x, y), (x - 150 if x > 195 else x + 150, y))
    soon(seen.page, lambda: line(seen) != before)
