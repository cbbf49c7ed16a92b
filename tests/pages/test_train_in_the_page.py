"""A model that learns in the page: in a worker or without one, the same run whenever it is asked for."""

import base64
import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

from rope_book.widgets import TrainInThePage
from rope_book.widgets._bundle import page_script, style
from tests.book.widgets.v8 import scripts

from .conftest import PASSES
from .engines import wait
from .test_model_in_the_page import RENDER

pytestmark = pytest.mark.browser


@pytest.fixture
def sheet(browser):
    """A page with the figure's script alone."""
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    page.set_content(f"<style>{style()}</style><div id=place></div>")
    page.evaluate("window.RopeLive = { define: (name, figure) => (window.figure = figure) }")
    yield page
    page.close()


def figure(page, **values):
    """Bring the figure to life in a state."""
    page.add_script_tag(content=page_script("train_in_the_page", "TrainInThePage"))
    made = TrainInThePage(**values)
    state = {name: getattr(made, name) for name in made.controls()}
    page.evaluate(RENDER, state | {"_controls": made._controls})


PRESS = (
    "(label) => [...root.querySelectorAll('.rl-bar button')].find((one) => one.textContent === label).click()"
)
# a test that is kept waiting would press it after the last step
PAUSE_EARLY = f"""() => new Promise((done) => {{
    const look = () => {{
        if (!/after [1-9]/.test(root.querySelector('.rl-readout').textContent)) return setTimeout(look, 5);
        ({PRESS})("Pause");
        done();
    }};
    look();
}})"""
READ = "() => root.querySelector('.rl-readout').textContent"
RESTED = """async () => {
    await rested();
    return root.querySelector("svg").innerHTML + root.querySelector(".rl-readout").textContent;
}"""
NO_WORKER = "() => { window.Worker = class { constructor() { throw new Error('not here'); } }; }"


def test_nothing_is_trained_before_train_is_pressed(sheet):
    sheet.evaluate("() => { window.Worker = class { constructor() { window.started = true; } }; }")
    figure(sheet)
    assert "Press Train" in sheet.evaluate(READ)
    assert not sheet.evaluate("window.started ?? busy()")


def test_the_same_state_is_the_same_picture_in_a_worker_without_one_and_in_a_still(sheet, browser):
    figure(sheet, steps=30, times=2, rule="yarn")
    whole = sheet.evaluate(RESTED)
    assert "after 30 steps" in whole
    other = browser.new_page(viewport={"width": 1200, "height": 900})
    other.set_content(f"<style>{style()}</style><div id=place></div>")
    other.evaluate("window.RopeLive = { define: (name, figure) => (window.figure = figure) }")
    other.evaluate(NO_WORKER)
    figure(other, steps=30, times=2, rule="yarn")
    assert other.evaluate("() => root.still()").count("after 30 steps") == 1
    assert other.evaluate(RESTED) == whole
    other.evaluate("() => set({ steps: 12 })")
    other.evaluate(RESTED)
    other.evaluate("() => set({ steps: 30 })")
    assert other.evaluate(RESTED) == whole
    other.close()


def test_pause_holds_the_run_where_it_is_and_train_goes_on(sheet):
    figure(sheet)
    sheet.evaluate(PRESS, "Train")
    sheet.evaluate(PAUSE_EARLY)
    paused = sheet.evaluate("state.steps")
    assert 0 < paused < 400
    assert f"after {paused} steps" in sheet.evaluate(RESTED)
    sheet.evaluate(PRESS, "One step")
    assert f"after {paused + 1} steps" in sheet.evaluate(RESTED)
    sheet.evaluate(PRESS, "Train")
    assert sheet.evaluate("state.steps") == 400


def test_a_hidden_page_does_not_train(sheet):
    sheet.evaluate("Object.defineProperty(document, 'hidden', { get: () => window.away ?? false })")
    figure(sheet)
    sheet.evaluate("window.away = true")
    sheet.evaluate(PRESS, "Train")
    sheet.evaluate(PASSES, 600)
    assert "after" not in sheet.evaluate(READ)
    sheet.evaluate("() => { window.away = false; document.dispatchEvent(new Event('visibilitychange')); }")
    sheet.wait_for_function("() => /after [1-9]/.test(root.querySelector('.rl-readout').textContent)")


LINK = "#live=TrainInThePage&steps=30&times=2&seed=7&task=recall"
SAID = r"loss (\d\.\d\d) nats.* (\d+) % right at the 24 trained places, and (\d+) % at the 24 new"
TRAINED = """(settings) => {
    const { losses, right } = answer({ settings, until: settings.steps, look: true });
    return [losses.at(-1), ...right];
}"""


def test_a_link_repeats_the_run_in_every_engine(engine, address):
    engine.open(f"{address}notebooks/P1_playground.html{LINK}")
    read = "return document.querySelector('[data-live] .rl-readout')?.textContent ?? ''"
    wait(lambda: "at the 24 new" in engine.js(read))
    made = TrainInThePage(steps=30, times=2, seed=7, task="recall")
    settings = {name: getattr(made, name) for name in made.controls()}
    with scripts("maths/page_answer") as v8:
        ((loss, *right),) = v8.answer([(TRAINED, [settings])])
    right = np.array([math.nan if share == "NaN" else share for share in right], float)
    known, beyond = (100 * np.nanmean(part) for part in (right[1:25], right[25:]))
    assert re.search(SAID, engine.js(read)).groups() == (f"{loss:.2f}", f"{known:.0f}", f"{beyond:.0f}")


