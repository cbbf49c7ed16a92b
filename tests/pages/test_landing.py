"""The first page: its figure waits for a hand, its fern is led through its stages, its wall is whole."""

import gzip
import re

import pytest
from playwright.sync_api import expect

from rope_book.widgets import LiveFigure

from .conftest import FRAMES, PASSES, SITE, at_rest

pytestmark = pytest.mark.browser
INDEX = "book/index.html"
RAIL = '[data-live="WordsOnARail"]'
STATE = f"""() => {{
    const at = (name) => Number(document.querySelector('{RAIL} [data-trait="' + name + '"] input').value);
    const words = [...document.querySelectorAll('{RAIL} svg text')].map((text) => text.textContent);
    const drawn = document.querySelector('{RAIL} svg > g').innerHTML;
    const score = words.find((word) => word.startsWith("score"));
    return {{ dog: at("dog"), pig: at("pig"), score, drawn }};
}}"""


def rail(seen):
    """The figure at the top of the page."""
    return seen.page.locator(RAIL)


def dragged(seen, word: str, places: int) -> None:
    """Take a word and carry it along the rail."""
    svg = rail(seen).locator("svg").bounding_box()
    at = rail(seen).locator(".rl-handle").nth(["pig", "dog"].index(word)).bounding_box()
    x, y = at["x"] + at["width"] / 2, at["y"] + at["height"] / 2
    seen.page.mouse.move(x, y)
    seen.page.mouse.down()
    seen.page.mouse.move(x + places * svg["width"] / 8, y, steps=4)
    seen.page.mouse.up()
    seen.page.evaluate(FRAMES)


def test_one_thing_changes_at_a_time_and_the_readers_hand_comes_first(visit):
    seen = visit(INDEX, maths=False, reduced_motion="reduce")
    first = seen.page.evaluate(STATE)
    seen.page.evaluate(PASSES, 1500)
    assert seen.page.evaluate(STATE) == first
    numbers = rail(seen).locator("svg text").all_text_contents()
    assert {int(text) for text in numbers if text.isdigit()} == set(range(8))  # those of the sliders
    dragged(seen, "pig", 2)
    moved = seen.page.evaluate(STATE)
    assert (moved["dog"], moved["pig"], moved["score"]) == (1, 6, "score −0.12")
    dragged(seen, "dog", 5)  # onto the pig: it goes beyond
    assert (moved := seen.page.evaluate(STATE))["dog"] == 7
    rail(seen).locator("input[type=checkbox]").check()
    at_rest(seen.page)
    kept = seen.page.evaluate(STATE)
    assert abs(kept["dog"] - kept["pig"]) == 3
    slider = rail(seen).locator('[data-trait="dog"] input')
    slider.press("ArrowLeft")
    at_rest(seen.page)
    now = seen.page.evaluate(STATE)
    assert now["dog"] == kept["dog"] - 1
    assert now["pig"] == kept["pig"] - 1
    assert now["score"] == kept["score"]
    assert now["drawn"] != kept["drawn"]
    seen.assert_clean()


def test_the_wall_has_every_figure_and_ticks_those_that_were_moved(visit):
    seen = visit(INDEX, maths=False, fresh=True, reduced_motion="reduce")
    wall = seen.page.locator("ul.wall a")
    assert set(wall.evaluate_all("(all) => all.map((each) => each.dataset.figure)")) == set(
        LiveFigure.figures
    )
    assert seen.page.locator(".still-link.is-read").count() == 0
    rail(seen).locator('[data-trait="pig"] input').press("ArrowRight")
    ticked = seen.page.locator(".still-link.is-read")
    expect(ticked).to_have_count(1)
    assert ticked.get_attribute("data-figure") == "WordsOnARail"
    assert ticked.text_content().endswith(", moved")
    seen.page.get_by_role("button", name="Forget what I have read").click()
    expect(seen.page.locator(".still-link.is-read")).to_have_count(0)
    ticked = seen.page.locator('ul.wall a[data-figure="RotatePair"]')
    ticked.click()
    seen.page.wait_for_url("**/04_rotate_one_pair.html#live=RotatePair")
    seen.assert_clean()


