"""Every live figure in its page: each control answers, by keyboard, within its range, and says so in words."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import nbformat
import pytest

from rope_book import widgets
from rope_book.widgets import LiveFigure

from .conftest import ARRIVED, FRAMES, HURRIED, LINES, RESET, UNFOLD, WHERE, at_rest, settle

FIGURES = sorted(LiveFigure.figures)
NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"


def set_cells() -> dict[str, tuple[str, str]]:
    """Return by figure, where its first chapter sets it, the cell that makes it and the cell that sets it."""
    found = {}
    for name, page in WHERE.items():
        cells = nbformat.read(NOTEBOOKS / f"{Path(page).stem}.ipynb", as_version=4).cells
        for making, setting in pairwise(cells):
            is_set = "set-figure" in setting.metadata.get("tags", [])
            if is_set and making.source.startswith(f"figure = {name}("):
                found[name] = making.source, setting.source
    return found


SETTING = set_cells()
pytestmark = pytest.mark.browser


def test_every_figure_of_the_library_is_in_the_book():
    assert set(WHERE) == set(FIGURES) == set(widgets.__all__) - {"LiveFigure", "Question"}


@pytest.fixture(scope="module")
def desk(reader) -> Iterator:
    """A page for all figures, one after another."""
    seen = reader.blank(maths=False)
    seen.page.add_init_script(HURRIED)
    yield seen
    seen.page.close()


@pytest.fixture(scope="module")
def opened(desk, name):
    """A figure in its page, opened once; its first picture."""
    desk.page.set_viewport_size({"width": 1200, "height": 900})
    desk.page.goto(desk.root + WHERE[name])
    settle(desk.page, maths=False)
    found = desk.page.locator(f'[data-live="{name}"]').first
    found.evaluate(UNFOLD)
    found.scroll_into_view_if_needed()
    at_rest(desk.page)
    found.name, found.first_picture, found.seen = name, picture(found), desk
    return found


@pytest.fixture
def figure(opened):
    """A figure at rest, as wide as a desk allows."""
    opened.evaluate(RESET)
    at_width(opened, 1200)
    yield opened
    opened.seen.assert_clean()


# the window is that wide, and the picture is drawn for the place that it has there
FITS = """([el, width]) => {
    const place = el.querySelector(".rl-picture");
    const wide = Math.round(Math.min(760, Math.max(240, place.clientWidth)));
    return innerWidth === width && Number(place.querySelector("svg").getAttribute("width")) === wide;
}"""


def at_width(figure, width: int) -> None:
    """Make the window that wide, and wait until the figure has drawn itself anew."""
    if figure.page.viewport_size["width"] != width:
        figure.page.set_viewport_size({"width": width, "height": 900})
        figure.page.wait_for_function(FITS, arg=[figure.element_handle(), width])
        figure.page.evaluate(FRAMES)


PICTURE = """(el) => {
    const own = (node) => [...node.attributes].map((a) => `${a.name}=${a.value}`).sort().join(" ");
    const drawn = [...el.querySelectorAll("svg *")].map(
        (node) => `<${node.tagName} ${own(node)}>${node.children.length ? "" : node.textContent}`);
    const said = [".rl-readout", ".rl-python code"].map((part) => el.querySelector(part).textContent);
    return [...drawn, ...said].join("\\n");
}"""


def picture(figure) -> str:
    """What is drawn and said; the order of an element's attributes does not count."""
    return figure.evaluate(PICTURE)


def line(figure) -> str:
    """The state as a line of Python."""
    return figure.locator(".rl-python code").inner_text()


# every slider at both ends, one after the other, and what a function sees there
SWEEP = """(el, look) => {
    const at = (input, value) => {
        input.value = value;
        input.dispatchEvent(new Event("input", { bubbles: true }));
        return { where: `${input.closest("[data-trait]").dataset.trait} at ${value}`, saw: look(el) };
    };
    return [...el.querySelectorAll("input[type=range]")].flatMap(
        (input) => [at(input, input.min), at(input, input.max)]);
}"""


def sweep(figure, look: str) -> dict[str, object]:
    """Return what a function of JavaScript sees with each slider at each of its ends."""
    return {each["where"]: each["saw"] for each in figure.evaluate(f"(el) => ({SWEEP})(el, {look})")}


