"""A long text is read in blocks as a short one is read at once; this needs no weights."""

import math

import pytest
import torch

from rope_book.real.long import Reading, attend
from rope_book.real.model import SharedKeyAttention, Sizes
from rope_book.training.variants import AttentionVariant
from rope_edu import plain_rope
from rope_edu.attention.encoding import Rotary

SPEC = plain_rope(8, 100.0)
SEQ, BLOCK, WINDOW = 22, 4, 8
Q, K, V = torch.randn(3, 1, 2, SEQ, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"window": WINDOW},
        {"window": WINDOW, "held": [2, 3]},
        {"window": WINDOW, "held": [0]},
        {"trained": 5},
        {"window": WINDOW, "trained": 5},
    ],
)
def test_blocks_give_what_all_scores_at_once_give(change):
    expected = AttentionVariant(SPEC, **change).scores(Q, K).softmax(-1) @ V
    assert torch.allclose(Reading(SPEC, **change).mix(Q, K, V, BLOCK), expected, atol=1e-12)


@pytest.mark.parametrize(("held", "first"), [([], 0), ([], 3), (None, 3), ([1], 1)])
def test_a_window_sees_its_keys_and_the_first_ones(held, first):
    at = torch.arange(SEQ)
    r = at[:, None] - at
    seen = (r >= 0) & ((r < WINDOW) | (at < first))
    scores = AttentionVariant(SPEC, window=WINDOW, held=held).scores(Q, K)
    expected = scores.masked_fill(~seen, -math.inf).softmax(-1) @ V
    mixed = Reading(SPEC, WINDOW, held, first=first).mix(Q, K, V, BLOCK)
    assert torch.allclose(mixed, expected, atol=1e-12)


def test_a_plain_reading_is_the_models_own_attention():
    torch.manual_seed(0)
    layer = SharedKeyAttention(
        Sizes(vocab_size=9, d_model=32, d_ff=8, n_layers=1, n_heads=4, n_kv_heads=2, eps=1e-5)
    )
    x = torch.randn(1, 7, 32)
    assert torch.allclose(attend(layer, x, Reading(SPEC)), layer(x, Rotary(SPEC), range(7)), atol=1e-6)