@pytest.mark.parametrize("name", ["ModelInThePage", "WhichBug", "ConfigInspector"])
def test_a_figure_is_fetched_and_tried_where_its_still_is(visit, name):
    seen = visit(INDEX, maths=False, reduced_motion="reduce")
    assert seen.page.locator(f'script[src*="live/{name}.js"]').count() == 0
    seen.page.locator(f'.live-later[data-figure="{name}"] .live-try').click()
    figure = seen.page.locator(f'.live-slot [data-live="{name}"][data-ready="true"]')
    figure.wait_for(timeout=30_000)
    seen.page.wait_for_function("document.activeElement.matches('.live-slot')")
    said = figure.locator(".rl-readout").inner_text()
    figure.locator("input[type=range], input[type=radio]:checked").first.press("ArrowRight")
    seen.page.wait_for_function(
        "([el, said]) => el.querySelector('.rl-readout').innerText !== said",
        arg=[figure.element_handle(), said],
        timeout=30_000,
    )
    seen.assert_clean()


@pytest.fixture(scope="module")
def first_page(reader):
    """The first page, in a window of any width: first_page(1280) -> its page."""
    page = reader.open(INDEX, maths=False).page

    def at(width: int):
        page.set_viewport_size({"width": width, "height": 900})
        page.evaluate(FRAMES)
        return page

    yield at
    page.close()


def test_the_page_says_its_line_and_opens_three_doors_with_counted_hours(first_page):
    page = first_page(1200)
    assert page.locator(".first-line").inner_text() == "Your words are clocks."
    doors = page.locator(".door")
    assert doors.count() == 3
    assert re.search(r"\d½? hours\b.* \d+ minutes", doors.last.inner_text().replace("\n", " "))


@pytest.mark.parametrize(("width", "height"), [(1280, 900), (1024, 900), (390, 844)])
def test_the_first_screen_holds_the_whole_first_figure_with_its_controls(first_page, width, height):
    page = first_page(width)
    page.evaluate("scrollTo({ top: 0, behavior: 'instant' })")
    parts = [".rl-picture svg", '[data-trait="lock"]', '[data-trait="dog"]', '[data-trait="pig"]']
    for part in parts:
        box = page.locator(f"{RAIL} {part}").bounding_box()
        assert box["y"] + box["height"] <= height, part
    doors = page.locator(".door").first.bounding_box()
    assert doors["y"] >= box["y"] + box["height"]  # headline, figure, doors


@pytest.mark.parametrize("width", [390, 700, 900, 1280])
def test_doors_and_tries_are_in_one_row_or_in_one_column(first_page, width):
    page = first_page(width)
    for cards in (".door", ".try"):
        at = page.locator(cards).evaluate_all(
            "(all) => all.map((each) => each.getBoundingClientRect()).map(({ x, y }) => [x, y])"
        )  # at once: the page may move
        assert 1 in map(len, map(set, zip(*at, strict=True)))


FERN = '.fern-tour [data-live="Fern"]'
PLACED = """() => ({
    line: document.querySelector('.fern-tour .rl-python code').textContent,
    now: document.querySelector('.fern-step.is-now strong')?.textContent,
    drawn: document.querySelector('.fern-tour svg > g').innerHTML,
})"""


