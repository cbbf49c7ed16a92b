"""ModelInThePage in Python: a ramp that always rises, and a rotation to use elsewhere."""

import pytest
import traitlets

from rope_book.results import load_page_models
from rope_book.widgets import ModelInThePage
from rope_book.widgets.model_in_the_page import LETTERS, RULES
from rope_edu import ntk_aware, yarn

from .drawn import Drawn


@pytest.mark.parametrize(("given", "ramp"), [
    ({"ramp_from": 5.0}, (5.0, 5.1)),
    ({"ramp_to": 0.3}, (0.2, 0.3)),
    ({"ramp_from": 1.0, "ramp_to": 32.0}, (1.0, 32.0)),
])  # fmt: skip
def test_an_end_of_the_ramp_takes_the_other_along(given, ramp):
    figure = ModelInThePage(**given)
    assert (figure.ramp_from, figure.ramp_to) == pytest.approx(ramp)


def test_a_contradictory_pair_of_ends_is_refused():
    with pytest.raises(
        traitlets.TraitError, match=r"ramp_from must be at most 0.1 \(ramp_to − 0.1\), got 8.0"
    ):
        ModelInThePage(ramp_from=8.0, ramp_to=0.2)


@pytest.mark.parametrize("rule", RULES)
def test_rope_is_the_spec_of_the_rule(rule):
    spec = ModelInThePage(rule=rule).rope
    assert spec.layout == "half_split"
    assert spec.head_dim == 32


def test_rope_equals_the_librarys():
    figure = ModelInThePage(rule="ntk-aware", factor=4)
    assert figure.rope == ntk_aware(32, 4).replace(layout="half_split")
    figure = ModelInThePage(rule="yarn", task="text", attention_factor=1.5)
    expected = yarn(32, 8, 64, ramp="turns", beta_slow=0.5, beta_fast=2.0).replace(layout="half_split")
    assert figure.rope == expected.replace(attention_factor=1.5 * expected.attention_factor)
    figure.last_pair = 3
    assert (figure.rope.inv_freq[3:] == 0).all()
    assert (figure.rope.inv_freq[:3] == expected.inv_freq[:3]).all()


@pytest.mark.parametrize("name", ["times", "factor", "attention_factor", "last_pair"])
def test_a_value_out_of_range_is_refused_with_a_sentence(name):
    with pytest.raises(traitlets.TraitError, match=rf"ModelInThePage\.{name} must be a .* from .*, got 99\."):
        ModelInThePage(**{name: 99})


def test_a_text_of_ones_own_has_the_characters_that_the_model_knows():
    first, line_break = "^", "\n"
    assert sorted(LETTERS + line_break + first) == sorted(load_page_models()["text"].alphabet)
    assert ModelInThePage(task="text", own="Is it so?").own == "Is it so?"
    with pytest.raises(
        traitlets.TraitError, match=r"own must be a text of at most 192 characters, each one of .+, got 'ca"
    ):
        ModelInThePage(own="caf\u00e9")


def test_in_code_as_by_hand_the_factor_follows_the_length_while_they_are_equal():
    figure, drawn = ModelInThePage(rule="by-parts"), Drawn("ModelInThePage")
    table = figure.sweep("times", [16])
    figure.times = 16
    by_hand = drawn.said({"times": 16})["state"]
    drawn.close()
    assert (figure.times, figure.factor) == (by_hand["times"], by_hand["factor"]) == (16, 16)
    assert table["share_right_beyond"] == [figure.share_right_beyond]
    figure.factor = 4
    figure.times = 2
    assert figure.factor == 4
    figure.reset()
    assert repr(figure) == "ModelInThePage(rule='by-parts')"
