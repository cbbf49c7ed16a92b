"""The heads of SmolLM2 in the page: one for each job, the best that was measured, and light enough."""

import json

import numpy as np
import pytest

from rope_book.results.page_heads import load_page_heads, read_page_heads
from rope_book.widgets._data import DATA
from rope_book.widgets.maths.real_head import JOBS, targets
from rope_book.widgets.real_head import HEAD_DIM, SEQ, RealHead

STORED = read_page_heads()
HEADS = load_page_heads()


def test_every_job_has_a_head_of_its_own():
    assert list(HEADS) == list(STORED["best"]) == list(JOBS)
    assert len({(head.layer, head.head) for head in HEADS.values()}) == len(JOBS)


@pytest.mark.parametrize("job", JOBS)
def test_a_head_is_the_best_at_its_job_that_no_other_has(job):
    best = STORED["best"][job]
    worst_texts = [min(shares) for _, _, *shares in best]
    assert worst_texts == sorted(worst_texts, reverse=True)
    others = {(head.layer, head.head) for name, head in HEADS.items() if name != job}
    free = [(layer, head) for layer, head, *_ in best if (layer, head) not in others]
    assert (HEADS[job].layer, HEADS[job].head) == free[0]


@pytest.mark.parametrize("job", JOBS)
def test_every_text_has_as_many_tokens_and_something_to_do_for_every_head(job):
    for tokens in STORED["sentences"]:
        assert len(tokens) == SEQ
        assert targets(job, tokens).any()
    assert HEADS[job].q.shape == HEADS[job].k.shape == (len(STORED["sentences"]), SEQ, HEAD_DIM)


def test_what_the_page_loads_is_light():
    assert len(json.dumps(DATA["page_heads"](), separators=(",", ":"))) <= 120_000


@pytest.mark.parametrize("job", JOBS)
def test_a_head_does_not_notice_where_its_text_begins(job):
    here, there = (RealHead(job=job, start=start, sentence=2).weights for start in (0, 8000))
    np.testing.assert_allclose(there, here, rtol=0, atol=1e-9)
