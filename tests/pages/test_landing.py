"""The first page: its figure waits for the reader, its fern goes through its stages, its wall is complete."""

import gzip
import itertools
import json
import re

import pytest
from playwright.sync_api import expect

from rope_book.widgets import LiveFigure

from .conftest import FRAMES, HURRIED, PASSES, SITE, at_rest
from .test_engines import points, until
from .test_pages import violations

pytestmark = pytest.mark.browser
INDEX = "book/index.html"
RAIL = '[data-live="WordsOnARail"]'
SLOTS = 11  # of the rail, including the one for the word that waits
STATE = f"""() => {{
    const at = (name) => Number(document.querySelector('{RAIL} [data-trait="' + name + '"] input').value);
    const texts = [...document.querySelectorAll('{RAIL} svg text')];
    const words = Object.fromEntries(texts.map((text) => [text.textContent, Number(text.getAttribute("x"))]));
    const score = Object.keys(words).find((word) => word.startsWith("score"));
    return {{ pig: at("pig"), start: at("start"), score, words }};
}}"""


def rail(seen):
    """Return the figure at the top of the page."""
    return seen.page.locator(RAIL)


def dragged(seen, word: str, places: int) -> None:
    """Drag a word along the rail."""
    svg = rail(seen).locator("svg").bounding_box()
    at = rail(seen).locator(".rl-handle").nth(["pig", "dog", "day"].index(word)).bounding_box()
    x, y = at["x"] + at["width"] / 2, at["y"] + at["height"] / 2
    seen.page.mouse.move(x, y)
    seen.page.mouse.down()
    seen.page.mouse.move(x + places * svg["width"] / SLOTS, y, steps=4)
    seen.page.mouse.up()
    seen.page.evaluate(FRAMES)


def test_nothing_moves_before_the_reader_does_and_then_one_thing_at_a_time(visit):
    seen = visit(INDEX, maths=False, reduced_motion="reduce")
    first = seen.page.evaluate(STATE)
    seen.page.evaluate(PASSES, 1500)
    assert seen.page.evaluate(STATE) == first
    assert {int(text) for text in first["words"] if text.isdigit()} == set(range(7))
    dragged(seen, "pig", 2)
    moved = seen.page.evaluate(STATE)
    assert (moved["pig"], moved["start"], moved["score"]) == (6, 0, "score −0.12")
    assert moved["words"]["dog"] == first["words"]["dog"]
    dragged(seen, "dog", 5)  # onto the pig, so it drops into the nearest free place
    assert seen.page.evaluate(STATE)["pig"] == 6
    seen.assert_clean()


def test_words_come_in_from_the_left_and_push_the_sentence(visit):
    seen = visit(INDEX, maths=False, reduced_motion="reduce")
    first = seen.page.evaluate(STATE)
    slot = (first["words"]["pig"] - first["words"]["dog"]) / 3
    assert first["words"]["day"] < first["words"]["0"]  # it waits beside the rail
    dragged(seen, "day", 2)
    pushed = seen.page.evaluate(STATE)
    assert (pushed["pig"], pushed["start"], pushed["score"]) == (4, 2, first["score"])
    for word in ("dog", "pig", "day"):
        assert pushed["words"][word] == pytest.approx(first["words"][word] + 2 * slot, abs=0.1)
    assert pushed["words"]["one"] == pytest.approx(first["words"]["0"], abs=0.1)
    assert pushed["words"]["0"] == first["words"]["0"]  # the rail itself has not moved
    assert "8" in pushed["words"]  # but it has become longer
    rail(seen).locator('[data-trait="start"] input').press("End")
    far = seen.page.evaluate(STATE)
    assert (far["start"], far["score"]) == (48, first["score"])
    assert far["words"]["dog"] == pytest.approx(first["words"]["dog"] + 3 * slot, abs=0.1)
    assert "54" in far["words"]  # after three words, the rail itself moves
    seen.assert_clean()


PUSHED = f"""() => new Promise((done) => {{
    const figure = document.querySelector('{RAIL}');
    const input = figure.querySelector('[data-trait="start"] input');
    const xOf = (word) => [...figure.querySelectorAll("svg text")].find((text) => text.textContent === word);
    const seen = [];
    const look = () => {{
        seen.push(["dog", "pig", "day"].map((word) => Number(xOf(word).getAttribute("x"))));
        if (seen.length > 1 && figure.ariaBusy !== "true") done(seen);
        else requestAnimationFrame(look);
    }};
    look();
    input.value = 1;
    input.dispatchEvent(new Event("input"));
}})"""