def test_scrolling_the_slider_keys_and_links_lead_through_the_stages(visit):
    seen = visit(INDEX, maths=False)
    way = seen.page.locator(".fern-way input")
    way.focus()
    for key, stage, words in [
        ("Home", "clocks", "Every word carries"),
        ("ArrowRight", "stem", "Lay the hands"),
        ("ArrowRight", "curl", "Walk away"),
        ("End", None, "Now grow your own"),
        ("ArrowLeft", "rules", "Or slow the hands"),
    ]:
        way.press(key)
        seen.page.wait_for_function(f"(words) => ({PLACED})().now?.startsWith(words)", arg=words)
        if stage:
            figure = f"Fern(stage='{stage}'" if stage != "curl" else "Fern()"
            seen.page.wait_for_function(f"(figure) => ({PLACED})().line.startsWith(figure)", arg=figure)
    seen.page.locator('.fern-way a[href="#fern-far"]').click()
    seen.page.wait_for_function(f"() => ({PLACED})().line.startsWith(\"Fern(stage='far'\")")
    assert seen.page.url.endswith("#fern-far")
    at_rest(seen.page)  # the link has scrolled the page to its stage
    before = seen.page.evaluate(PLACED)
    seen.page.mouse.wheel(0, 900)  # a whole window: the next stage at least
    seen.page.wait_for_function(f"(drawn) => ({PLACED})().drawn !== drawn", arg=before["drawn"])
    assert "#live=" not in seen.page.url
    seen.assert_clean()


def test_a_link_opens_a_stage(visit):
    seen = visit(f"{INDEX}#fern-bend", maths=False)
    seen.page.wait_for_function(f"() => ({PLACED})().line.startsWith(\"Fern(stage='bend'\")")


def test_what_the_reader_moves_stays_until_the_page_is_scrolled(visit):
    seen = visit(f"{INDEX}#fern-curl", maths=False)
    seen.page.wait_for_function(f"() => ({PLACED})().now === 'Walk away, and it curls.'")
    box = seen.page.locator(f"{FERN} .rl-handle").first.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    seen.page.mouse.move(x, y)
    seen.page.mouse.down()
    seen.page.mouse.move(x + 60, y, steps=5)
    seen.page.mouse.up()
    at_rest(seen.page)
    assert seen.page.evaluate(PLACED)["line"].startswith("Fern(stage='own', distance=")


def test_less_motion_and_paper_have_the_stages_as_stills_with_the_same_sentences(visit):
    seen = visit(INDEX, maths=False, reduced_motion="reduce")
    steps = seen.page.locator(".fern-step")
    assert steps.count() == 8
    assert steps.locator("img").count() == 7
    assert seen.page.locator(".fern-guided").count() == 0
    for still in steps.locator("img").all():
        assert "hands" in still.get_attribute("alt") or "pairs" in still.get_attribute("alt")
        still.scroll_into_view_if_needed()
        expect(still).to_be_visible()


def test_a_fern_is_saved_as_a_picture_and_as_a_loop_and_heard_only_on_request(visit):
    seen = visit(f"{INDEX}#fern-yours", maths=False)
    seen.page.wait_for_function("() => document.querySelector('.fern-free')")
    for name, file in [("Save as picture", "fern.png"), ("Save as loop of 6 seconds", "fern.webm")]:
        with seen.page.expect_download() as download:
            seen.page.get_by_role("button", name=name).click()
        assert download.value.suggested_filename == file
        assert download.value.path().stat().st_size > 5_000
    assert not seen.page.locator(".fern-tools label").is_visible()
    seen.page.get_by_role("button", name="Sound").click()
    assert seen.page.locator(".fern-tools label").is_visible()
    seen.page.evaluate("scrollTo({ top: 0, behavior: 'instant' })")  # leaving ends it
    expect(seen.page.get_by_role("button", name="Sound", include_hidden=True)).to_have_attribute(
        "aria-pressed", "false"
    )
    seen.assert_clean()


MOST_SCRIPT = 15_000  # bytes of the fern and what leads through it, compressed as a server sends them


def test_the_fern_and_its_stages_cost_little():
    static = SITE / "_static"
    files = [static / "live" / "Fern.js", static / "fern.js"]
    assert sum(len(gzip.compress(file.read_bytes(), mtime=0)) for file in files) <= MOST_SCRIPT
