"""Every live figure in every engine of this machine: ready, named, answering keyboard and pointer, no error."""

import time

import pytest

from rope_edu.widgets import LiveFigure

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


FRAMES = """window.framed = false;
requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => (window.framed = true))));"""


def frames(engine) -> None:
    """Return once the page was drawn twice."""
    engine.js(FRAMES)
    until(engine, "return window.framed")


def box(name: str, trait: str, part: str) -> str:
    """Return the selector of a part of a control."""
    return f'[data-live="{name}"] [data-trait="{trait}"] {part}'


def points(engine, selector: str, *shares: float) -> list[tuple[float, float]]:
    """Return the points at these shares of an element's width, at half its height, once it stands still."""
    place = None
    while place != (now := engine.js("return book.place(arguments[0])", selector)):
        place = now
    left, top, width, height = place
    return [(left + share * width, top + height / 2) for share in shares]


def picture(engine, name: str) -> str:
    """Return what is drawn and said."""
    return engine.js("return book.picture(arguments[0])", name)


def later(engine, name: str) -> str:
    """Return the same once the page was drawn twice."""
    frames(engine)
    return picture(engine, name)


class Answers:
    """What a figure shows, before and after each move."""

    def __init__(self, engine, name: str) -> None:
        self.engine, self.name = engine, name
        self.look()

    def look(self) -> None:
        """Remember what is drawn and said."""
        self.shown = picture(self.engine, self.name)

    def to(self, move: str) -> tuple[str, str]:
        """Fail unless something has changed since the last look; the lines of Python then and now."""
        before = self.shown
        self.look()
        if self.shown == before:  # the browser may not have come to it yet
            frames(self.engine)
            self.look()
        assert self.shown != before, f"{self.engine.name}: {self.name} does not answer {move}"
        return before.rpartition("\n")[2], self.shown.rpartition("\n")[2]


KEY = {
    "range": "ArrowRight",
    "radio": "ArrowRight",
    "checkbox": "Space",
    "select-one": "ArrowDown",
    "number": "ArrowUp",
}
BACK = {"ArrowRight": "ArrowLeft", "ArrowDown": "ArrowUp"}
AT_END = """const el = document.querySelector(arguments[0]);
return el.type === "range" ? el.value === el.max : el.selectedIndex === el.options?.length - 1"""


IN_SIGHT = "return document.querySelector(arguments[0]).getClientRects().length > 0"


def in_sight(engine, name: str, trait: str) -> bool:
    """Return whether a control is shown: one without effect in this state is not."""
    return engine.js(IN_SIGHT, f'[data-live="{name}"] [data-trait="{trait}"]')


def press_each_control(engine, name: str) -> None:
    """Move every control by its key."""
    answers = Answers(engine, name)
    for trait, kind, _ in engine.js("return book.controls(arguments[0])", name):
        if not in_sight(engine, name, trait):
            continue
        selector = box(name, trait, "input, " + box(name, trait, "select, " + box(name, trait, "textarea")))
        engine.js("document.querySelector(arguments[0]).focus()", selector)
        if kind in ("text", "textarea"):
            engine.js("document.querySelector(arguments[0]).select()", selector)
            engine.press(*" ".join("abcd"), "Enter")
        else:
            key = KEY[kind]
            engine.press(BACK.get(key, key) if engine.js(AT_END, selector) else key)
            if kind == "number":
                engine.press("Tab")
        said = answers.to(f"the keyboard at {trait}")  # then, if it is at its default now
        assert any(f"{trait}=" in each for each in said), f"{name}.{trait} is not in the line of Python"


def point_at_each_control(engine, name: str) -> None:
    """Move sliders, checkboxes and handles by the pointer, and press every button."""
    answers = Answers(engine, name)
    for trait, kind, _ in engine.js("return book.controls(arguments[0])", name):
        if not in_sight(engine, name, trait):
            continue
        if kind == "range":
            engine.drag(*points(engine, box(name, trait, "input"), 0.1, 0.2, 0.1))
            answers.look()
            engine.drag(*points(engine, box(name, trait, "input"), 0.9, 0.8, 0.9))
            answers.to(f"the pointer at {trait}")
        elif kind == "checkbox":
            engine.drag(*points(engine, box(name, trait, "span"), 0.5))
            answers.to(f"a click on the label of {trait}")
    number, gripped = 0, engine.js(GRIPPED, name)
    while number < gripped:
        selector = f'[data-live="{name}"] [data-grip="{number}"]'
        ((x, y),) = points(engine, selector, 0.5)
        for way in (-200, 200) if x > 500 else (200, -200):  # a thing at its end can go but one way
            engine.drag((x, y), (x + way / 2, y - 20), (x + way, y - 30))
            if picture(engine, name) != answers.shown or later(engine, name) != answers.shown:
                break
        answers.to(f"the pointer at handle {number}")
        number, gripped = number + 1, engine.js(GRIPPED, name)  # a drag may take a handle away


