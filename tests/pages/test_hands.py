"""What a hand takes in a picture: arrows, dots, clocks and a pencil, by mouse, finger and keyboard."""

import itertools
import re

import pytest
from playwright.sync_api import expect

from rope_book.results import MODELS

from .conftest import FRAMES, WHERE, at_rest, soon
from .test_touch import PHONE, centre, stroke

pytestmark = pytest.mark.browser
# in the order in which RotatePair names what can be taken
Q, K, SOLID_Q, SOLID_K, DOT_K, DOT_Q, SCORE = range(7)


@pytest.fixture
def opened(visit):
    """Open the page of a figure, on a desk or on a phone: opened("Clocks") -> the visit, with its figure."""

    def open_figure(name: str, **options):
        seen = visit(WHERE[name], maths=False, **options)
        seen.figure = seen.page.locator(f'[data-live="{name}"]').first
        seen.figure.scroll_into_view_if_needed()
        at_rest(seen.page)
        return seen

    return open_figure


def line(seen) -> str:
    """Return the state as a line of Python."""
    return seen.figure.locator(".rl-python code").inner_text()


def said(seen) -> str:
    """Return what the picture says."""
    return seen.figure.locator(".rl-readout").inner_text()


def score(seen) -> str:
    """Return the score in the readout."""
    return re.search(r"score is ([−\d.]+)", said(seen))[1]


def drag(seen, number: int, *moves: tuple[float, float]) -> None:
    """Take the thing of that number by the mouse, and bring it by each of these moves in turn."""
    ((x, y),) = centre(seen.figure.locator(".rl-handle").nth(number), 0.5)
    seen.page.mouse.move(x, y)
    seen.page.mouse.down()
    for dx, dy in moves:
        x, y = x + dx, y + dy
        seen.page.mouse.move(x, y, steps=6)
    seen.page.mouse.up()
    seen.page.evaluate(FRAMES)


def test_a_solid_arrow_pulled_round_walks_its_word(opened):
    seen = opened("RotatePair")
    drag(seen, SOLID_Q, (-60, 40))  # it points up: counter-clockwise is to the left
    position = int(re.search(r"position=(\d+)", line(seen))[1])
    assert 6 < position < 12
    assert "q=" not in line(seen), "the word itself has changed"
    drag(seen, Q, (-40, -40))
    assert "q=" in line(seen)
    assert f"position={position}" in line(seen)
    seen.assert_clean()


def test_the_score_is_taken_by_its_dot_unless_the_distance_is_locked(opened):
    seen = opened("RotatePair")
    before = score(seen)
    drag(seen, SCORE, (40, 0))
    assert "position=" in line(seen)
    assert score(seen) != before
    seen.figure.locator(".rl-reset").click()
    at_rest(seen.page)
    seen.figure.locator('[data-trait="lock"] input').check()
    expect(seen.figure.locator(".rl-handle")).to_have_count(SCORE)  # one fewer
    for number in (DOT_Q, SOLID_K):
        drag(seen, number, (70, 20))
    assert "key_position=" in line(seen)
    assert score(seen) == before, "the distance is locked, and the score has changed"
    place = line(seen)
    seen.figure.get_by_role("button", name="Slide both by 10").click()
    soon(seen.page, lambda: line(seen) != place)
    at_rest(seen.page)
    assert score(seen) == before
    seen.assert_clean()


def test_a_press_on_a_clock_unrolls_it_and_its_hand_can_be_turned(opened):
    seen = opened("AngleChart")
    seen.figure.locator(".rl-tap").nth(5).click()
    soon(seen.page, lambda: "pair=5" in line(seen))
    at_rest(seen.page)
    drag(seen, 0, (60, 60))  # the hand of the large clock
    turned = re.search(r"position=(\d+)", line(seen))[1]
    drag(seen, 1, (80, 0))  # the dot on the line
    assert re.search(r"position=(\d+)", line(seen))[1] != turned
    seen.assert_clean()


