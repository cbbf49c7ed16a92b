"""Every live figure in every engine of this machine: ready, named, answering keyboard and pointer, no error."""

import time

import pytest

from rope_book.widgets import LiveFigure

from .conftest import CHAPTERS, WHERE
from .engines import PATIENCE

pytestmark = pytest.mark.browser


def opened(engine, root: str, name: str) -> None:
    """Open the page of a figure and return once it is drawn."""
    engine.open(f"{root}{WHERE[name]}")
    until(engine, "return book.alive(arguments[0])", name)


def until(engine, condition: str, *args: object) -> None:
    """Return once a condition holds in the page; AssertionError with what went wrong there if it never does."""
    end = time.monotonic() + PATIENCE
    while not engine.js(condition, *args):
        assert time.monotonic() < end, f"{condition} stays false; errors: {engine.js('return book.errors')}"
        time.sleep(0.03)


def frames(engine) -> None:
    """Return once the page was drawn twice."""
    engine.js(
        "return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))"
    )


def at(place: list[float], *shares: float) -> list[tuple[float, float]]:
    """Return the points at these shares of a box's width, at half its height."""
    left, top, width, height = place
    return [(left + share * width, top + height / 2) for share in shares]


def points(engine, selector: str, *shares: float) -> list[tuple[float, float]]:
    """Return these points of an element, once it stands still."""
    return at(engine.js("return book.place(document.querySelector(arguments[0]))", selector), *shares)


def look(engine, name: str) -> None:
    """Remember what a figure shows."""
    engine.js("book.look(arguments[0])", name)


def answers(engine, name: str) -> tuple[bool, str, str]:
    """Return whether a figure shows something else than at the last look, and its lines of Python then and now."""
    return tuple(engine.js("return book.answer(arguments[0])", name))


def press_each_control(engine, name: str) -> None:
    """Move every control by its key."""
    look(engine, name)
    for trait, kind, _ in engine.js("return book.controls(arguments[0])", name):
        key = engine.js("return book.focus(...arguments)", name, trait)
        if not key:
            continue
        engine.press(
            *(*"1 2 3 4", "Enter") if key == "text" else (key, "Tab") if kind == "number" else (key,)
        )
        changed, before, now = answers(engine, name)
        assert changed, f"{engine.name}: {name} does not answer the keyboard at {trait}"
        # in one of the two it is not at its default
        assert f"{trait}=" in before + now, f"{name}.{trait} is not in the line of Python"


PLACE = "return book.place(book.part(...arguments))"


def point_at_each_control(engine, name: str) -> None:
    """Move sliders, checkboxes and handles by the pointer."""
    look(engine, name)
    for trait, kind, _ in engine.js("return book.controls(arguments[0])", name):
        if kind not in PARTS or not (place := engine.js(PLACE, name, trait, PARTS[kind])):
            continue
        if kind == "range":
            engine.drag(*at(place, 0.2, 0.1))
            look(engine, name)
            engine.drag(*at(engine.js(PLACE, name, trait, PARTS[kind]), 0.8, 0.9))
        else:
            engine.drag(*at(place, 0.5))
        assert answers(engine, name)[0], f"{engine.name}: {name} does not answer the pointer at {trait}"
    number = 0
    while place := engine.js("return book.place(book.handle(...arguments))", name, number):
        ((x, y),) = at(place, 0.5)
        for way in (-200, 200) if x > 500 else (200, -200):  # a thing at its end can go but one way
            engine.drag((x, y), (x + way / 2, y - 20), (x + way, y - 30))
            answered = answers(engine, name)[0]
            if answered:
                break
        assert answered, f"{engine.name}: {name} does not answer the pointer at handle {number}"
        number += 1


PARTS = {"range": "input", "checkbox": "span"}  # where the pointer takes them: a checkbox by its label


@pytest.fixture(scope="module")
def alive(engine, watched_figures, name):
    """Open the page of a figure, once for all tests here: the engine and the figure's name."""
    opened(engine, watched_figures, name)
    return engine, name