def test_a_push_is_one_movement_to_the_right(visit):
    seen = visit(INDEX, maths=False)
    frames = seen.page.evaluate(PUSHED)
    for before, after in itertools.pairwise(frames):
        assert all(x <= then for x, then in zip(before, after, strict=True))
    gaps = {round(pig - dog, 1) for dog, pig, _ in frames}
    assert len(gaps) == 1
    assert frames[-1][0] - frames[0][0] == pytest.approx(gaps.pop() / 3, abs=0.1)


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
    """Give the first page in a window of any width: ``first_page(1280)`` returns it."""
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
    parts = [".rl-picture svg", '[data-trait="pig"]', '[data-trait="start"]', ".rl-readout"]
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
        )  # in one call, since the page may move
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
    at_rest(seen.page)  # once the link has scrolled to its stage
    before = seen.page.evaluate(PLACED)
    seen.page.mouse.wheel(0, 900)  # a whole window, so at least one stage
    seen.page.wait_for_function(f"(drawn) => ({PLACED})().drawn !== drawn", arg=before["drawn"])
    assert "#live=" not in seen.page.url
    seen.assert_clean()


def test_a_link_opens_a_stage(visit):
    seen = visit(f"{INDEX}#fern-bend", maths=False)
    seen.page.wait_for_function(f"() => ({PLACED})().line.startsWith(\"Fern(stage='bend'\")")


# the sentence and the figure at places on the way through the stages, which are counted from 0
SWEEP = """async (places) => {
    const tour = document.querySelector(".fern-tour");
    const figure = tour.querySelector('[data-live="Fern"]');
    const frame = () => new Promise(requestAnimationFrame);
    const tops = [...tour.querySelectorAll(".fern-anchor")].map((anchor) => anchor.offsetTop);
    const roof = Number.parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop);
    const start = tour.getBoundingClientRect().top + scrollY - roof;
    const seen = [];
    for (const place of places) {
        scrollTo({ top: start + place * tops[1], behavior: "instant" });
        for (let drawn = 0; drawn < 3; drawn += 1) await frame();
        while (figure.ariaBusy === "true") await frame();
        const parts = [".fern-step.is-now p", ".rl-readout", ".rl-value"].map((part) => tour.querySelector(part));
        seen.push([...parts.map((part) => part.textContent), figure.querySelector("svg > g").innerHTML]);
    }
    return seen;
}"""
CLAIMS = {  # a sentence's claim, and how the figure words it
    "Pig comes 3 words": "Dog and pig are 3 tokens apart. Each of the 64 pairs is a clock",
    "At distance 0 every hand points up": "0 tokens apart, the 64 hands reach 1.00 of the straight stem",
    "Walk away, and it curls": "12 tokens apart, the 64 hands reach 0.66 of the straight stem",
    "Put a thousand tokens in front": "12 tokens apart, the 64 hands reach 0.66 of the straight stem: that is the "
    "score of two equal vectors. Their positions are 1,000 and 1,012",
    "At 8,000 tokens the tip is as low as the root": "8,000 tokens apart, the 64 hands reach −0.01",
    "the tip is back at 0.39": "8,000 tokens apart, the 64 hands reach 0.39 of the straight stem",
    "8,000 tokens curl the stem only": "8,000 tokens apart the ferns reach: no rule −0.01, PI ",
    "Now grow your own": "8,000 tokens apart, the 64 hands reach 0.57 of the straight stem",
}


@pytest.mark.parametrize("steps", [4, pytest.param(20, marks=pytest.mark.nightly)])  # from stage to stage
def test_sentence_and_picture_agree_wherever_the_page_is_scrolled(visit, steps):
    seen = visit(INDEX, maths=False)
    places = [place / steps for place in range(7 * steps + 1)]
    drawn = {claim: set() for claim in CLAIMS}
    for place, (sentence, readout, distance, picture) in zip(
        places, seen.page.evaluate(SWEEP, places), strict=True
    ):
        (claim,) = [claim for claim in CLAIMS if claim in sentence]
        assert readout.startswith(CLAIMS[claim]), (place, sentence, readout)
        drawn[claim].add((distance, picture))
    assert {claim: len(pictures) for claim, pictures in drawn.items()} == dict.fromkeys(CLAIMS, 1)