def test_orange_shrinks_until_no_hand_is_past_what_it_saw(opened):
    seen = opened("StretchedClocks")
    lost = []
    for rule in ("rope", "ntk-aware", "pi"):
        seen.figure.locator('[data-trait="rule"] select').select_option(label=RULES[rule])
        at_rest(seen.page)
        lost.append(seen.figure.evaluate(NEVER_SEEN))
    assert lost[0] > lost[1] > lost[2] == 0
    assert "no hand points where training never showed one" in said(seen)
    drag(seen, 0, (-400, 0))
    assert "position=" in line(seen)
    seen.assert_clean()


RULES = {"rope": "no rule", "ntk-aware": "NTK-aware", "pi": "PI"}
# how large the fields of angles are that training never showed, in bars and clock: all shapes but diamonds
NEVER_SEEN = """(el) => {
    const paths = [...el.querySelectorAll('svg path[fill*="--rl-other"]')];
    const area = (corners) => Math.abs(corners.reduce((sum, [x, y], i) => {
        const [u, v] = corners[(i + 1) % corners.length];
        return sum + x * v - u * y;
    }, 0)) / 2;
    const shapes = paths.flatMap((each) => each.getAttribute("d").split("Z").filter(Boolean));
    const isDiamond = (corners) => corners.length === 4 && corners[0][1] !== corners[1][1];
    return shapes.map((d) => d.slice(1).split(" ").map((pair) => pair.split(",").map(Number)))
        .filter((corners) => !isDiamond(corners)).reduce((sum, corners) => sum + area(corners), 0);
}"""


def sum_is_drawn(seen) -> bool:
    """Whether the sum is in the picture: it is the one curve that has a point at every distance."""
    curves = "(el) => [...el.querySelectorAll('svg polyline')].map((each) => each.getAttribute('points'))"
    return any(len(points.split()) == 257 for points in seen.figure.evaluate(curves))


def test_a_guess_is_drawn_before_the_sum_is_seen(opened):
    seen = opened("ScoreDistance")
    assert not sum_is_drawn(seen)
    drag(seen, 0, (200, 60), (20, 0))
    assert "guess=[" in line(seen)
    assert not sum_is_drawn(seen)
    drag(seen, 0, (600, 20))
    soon(seen.page, lambda: sum_is_drawn(seen))
    assert "Your guess was off by" in said(seen)
    seen.figure.get_by_role("button", name="Guess again").click()
    soon(seen.page, lambda: not sum_is_drawn(seen))
    seen.figure.get_by_role("button", name="Show the sum").click()
    soon(seen.page, lambda: sum_is_drawn(seen))
    seen.assert_clean()


def test_a_guess_is_drawn_by_a_finger_and_by_keys(opened):
    seen = opened("ScoreDistance", **PHONE)
    seen.devtools = seen.page.context.new_cdp_session(seen.page)
    ((x, y),) = centre(seen.figure.locator(".rl-handle").first, 0.5)
    stroke(seen, (x, y), (x + 320, y + 60), steps=24)
    soon(seen.page, lambda: "Your guess was off by" in said(seen))
    seen.figure.locator(".rl-reset").evaluate("(el) => el.click()")
    at_rest(seen.page)
    far, height = seen.figure.locator('[data-trait="guess"] input').all()
    height.press("ArrowLeft")
    far.press("ArrowRight")
    soon(seen.page, lambda: re.search(r"guess=\[-?[\d.]+, -?[\d.]+\]", line(seen)))
    far.press("End")
    soon(seen.page, lambda: sum_is_drawn(seen))
    seen.assert_clean()


def test_adding_waves_one_by_one_ends_with_the_whole_sum(opened):
    seen = opened("ScoreDistance")
    added = seen.figure.locator('[data-trait="added"] input')
    added.press("Home")
    heard = [said(seen)]
    for _ in range(8):
        added.press("ArrowRight")
        soon(seen.page, lambda: said(seen) != heard[-1])
        heard.append(said(seen))
    assert len(set(heard)) == 9
    assert heard[3].startswith("The 24 fastest of 64 waves are added up.")
    assert "From 0 to 256 it rises on 115 of 256 steps" in heard[-1]
    seen.assert_clean()


