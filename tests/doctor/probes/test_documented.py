"""A difference that a config explains is `as documented` up to its size, and what has no size is not judged."""

import numpy as np
import pytest

from rope_doctor.probes import Specimen, check_decoder

LONG = {"length": 64, "chunk": 24}


class Growing(Specimen):
    """Queries grow with the position, as Beam's do."""

    power, calls = 0.1, 0

    def rotate(self, x, positions):
        self.calls += 1
        turned = super().rotate(x, positions)
        gain = (1 + np.asarray(positions)[:, None, :, None] / 2048) ** self.power
        return turned * gain if self.calls % 2 else turned


class GrowingTooFast(Growing):
    power = 4.0


class QueriesFaster(Specimen):
    """Queries are rotated faster than keys."""

    calls = 0

    def rotate(self, x, positions):
        self.calls += 1
        return super().rotate(x, positions * (1.01 if self.calls % 2 else 1))


def moved(kind, **facts):
    report = check_decoder(kind().decoder(**facts), **LONG)
    return report.verdict.status, report.of("moved")


def test_queries_that_grow_as_the_config_states_are_as_documented_and_others_differ():
    growth = 0.1 / 2048
    status, check = moved(Growing, scaled=0, growth=growth)
    assert (status, check.outcome) == (0, "as documented"), check.words
    assert "which explains 0.0066" in check.words
    for kind in (GrowingTooFast, QueriesFaster):
        assert moved(kind, scaled=0, growth=growth)[1].outcome == "differs"


def test_queries_that_jump_are_not_judged_where_no_text_before_the_jump_fits():
    status, check = moved(Growing, scaled=4)
    assert (status, check.outcome) == (2, "not judged")
    assert "queries are scaled by position from 4 on, and a text before that is too short" in check.words


def test_a_pool_explains_nothing_before_it_is_full():
    status, check = moved(QueriesFaster, pools=16)
    assert (status, check.outcome) == (1, "differs")


@pytest.mark.parametrize(("rate", "status", "outcome"), [(16, 0, "as documented"), (4, 2, "not judged")])
def test_pooled_layers_are_judged_before_the_first_pool(rate, status, outcome):
    pytest.importorskip("transformers")
    from .tiny import tiny

    rates = {"compressed_sparse_attention": rate, "heavily_compressed_attention": rate}
    report = check_decoder(tiny("deepseek_v4", compress_rates=rates), **LONG)
    check = report.of("moved")
    assert (report.verdict.status, check.outcome) == (status, outcome), str(report)
    words = "the 15 tokens before the first pool are the same" if status == 0 else "too short to compare"
    assert words in check.words


def of_a_table(*, twice=False):
    """Return a decoder with a table of absolute positions, which counts padding once, or twice."""
    draw = np.random.default_rng(0)
    words, table, out = (draw.normal(size=size) for size in ((40, 16), (128, 16), (16, 40)))

    def decoder(tokens, *, positions=None, mask=None):
        mask = np.ones(tokens.shape, int) if mask is None else mask
        if positions is None:
            positions = np.arange(tokens.shape[1]) + twice * (1 - mask).sum(axis=1, keepdims=True)
        seen = words[tokens] * table[positions] * mask[..., None]
        return seen.cumsum(axis=1) @ out

    return decoder


@pytest.mark.parametrize(("twice", "outcome"), [(False, "as documented"), (True, "differs")])
def test_a_table_that_counts_padding_counts_it_once(twice, outcome):
    made = of_a_table(twice=twice)
    report = check_decoder(made, relative=False, longest=128, **LONG)
    assert report.of("left padding, without positions").outcome == outcome
