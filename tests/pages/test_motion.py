"""Figures that move: numbers glide and arrive where a jump would, links in the text move the figure above them."""

import pytest
from playwright.sync_api import expect

from .conftest import UNFOLD, WHERE, at_rest, in_sight_is_told, settle, soon

pytestmark = pytest.mark.browser
DRAWN = "(el) => el.querySelector('svg[role=\"img\"]').innerHTML"


def figure(seen, name):
    """Return the first figure of that name, unfolded."""
    found = seen.page.locator(f'[data-live="{name}"]').first
    found.evaluate(UNFOLD)
    found.scroll_into_view_if_needed()
    at_rest(seen.page)
    return found


# every picture from a click to its rest, by a clock that goes on by 50 ms a frame, however long a frame takes
FILM = """(el, selector) => new Promise((done) => {
    const frames = [];
    let now = performance.now();
    performance.now = () => now;
    const look = () => {
        now += 50;
        const drawn = el.querySelector('svg[role="img"]').innerHTML;
        if (frames.at(-1) !== drawn) frames.push(drawn);
        if (el.ariaBusy === "true") requestAnimationFrame(look);
        else {
            delete performance.now;
            done(frames);
        }
    };
    el.querySelector(selector).click();
    look();
})"""
FAR = """(el) => {
    const input = el.querySelector('[data-trait="position"] input');
    input.value = input.max;
    input.dispatchEvent(new Event("input", { bubbles: true }));
    return el.querySelector('svg[role="img"]').innerHTML;
}"""


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_reset_glides_to_where_a_jump_arrives(visit, motion):
    seen = visit(WHERE["RotatePair"], maths=False, reduced_motion=motion)
    found = figure(seen, "RotatePair")
    first = found.evaluate(DRAWN)
    assert found.evaluate(FAR) != first
    frames = found.evaluate(FILM, ".rl-reset")
    assert frames[-1] == first
    assert len(frames) == 1 if motion == "reduce" else len(frames) >= 3
    seen.assert_clean()


def test_a_hand_on_a_slider_ends_a_glide(visit):
    seen = visit(WHERE["RotatePair"], maths=False)
    found = figure(seen, "RotatePair")
    end = found.evaluate(FAR)
    found.locator(".rl-reset").click()
    assert found.evaluate(FAR) == end
    at_rest(seen.page)
    assert found.evaluate(DRAWN) == end
    assert found.get_attribute("aria-busy") == "false"


PULSES = """(el) => [...el.querySelectorAll(".rl-ring")].map(
    (ring) => [getComputedStyle(ring).animationName, Number(getComputedStyle(ring).animationIterationCount)])"""


def test_what_can_be_dragged_pulses_once_until_something_moves(visit):
    seen = visit(WHERE["RotatePair"], maths=False)
    found = figure(seen, "RotatePair")
    seen.page.wait_for_function("(el) => el.classList.contains('rl-seen')", arg=found.element_handle())
    rings = found.evaluate(PULSES)
    assert rings
    assert all(ring == ["rl-pulse", 1] for ring in rings)
    found.locator("input[type=range]").first.press("ArrowRight")
    assert all(name == "none" for name, _ in found.evaluate(PULSES))
    calm = visit(WHERE["RotatePair"], maths=False, reduced_motion="reduce")
    found = figure(calm, "RotatePair")
    calm.page.wait_for_function("(el) => el.classList.contains('rl-seen')", arg=found.element_handle())
    assert all(name == "none" for name, _ in found.evaluate(PULSES))


HEAD8 = 'a.rl-chip[href*="head=8"]'


def test_a_link_in_the_text_moves_the_figure_above_and_keeps_it_in_sight(visit):
    seen = visit(WHERE["BiasMatrix"], maths=False)
    page, found = seen.page, seen.page.locator('[data-live="BiasMatrix"]')
    page.evaluate("document.querySelectorAll('details').forEach((fold) => (fold.open = true))")
    chip = page.locator(HEAD8)
    chip.evaluate("(el) => el.scrollIntoView({ block: 'end', behavior: 'instant' })")
    page.evaluate("scrollBy({ top: 500, behavior: 'instant' })")
    in_sight_is_told(found.locator(".rl-picture"))
    before = page.evaluate("scrollY")
    chip.click()
    expect(found.locator(".rl-python code")).to_contain_text("head=8")
    at_rest(page)
    assert page.evaluate("scrollY") == before
    share = """(el) => { const { top, bottom } = el.getBoundingClientRect();
        return top >= -1 && bottom <= innerHeight + 1; }"""
    assert found.locator('svg[role="img"]').evaluate(share)
    page.wait_for_function("() => location.hash === '#live=BiasMatrix&head=8'")
    page.evaluate("scrollBy({ top: 60, behavior: 'instant' })")
    page.wait_for_function("() => !document.querySelector('.rl-held')")
    seen.assert_clean()