def test_what_the_reader_moves_stays_until_the_next_stage(visit):
    seen = visit(f"{INDEX}#fern-curl", maths=False)
    seen.page.wait_for_function(f"() => ({PLACED})().now === 'Walk away, and it curls.'")
    box = seen.page.locator(f"{FERN} .rl-handle").first.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    seen.page.mouse.move(x, y)
    seen.page.mouse.down()
    seen.page.mouse.move(x + 60, y, steps=5)
    seen.page.mouse.up()
    at_rest(seen.page)
    line = seen.page.evaluate(PLACED)["line"]
    assert line.startswith("Fern(stage='own', distance=")
    seen.page.mouse.wheel(0, 100)
    at_rest(seen.page)
    assert seen.page.evaluate(PLACED)["line"] == line
    seen.page.mouse.wheel(0, 600)
    seen.page.wait_for_function(f"() => ({PLACED})().line.startsWith(\"Fern(stage='push'\")")


SENTENCES = """() => [...document.querySelectorAll(".fern-step p")].map((words) => words.textContent)"""


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
    assert seen.page.evaluate(SENTENCES) == visit(INDEX, maths=False).page.evaluate(SENTENCES)


GO = """([place]) => {
    const way = document.querySelector(".fern-way input");
    way.value = place;
    way.dispatchEvent(new Event("input"));
}"""


def at_stage(page, place: int) -> None:
    """Return once the tour shows a stage, counted from 0, and its picture is at rest."""
    page.evaluate(GO, [place])
    page.wait_for_function(
        "(place) => [...document.querySelectorAll('.fern-step')][place].classList.contains('is-now')"
        f" && document.querySelector('{FERN}').ariaBusy !== 'true'",
        arg=place,
    )
    page.evaluate(FRAMES)


# 745 pixels are what a phone of 844 shows between the bars of its browser
@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("width", "height", "theme"), [(1280, 900, "light"), (390, 745, "dark")], ids=["desktop", "phone"]
)
def test_each_stage_is_whole_in_one_screen_and_its_links_stay_where_they_are(visit, width, height, theme):
    page = visit(INDEX, maths=False, width=width, height=height, theme=theme).page
    tops = set()
    for place in range(8):
        at_stage(page, place)
        parts = [".fern-step.is-now", ".fern-view svg", *([".fern-way"] if place < 7 else [])]
        boxes = [page.locator(part).first.bounding_box() for part in parts]
        for part, box in zip(parts, boxes, strict=True):
            assert box["y"] >= 0, (place, part)
            assert box["y"] + box["height"] <= height, (place, part)
        tops |= {round(boxes[2]["y"])} if place < 7 else set()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert len(tops) == 1
    assert violations(page) == []


STEM = f"""() => {{
    const [zero, one] = ["0", "1"].map((level) =>
        [...document.querySelectorAll('{FERN} svg text')].find((text) => text.textContent === level));
    return zero.getAttribute("y") - one.getAttribute("y");
}}"""


def test_ferns_side_by_side_are_large_enough_for_a_phone(visit):
    page = visit(INDEX, maths=False, width=390, height=844).page
    at_stage(page, 6)
    assert page.evaluate(STEM) >= 130  # pixels of a straight stem


def test_a_screen_reader_hears_the_stage_and_what_the_fern_shows(visit):
    page = visit(INDEX, maths=False).page
    way = page.get_by_role("slider", name="Stage of the fern")
    at_stage(page, 4)
    assert way.get_attribute("aria-valuetext") == "5: Go too far, and nothing stands."
    expect(page.locator(".fern-way a[aria-current=step]")).to_have_accessible_name(
        "5: Go too far, and nothing stands."
    )
    figure = page.locator(FERN)
    expect(figure).to_have_attribute("aria-label", re.compile("hands laid tip to tail"))
    heard = figure.locator('[role="status"]').first
    expect(heard).to_contain_text("8,000 tokens apart, the 64 hands reach −0.01 of the straight stem")
    at_stage(page, 5)
    expect(heard).to_contain_text("reach 0.39 of the straight stem")


CONFIG = {"model_type": "llama", "head_dim": 64, "rope_theta": 1e6, "max_position_embeddings": 32_768}
KINDS = {
    "model_type": "gemma3_text",
    "head_dim": 256,
    "layer_types": ["sliding_attention", "full_attention"],
    "rope_parameters": {
        "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
        "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
    },
}


