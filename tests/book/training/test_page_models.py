"""The models of the page: rounded once, tested on the tasks' texts, and broken and mended as the book says."""

import re
from pathlib import Path

import nbformat
import numpy as np
import pytest
import torch

from makers.page_models import CONFIGS, LONGEST, REFERENCE, TEXTS, write_models
from rope_book.results import load_page_models
from rope_book.results.page_models import packed, unpacked
from rope_book.training import make_task, restore
from rope_book.training.loop import TEST_SEED, answer_loss
from rope_book.widgets.maths.long_text import page_rope
from rope_edu.encodings import RopeSpec, plain_rope, yarn

ROOT = Path(__file__).resolve().parents[3]
MODELS = load_page_models()
LENGTHS = {task: model.length for task, model in MODELS.items()}


@pytest.mark.parametrize("content", ["{", '{"models": {}}'])
def test_the_maker_does_not_overwrite_a_file_of_something_else(tmp_path, content):
    path = tmp_path / "models.json"
    path.write_text(content)
    with pytest.raises(ValueError, match="must have the format 'rope_book page models 1', got"):
        write_models(["back"], path)
    assert path.read_text() == content


def test_the_file_has_the_configurations_of_the_maker():
    assert {config.task: vars(config.resolved()) for config in CONFIGS} == {
        task: model.config for task, model in MODELS.items()
    }


def test_rounding_loses_at_most_half_a_step_and_is_idempotent():
    rng = np.random.default_rng(0)
    for weight in (rng.normal(size=(5, 7)), rng.normal(size=9), np.zeros((2, 3))):
        once = unpacked(packed(weight))
        steps = np.abs(np.atleast_2d(weight)).max(axis=1, keepdims=True) / 127
        assert (np.abs(once - weight) <= 0.5001 * steps.reshape(-1, *[1] * (weight.ndim - 1))).all()
        np.testing.assert_array_equal(unpacked(packed(once)), once)


@pytest.mark.parametrize("task", MODELS)
def test_texts_are_the_first_test_texts_of_the_task(task):
    model = MODELS[task]
    batch = make_task(task, length=model.length).batch(
        TEST_SEED, 0, TEXTS, LONGEST * model.length, split="test"
    )
    np.testing.assert_array_equal(model.texts, batch.tokens)
    np.testing.assert_array_equal(model.answers, torch.where(batch.weights > 0, batch.targets, -1))


@pytest.mark.parametrize("task", MODELS)
def test_a_rounded_model_reaches_the_stated_accuracy_and_loss(task):
    model = MODELS[task]
    batch = make_task(task, length=model.length).batch(TEST_SEED, 1, REFERENCE, model.length, split="test")
    with torch.no_grad():
        logits = restore(model, dtype=torch.float32)(batch.tokens)
    share = ((logits.argmax(-1) == batch.targets) * batch.weights).sum() / batch.weights.sum()
    assert float(share) == pytest.approx(model.reached["accuracy"], abs=0.002)  # rounded; ties may flip
    assert float(answer_loss(logits, batch)) == pytest.approx(model.reached["loss"], abs=0.001)


def accuracy_under(task: str, rule: str, times: int, **settings: float) -> float:
    model = MODELS[task]
    spec = page_rope(rule, model.length, model.head_dim, model.base, times=times, factor=times, **settings)
    return accuracy_with(task, spec, times)


def accuracy_with(task: str, spec: RopeSpec, times: int) -> float:
    model = MODELS[task]
    tokens, answers = (rows[:, : times * model.length + 1] for rows in (model.texts, model.answers))
    with torch.no_grad():
        said = restore(model, spec, dtype=torch.float32)(torch.tensor(tokens)).argmax(-1).numpy()
    return float((said == answers)[:, model.trained_places :].mean())


def test_back_breaks_at_eight_times_and_by_parts_mends_it_where_interpolation_does_not():
    assert accuracy_under("back", "none", 8) < 0.6
    assert accuracy_under("back", "pi", 8) < 0.1
    assert accuracy_under("back", "by-parts", 8) > 0.95
    assert accuracy_under("back", "by-parts", 8, ramp_from=1.0, ramp_to=32.0) < 0.1  # the published ramp


def test_the_ten_minutes_state_the_accuracies_of_the_figure_and_of_released_yarn():
    model, times = MODELS["back"], 8
    cells = nbformat.read(next((ROOT / "notebooks").glob("00_*.ipynb")), as_version=4).cells
    (text,) = [cell.source for cell in cells if cell.source.startswith("With no rule, ")]
    rules = ("none", "pi", "ntk-aware", "yarn")
    shown = [accuracy_under("back", rule, times) for rule in rules]
    released = yarn(model.head_dim, times, model.length, base=model.base).replace(layout="half_split")
    shown.append(accuracy_with("back", released, times))
    assert [int(share) for share in re.findall(r"(\d+) %", text)] == [round(100 * share) for share in shown]
    assert shown[-1] < shown[0]  # worse than no rule


def test_text_breaks_at_four_times_and_by_parts_mends_it():
    assert accuracy_under("text", "none", 4) < 0.4
    assert accuracy_under("text", "pi", 4) < 0.3
    assert accuracy_under("text", "by-parts", 4) > 0.48


@pytest.mark.parametrize("rope", [plain_rope(32), plain_rope(16, layout="half_split")])
def test_a_rotation_for_another_head_is_refused(rope):
    with pytest.raises(ValueError, match="rope must be half_split, for heads of 32 features, got"):
        restore(MODELS["back"], rope)
