"""A model that learns in the page: in a worker or without one, the same run whenever it is asked for."""

import pytest

from rope_edu.widgets import TrainInThePage
from rope_edu.widgets._bundle import page_script, style

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
    sheet.wait_for_function("() => /after [1-9]/.test(root.querySelector('.rl-readout').textContent)")
    sheet.evaluate(PRESS, "Pause")
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
    sheet.wait_for_timeout(600)
    assert "after" not in sheet.evaluate(READ)
    sheet.evaluate("() => { window.away = false; document.dispatchEvent(new Event('visibilitychange')); }")
    sheet.wait_for_function("() => /after [1-9]/.test(root.querySelector('.rl-readout').textContent)")


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