NAMED = """book.controls(arguments[0]); // unfolds them
const all = book.figure(arguments[0]).querySelectorAll("input, select, textarea, button");
return [...all].filter((el) => el.getClientRects().length).map((el) => {
    el.dataset.asked = "";
    return el.closest("[data-trait]")?.dataset.trait ?? "";
})"""


@pytest.mark.sampled(6)
def test_every_control_has_its_name_in_the_accessibility_tree(alive):
    engine, name = alive
    controls = LiveFigure.figures[name].controls()
    traits = engine.js(NAMED, name)
    for trait, said in zip(traits, engine.labels(f'[data-live="{name}"] [data-asked]'), strict=True):
        assert said.strip(), f"{engine.name}: a control of {name} ({trait or 'button'}) has no name"
        if trait:
            label = controls[trait].label
            expected = f"{label}, {said[-1]}" if controls[trait].kind == "point" else label
            if controls[trait].kind == "sketch":
                expected = f"{label}, {'how far' if said.endswith('how far') else 'height'}"
            one = controls[trait]  # each button is named by its option, all of them by their legend
            if getattr(one, "buttons", False) or getattr(one, "groups", {}):
                expected = next(words for words in controls[trait].options.values() if words == said)
            file = controls[trait].kind == "paste" and "or a file" in said
            expected = f"{label}, or a file" if file else expected
            # WebKit takes what is chosen in a list into the list's name, Firefox the button of a file's input
            longer = engine.name == "webkit" or (file and engine.name == "firefox")
            right = said.startswith(expected) if longer else said == expected
            assert right, f"{engine.name}: {name}.{trait} is called {said!r}"


@pytest.mark.sampled(6)
def test_a_click_on_a_label_reaches_its_control(alive):
    engine, name = alive
    for trait, kind, _ in engine.js(
        "document.activeElement.blur(); return book.controls(arguments[0])", name
    ):
        if kind == "number":
            continue  # two boxes under one legend, each with a name of its own
        if place := engine.js(PLACE, name, trait, "span:not(.rl-note)"):
            engine.drag(*at(place, 0.1))
            reached = engine.js("return book.focused(arguments[0])", trait)
            assert reached == trait, f"{engine.name}: the label of {name}.{trait} focuses {reached}"


ON_ONE_LINE = """const all = [...book.figure(arguments[0]).querySelectorAll(".rl-value")];
return all.filter((value) => value.getClientRects().length).map((value) => {
    const words = (node) => { // their box, not that of the element around them, which is as high as a line
        const range = document.createRange();
        range.selectNodeContents(node);
        return range.getClientRects()[0];
    };
    const [first, second] = [value.previousSibling.previousSibling ?? value.previousSibling, value].map(words);
    return second.top >= first.bottom ? 0 : Math.abs(first.bottom - second.bottom);
})"""


@pytest.mark.sampled
def test_a_value_stands_on_the_line_of_its_label(alive):
    engine, name = alive
    assert max(engine.js(ON_ONE_LINE, name), default=0) < 1.5  # a figure may have neither slider nor number


@pytest.mark.sampled(6)
def test_figure_answers_in_every_engine(alive):
    engine, name = alive
    engine.js("book.figure(arguments[0]).querySelector('.rl-reset').click()", name)
    until(engine, "return book.rests(arguments[0])", name)
    first = engine.js("return book.picture(arguments[0])", name)
    press_each_control(engine, name)
    point_at_each_control(engine, name)
    engine.js("return book.press(arguments[0])", name)
    until(engine, "return book.rests(arguments[0])", name)
    assert engine.js("return book.picture(arguments[0])", name) == first, "Reset brings another picture"
    assert engine.js("return book.errors") == []


FORMULAS = """const all = [...document.querySelectorAll(".math")];
return all.length > 0 && all.every((math) => math.querySelector("mjx-container"))"""


def test_formulas_are_set_in_every_engine(engine, watched):
    engine.open(f"{watched}{CHAPTERS[4]}")
    until(engine, FORMULAS)
    assert engine.js("return book.errors") == []
