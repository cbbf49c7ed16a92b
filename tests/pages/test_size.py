"""Figures keep their size: none grows while a control moves, and each fits into a window with its controls."""

from collections.abc import Iterator

import pytest

from .conftest import RESET, WHERE, settle

pytestmark = pytest.mark.browser
WINDOWS = {"desk": {"width": 1280, "height": 900}, "phone": {"width": 390, "height": 844}}
ENOUGH, SCREEN = 560, 760  # pixels: a figure on a desk; a picture with its first control on a phone
# what is still higher, and how high it is, in pixels: these numbers may only fall, and a name that fits is removed
TALL = {
    "CacheSteps": 705,
    "ConfigInspector": 708,
    "ModelInThePage": 698,
    "ReadTheDamage": 723,
    "SentenceAttention": 710,
    "TrainInThePage": 737,
    "TrainingCurves": 587,
    "WhatTurns": 778,
}
LONG = {"OrderBlindness": 934, "SentenceAttention": 991}


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


@pytest.mark.sampled
def test_a_figure_and_its_first_control_fit_into_the_window(figure, window, name):
    height, reach = figure.evaluate(PARTS)
    size, most, excused = (height, ENOUGH, TALL) if window == "desk" else (reach, SCREEN, LONG)
    assert size <= excused.get(name, most)
    assert name not in excused or size > most, f"{name} fits now: take it from the list"
