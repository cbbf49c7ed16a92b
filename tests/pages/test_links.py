"""Links to a state: they show the picture, survive Back and Forward, and can hold anything without harm."""

import ast
import itertools
from urllib.parse import quote, urlencode

import pytest
from playwright.sync_api import expect

from rope_book import widgets
from rope_book.widgets import LiveFigure

from .conftest import FRAMES, LINES, PAGES, UNFOLD, WHERE, at_rest

pytestmark = pytest.mark.browser
SIZES = [(1200, 900), (768, 1024), (390, 844)]

# a page holds the figure of its link in view until it is laid out; a busy machine takes longer than it waits
UNHURRIED = """const kept = window.setTimeout;
window.setTimeout = (call, time, ...rest) => kept(call, time === 10_000 ? 1e6 : time, ...rest);"""

# how much of the picture is seen, and where its top is: the page's sticky header hides what lies under it
SEEN = """(el) => {
    const { top, bottom, height } = el.getBoundingClientRect();
    const header = document.querySelector(".bd-header-article")?.getBoundingClientRect();
    const roof = header && getComputedStyle(document.querySelector(".bd-header-article")).position === "sticky"
        ? Math.max(0, header.bottom) : 0;
    return { share: (Math.min(bottom, innerHeight) - Math.max(top, roof)) / height, top: top - roof,
        fits: height <= innerHeight - roof };
}"""


def link(name: str, **values: object) -> str:
    """Return the address of a figure's page with a state."""
    return f"{WHERE[name]}#{urlencode({'live': name} | values)}"


def line(page, name: str) -> str:
    """Return the state of a figure as a line of Python."""
    return page.locator(f'[data-live="{name}"] .rl-python code').first.inner_text()


def first_slider(name: str) -> tuple[str, object]:
    """Return a slider of the figure, or else a choice, and a value that is not its first."""
    controls = LiveFigure.figures[name].controls()
    sliders = [(t, c) for t, c in controls.items() if c.kind == "slider"]
    if not sliders:
        trait, control = next((t, c) for t, c in controls.items() if c.kind == "choice")
        return trait, next(value for value in control.options if value != control.default_value)
    trait, control = sliders[0]
    return trait, control.high if control.default_value != control.high else control.low


@pytest.mark.parametrize("size", SIZES, ids=lambda size: "x".join(map(str, size)))
@pytest.mark.sampled(6)
def test_a_link_shows_the_picture_and_a_hostile_one_does_no_harm(tab, name, size):
    trait, value = first_slider(name)
    address = link(name, **{trait: value})
    seen = tab(address, width=size[0], height=size[1], script=UNHURRIED)
    at_rest(seen.page)
    view = seen.page.locator(f'[data-live="{name}"] svg[role="img"]').first.evaluate(SEEN)
    assert view["share"] >= 0.9 if view["fits"] else -1 <= view["top"] < 40, view
    assert f"{trait}=" in line(seen.page, name)
    if size == SIZES[0]:
        assert_harmless(seen, name)
    seen.assert_clean()


def test_the_page_stays_where_a_reader_puts_it(tab):
    page = tab(link("RotatePair", position=9), maths=False).page
    at_rest(page)
    page.mouse.move(600, 500)
    linked = page.evaluate("scrollY")
    page.mouse.wheel(0, 600)
    page.wait_for_function("(least) => scrollY > least", arg=linked + 100)
    at_rest(page)
    before = page.evaluate("scrollY")
    page.evaluate("document.body.append(Object.assign(document.createElement('p'), { textContent: 'more' }))")
    page.evaluate(FRAMES)  # who watches the page's size has heard of it
    at_rest(page)
    assert page.evaluate("scrollY") == before


def test_back_and_forward_keep_picture_and_address_in_step(tab):
    page = tab(WHERE["RotatePair"], maths=False).page
    page.locator('[data-trait="position"] input').press("End")
    page.wait_for_function("() => location.hash.includes('position=64')")
    page.evaluate("location.hash = 'live=RotatePair&position=9'")
    page.wait_for_function(
        "() => document.querySelector('.rl-python code').textContent.includes('position=9')"
    )
    page.go_back()
    page.wait_for_function(
        "() => document.querySelector('.rl-python code').textContent.includes('position=64')"
    )
    assert "position=64" in page.evaluate("location.hash")
    page.go_forward()
    page.wait_for_function(
        "() => document.querySelector('.rl-python code').textContent.includes('position=9')"
    )
    assert "position=9" in page.evaluate("location.hash")


def test_back_to_the_plain_page_brings_the_first_picture(tab):
    page = tab(WHERE["RotatePair"], maths=False).page
    first = line(page, "RotatePair")
    page.evaluate("location.hash = 'live=RotatePair&position=9'")
    page.wait_for_function(
        "() => document.querySelector('.rl-python code').textContent.includes('position=9')"
    )
    page.go_back()
    page.wait_for_function("() => location.hash === ''")
    expect(page.locator('[data-live="RotatePair"] .rl-python code').first).to_have_text(first)