RINGS = """(el) => [...el.querySelectorAll(".rl-ring")].map((ring) => ({
    x: Number(ring.getAttribute("x")),
    width: Number(ring.getAttribute("width")),
    ink: ring.getAttribute("stroke"),
}))"""
DISCS = """(el) => [...el.querySelectorAll("svg circle:not(.rl-handle)")].map(
    (disc) => `${2 * disc.getAttribute("r")} ${disc.getAttribute("stroke")}`)"""


def test_a_ring_is_as_large_as_its_thing(opened):
    words = opened("RotatePair", **PHONE).figure.evaluate(RINGS)
    query, key = sorted((words[DOT_Q], words[DOT_K]), key=lambda ring: -ring["x"])
    assert key["x"] + key["width"] <= query["x"], "the rings of two words that are 4 apart overlap"
    rail = opened("WordsOnARail").figure
    for ring in rail.evaluate(RINGS):
        assert f"{ring['width']:g} {ring['ink']}" in rail.evaluate(DISCS)


def test_a_click_on_a_patch_makes_it_the_query_and_a_drag_brings_it_on(opened):
    seen = opened("PatchScores")
    centre(seen.figure.locator(".rl-field"))
    box = seen.figure.locator(".rl-field").bounding_box()
    cell = box["width"] / 21
    seen.page.mouse.click(box["x"] + 4.5 * cell, box["y"] + 15.5 * cell)
    readout = seen.figure.locator(".rl-readout")
    expect(readout).to_contain_text("Seen from row 15, column 4,", timeout=20_000)
    assert "PatchScores(row=15, column=4)" in line(seen)
    at_rest(seen.page)
    drag(seen, 0, (3 * cell, -5 * cell))
    expect(readout).to_contain_text("Seen from row 10, column 7,", timeout=20_000)
    seen.assert_clean()


def test_on_a_phone_a_name_beside_a_dot_takes_its_model(opened):
    seen = opened("BaseBound", **PHONE)
    dots = (
        len(MODELS) - 1
    )  # all but the current model's; after them come names, that of the longest context first
    name = seen.figure.locator(".rl-tap").nth(dots)
    seen.page.touchscreen.tap(*centre(name, 0.5)[0])
    expect(seen.figure.locator(".rl-readout")).to_contain_text("With base 10,000,000", timeout=20_000)
    assert "model='Qwen2.5 7B 1M'" in line(seen)
    seen.assert_clean()


SMOOTH = {  # a handle of each figure that moves along whole numbers
    "RotatePair": DOT_Q,
    "AngleChart": 1,
    "Fern": 0,
    "StretchedClocks": 0,  # it stands at its end
    "WordsOnARail": 0,
}


@pytest.mark.sampled
@pytest.mark.parametrize("name", SMOOTH)
def test_a_dragged_thing_follows_the_finger_and_lands_on_a_whole_number(opened, name):
    seen = opened(name)
    handle = seen.figure.locator(".rl-handle").nth(SMOOTH[name])
    ((x, y),) = centre(handle, 0.5)
    seen.page.mouse.move(x, y)
    seen.page.mouse.down()
    places, pictures = [], []
    for step in range(1, 41):
        seen.page.mouse.move(x - step if name == "StretchedClocks" else x + step, y)
        ((now, _),) = centre(handle, 0.5)
        places.append(now)
        pictures.append(seen.figure.locator(".rl-picture svg").inner_html())
    gaps = [abs(after - before) for before, after in itertools.pairwise(places)]
    assert max(gaps) <= 2, gaps  # it never jumps: the finger moves a pixel at a time
    assert len(set(pictures)) >= 38
    seen.page.mouse.up()
    at_rest(seen.page)
    state = seen.figure.evaluate(
        "(figure) => figure.still() && figure.querySelector('.rl-value').textContent"
    )
    assert re.match(r"\d+(?!\.)\b", state), state
