"""Every live figure in its page: each control answers, by keyboard, within its range, and says so in words."""

import pytest

from rope_edu import widgets
from rope_edu.widgets import LiveFigure

from .conftest import WHERE

FIGURES = sorted(LiveFigure.figures)
pytestmark = pytest.mark.browser


def test_every_figure_of_the_library_is_in_the_book():
    assert set(WHERE) == set(FIGURES) == set(widgets.__all__) - {"LiveFigure"}


@pytest.fixture
def figure(name, visit):
    """A figure in its page, at rest."""
    seen = visit(WHERE[name], maths=False)
    found = seen.page.locator(f'[data-live="{name}"]').first
    found.scroll_into_view_if_needed()
    found.name = name
    yield found
    seen.assert_clean()


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


def test_every_control_answers_the_keyboard(figure):
    for name, control in LiveFigure.figures[figure.name].controls().items():
        box = figure.locator(f'[data-trait="{name}"]')
        target = box.locator("input, select, textarea").first
        before, said = picture(figure), line(figure)
        target.focus()
        if control.kind == "slider":
            key = "ArrowLeft" if target.input_value() == target.get_attribute("max") else "ArrowRight"
            target.press(key)
        elif control.kind == "toggle":
            target.press("Space")
        elif control.kind == "choice":
            last = target.evaluate("(el) => el.selectedIndex === el.options.length - 1")
            target.press("ArrowUp" if last else "ArrowDown")
        elif control.kind == "point":
            target.press("ArrowUp")
            target.press("Tab")
        else:
            target.fill("one two three")
            target.press("Enter")
        assert picture(figure) != before, f"{figure.name}.{name} does not answer the keyboard"
        named = [f"{name}=" in each for each in (said, line(figure))]
        assert any(named), (
            f"{figure.name}.{name} is not in the line of Python"
        )  # before, if now at its default
    figure.locator(".rl-reset").press("Enter")


def test_no_control_is_dead(figure):
    for name, control in LiveFigure.figures[figure.name].controls().items():
        if control.kind != "slider":
            continue
        box = figure.locator(f'[data-trait="{name}"] input')
        for key in ("Home", "End"):
            box.press(key)
        idle = figure.locator(f'[data-trait="{name}"].rl-idle')
        assert idle.count() == 0, f"{figure.name}.{name} stays dimmed after it was moved"


def test_reset_brings_the_first_picture_back(figure):
    first = picture(figure)
    for box in figure.locator("input[type=range]").all():
        box.press("ArrowRight")
    for box in figure.locator("input[type=checkbox]").all():
        box.press("Space")
    assert picture(figure) != first
    figure.locator(".rl-reset").click()
    assert picture(figure) == first


def test_line_of_python_makes_the_state(figure):
    for box in figure.locator("input[type=range]").all():
        box.press("End")
    for box in figure.locator("select").all():
        box.select_option(index=box.locator("option").count() - 1)
    made = eval(line(figure), vars(widgets))
    for name in made.controls():
        control = figure.locator(f'[data-trait="{name}"] input').first
        if made.controls()[name].kind == "slider":
            value = getattr(made, name)
            shown = float(control.input_value())
            assert abs(shown - value) < 1e-6 or abs(10**shown / value - 1) < 0.03


def test_both_ends_of_every_slider_draw(figure):
    for box in figure.locator("input[type=range]").all():
        for key in ("Home", "End"):
            box.press(key)
            drawn = figure.locator("svg").inner_html()
            assert "NaN" not in drawn
            assert "Infinity" not in drawn
            assert "undefined" not in picture(figure)
            assert "NaN" not in figure.locator(".rl-readout").inner_text()


def test_controls_have_labels_and_units(figure):
    for name, control in LiveFigure.figures[figure.name].controls().items():
        words = figure.locator(f'[data-trait="{name}"]').inner_text()
        assert control.label in words
        if control.kind == "slider":
            assert control.unit in words


def test_state_can_be_linked(figure, visit):
    box = figure.locator("input[type=range]").first
    box.press("ArrowRight")  # once: the address follows when the hand rests
    figure.page.wait_for_function(f"() => location.hash.includes('live={figure.name}')")
    linked = visit(WHERE[figure.name] + figure.page.evaluate("location.hash"), maths=False)
    again = linked.page.locator(f'[data-live="{figure.name}"]').first
    assert line(again) == line(figure)


# where the first slider ends at what another control holds: the words of the sentence, the reach of the chart
FOLLOWING = {"OrderBlindness": 5, "ScoreDistance": 256}


def test_a_link_with_nonsense_is_held_to_the_range(figure):
    sliders = [n for n, c in LiveFigure.figures[figure.name].controls().items() if c.kind == "slider"]
    for value in ("1e99", "-1e99", "words", ""):
        query = "&".join(f"{name}={value}" for name in sliders)
        figure.page.evaluate("(hash) => (location.hash = hash)", f"live={figure.name}&{query}")
        figure.page.wait_for_timeout(50)  # the event that tells of a new hash
        made = eval(line(figure), vars(widgets))
        assert isinstance(made, LiveFigure)
        if value == "1e99":
            most = FOLLOWING.get(figure.name, made.controls()[sliders[0]].high)
            assert getattr(made, sliders[0]) == most


def test_words_are_spoken_once_the_hand_rests(figure):
    figure.locator("input[type=range]").first.press("ArrowRight")
    spoken = figure.locator('[role="status"]')
    figure.page.wait_for_function("(el) => el.textContent.length > 20", arg=spoken.element_handle())
    assert spoken.text_content() == figure.locator(".rl-readout").text_content()


CUT_OFF = """(el) => {
    const box = el.querySelector("svg").getBoundingClientRect();
    const gaps = (r) => [r.left - box.left, box.right - r.right, r.top - box.top, box.bottom - r.bottom];
    const out = (r) => Math.min(...gaps(r)) < -1;
    return [...el.querySelectorAll("svg text")]
        .filter((text) => text.textContent && out(text.getBoundingClientRect()))
        .map((text) => text.textContent);
}"""


@pytest.mark.parametrize("width", [1200, 360, 320])
def test_words_in_the_picture_are_never_cut_off(visit, name, width):
    seen = visit(WHERE[name], width=width, maths=False)
    found = seen.page.locator(f'[data-live="{name}"]').first
    assert found.evaluate(CUT_OFF) == []
    for box in found.locator("input[type=range]").all():
        for key in ("Home", "End"):
            box.press(key)
            assert found.evaluate(CUT_OFF) == []