def test_seeds_and_encodings_learn_side_by_side(sheet):
    figure(sheet, steps=20, times=2, seeds=2, against="alibi")
    sheet.evaluate(RESTED)
    words = sheet.evaluate(READ)
    mean, *seeds = map(int, re.search(r"and (\d+) % at .* 2 seeds have (\d+) and (\d+) %", words).groups())
    beside = [int(share) for share in re.search(r"ALiBi: (\d+) and (\d+) %", words).groups()]
    assert abs(2 * mean - sum(seeds)) <= 2
    alone = []
    for state in ({"encoding": "rotary"}, {"seed": 1}, {"encoding": "alibi", "seed": 0}, {"seed": 1}):
        sheet.evaluate("(values) => set(values)", {"seeds": 1, "against": ""} | state)
        sheet.evaluate(RESTED)
        alone.append(int(re.search(r"and (\d+) % at", sheet.evaluate(READ))[1]))
    assert alone == seeds + beside


def test_a_model_is_saved_and_loaded_and_goes_on_as_if_it_had_never_left(sheet, browser, tmp_path):
    figure(sheet, steps=15, encoding="learned", seed=3)
    sheet.evaluate(RESTED)
    with sheet.expect_download() as saved:
        sheet.evaluate(PRESS, "Save the model")
    file = tmp_path / "model.json"
    saved.value.save_as(file)
    held = json.loads(file.read_text())
    assert len(held["losses"]) == held["settings"]["steps"] == 15
    sheet.evaluate("() => set({ steps: 25 })")
    whole = sheet.evaluate(RESTED)

    held["weights"] = held["means"]  # weights of somebody's own: they are taken as they are
    other = tmp_path / "other.json"
    other.write_text(json.dumps(held))
    page = browser.new_page()
    page.set_content(f"<style>{style()}</style><div id=place></div>")
    page.evaluate("window.RopeLive = { define: (name, figure) => (window.figure = figure) }")
    figure(page)
    page.set_viewport_size({"width": 1200, "height": 900})
    for chosen, same in ((file, True), (other, False)):
        page.locator("input[type=file]").set_input_files(chosen)
        page.wait_for_function(
            "() => root.querySelector('.rl-note:not(.rl-python *)').textContent.startsWith('Loaded')"
        )
        page.evaluate(RESTED)
        assert page.evaluate("[state.encoding, state.seed, state.steps]") == ["learned", 3, 15]
        page.evaluate("() => set({ steps: 25 })")
        assert (page.evaluate(RESTED) == whole) is same
        page.evaluate("() => { root.querySelector('.rl-note:not(.rl-python *)').textContent = ''; }")
    page.close()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("not json", "This file is not JSON"),
        ("{}", "This file does not hold a model"),
        ('{"format": "rope-book model of the page", "version": 2}', "version 2"),
        ('{"format": "rope-book model of the page", "version": 1}', "settings are not those"),
        ("weights", "its weights are 3 numbers, not"),
        ("losses", "its losses must be at most 2000 numbers"),
    ],
    ids=lambda value: value[:12],
)
def test_a_broken_file_is_answered_with_a_sentence_and_changes_nothing(sheet, text, sentence):
    figure(sheet, steps=1)
    sheet.evaluate(RESTED)
    if text in ("weights", "losses"):
        with sheet.expect_download() as saved:
            sheet.evaluate(PRESS, "Save the model")
        held = json.loads(Path(saved.value.path()).read_text())
        held[text] = {"weights": base64.b64encode(bytes(24)).decode(), "losses": ["a"]}[text]
        text = json.dumps(held)
    before = sheet.evaluate(RESTED)
    file = {"name": "a.json", "mimeType": "application/json", "buffer": text.encode()}
    sheet.locator("input[type=file]").set_input_files(file)
    sheet.wait_for_function("() => root.querySelector('.rl-note:not(.rl-python *)').textContent")
    assert sentence in sheet.evaluate("root.querySelector('.rl-note:not(.rl-python *)').textContent")
    assert sheet.evaluate(RESTED) == before


def test_rope_learns_and_a_rule_helps_it_beyond(sheet):
    figure(sheet, steps=400, times=4, rule="none")
    sheet.evaluate(RESTED)
    pattern = r"/It answers (\d+) % right at the 24 trained places, and (\d+) % at the 72 new ones/"
    read = f"() => {pattern}.exec(root.querySelector('.rl-readout').textContent).slice(1).map(Number)"
    known, beyond = sheet.evaluate(read)
    assert known == 100
    sheet.evaluate("() => set({ rule: 'yarn' })")
    sheet.evaluate(RESTED)
    assert sheet.evaluate(read)[1] > beyond + 10