def test_a_config_that_is_pasted_or_dropped_grows_its_fern(visit, tmp_path):
    seen = visit(f"{INDEX}#fern-yours", maths=False)
    page, said = seen.page, seen.page.locator(".fern-file p")
    page.wait_for_function("() => document.querySelector('.fern-free')")
    assert not [url for url in seen.asked if url.endswith("ferns.js")]
    area = page.get_by_label("Or paste or drop a config.json or GGUF")
    area.fill(json.dumps(CONFIG))
    expect(said).to_have_text("This is the fern of your file.")
    line = page.evaluate(PLACED)["line"]
    for part in ("base=1000000", "head_dim=64", "trained=32768"):
        assert part in line
    area.fill('{"model_type": "llama"')
    expect(said).to_contain_text("This file cannot be read. config is not JSON")
    area.fill(json.dumps(CONFIG | {"rope_theta": -1}))
    expect(said).to_contain_text("rope_theta must be a number above 1")
    assert page.evaluate(PLACED)["line"] == line
    file = tmp_path / "config.json"
    file.write_text(json.dumps(KINDS), encoding="utf-8")
    page.locator(".fern-file input").set_input_files(file)
    expect(said).to_contain_text("Choose some")
    page.get_by_role("button", name="full attention").click()
    assert "rule='pi'" in page.evaluate(PLACED)["line"]
    page.get_by_role("button", name="sliding attention").click()
    assert "rule=" not in page.evaluate(PLACED)["line"]
    seen.assert_clean()


NOW = "return document.querySelector('.fern-step.is-now strong').textContent.startsWith(arguments[0])"
LINE = """return document.querySelector('.fern-tour .rl-python code').textContent.startsWith(arguments[0])"""
PASTE = """const area = document.querySelector(".fern-file textarea");
area.value = arguments[0];
area.dispatchEvent(new Event("input"));"""
SAYS = "return document.querySelector('.fern-file p').textContent === arguments[0]"


def test_the_tour_answers_keys_pointer_and_a_file_in_every_engine(engine, watched_figures):
    engine.open(f"{watched_figures}{INDEX}")
    until(engine, "return document.querySelector('.fern-guided .fern-way') !== null")
    until(engine, "return book.alive('WordsOnARail')")
    assert engine.label(".fern-way input") == "Stage of the fern"
    engine.js("document.querySelector('.fern-way input').focus()")
    for key, words in [
        ("End", "Now grow your own"),
        ("Home", "Every word carries"),
        ("ArrowRight", "Lay the hands"),
        ("ArrowRight", "Walk away"),
    ]:
        engine.press(key)
        until(engine, NOW, words)
    until(engine, LINE, "Fern()")
    until(engine, "return book.rests('Fern')")
    ((x, y),) = points(engine, f"{FERN} .rl-handle", 0.5)
    engine.drag((x, y), (x + 30, y), (x + 60, y))
    until(engine, LINE, "Fern(stage='own', distance=")
    engine.press("End")
    until(engine, NOW, "Now grow your own")
    engine.js(PASTE, json.dumps(CONFIG))
    until(engine, SAYS, "This is the fern of your file.")
    ((x, y),) = points(engine, f"{RAIL} .rl-grip:last-child .rl-handle", 0.5)
    engine.drag((x, y), (x + 60, y), (x + 140, y))
    until(engine, f"return document.querySelector('{RAIL} [data-trait=start] input').value === '2'")
    assert engine.js("return book.errors") == []


def test_a_fern_is_saved_as_a_picture_and_sounds_only_on_request(visit):
    seen = visit(f"{INDEX}#fern-yours", maths=False)
    seen.page.wait_for_function("() => document.querySelector('.fern-free')")
    with seen.page.expect_download() as download:
        seen.page.get_by_role("button", name="Save as picture").click()
    assert download.value.suggested_filename == "fern.png"
    assert download.value.path().stat().st_size > 5_000
    assert not seen.page.locator(".fern-tools > label").is_visible()
    seen.page.get_by_role("button", name="Sound").click()
    assert seen.page.locator(".fern-tools > label").is_visible()
    seen.page.evaluate("scrollTo({ top: 0, behavior: 'instant' })")  # leaving ends it
    expect(seen.page.locator(".fern-tools > label")).to_be_hidden()
    expect(seen.page.get_by_role("button", name="Silence", include_hidden=True)).to_have_count(0)
    seen.assert_clean()


