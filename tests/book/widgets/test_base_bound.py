"""BaseBound in Python: a model and its numbers never contradict each other."""

import pytest

from rope_book.results import MODELS
from rope_book.widgets import BaseBound


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_a_model_sets_its_numbers_when_made_and_when_set(model):
    made, later = BaseBound(model=model.name), BaseBound()
    later.model = model.name
    for figure in (made, later):
        shown = (figure.base, figure.head_dim, figure.context)
        assert shown == (model.base, model.rotary_dim, model.context)
        assert figure.model == model.name


def test_a_number_that_differs_makes_it_own_and_keeps_the_others():
    figure = BaseBound(model="Llama 3 8B")
    figure.context = 20_000
    assert (figure.model, figure.base, figure.head_dim) == ("own", 500_000, 128)


def test_reset_brings_back_the_model():
    figure = BaseBound(model="Qwen3 8B")
    figure.base = 1234.0
    figure.reset()
    assert (figure.model, figure.base) == ("Qwen3 8B", 1e6)
