"""The engine that trains in the page agrees with torch: gradients, and the losses of the first 50 steps."""

import numpy as np
import pytest

from rope_book.widgets.maths import page_training as page

from . import torch_training
from .torch_training import CASES, SETTINGS
from .v8 import scripts

STEPS = 50
FIRST = """(settings) => {
    const run = new Run(settings);
    const texts = drawTexts(settings.task, { split: "train", seed: settings.seed, step: 0 }, 16, settings.length);
    const loss = run.network(texts.seq).loss(texts);
    const gradients = Object.entries(run.gradients.of).map(([name, values]) => [name, Array.from(values)]);
    return [loss, Object.fromEntries(gradients)];
}"""
LOSSES = """(settings, steps) => {
    const run = new Run(settings);
    return Array.from({ length: steps }, () => run.train());
}"""


@pytest.fixture(scope="module")
def engine():
    """The engine in V8."""
    with scripts("maths/page_run", "maths/page_tasks", "maths/page_prose") as v8:
        v8.answer([("(text) => holdProse(text) ?? 0", [page.PROSE.read_text(encoding="ascii")])])
        yield v8


@pytest.mark.parametrize("case", CASES)
def test_loss_and_gradients_are_torchs(engine, case):
    settings = SETTINGS | CASES[case]
    ((loss, computed),) = engine.answer([(FIRST, [settings])])
    expected, gradients = torch_training.first_gradients(settings)
    assert loss == pytest.approx(expected, abs=1e-12)
    assert set(computed) == set(gradients)
    for name, gradient in gradients.items():
        np.testing.assert_allclose(computed[name], gradient.ravel(), rtol=0, atol=1e-12, err_msg=name)


WHOLE = """(settings, steps) => {
    const run = new Run(settings);
    while (run.step < steps) run.train();
    const right = Array.from(run.right(settings));
    const beyond = right.slice(placesOf(settings.task, settings.length)).filter((share) => share >= 0);
    return beyond.reduce((sum, share) => sum + share, 0) / beyond.length;
}"""


def test_the_record_of_the_challenge_is_reached_by_the_settings_that_are_told(engine):
    task = {name: page.RECORD[name] for name in ("task", "length", "times")}
    settings = SETTINGS | task | page.RECORD_SETTINGS | {"rule": "none"}
    (found,) = engine.answer([(WHOLE, [settings, page.RECORD_SETTINGS["steps"]])])
    assert round(100 * found) == page.RECORD["percent"]


@pytest.mark.sampled
@pytest.mark.parametrize("case", CASES)
def test_losses_of_the_first_steps_are_torchs(engine, case):
    settings = SETTINGS | CASES[case]
    (found,) = engine.answer([(LOSSES, [settings, STEPS])])
    expected = torch_training.losses(settings, STEPS)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)
    assert abs(found[-1] - found[0]) > 0.1  # it has learned
