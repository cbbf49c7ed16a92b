"""The first page: its figure plays until a hand comes, its switch keeps the needle still, its wall is whole."""

import re

import pytest
from playwright.sync_api import expect

from rope_book.widgets import LiveFigure

from .conftest import FRAMES, PASSES, at_rest
from .test_engines import until

pytestmark = pytest.mark.browser
INDEX = "book/index.html"
RAIL = '[data-live="WordsOnARail"]'
STATE = f"""() => {{
    const at = (name) => Number(document.querySelector('{RAIL} [data-trait="' + name + '"] input').value);
    const words = [...document.querySelectorAll('{RAIL} svg text')].map((text) => text.textContent);
    const drawn = document.querySelector('{RAIL} svg > g').innerHTML;
    const score = words.find((word) => word.startsWith("score"));
    return {{ dog: at("dog"), pig: at("pig"), start: at("start"), score, drawn }};
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


def test_everything_turns_until_a_hand_comes(visit):
    seen = visit(INDEX, maths=False)
    seen.page.wait_for_function(f"({STATE})().start > 0")
    assert rail(seen).locator(".rl-play").inner_text().endswith("Pause")
    rail(seen).locator(".rl-readout").click()
    at_rest(seen.page)
    first = seen.page.evaluate(STATE)
    seen.page.evaluate(PASSES, 300)
    assert seen.page.evaluate(STATE) == first
    rail(seen).locator("input[type=checkbox]").check()  # everything spins, and the needle stays
    seen.page.wait_for_function(f"({STATE})().score === 'score 0.80'")  # the words glide to their seats
    kept = seen.page.evaluate(STATE)
    seen.page.wait_for_function(f"(start) => ({STATE})().start > start", arg=kept["start"])
    now = seen.page.evaluate(STATE)
    assert now["score"] == kept["score"] == "score 0.80"
    assert now["drawn"] != kept["drawn"]
    rail(seen).locator(".rl-play").click()
    at_rest(seen.page)
    first = seen.page.evaluate(STATE)
    seen.page.evaluate(PASSES, 300)
    assert seen.page.evaluate(STATE) == first
    rail(seen).locator(".rl-play").click()  # a hand may let it go on
    seen.page.wait_for_function(f"(before) => ({STATE})().drawn !== before", arg=first["drawn"])
    seen.assert_clean()


def test_its_button_stops_it_at_the_first_press(visit):
    seen = visit(INDEX, maths=False)
    seen.page.wait_for_function(f"({STATE})().start > 0")
    rail(seen).locator(".rl-play").click()
    expect(rail(seen).locator(".rl-play")).to_contain_text("Play")
    first = seen.page.evaluate(STATE)
    seen.page.evaluate(PASSES, 300)
    assert seen.page.evaluate(STATE) == first


def test_nothing_turns_by_itself_for_a_reader_who_wants_less_motion(visit):
    seen = visit(INDEX, maths=False, reduced_motion="reduce")
    first = seen.page.evaluate(STATE)
    assert first["start"] == 0
    seen.page.evaluate(PASSES, 1500)
    assert seen.page.evaluate(STATE) == first
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


TURNED = f"return Number(document.querySelector('{RAIL} [data-trait=\"start\"] input').value) > 0"


def test_the_first_page_plays_in_every_engine(engine, watched):
    engine.open(f"{watched}{INDEX}")
    until(engine, TURNED)


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


@pytest.mark.parametrize("width", [1280, 1024])
def test_all_doors_and_the_switch_are_in_the_first_screen(first_page, width):
    page = first_page(width)
    for each in [*page.locator(".door").all(), page.locator(f"{RAIL} .rl-toggle")]:
        box = each.bounding_box()
        assert box["y"] + box["height"] <= 900


@pytest.mark.parametrize("width", [390, 700, 900, 1280])
def test_doors_and_tries_are_in_one_row_or_in_one_column(first_page, width):
    page = first_page(width)
    for cards in (".door", ".try"):
        boxes = [each.bounding_box() for each in page.locator(cards).all()]
        assert 1 in (len({box["x"] for box in boxes}), len({box["y"] for box in boxes}))
