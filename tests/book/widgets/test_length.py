"""The costs by place are those of the measured losses: nothing within the trained length as trained."""

import numpy as np
import pytest

from rope_book.results.real import load_real
from rope_book.widgets.length_curve import PARTS
from rope_book.widgets.maths.length import REMEDIES, TOKENS, costs

SHOWN = costs()
REMEDY = {remedy["name"]: remedy["costs"] for remedy in SHOWN["remedies"]}


def test_every_remedy_was_measured_in_all_parts_of_every_text():
    assert list(REMEDY) == list(REMEDIES)
    kinds = {*load_real("real_length")["meta"]["texts"], "mean"}
    for by_text in REMEDY.values():
        assert set(by_text) == kinds
        assert {len(values) for values in by_text.values()} == {PARTS}
        assert np.isfinite(list(by_text.values())).all()


@pytest.mark.parametrize("text", ["narrative", "technical", "code", "mean"])
def test_the_model_as_trained_costs_nothing_until_its_trained_length_and_then_ever_more(text):
    as_trained = np.array(REMEDY["plain"][text])
    within = np.arange(PARTS) * TOKENS / PARTS < SHOWN["trained"]
    assert not as_trained[within].any()
    assert as_trained[-1] > 1 > as_trained[~within][0]


def test_the_mean_is_that_of_the_texts():
    for by_text in REMEDY.values():
        of_texts = np.mean([values for text, values in by_text.items() if text != "mean"], axis=0)
        np.testing.assert_allclose(by_text["mean"], of_texts, rtol=0, atol=1e-3)