def test_a_place_in_the_page_leaves_the_figure_alone(tab):
    page = tab(link("RotatePair", position=9), maths=False).page
    (after,) = page.evaluate(LINES, ["RotatePair", ["exercises"]])
    assert "position=9" in after
    assert page.url.endswith("#exercises")


SECOND = """([name, state]) => {
    const place = document.createElement("div");
    document.querySelector(".live-slot").after(place);
    const values = { ...state };
    const model = { host: "page", get: (key) => values[key], set: (key, value) => (values[key] = value),
        save_changes() {}, on() {}, off() {} };
    figures[name].render({ model, el: place });
}"""
KEPT = """window.figures = {};
let live;
Object.defineProperty(window, "RopeLive", { get: () => live, set: (given) => {
    const { define } = given;
    live = { ...given, define(name, figure) { figures[name] = figure; define(name, figure); } };
} });"""


def test_two_figures_of_a_page_do_not_overwrite_each_other(tab):
    with_two = tab(link("RotatePair", position=9), maths=False, script=KEPT)
    page = with_two.page
    state = LiveFigure.figures["RotatePair"]().get_state()
    plain = {key: value for key, value in state.items() if key == "_controls" or not key.startswith("_")}
    page.evaluate(SECOND, ["RotatePair", {k: v for k, v in plain.items() if k != "layout"}])
    page.locator('[data-live="RotatePair"]').nth(1).locator('[data-trait="position"] input').press("End")
    page.wait_for_function("() => location.hash.includes('RotatePair.2')")
    hash_of_both = page.evaluate("location.hash")
    assert "live=RotatePair&position=9" in hash_of_both
    assert "live=RotatePair.2&position=64" in hash_of_both
    again = tab(f"{WHERE['RotatePair']}{hash_of_both}", maths=False).page
    assert "position=9" in line(again, "RotatePair")


def test_a_contradictory_link_is_repaired(tab):
    for pipeline, angles in itertools.product(("own", "transformers"), ("float16", "bfloat16")):
        page = tab(link("AngleError", pipeline=pipeline, angles_in=angles), maths=False).page
        made = eval(line(page, "AngleError"), vars(widgets))
        assert page.locator('[data-trait="pipeline"] select').input_value() == made.pipeline
        once = line(page, "AngleError")
        select = page.locator('[data-trait="pipeline"] select')
        select.dispatch_event("change")  # to choose what is chosen changes nothing where the state is whole
        assert line(page, "AngleError") == once


HOSTILE = [
    "\0",
    "a\0b c",
    "'",
    "\\",
    "\\' + __import__('os').name + '",
    '"); import os #',
    "x" * 10_000,
    " ".join("abcdefghijkl"),
    "👩‍👩‍👧‍👦" * 9,
    "🙂" * 20,
    "e" + "\u0301" * 40,
    "\u202egnp.exe",
    "\u2028\u2029\x85\x1c\x1d",
    "\ufeff",
    "<img src=x onerror=alert(1)>",
    "%",
    "NaN",
    "Infinity",
    "-0",
    "0x10",
    "1e309",
    "true",
    "[object Object]",
    "__proto__",
]


def assert_harmless(seen, name: str) -> None:
    """Follow hostile links in an open page: each makes a valid line of Python."""
    controls = LiveFigure.figures[name].controls()
    values = [quote(value) for value in HOSTILE]
    queries = ["&".join(f"{trait}={value}" for trait in controls) for value in values]
    hashes = [f"live={name}&{query}&__proto__={value}" for query, value in zip(queries, values, strict=True)]
    for text in seen.page.evaluate(LINES, [name, hashes]):
        ast.parse(text, mode="eval")
        made = eval(text, vars(widgets))
        assert repr(made) is not None
        for trait, control in controls.items():
            if control.kind == "sentence":
                assert all(len(word) <= 16 for word in getattr(made, trait).split())


def test_a_word_is_cut_between_characters_and_said_to_be(tab):
    page = tab(WHERE["OrderBlindness"], maths=False).page
    page.locator('[data-live="OrderBlindness"]').evaluate(UNFOLD)
    box = page.locator('[data-trait="sentence"] textarea')
    box.fill("👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦 ok")
    box.press("Enter")
    expect(box).to_have_value("👩‍👩‍👧‍👦👩‍👩‍👧‍👦 ok")
    expect(page.locator('[data-trait="sentence"] .rl-note')).to_contain_text("Shortened")
    page.wait_for_function(
        "() => [...document.querySelectorAll('[role=status]')].some((el) => el.textContent.includes('Shortened'))"
    )


def test_a_link_opens_from_another_page(tab):
    seen = tab(PAGES[0], maths=False)
    page = seen.page
    page.goto(f"{seen.root}{link('Clocks')}")
    page.wait_for_selector('[data-live="Clocks"][data-ready="true"]')
