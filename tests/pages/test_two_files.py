"""The config inspector takes two files, in every engine, and reads no more of a large one than its header."""

import importlib.util
import json
import os
import time
from pathlib import Path

import pytest
from playwright.sync_api import expect

from rope_doctor.config import preset

from .conftest import WHERE
from .engines import PATIENCE
from .test_engines import until

NAME = "ConfigInspector"
WRITTEN = importlib.util.spec_from_file_location(
    "written_gguf", Path(__file__).parents[1] / "doctor" / "command" / "written.py"
)
gguf_files = importlib.util.module_from_spec(WRITTEN)
WRITTEN.loader.exec_module(gguf_files)
LLAMA = preset("Llama 3.1 8B").config
LOST = {name: value for name, value in LLAMA.items() if name != "rope_scaling"}
ROOT = f'document.querySelector("[data-live={NAME}]")'
AREA = f"""const area = {ROOT}.querySelector(`[data-trait=${{arguments[0]}}] textarea`);"""
# a file of 5 GB whose header is here: the rest is a hole, and what is sliced of it is counted
DROP = (
    AREA
    + """
const head = Uint8Array.from(atob(arguments[1]), (letter) => letter.charCodeAt(0));
const file = new Blob([head]);
window.sliced = 0;
const large = {
    name: "model.gguf", size: 5e9,
    slice: (begin, end) => { window.sliced += end - begin; return file.slice(begin, Math.min(end, file.size)); },
};
const event = new Event("drop", { bubbles: true, cancelable: true });
Object.defineProperty(event, "dataTransfer", { value: { files: [large] } });
area.dispatchEvent(event);
"""
)
TYPE = AREA + "area.value = arguments[1]; area.dispatchEvent(new Event('input', { bubbles: true }));"
SAYS = f"return {ROOT}.querySelector('.rl-readout').textContent.includes(arguments[0])"


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Llama 3.1's GGUF without its rule, 5 GB long and sparse."""
    path = gguf_files.written(tmp_path_factory.mktemp("large") / "model.gguf", LOST)
    content = path.read_bytes()
    os.truncate(path, 5 * 10**9)
    return path, content


def test_two_files_are_compared_in_every_engine_and_the_address_holds_neither(engine, watched_figures, large):
    import base64

    engine.open(f"{watched_figures}{WHERE[NAME]}")
    until(engine, f"return {ROOT}?.dataset.ready === 'true'")
    engine.js(TYPE, "config", json.dumps(LLAMA))
    engine.js(DROP, "other", base64.b64encode(large[1]).decode())
    until(engine, SAYS, "They do not rotate alike. All layers: the frequencies differ.")
    until(engine, SAYS, "Write the factors of llama3 as the tensor rope_freqs.weight of the second file.")
    assert engine.js("return window.sliced") < 5_000_000
    assert "rope_theta" not in engine.js("return location.href")
    assert "general.architecture" not in engine.js("return location.href")
    engine.js(TYPE, "other", json.dumps(LLAMA | {"rope_theta": 500_000}))
    until(engine, SAYS, "They rotate alike, up to 131072 tokens.")
    engine.js(TYPE, "other", "{")
    until(engine, SAYS, "The second file is not read.")
    assert engine.js("return book.errors") == []


def test_a_real_gguf_of_five_gigabytes_is_read_in_under_a_second(browser, address, large):
    page = browser.new_page()
    page.goto(f"{address}{WHERE[NAME]}")
    figure = page.locator(f"[data-live={NAME}][data-ready=true]").first
    figure.locator("[data-trait=config] textarea").fill(json.dumps(LLAMA))  # a second file follows a first
    chosen = figure.locator("[data-trait=other] input[type=file]")
    note = figure.locator("[data-trait=other] .rl-note")
    took, end = [], time.monotonic() + PATIENCE
    while (
        min(took, default=2) >= 1 and time.monotonic() < end
    ):  # a busy machine is no failure: it may try again
        chosen.set_input_files([])
        figure.locator("[data-trait=other] textarea").fill("")
        expect(note).to_have_text("")
        begun = time.perf_counter()
        chosen.set_input_files(large[0])
        note.filter(has_text="model.gguf is read.").wait_for()
        took.append(time.perf_counter() - begun)
    assert min(took) < 1
    expect(figure.locator(".rl-readout")).to_contain_text("They do not rotate alike")
    page.close()


def test_a_model_to_compare_with_is_in_the_link(browser, address):
    page = browser.new_page()
    page.goto(f"{address}{WHERE[NAME]}#live={NAME}&preset=Code+Llama+7B&second=Llama+2+7B")
    figure = page.locator(f"[data-live={NAME}][data-ready=true]").first
    figure.locator(".rl-readout").filter(has_text="They do not rotate alike").wait_for()
    said = figure.locator(".rl-readout")
    expect(said).to_contain_text("Set rope_theta to 1000000 in the second file.")
    page.close()


def test_the_source_of_a_models_file_stands_where_its_state_is_shared(visit):
    figure = visit(WHERE[NAME], maths=False).page.locator(f'[data-live="{NAME}"]').first
    source = figure.locator(".rl-python .rl-note")
    figure.get_by_role("button", name="Share this state").click()
    expect(source).to_be_visible()
    expect(source).to_contain_text("config.json of")
    figure.evaluate("(el, config) => el.take({ config })", json.dumps(LLAMA))
    expect(source).to_be_empty()  # the reader knows where a file of their own is from


FILES = {"config": json.dumps(LLAMA), "other": json.dumps(preset("Gemma 3 4B").config)}
TALL = "(el) => el.getBoundingClientRect().height"


@pytest.mark.parametrize("width", [1280, 390])
def test_a_second_file_makes_nothing_grow(visit, width):
    page = visit(WHERE[NAME], maths=False, width=width, height=900).page
    figure = page.locator(f'[data-live="{NAME}"]').first
    parts = [figure] if width == 1280 else [figure.locator(".rl-picture"), figure.locator(".rl-readout")]
    heights = [[part.evaluate(TALL) for part in parts]]
    for control, text in FILES.items():
        figure.evaluate("(el, change) => el.take(change)", {control: text})
        figure.locator(".rl-readout").filter(has_text="alike" if control == "other" else "pairs").wait_for()
        heights.append([part.evaluate(TALL) for part in parts])
    assert heights[1:] == heights[:-1]


def test_the_list_of_differences_scrolls_in_its_place_by_keyboard(visit):
    page = visit(WHERE[NAME], maths=False).page
    figure = page.locator(f'[data-live="{NAME}"]').first
    said = figure.locator(".rl-readout")
    assert said.get_attribute("tabindex") is None  # all of it is in sight
    figure.evaluate("(el, change) => el.take(change)", FILES)
    expect(said).to_contain_text("the width differs")
    expect(said).to_have_attribute("tabindex", "0")
    said.focus()
    page.keyboard.press("End")
    page.wait_for_function(
        "(el) => el.scrollTop + el.clientHeight >= el.scrollHeight - 1", arg=said.element_handle()
    )