def test_without_scripts_the_link_leads_to_the_figure(visit):
    seen = visit(WHERE["BiasMatrix"], maths=False, wait=False, java_script_enabled=False)
    page = seen.page
    page.goto(f"{page.url}{page.locator(HEAD8).get_attribute('href')}")
    soon(page, lambda: -5 <= page.locator(".live-still").first.bounding_box()["y"] < 200)


HEARD = """(el) => {
    el.heard = [];
    const watch = new MutationObserver(() => el.heard.push(el.textContent));
    watch.observe(el, { childList: true, characterData: true, subtree: true });
}"""


def test_copy_link_gives_the_address_of_the_state(visit):
    seen = visit(
        WHERE["RotatePair"], maths=False, fresh=True, permissions=["clipboard-read", "clipboard-write"]
    )
    found = figure(seen, "RotatePair")
    found.locator("input[type=range]").first.press("ArrowRight")
    found.locator(".rl-share > button").click()
    button = found.locator(".rl-link")
    button.evaluate(HEARD)
    button.click()
    said = "(el) => el.heard.some((words) => words.startsWith('Copied'))"  # for a moment, then its name again
    seen.page.wait_for_function(said, arg=button.element_handle())
    address = seen.page.evaluate("navigator.clipboard.readText()")
    assert address.endswith("#live=RotatePair&position=7")
    seen.page.goto("about:blank")
    seen.page.goto(address)
    settle(seen.page, False)
    expect(figure(seen, "RotatePair").locator(".rl-python code")).to_contain_text("position=7")


PHONE = {"width": 390, "height": 844, "has_touch": True, "is_mobile": True, "device_scale_factor": 2}
# the smallest words of a held picture, in pixels of the screen, and whether a control is painted over it
HELD = """(el) => {
    const svg = el.querySelector('svg[role="img"]');
    const { left, width, top, height } = svg.getBoundingClientRect();
    const seen = [...svg.querySelectorAll("text")].filter((text) => {
        const box = text.getBoundingClientRect();
        return text.textContent && box.bottom > top && box.top < top + height;
    });
    const scale = svg.getScreenCTM().a;
    const over = [0.1, 0.5, 0.9].flatMap((x) => [0.1, 0.5, 0.9].map((y) =>
        document.elementFromPoint(left + x * width, top + y * height)));
    const least = Math.min(...seen.map((text) => scale * text.getAttribute("font-size")));
    return { held: el.classList.contains("rl-held"), least,
        covered: over.some((each) => each?.closest(".rl-control, .rl-bar")) };
}"""


@pytest.mark.parametrize("which", ["BiasMatrix", "Clocks", "SentenceAttention", "WhichBug"])
def test_a_held_picture_keeps_its_words_legible(visit, which):
    seen = visit(WHERE[which], maths=False, **PHONE | {"height": 600})  # the picture leaves it
    found = figure(seen, which)
    slider = found.locator("input[type=range]:visible").last
    slider.evaluate("(el) => el.scrollIntoView({ block: 'end', behavior: 'instant' })")
    in_sight_is_told(found.locator(".rl-picture"))
    slider.press("ArrowRight")
    told = found.evaluate(HELD)
    assert told["held"]
    assert told["least"] >= 11 - 0.01, told
    assert not told["covered"]


def test_the_panel_that_shares_a_state_moves_nothing_and_closes_again(visit):
    seen = visit(WHERE["RotatePair"], maths=False)
    found = figure(seen, "RotatePair")
    opener, panel = found.locator(".rl-share > button"), found.locator(".rl-python")
    before = found.bounding_box()
    expect(panel).to_be_hidden()
    opener.click()
    expect(panel).to_contain_text("figure = RotatePair()")
    assert found.bounding_box() == before
    seen.page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(opener).to_be_focused()
    opener.press("Enter")
    expect(panel).to_be_visible()
    found.locator(".rl-reset").click()
    expect(panel).to_be_hidden()
    seen.assert_clean()