KEEPS = """window.kept = {};
let last;
const address = URL.createObjectURL.bind(URL);
URL.createObjectURL = (blob) => {
    last = blob;
    return address(blob);
};
HTMLAnchorElement.prototype.click = function () {
    kept[this.download] = last;
};"""
SAVE = """const buttons = [...document.querySelectorAll(".fern-tools button")];
buttons.find((button) => button.textContent === arguments[0]).click();"""
KEPT = "return kept['fern.png']?.size > 5000"
LOOP = "Save as loop of 6 seconds"
NO_LOOP = "This browser cannot record a loop, but it can save the picture."
ANSWER = """const loop = Object.keys(kept).find((name) => ["fern.webm", "fern.mp4"].includes(name));
const buttons = [...document.querySelectorAll(".fern-tools button")];
const button = buttons.find((each) => each.textContent === arguments[0]);
const said = button.nextSibling.textContent;
return loop ?? (said && button.hidden ? said : "");"""
READ = """return new Promise((done) => {
    const reader = new FileReader();
    reader.onload = () => done(reader.result);
    reader.readAsDataURL(kept[arguments[0]]);
});"""
PLAYED = """const video = Object.assign(document.createElement("video"), { muted: true, src: arguments[0] });
video.play();
return new Promise((done) => {
    video.onerror = () => done(video.error.message);
    video.ontimeupdate = () => video.currentTime > 0 && done(`${video.videoWidth} pixels wide`);
});"""


def test_every_engine_saves_a_picture_and_a_loop_or_says_that_it_cannot_record_one(engine, watched_figures):
    engine.open(f"{watched_figures}{INDEX}#fern-yours")
    until(engine, "return document.querySelector('.fern-free') !== null")
    engine.js(KEEPS)
    engine.js(SAVE, "Save as picture")
    until(engine, KEPT)
    engine.js(SAVE, LOOP)
    until(engine, ANSWER, LOOP)
    answer = engine.js(ANSWER, LOOP)
    assert engine.js("return book.errors") == []
    if answer.startswith("fern."):
        loop = engine.js(READ, answer)
        engine.open("about:blank")  # the book's policy lets no page play a video
        assert engine.js(PLAYED, loop) == "640 pixels wide"
    else:
        assert (engine.name, answer) == ("webkit", NO_LOOP)  # its encoders are the system's


# recorders that promise every format and deliver nothing; a second lasts a tenth of a second
RECORDERS = {
    "ends empty": "stop() { this.tell('dataavailable', new Blob()); this.tell('stop'); }",
    "fails": "start() { this.state = 'recording'; setTimeout(() => this.tell('error')); } stop() {}",
    "refuses": "start() { throw new DOMException('no encoder', 'NotSupportedError'); }",
    "never ends": "stop() {}",
}
IDLE = """window.MediaRecorder = class extends EventTarget {
    static isTypeSupported() { return true; }
    state = "inactive";
    start() { this.state = "recording"; }
    tell(name, data) { this.dispatchEvent(Object.assign(new Event(name), { data })); }
    %s
};
performance.now = () => 10 * Performance.prototype.now.call(performance);"""


@pytest.mark.sampled
@pytest.mark.parametrize("kind", RECORDERS)
def test_a_recorder_that_delivers_nothing_gets_a_sentence_in_place_of_the_button(visit, kind):
    seen = visit(f"{INDEX}#fern-yours", maths=False, script=IDLE % RECORDERS[kind] + HURRIED)
    page = seen.page
    page.wait_for_function("() => document.querySelector('.fern-free')")
    before = page.evaluate(PLACED)
    button = page.get_by_role("button", name=LOOP)
    button.click()
    expect(page.get_by_text(NO_LOOP)).to_be_visible()
    expect(button).to_be_hidden()
    assert page.evaluate(PLACED) == before  # the pig is back where it was
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as picture").click()
    assert download.value.suggested_filename == "fern.png"
    seen.assert_clean()


MOST_SCRIPT = 15_000  # bytes of the fern and of the script that guides it, compressed as servers send them


def test_the_fern_and_its_stages_cost_little():
    static = SITE / "_static"
    files = [static / "live" / "Fern.js", static / "fern.js"]
    assert sum(len(gzip.compress(file.read_bytes(), mtime=0)) for file in files) <= MOST_SCRIPT
