"""A phone held in a hand: fingers scroll, slide and drag, and see what they move."""

import time
from collections.abc import Iterator

import pytest

from .conftest import FRAMES, RESET, STILL, TOLD, UNFOLD, WHERE, at_rest, settle, soon
from .engines import PATIENCE

pytestmark = pytest.mark.browser
PHONE = {"width": 390, "height": 844, "has_touch": True, "is_mobile": True, "device_scale_factor": 2}


@pytest.fixture(scope="module")
def held(reader) -> Iterator:
    """A phone: its page, and what sends touches."""
    seen = reader.blank(maths=False, **PHONE)
    seen.devtools = seen.page.context.new_cdp_session(seen.page)
    yield seen
    seen.page.close()


@pytest.fixture(scope="module")
def opened(held, name):
    """A figure on a phone, opened once."""
    held.page.goto(held.root + WHERE[name])
    settle(held.page, maths=False)
    held.figure = held.page.locator(f'[data-live="{name}"]').first
    held.figure.evaluate(UNFOLD)
    return held


@pytest.fixture
def phone(opened) -> Iterator:
    """The figure as it was at first."""
    opened.figure.evaluate(RESET)
    yield opened
    opened.assert_clean()


def touch(seen, kind: str, *points: tuple[float, float], at: float | None = None) -> None:
    """Send touchStart, touchMove or touchEnd with fingers at these points, now or at another time."""
    fingers = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(points)]
    when = {"timestamp": at} if at else {}
    seen.devtools.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": fingers} | when)


FRAME = "() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))"


def stroke(seen, start: tuple[float, float], end: tuple[float, float], steps: int = 6) -> None:
    """Touch, move in a straight line, a frame for each step, let go."""
    touch(seen, "touchStart", start)
    for i in range(1, steps + 1):
        touch(seen, "touchMove", tuple(a + (b - a) * i / steps for a, b in zip(start, end, strict=True)))
        seen.page.evaluate(FRAME)
    touch(seen, "touchEnd")
    seen.page.evaluate(FRAME)


# brings an element to the middle of the window; where it is, once all is at rest and its figure knows what is seen
CENTRED = f"""async (el, patience) => {{
    el.scrollIntoView({{ block: "center", behavior: "instant" }});
    const moving = await ({STILL})(patience);
    await ({TOLD})(el.closest("[data-live]").querySelector(".rl-picture"));
    const {{ x, y, width, height }} = el.getBoundingClientRect();
    return {{ moving, x, y: y + height / 2, width }};
}}"""


def centre(target, *shares: float) -> list[tuple[float, float]]:
    """Bring an element to the middle of the window; the points at these shares of its width, at half its height."""
    box = target.evaluate(CENTRED, PATIENCE)
    assert not box["moving"], f"it moves after {PATIENCE} s: {box['moving']}"
    return [(box["x"] + share * box["width"], box["y"]) for share in shares]


def line(seen) -> str:
    """Return the state as a line of Python."""
    return seen.figure.locator(".rl-python code").inner_text()


PLACE = "(el) => (el.value - el.min) / (el.max - el.min)"  # of a slider, from 0 to 1


def sliders(phone) -> list:
    """Return the sliders that are in sight."""
    return phone.figure.locator("input[type=range]:visible").all()


@pytest.mark.sampled(6)
def test_a_swipe_over_a_slider_scrolls_and_moves_nothing(phone):
    for slider in sliders(phone)[:3]:
        far = 0.15 if slider.evaluate(PLACE) > 0.5 else 0.85  # from where it stands
        ((x, y),) = centre(slider, far)
        before, scrolled = line(phone), phone.page.evaluate("scrollY")
        now = time.time()
        touch(phone, "touchStart", (x, y), at=now)
        for i in range(1, 5):  # two seconds each by its clock: the page is not flung
            touch(phone, "touchMove", (x, y - 50 * i), at=now + 2 * i)
            phone.page.evaluate(FRAME)
        touch(phone, "touchEnd", at=now + 10)
        phone.page.wait_for_function("(least) => scrollY > least", arg=scrolled + 50)
        at_rest(phone.page)
        assert line(phone) == before, "the slider has moved"


TRAIT = (
    """(el) => [el.closest(".rope-live").dataset.live, el.closest("[data-trait]").dataset.trait].join(".")"""
)
LATER = {"TrainInThePage.head"}  # an untrained model's attention is not drawn