CUT_OFF = """(el) => {
    const svg = el.querySelector("svg");
    const box = svg.getBoundingClientRect();
    const gaps = (r) => [r.left - box.left, box.right - r.right, r.top - box.top, box.bottom - r.bottom];
    const held = el.classList.contains("rl-held"); // its leading panel alone is seen
    const pixel = Math.max(1, svg.getScreenCTM().a); // a held picture is drawn larger
    const out = (r) => Math.min(...gaps(r).slice(0, held ? 2 : 4)) < -pixel;
    return [...el.querySelectorAll("svg text")]
        .filter((text) => text.textContent && out(text.getBoundingClientRect()))
        .map((text) => text.textContent);
}"""
# the sliders that have no effect, where no number is drawn or said, and the words that are cut off
AT_AN_END = f"""(el) => {{
    const text = (part) => el.querySelector(part).textContent;
    const drawn = el.querySelector("svg").innerHTML;
    const all = {{ drawn, said: text(".rl-readout"), line: text(".rl-python code") }};
    const wrong = ["NaN", "Infinity", "undefined"].flatMap((word) =>
        Object.keys(all).filter((part) => all[part].includes(word)).map((part) => `${{word}} is ${{part}}`));
    const idle = [...el.querySelectorAll(".rl-idle:has(input[type=range])")].map((box) => box.dataset.trait);
    return {{ wrong, idle, cut: ({CUT_OFF})(el) }};
}}"""


@pytest.fixture(scope="module")
def ends(opened) -> dict[str, dict]:
    """What is seen with each slider at each of its ends, in the width of a desk."""
    opened.evaluate(RESET)
    at_width(opened, 1200)
    return sweep(opened, AT_AN_END)


LEADS = """(el) => [...el.querySelectorAll(".rl-controls")].map((grid) =>
    [...grid.querySelectorAll("[data-trait]")].map((box) => box.dataset.trait))"""


@pytest.mark.sampled(6)
def test_lead_controls_are_beside_the_picture_and_the_others_fold(figure):
    cls = LiveFigure.figures[figure.name]
    lead, rest, *others = figure.evaluate(LEADS)
    answers = [name for grid in others for name in grid]  # few figures have any
    assert tuple(lead) == cls.leads()
    assert sorted(lead + rest + answers) == sorted(cls.controls())
    assert len(lead) <= 3
    assert len(answers) <= 1
    assert figure.locator(".rl-more summary").count() == 1


# what has no effect in this state, and what is in sight, or hides although the keyboard is in it
IN_SIGHT = """(el) => [...el.querySelectorAll("[data-trait]")].map((box) =>
    [box.classList.contains("rl-idle"), box.getClientRects().length > 0])"""


@pytest.mark.sampled
def test_a_control_without_effect_is_hidden(figure):
    for idle, seen in figure.evaluate(IN_SIGHT):
        assert idle != seen


def values_of(figure) -> dict[str, object]:
    """The values of a figure's controls."""
    return {name: getattr(figure, name) for name in figure.controls()}


@pytest.mark.sampled(6)
def test_a_cell_that_sets_the_figure_does_so_in_the_page(figure):
    made, setting = SETTING.get(figure.name, (None, None))
    if made is None:  # the second figure of its chapter, or the playground's
        assert figure.name in {
            "AngleChart",
            "Fern",
            "LengthCurve",
            "ReadTheDamage",
            "RealHead",
            "ScoreUnderRules",
            "Sharpness",
            "TrainInThePage",
            "WordsOnARail",
        }
        return
    figure.page.locator(".tag_set-figure .live-set").click()
    figure.evaluate(ARRIVED)
    named = dict(vars(widgets))
    exec(made + setting.replace("\n# figure.", "\nfigure."), named)
    assert values_of(eval(line(figure), dict(vars(widgets)))) == values_of(named["figure"])
    assert figure.locator(".rl-line").inner_text() == f"figure = {line(figure)}"


@pytest.mark.sampled
def test_no_control_is_dead(figure, ends):
    for where, saw in ends.items():
        assert where.partition(" at ")[0] not in saw["idle"], (
            f"{figure.name}: {where} stays dimmed after it was moved"
        )


@pytest.mark.sampled
def test_reset_brings_the_first_picture_back(figure):
    for box in figure.locator("input[type=range]").all():
        box.press("ArrowRight")
    for box in figure.locator("input[type=checkbox]").all():
        box.press("Space")
    assert picture(figure) != figure.first_picture
    figure.locator(".rl-reset").click()
    figure.evaluate(ARRIVED)
    assert picture(figure) == figure.first_picture


# where each slider stands
PLACES = """(el) => Object.fromEntries([...el.querySelectorAll("[data-trait] input[type=range]")].map(
    (input) => [input.closest("[data-trait]").dataset.trait, Number(input.value)]))"""


