"""Figures keep their size: none grows while a control moves, and each fits into a window with its controls."""

from collections.abc import Iterator

import pytest

from .conftest import RESET, WHERE, settle

pytestmark = pytest.mark.browser
WINDOWS = {"desk": {"width": 1280, "height": 900}, "phone": {"width": 390, "height": 844}}
ENOUGH, SCREEN = 560, 760  # pixels: a figure on a desk; a picture with its first control on a phone


@pytest.fixture(scope="module", params=WINDOWS)
def window(request) -> str:
    """The name of each window in turn."""
    return request.param


@pytest.fixture(scope="module")
def desks(reader) -> Iterator[dict]:
    """A page for each window."""
    pages = {name: reader.blank(maths=False, **size) for name, size in WINDOWS.items()}
    yield pages
    for seen in pages.values():
        seen.page.close()


@pytest.fixture
def figure(desks, window, name):
    """A figure at rest in its chapter, in a window of that size."""
    seen = desks[window]
    if seen.page.url != seen.root + WHERE[name]:
        seen.go(WHERE[name])
        settle(seen.page, maths=False)
    found = seen.page.locator(f'[data-live="{name}"]').first
    found.evaluate(RESET)
    yield found
    seen.assert_clean()


# by how much the figure grows, and at which move, while each slider, switch and choice is moved to its ends and
# through its options, and Play runs
GROWTH = """async (el) => {
    const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    const first = el.getBoundingClientRect().height;
    const grown = [];
    const look = async (what) => { // what "More" opens by itself is no growth
        for (const fold of el.querySelectorAll(".rl-more")) fold.open = false;
        await frame();
        const by = el.getBoundingClientRect().height - first;
        if (by > 0.5) grown.push(`${what}: ${by.toFixed(0)} px`);
    };
    const set = (input, change) => {
        change();
        for (const type of ["input", "change"]) input.dispatchEvent(new Event(type, { bubbles: true }));
    };
    const seen = [...el.querySelectorAll(":scope > .rl-controls [data-trait]")].filter((box) => !box.hidden);
    for (const box of seen) {
        const trait = box.dataset.trait;
        for (const input of box.querySelectorAll("input[type=range]")) {
            for (const share of [0, 0.31, 0.67, 1]) {
                const [low, high] = [Number(input.min), Number(input.max)];
                set(input, () => (input.value = low + share * (high - low)));
                await look(`${trait} at ${share}`);
            }
        }
        for (const input of box.querySelectorAll("input[type=checkbox], input[type=radio]")) {
            input.click();
            await look(`${trait} ${input.value}`);
        }
        for (const input of box.querySelectorAll("select")) {
            for (const { value } of input.options) {
                set(input, () => (input.value = value));
                await look(`${trait} = ${value}`);
            }
        }
    }
    const play = el.querySelector(".rl-play");
    if (play && !play.hidden) {
        play.click();
        for (let i = 0; i < 10; i += 1) await look("Play");
        play.click();
    }
    return grown;
}"""


@pytest.mark.sampled(6)
def test_no_figure_grows_while_a_control_moves(figure):
    assert figure.evaluate(GROWTH) == []


@pytest.mark.parametrize("name", ["RotatePair"], indirect=True)
def test_a_sentence_without_room_is_seen_to_grow(figure):
    figure.evaluate("""(el) => {
        const words = el.querySelector(".rl-readout");
        words.style.cssText = "height: 20px; min-height: 0";
        new MutationObserver(() => (words.style.height = "80px")).observe(words, { childList: true });
    }""")
    assert figure.evaluate(GROWTH)
    figure.page.goto("about:blank")  # nothing of it is left for others


PARTS = """(el) => {
    const box = (part) => part.getBoundingClientRect();
    const controls = [...el.querySelectorAll(":scope > .rl-controls [data-trait]")];
    const first = controls.find((control) => control.getClientRects().length);
    const picture = box(el.querySelector(".rl-picture"));
    return [box(el).height, Math.max(picture.bottom, box(first).bottom) - picture.top];
}"""


def fits(figure, window) -> bool:
    """Say whether a figure, or on a phone its picture with the first control, fits into the window."""
    height, reach = figure.evaluate(PARTS)
    return height <= ENOUGH if window == "desk" else reach <= SCREEN


@pytest.mark.sampled(6)
def test_a_figure_and_its_first_control_fit_into_the_window(figure, window):
    assert fits(figure, window)


@pytest.mark.parametrize("name", ["RotatePair"], indirect=True)
def test_a_picture_as_tall_as_the_window_is_seen_not_to_fit(figure, window):
    figure.evaluate("(el) => (el.querySelector('.rl-picture').style.height = '800px')")
    assert not fits(figure, window)
    figure.page.goto("about:blank")  # nothing of it is left for others


# the chosen words of each select, with every option in turn, and the words of each field, that do not fit
CUT = """(el) => {
    for (const fold of el.querySelectorAll(".rl-more")) fold.open = true;
    const cut = [];
    const shown = (selector) => [...el.querySelectorAll(selector)].filter((part) => part.getClientRects().length);
    const isCut = (part) => part.scrollWidth > part.clientWidth || part.scrollHeight > part.clientHeight;
    for (const box of shown(".rl-select")) {
        const [words, room] = [box.querySelector("span > span:last-child"), box.getBoundingClientRect().height];
        const before = words.textContent;
        for (const { text } of box.querySelector("select").options) {
            words.textContent = text;
            const { height } = box.getBoundingClientRect();
            if (isCut(box) || isCut(box.firstChild) || height > room) cut.push(text);
        }
        words.textContent = before;
    }
    const fields = shown(".rl-sentence :is(input, textarea)");
    cut.push(...fields.filter(isCut).map(({ value }) => value));
    for (const fold of el.querySelectorAll(".rl-more")) fold.open = false;
    return cut;
}"""


@pytest.mark.sampled(6)
def test_no_words_of_a_select_or_a_field_are_cut(figure):
    assert figure.evaluate(CUT) == []


@pytest.mark.parametrize("name", ["OrderBlindness"], indirect=True)
def test_an_option_in_one_line_and_a_field_of_one_line_are_seen_to_be_cut(figure, window):
    style = (
        ".rl-select { white-space: nowrap; width: 60px } .rl-sentence textarea { width: 100px !important }"
    )
    figure.evaluate(
        "(el, style) => { el.append(Object.assign(document.createElement('style'), { textContent: style })); }",
        style,
    )
    assert len(figure.evaluate(CUT)) > 2
    figure.page.goto("about:blank")  # nothing of it is left for others


# the controls in sight above the sentence, of those that are not beside the picture
BEFORE = """(el) => {
    const top = (part) => part.getBoundingClientRect().top;
    const sentence = top(el.querySelector(".rl-readout"));
    if (el.matches(".rl-beside")) return 0;
    const parts = [...el.querySelectorAll(":scope > .rl-controls [data-trait], :scope > .rl-bar")];
    return parts.filter((part) => part.getClientRects().length && top(part) < sentence).length;
}"""


@pytest.mark.sampled
def test_the_sentence_follows_the_picture_or_on_a_phone_the_first_control(figure, window):
    assert figure.evaluate(BEFORE) == (0 if window == "desk" else 1)


@pytest.mark.parametrize("name", ["ReadTheDamage"], indirect=True)
def test_a_sentence_at_the_foot_is_seen(figure, window):
    figure.evaluate("(el) => (el.querySelector('.rl-readout').style.order = 9)")
    assert figure.evaluate(BEFORE) > 1
    figure.page.goto("about:blank")
