"""The page's heads, in 8 bits, weigh the words as SmolLM2's own heads do."""

import numpy as np
import pytest

from makers.page_heads import SENTENCES, heads_of, tokens_of
from rope_book.results.page_heads import load_page_heads, read_page_heads
from rope_book.widgets.maths.real_head import JOBS, head_weights, job_done, targets
from rope_book.widgets.real_head import RealHead

WEIGHT, JOB = 0.03, 0.005  # codes of 8 bits are off by up to 0.4 % of a feature's largest value


@pytest.fixture(scope="module")
def sentences(model):
    """Return tokens and heads of the three texts."""
    return [(tokens_of(model, ids), heads_of(model, ids)) for ids in (model.ids(text) for text in SENTENCES)]


def test_tokens_are_the_models(sentences):
    assert [tokens for tokens, _ in sentences] == read_page_heads()["sentences"]


@pytest.mark.parametrize("job", JOBS)
@pytest.mark.parametrize("changes", [{}, {"first_pair": 9}, {"rule": "pi"}, {"layout": "half_split"}])
def test_weights_are_those_of_the_model(sentences, job, changes):
    head = load_page_heads()[job]
    for n, (tokens, heads) in enumerate(sentences, 1):
        figure = RealHead(job=job, sentence=n, **changes)
        weights = head_weights(*heads[head.layer, head.head], 0, figure.spec)
        np.testing.assert_allclose(figure.weights, weights, rtol=0, atol=WEIGHT)
        assert figure.done == pytest.approx(job_done(weights, targets(job, tokens)), abs=JOB)


def test_the_right_spec_is_the_models(model):
    np.testing.assert_allclose(RealHead().spec.inv_freq, model.spec.inv_freq, rtol=1e-6)
    assert RealHead().spec.layout == model.spec.layout