@pytest.mark.sampled
def test_line_of_python_makes_the_state(figure):
    for box in figure.locator("input[type=range]").all():
        box.press("End")
    for box in figure.locator("[data-trait] select").all():
        if box.is_visible():  # it means something now
            box.select_option(index=box.locator("option").count() - 1)
    made = eval(line(figure), vars(widgets))
    shown = figure.evaluate(PLACES)
    for name, control in made.controls().items():
        if control.kind == "slider":
            value = getattr(made, name)
            start = 1 if control.low == 0 else 0  # a logarithmic slider from 0 follows log(1 + value)
            assert abs(shown[name] - value) < 1e-6 or abs(10 ** shown[name] / (value + start) - 1) < 0.03


def test_both_ends_of_every_slider_draw(figure, ends):
    for where, saw in ends.items():
        assert saw["wrong"] == [], f"{figure.name}, {where}"


def test_controls_have_labels_and_units(figure):
    boxes = (
        "(el) => [...el.querySelectorAll('[data-trait]')].map((box) => [box.dataset.trait, box.textContent])"
    )
    words = dict(figure.evaluate(boxes))
    for name, control in LiveFigure.figures[figure.name].controls().items():
        assert control.label in words[name]
        if control.kind == "slider":
            assert control.unit in words[name]


@pytest.mark.sampled
def test_state_can_be_linked(figure):
    figure.page.evaluate("history.replaceState(null, '', location.pathname)")
    box = figure.locator("input[type=range]").first
    at_end = box.evaluate("(el) => el.value === el.max")
    box.press("ArrowLeft" if at_end else "ArrowRight")  # once: the address follows when the hand rests
    trait = box.evaluate("(el) => el.closest('[data-trait]').dataset.trait")
    written = "(words) => words.every((word) => location.hash.includes(word))"
    figure.page.wait_for_function(written, arg=[f"live={figure.name}", f"{trait}="])
    state, moved = figure.page.evaluate("location.hash"), line(figure)
    first, linked = figure.page.evaluate(LINES, [figure.name, [f"live={figure.name}", state]])
    assert linked == moved != first


# where the first slider ends at what another control holds: the words of the sentence, the width of the head
FOLLOWING = {"AngleChart": 15, "OrderBlindness": 5, "Ramps": 63}


# Reset, whose state the address has to say anew
WRITTEN_ANEW = f"""(el) => {{
    history.replaceState(null, "", location.pathname);
    return ({RESET})(el);
}}"""


@pytest.mark.sampled
def test_a_link_with_nonsense_is_held_to_the_range(figure):
    figure.evaluate(WRITTEN_ANEW)  # nothing is left that would write over a link
    figure.page.wait_for_function("(name) => location.hash.includes(name)", arg=f"live={figure.name}")
    sliders = [n for n, c in LiveFigure.figures[figure.name].controls().items() if c.kind == "slider"]
    values = ("1e99", "-1e99", "words", "")
    queries = ["&".join(f"{name}={value}" for name in sliders) for value in values]
    lines = figure.page.evaluate(LINES, [figure.name, [f"live={figure.name}&{query}" for query in queries]])
    for value, text in zip(values, lines, strict=True):
        made = eval(text, vars(widgets))
        assert isinstance(made, LiveFigure)
        if value == "1e99" and sliders:
            most = FOLLOWING.get(figure.name, made.controls()[sliders[0]].high)
            assert getattr(made, sliders[0]) == most


SPOKEN = """([el, before]) => {
    const [spoken, read] = ['[role="status"]', ".rl-readout"].map((part) => el.querySelector(part).textContent);
    return read === before || (spoken === read && spoken.length > 20); // what did not change need not be said again
}"""


@pytest.mark.sampled
def test_words_are_spoken_once_the_hand_rests(figure):
    before = figure.locator(".rl-readout").text_content()
    figure.locator("input[type=range]").first.press("ArrowRight")
    figure.evaluate(ARRIVED)  # all is drawn, and not yet said
    figure.page.wait_for_function(SPOKEN, arg=[figure.element_handle(), before])


@pytest.mark.sampled(6)
def test_words_in_the_picture_are_never_cut_off(figure, ends):
    assert figure.evaluate(CUT_OFF) == [], f"{figure.name} at 1200 px"
    for where, saw in ends.items():
        assert saw["cut"] == [], f"{figure.name} at 1200 px, {where}"
    for width in (360, 320):
        at_width(figure, width)
        assert figure.evaluate(CUT_OFF) == [], f"{figure.name} at {width} px"
        for where, cut in sweep(figure, CUT_OFF).items():
            assert cut == [], f"{figure.name} at {width} px, {where}"
