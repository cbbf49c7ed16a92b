"""The trained model in the page: it answers at once, and its picture fills in."""

import random
import re
from pathlib import Path

import pytest

from rope_book.widgets import ModelInThePage
from rope_book.widgets._bundle import page_script, style

from .test_frames import drawn, held

pytestmark = pytest.mark.browser
RENDER = """(state) => {
    const heard = new Map();
    window.state = state;
    window.set = (changes) => {
        Object.assign(state, changes);
        heard.get("change:times")();
    };
    const model = { get: (key) => state[key], set: (key, value) => (state[key] = value), save_changes() {},
        on: (event, listener) => heard.set(event, listener), off() {} };
    figure.render({ model, el: document.querySelector("#place") });
    window.root = document.querySelector(".rope-live");
    window.busy = () => root.getAttribute("aria-busy") === "true";
    window.rested = async () => { while (busy()) await new Promise((resolve) => setTimeout(resolve, 5)); };
}"""


@pytest.fixture
def sheet(browser):
    """A page with the figure's script alone."""
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    page.set_content(f"<style>{style()}</style><div id=place></div>")
    page.evaluate("window.RopeLive = { define: (name, figure) => (window.figure = figure) }")
    page.add_script_tag(content=page_script("model_in_the_page", "ModelInThePage"))
    yield page
    page.close()


@pytest.fixture
def figure(sheet):
    """Bring the figure to life in a state."""

    def make(**values):
        made = ModelInThePage(**values)
        state = {name: getattr(made, name) for name in made.controls()}
        sheet.evaluate(RENDER, state | {"_controls": made._controls})
        return sheet

    return make


def test_a_control_answers_at_once_and_the_picture_fills_in(figure):
    page = figure(times=1)
    seen = page.evaluate(
        """async () => {
            await rested();
            set({ times: 16 });
            const line = root.querySelector(".rl-python code").textContent;
            const [atOnce, pictures, spoken] = [busy(), new Set(), root.querySelector(".rl-spoken").textContent];
            while (busy()) {
                pictures.add(root.querySelector("svg").innerHTML);
                await new Promise((resolve) => setTimeout(resolve, 5));
            }
            return { line, atOnce, pictures: pictures.size, spoken };
        }"""
    )
    assert "times=16" in seen["line"]
    assert seen["atOnce"]
    assert seen["pictures"] >= 3
    assert seen["spoken"] == ""  # of work that goes on nothing is said


TYPED = """async (text) => {
    await rested();
    const input = root.querySelector("[data-trait=own] input");
    input.value = text;
    input.dispatchEvent(new Event("input", { bubbles: true }));
    await rested();
    const words = [...root.querySelectorAll("svg text")].map((each) => each.textContent);
    const said = (selector) => root.querySelector(selector).textContent;
    return { words, readout: said(".rl-readout"), line: said(".rl-python code"), left: input.value,
        note: said("[data-trait=own] .rl-note") };
}"""


def test_a_reader_types_a_text_and_the_model_says_it_letter_by_letter(figure):
    page = figure(times=1, task="text")
    seen = page.evaluate(TYPED, "the caf\u00e9 of the " * 5)
    assert seen["left"] == "the caf of the " * 5
    assert seen["note"] == "Left out, since the model does not know them: \u00e9."
    assert "own='the caf of the the caf" in seen["line"]
    said = re.search(r"your text the model says (\d+) of 64 .* and (\d+) of 10 beyond them", seen["readout"])
    assert 0 < int(said[1]) < 64
    assert any(words.startswith("Your text. A tick") for words in seen["words"])
    assert seen["words"].count("f") >= 10, "its letters are not in the picture"
    assert "own" not in page.evaluate(TYPED, "")["line"]


def test_a_new_move_ends_the_work_of_the_one_before(figure):
    page = figure(times=2)
    first, again = page.evaluate(
        """async () => {
            await rested();
            const first = root.querySelector("svg").outerHTML;
            set({ task: "text", times: 16 });
            set({ task: "back", times: 2 });
            return [first, root.querySelector("svg").outerHTML];
        }"""
    )
    assert first == again


def test_a_hand_chooses_the_rule_that_uses_what_it_moves_and_reset_brings_all_back(figure):
    page = figure(times=2, factor=2)
    lines = page.evaluate(
        """() => {
            const line = () => root.querySelector(".rl-python code").textContent;
            const move = (trait, value) => {
                const input = root.querySelector(`[data-trait=${trait}] input`);
                input.value = value;
                input.dispatchEvent(new Event("input", { bubbles: true }));
                return line();
            };
            const moved = [move("base", 5), move("times", 3), move("ramp_from", 6)];
            root.querySelector(".rl-reset").click();
            return [...moved, line()];
        }"""
    )
    assert lines == [
        "figure.set(rule='abf', base=100000)",
        "figure.set(times=3, rule='abf', factor=3, base=100000)",
        "figure.set(times=3, rule='by-parts', factor=3, ramp_from=6, ramp_to=6.1, base=100000)",
        "figure.set()",
    ]


def test_a_still_is_whole_without_waiting(figure):
    page = figure(times=4, rule="yarn")
    still, busy = page.evaluate("() => [root.still(), busy()]")
    assert not busy
    assert "% right at the 32 trained places" in still


@pytest.mark.parametrize("width", [760, 328])
def test_labels_of_whole_pictures_lie_apart(sheet, width):
    chance = random.Random(18)
    states = [{}]
    for times in (1, 2, 3, 5, 4, 6):
        figure = ModelInThePage()
        values = {name: drawn(control, chance) for name, control in figure.controls().items()}
        states.append(values | {"times": times, "place": chance.randint(1, 32 * times)})
    read = [held(ModelInThePage(), state) for state in states]
    sheet.add_script_tag(path=Path(__file__).with_name("frames.js"))
    faults = sheet.evaluate("faults", [read, ModelInThePage()._controls, width, True])
    assert not faults, "\n".join(faults)
