"""Attention variants: other distances, fewer keys, sharper scores, and unchanged weights."""

import math
from dataclasses import replace

import pytest
import torch

from rope_book.training import AttentionVariant, with_attention
from rope_book.training.transformer import TinyTransformer
from rope_book.training.variants import ROWS_AT_ONCE
from rope_edu.attention import rerope_attention
from rope_edu.encodings import apply_rope, plain_rope

ROPE = plain_rope(16, layout="half_split")
Q, K, V = torch.randn(3, 2, 40, 16, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def at_distances(m, n, distances):
    """Score of query m and key n, every pair rotated by its own distance."""
    rotated = apply_rope(
        Q[0, m : m + 1], (distances * torch.tensor(ROPE.inv_freq))[None], layout="half_split"
    )
    return (rotated @ K[0, n]).item() / 4


@pytest.mark.parametrize(("window", "leak"), [(8, math.inf), (8, 4.0), (1, 2.5), (40, math.inf)])
def test_a_window_is_rerope_and_leaky_rerope(window, leak):
    expected = rerope_attention(Q, K, V, ROPE, window=window, leak=leak)[1]
    assert torch.allclose(AttentionVariant(ROPE, window=window, leak=leak).scores(Q, K).softmax(-1), expected)


def test_the_plain_variant_changes_no_logits_and_copies_share_no_weights():
    model = TinyTransformer(9, encoding=ROPE, d_model=32, n_heads=2)
    tokens = torch.randint(9, (ROWS_AT_ONCE + 1, 50), generator=torch.Generator().manual_seed(1))
    same, other = (
        with_attention(model, AttentionVariant(ROPE)),
        with_attention(model, AttentionVariant(ROPE, window=4)),
    )
    assert torch.allclose(same(tokens), model(tokens), atol=1e-5)
    assert not torch.allclose(other(tokens), model(tokens), atol=1e-2)
    with torch.no_grad():
        other.embedding.weight.zero_()
    assert torch.allclose(same(tokens), model(tokens), atol=1e-5)


@pytest.mark.parametrize("held", [[2, 3, 4, 5, 6, 7], [0, 1], None])
def test_only_held_pairs_stop_at_the_window(held):
    scores = AttentionVariant(ROPE, window=16, held=held).scores(Q, K)
    for m, n in ((39, 7), (39, 24), (20, 4), (16, 0)):
        distances = torch.full((8,), float(m - n))
        distances[list(range(8)) if held is None else held] = min(m - n, 16)
        assert math.isclose(scores[0, m, n], at_distances(m, n, distances), abs_tol=1e-12)


def test_a_fold_spreads_far_keys_over_trained_distances_and_leaves_near_keys_alone():
    scores = AttentionVariant(ROPE, window=16, fold=17).scores(Q, K)
    for m, n in ((39, 7), (39, 20), (39, 23), (39, 24), (39, 39)):
        r = m - n if m - n < 16 else 32 - n % 17
        assert 16 <= r <= 32 or r == m - n
        assert math.isclose(scores[0, m, n], at_distances(m, n, torch.full((8,), float(r))), abs_tol=1e-12)


def test_a_mask_leaves_the_nearest_keys_only():
    scores = AttentionVariant(ROPE, sees=3).scores(Q, K)[0]
    assert scores.isfinite().sum(-1).tolist() == [1, 2] + [3] * 38
    assert torch.allclose(scores[39, 37:], AttentionVariant(ROPE).scores(Q, K)[0, 39, 37:])


def test_log_n_leaves_trained_lengths_alone_and_grows_with_the_keys_beyond():
    plain, sharp = AttentionVariant(ROPE).scores(Q, K)[0], AttentionVariant(ROPE, trained=20).scores(Q, K)[0]
    assert torch.allclose(sharp[:20].exp(), plain[:20].exp())
    assert torch.allclose(sharp[39].exp(), (plain[39] * math.log(40) / math.log(20)).exp())


def test_a_gap_separates_later_from_earlier_tokens_only():
    plain, gap = AttentionVariant(ROPE).scores(Q, K)[0], AttentionVariant(ROPE, gap=(30, 100)).scores(Q, K)[0]
    assert torch.allclose(gap[:30].exp(), plain[:30].exp())
    assert torch.allclose(gap[30:, 30:].exp(), plain[30:, 30:].exp())
    assert math.isclose(gap[35, 2], at_distances(35, 2, torch.full((8,), 133.0)), abs_tol=1e-12)
    held = replace(AttentionVariant(ROPE, gap=(30, 100)), window=32).scores(Q, K)[0]
    assert math.isclose(held[35, 2], at_distances(35, 2, torch.full((8,), 32.0)), abs_tol=1e-12)