GRIPPED = """const all = [...book.figure(arguments[0]).querySelectorAll(".rl-handle")];
all.forEach((each, i) => { each.dataset.grip = i; });
return all.length"""


def press_each_button(engine, name: str) -> None:
    """Press what stands below the controls: Play twice, Reset at the end."""
    buttons = "book.figure(arguments[0]).querySelectorAll('.rl-bar button:not(.rl-reset)')"
    engine.js(f"for (const button of {buttons}) button.click()", name)
    engine.js("book.figure(arguments[0]).querySelector('.rl-play')?.click()", name)
    engine.js("book.figure(arguments[0]).querySelector('.rl-reset').click()", name)


@pytest.fixture(scope="module")
def alive(engine, watched_figures, name):
    """Open the page of a figure, once for all tests here: the engine and the figure's name."""
    opened(engine, watched_figures, name)
    return engine, name


NAMED = """book.controls(arguments[0]); // unfolds them
const all = book.figure(arguments[0]).querySelectorAll("input, select, textarea, button");
return [...all].filter((el) => el.getClientRects().length).map((el, i) => {
    el.dataset.asked = i;
    return el.closest("[data-trait]")?.dataset.trait ?? "";
})"""


def test_every_control_has_its_name_in_the_accessibility_tree(alive):
    engine, name = alive
    controls = LiveFigure.figures[name].controls()
    for number, trait in enumerate(engine.js(NAMED, name)):
        said = engine.label(f'[data-live="{name}"] [data-asked="{number}"]')
        assert said.strip(), f"{engine.name}: a control of {name} ({trait or 'button'}) has no name"
        if trait:
            label = controls[trait].label
            expected = f"{label}, {said[-1]}" if controls[trait].kind == "point" else label
            if controls[trait].kind == "sketch":
                expected = f"{label}, {'how far' if said.endswith('how far') else 'height'}"
            if getattr(controls[trait], "buttons", False):  # each is named by its option, all by their legend
                expected = next(words for words in controls[trait].options.values() if words == said)
            file = controls[trait].kind == "paste" and "or a file" in said
            expected = f"{label}, or a file" if file else expected
            # WebKit takes what is chosen in a list into the list's name, Firefox the button of a file's input
            longer = engine.name == "webkit" or (file and engine.name == "firefox")
            right = said.startswith(expected) if longer else said == expected
            assert right, f"{engine.name}: {name}.{trait} is called {said!r}"


REACHED = "return document.activeElement?.closest('[data-trait]')?.dataset.trait"


def test_a_click_on_a_label_reaches_its_control(alive):
    engine, name = alive
    for trait, kind, _ in engine.js("return book.controls(arguments[0])", name):
        if not in_sight(engine, name, trait):
            continue
        if kind == "number":
            continue  # two boxes under one legend, each with a name of its own
        engine.js("document.activeElement.blur()")
        engine.drag(*points(engine, box(name, trait, "span"), 0.1))
        reached = engine.js(REACHED)
        if reached != trait:  # the browser may not have come to it yet
            frames(engine)
            reached = engine.js(REACHED)
        assert reached == trait, f"{engine.name}: the label of {name}.{trait} focuses {reached}"


ON_ONE_LINE = """const all = [...book.figure(arguments[0]).querySelectorAll(".rl-value")];
return all.filter((value) => value.getClientRects().length).map((value) => {
    const label = document.createRange();
    label.selectNode(value.previousSibling.previousSibling ?? value.previousSibling);
    const [first, second] = [label, value].map((part) => part.getClientRects()[0]);
    return second.top >= first.bottom ? 0 : Math.abs(first.bottom - second.bottom);
})"""


def test_a_value_stands_on_the_line_of_its_label(alive):
    engine, name = alive
    assert max(engine.js(ON_ONE_LINE, name)) < 1.5


def test_figure_answers_in_every_engine(alive):
    engine, name = alive
    engine.js("book.figure(arguments[0]).querySelector('.rl-reset').click()", name)
    until(engine, "return book.rests(arguments[0])", name)
    first = picture(engine, name)
    press_each_control(engine, name)
    point_at_each_control(engine, name)
    press_each_button(engine, name)
    until(engine, "return book.rests(arguments[0])", name)
    assert picture(engine, name) == first, "Reset brings another picture"
    assert engine.js("return book.errors") == []


FORMULAS = """const all = [...document.querySelectorAll(".math")];
return all.length > 0 && all.every((math) => math.querySelector("mjx-container"))"""


def test_formulas_are_set_in_every_engine(engine, watched):
    engine.open(f"{watched}{CHAPTERS[4]}")
    until(engine, FORMULAS)
    assert engine.js("return book.errors") == []