@pytest.mark.sampled(6)
def test_a_finger_moves_a_slider_and_sees_the_picture(phone):
    for slider in sliders(phone):
        if slider.evaluate(TRAIT) in LATER:
            continue
        phone.figure.evaluate(RESET)  # another slider's end may hide this one
        (x, y), (far, _) = centre(slider, 0.2, 0.8)
        touch(phone, "touchStart", (x, y))
        phone.figure.evaluate("(el) => { el.before = el.querySelector('svg').innerHTML; }")
        for i in range(1, 5):
            touch(phone, "touchMove", (x + (far - x) * i / 4, y))
            phone.page.evaluate(FRAME)
        phone.page.evaluate(FRAMES)
        seen = slider.evaluate(TOGETHER)
        touch(phone, "touchEnd")
        drawn = "(el) => el.querySelector('svg').innerHTML !== el.before"
        phone.page.wait_for_function(drawn, arg=phone.figure.element_handle())
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


# keeps every state that the line of Python says
FOLLOWED = """(el) => {
    const code = el.querySelector(".rl-python code");
    el.states = new Set([code.textContent]);
    const watch = new MutationObserver(() => el.states.add(code.textContent));
    watch.observe(code, { childList: true, characterData: true, subtree: true });
}"""


@pytest.mark.sampled(6)
def test_what_can_be_dragged_follows_one_finger_and_one_button(phone):
    if not phone.figure.locator(".rl-handle").count():
        return
    handle = phone.figure.locator(".rl-handle").first
    ((x, y),) = centre(handle, 0.5)
    way = -100 if x > 195 else 100
    phone.figure.evaluate(FOLLOWED)
    scrolled = phone.page.evaluate("scrollY")
    stroke(phone, (x, y), (x + way, y + 30), steps=10)
    at_rest(phone.page)
    assert phone.figure.evaluate("(el) => el.states.size") >= 3, (
        "it does not follow the finger"
    )  # to an end, maybe
    assert phone.page.evaluate("scrollY") == scrolled, "the page scrolls under the finger"

    ((x, y),) = centre(handle, 0.5)
    before = line(phone)
    phone.page.mouse.move(x, y)
    phone.page.mouse.down(button="right")
    phone.page.mouse.move(x - way, y - 30)
    phone.page.mouse.up(button="right")
    phone.page.evaluate(FRAMES)
    assert line(phone) == before, "the right button drags"

    touch(phone, "touchStart", (x, y))
    phone.page.evaluate(FRAMES)
    touch(
        phone, "touchStart", (x, y), (x + 30, y - 40)
    )  # on the picture: below it may be a slider, which moves
    touch(phone, "touchMove", (x + 1, y), (x + 30, y - 40))  # a pencil draws where the first finger is
    phone.page.evaluate(FRAMES)
    held = line(phone)
    for i in range(1, 4):
        touch(phone, "touchMove", (x + 1, y), (x + 30 + way * i / 3, y - 40))
    phone.page.evaluate(FRAMES)
    after = line(phone)
    touch(
        phone, "touchEnd"
    )  # before the verdict: a finger left on the glass would hold up the figures that follow
    assert after == held, "a second finger drags"


# the lowest place of the window at which a paragraph is, not a figure
BARE = """() => {
    const at = (y) => document.elementFromPoint(195, y);
    const isBare = (y) => at(y)?.closest("p") && !at(y).closest(".rope-live, a");
    return [...Array(innerHeight).keys()].findLast(isBare);
}"""


def test_a_second_finger_beside_a_held_picture_does_not_let_go_of_it(visit):
    seen = visit(WHERE["LengthCurve"], maths=False, **PHONE)
    seen.figure = seen.page.locator('[data-live="LengthCurve"]').first
    seen.devtools = seen.page.context.new_cdp_session(seen.page)
    seen.figure.evaluate(RESET)  # out of sight, so that the picture is held over the page
    at_rest(seen.page)
    ring = seen.figure.locator(".rl-handle").first.bounding_box()
    first = (ring["x"] + ring["width"] / 2, ring["y"] + ring["height"] / 2)
    is_held = "(el) => el.classList.contains('rl-held')"
    assert seen.figure.evaluate(is_held)
    beside = (195, seen.page.evaluate(BARE))
    touch(seen, "touchStart", first)
    touch(seen, "touchStart", first, beside)
    seen.page.evaluate(FRAMES)
    held = seen.figure.evaluate(is_held)
    touch(seen, "touchEnd")
    assert held
    touch(seen, "touchStart", beside)
    touch(seen, "touchEnd")
    assert not seen.figure.evaluate(is_held)  # the only finger lets go


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_word_can_be_dragged_by_a_finger_wherever_it_is_taken(visit, share):
    seen = visit(WHERE["OrderBlindness"], maths=False, **PHONE)
    seen.figure = seen.page.locator('[data-live="OrderBlindness"]').first
    seen.devtools = seen.page.context.new_cdp_session(seen.page)
    ((x, y),) = centre(seen.figure.locator(".rl-handle").first, share)
    before = line(seen)
    stroke(seen, (x, y), (x - 150 if x > 195 else x + 150, y))
    soon(seen.page, lambda: line(seen) != before)
