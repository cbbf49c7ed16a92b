"""Relative encodings, against transformers' code, against naive loops, and against their invariants."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor
from transformers.models.t5.modeling_t5 import T5Attention
from transformers.models.wav2vec2_bert.modeling_wav2vec2_bert import _apply_relative_key_position_encoding
from transformers.models.xlnet.modeling_xlnet import XLNetModel, XLNetRelativeAttention

from rope_edu.encodings.absolute import sinusoidal
from rope_edu.encodings.relative import (
    alibi_bias,
    alibi_slopes,
    fire_bias,
    kerple_log_bias,
    relative_positions,
    shaw_index,
    shaw_scores,
    t5_bias,
    t5_bucket,
    transformer_xl_scores,
)


def fire_distance(q_len, k_len, **options):
    """What FIRE's network is given: its bias, if the network passes that on to one head."""
    return fire_bias(lambda x: x, q_len, k_len, **options)[0]


HEAD_COUNTS = [1, 2, 3, 4, 5, 7, 8, 12, 16, 20, 32, 40, 71, 112]


def draw(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


# --- positions ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("q_len", "k_len"), [(1, 1), (5, 5), (1, 6), (3, 7)])
def test_relative_positions_are_key_minus_query_with_the_queries_last(q_len, k_len):
    expected = [[j - i for j in range(k_len)] for i in range(k_len - q_len, k_len)]
    assert relative_positions(q_len, k_len).tolist() == expected


# --- T5 ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize("num_buckets", [4, 5, 8, 20, 32, 64, 128])
@pytest.mark.parametrize("max_distance", [65, 100, 128, 256, 1000, 20_000])
def test_t5_bucket_equals_transformers(bidirectional, num_buckets, max_distance):
    positions = torch.arange(-30_000, 30_001)
    theirs = T5Attention._relative_position_bucket(positions, bidirectional, num_buckets, max_distance)
    settings = {"bidirectional": bidirectional, "num_buckets": num_buckets, "max_distance": max_distance}
    with np.errstate(all="raise"):
        ours = t5_bucket(positions.numpy(), **settings)
    np.testing.assert_array_equal(ours, theirs)
    in_torch = t5_bucket(positions, **settings)
    assert isinstance(in_torch, torch.Tensor)
    assert torch.equal(in_torch, theirs)


def test_t5_bucket_takes_unsigned_positions_and_any_shape():
    assert t5_bucket(np.array([[3], [200]], dtype=np.uint8), bidirectional=True).tolist() == [[19], [31]]
    assert t5_bucket(-5, bidirectional=False) == 5


def test_t5_bias_equals_transformers():
    layer = SimpleNamespace(
        relative_attention_bias=torch.nn.Embedding(32, 6),
        is_decoder=True,
        relative_attention_num_buckets=32,
        relative_attention_max_distance=128,
        _relative_position_bucket=T5Attention._relative_position_bucket,
    )
    theirs = T5Attention.compute_bias(layer, 200, 200)[0]
    ours = t5_bias(layer.relative_attention_bias.weight, 200, 200, bidirectional=False)
    assert torch.equal(ours, theirs)
    last = t5_bias(layer.relative_attention_bias.weight, 1, 200, bidirectional=False)
    assert torch.equal(last, theirs[:, -1:])


def test_t5_bias_sends_gradients_to_the_buckets_in_use():
    table = torch.zeros(32, 2, requires_grad=True)
    t5_bias(table, 1, 4, bidirectional=False).sum().backward()
    assert table.grad[:, 0].tolist() == [1.0] * 4 + [0.0] * 28


# --- ALiBi -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_heads", HEAD_COUNTS)
def test_alibi_slopes_equal_bloom_and_mpt_for_every_head_count(n_heads):
    bloom = build_alibi_tensor(torch.ones(1, 2, dtype=torch.int64), n_heads, torch.float32)[:, 0, 1]
    mpt = -build_mpt_alibi_tensor(n_heads, 2)[:, 0, 0]
    # theirs are float32: a rounded base to the power of up to n_heads is off by n_heads half-eps, and a few ulps
    rtol = (n_heads / 2 + 4) * np.finfo(np.float32).eps
    np.testing.assert_allclose(alibi_slopes(n_heads), bloom, rtol=rtol)
    np.testing.assert_allclose(alibi_slopes(n_heads), mpt, rtol=rtol)


def test_alibi_attention_weights_equal_those_of_blooms_form():
    theirs = build_alibi_tensor(torch.ones(1, 9, dtype=torch.int64), 6, torch.float64)  # +m·j, one row
    hidden = torch.full((9, 9), -torch.inf, dtype=torch.float64).triu(1)
    scores = torch.tensor(draw(6, 9, 9)) + hidden
    ours = torch.softmax(scores + torch.tensor(alibi_bias(6, 9, 9)), -1)
    torch.testing.assert_close(ours, torch.softmax(scores + theirs, -1))


@given(st.sampled_from(HEAD_COUNTS), st.integers(1, 20), st.integers(0, 20))
def test_alibi_depends_on_distance_alone_and_falls_with_it(n_heads, q_len, earlier):
    k_len = q_len + earlier
    bias = alibi_bias(n_heads, q_len, k_len)
    assert bias.shape == (n_heads, q_len, k_len)
    np.testing.assert_array_equal(bias[:, 1:, 1:], bias[:, :-1, :-1])  # one step along the diagonal
    np.testing.assert_array_equal(bias, alibi_bias(n_heads, k_len, k_len)[:, earlier:])  # cache or not
    last = bias[:, -1]  # the last query: distances k_len − 1 … 0
    assert np.all(last[:, -1] == 0)
    assert np.all(np.diff(last, axis=-1) > 0)


# --- Shaw --------------------------------------------------------------------------------------------


def test_shaw_index_clips_on_both_sides():
    expected = [[max(-2, min(2, j - i)) + 2 for j in range(8)] for i in range(3, 8)]
    assert shaw_index(5, 8, max_distance=2).tolist() == expected


@pytest.mark.parametrize("kind", [np.asarray, torch.tensor])
def test_shaw_scores_equal_the_double_loop(kind):
    q, k, table = draw(2, 3, 4, 8), draw(2, 3, 7, 8, seed=1), draw(5, 8, seed=2)
    expected = np.empty((2, 3, 4, 7))
    for b, h, i, j in np.ndindex(expected.shape):
        offset = table[max(-2, min(2, j - (i + 3))) + 2]
        expected[b, h, i, j] = q[b, h, i] @ (k[b, h, j] + offset)
    ours = shaw_scores(kind(q), kind(k), kind(table))
    assert type(ours) is type(kind(q))
    np.testing.assert_allclose(ours, expected, atol=1e-12)


def test_shaw_scores_equal_transformers():
    q, k = torch.tensor(draw(1, 2, 9, 4)), torch.tensor(draw(1, 2, 9, 4, seed=1))
    embedding = torch.nn.Embedding(7, 4, dtype=torch.float64)
    module = SimpleNamespace(
        left_max_position_embeddings=3,
        right_max_position_embeddings=3,
        distance_embedding=embedding,
        scaling=1.0,
    )
    _, position_part = _apply_relative_key_position_encoding(module, q, k)
    torch.testing.assert_close(shaw_scores(q, k, embedding.weight), q @ k.mT + position_part)


# --- Transformer-XL ----------------------------------------------------------------------------------


def test_transformer_xl_scores_equal_the_papers_four_terms_in_a_loop():
    q, k, w = draw(2, 3, 4), draw(2, 6, 4, seed=1), draw(2, 4, 10, seed=2)
    u, v = draw(2, 1, 4, seed=3), draw(2, 1, 4, seed=4)
    expected = np.empty((2, 3, 6))
    for h, i, j in np.ndindex(expected.shape):
        distance_key = w[h] @ sinusoidal((i + 3) - j, 10)
        content, content_distance = q[h, i] @ k[h, j], q[h, i] @ distance_key
        key_bias, distance_bias = u[h, 0] @ k[h, j], v[h, 0] @ distance_key
        expected[h, i, j] = content + content_distance + key_bias + distance_bias
    np.testing.assert_allclose(transformer_xl_scores(q, k, w, u, v), expected, atol=1e-12)
    in_torch = transformer_xl_scores(*map(torch.tensor, (q, k, w, u, v)))
    np.testing.assert_allclose(in_torch, expected, atol=1e-12)


def test_transformer_xl_scores_equal_xlnets():
    length, heads, width, d_model = 5, 2, 4, 8
    q, k = draw(length, 1, heads, width), draw(length, 1, heads, width, seed=1)
    w, u, v = draw(heads, width, d_model, seed=2), draw(heads, width, seed=3), draw(heads, width, seed=4)

    frequencies = 1 / 10_000 ** (torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    distances = torch.arange(length, -length, -1, dtype=torch.float64)
    theirs_r = XLNetModel.positional_embedding(distances, frequencies)  # sines first
    sines_first = np.concatenate([w[..., 0::2], w[..., 1::2]], axis=-1)
    k_r = torch.einsum("sbm,hdm->sbhd", theirs_r, torch.tensor(sines_first))
    scores = {}

    class Layer:
        r_w_bias, r_r_bias, scale = torch.tensor(u), torch.tensor(v), 1.0
        rel_shift_bnij = staticmethod(XLNetRelativeAttention.rel_shift_bnij)

        def dropout(self, weights):
            scores["softmax"] = weights
            return weights

    XLNetRelativeAttention.rel_attn_core(Layer(), *map(torch.tensor, (q, k, k)), k_r)
    ours = transformer_xl_scores(
        *(torch.tensor(a[:, 0].swapaxes(0, 1).copy()) for a in (q, k)),
        torch.tensor(w),
        torch.tensor(u[:, None]),
        torch.tensor(v[:, None]),
    )
    torch.testing.assert_close(torch.softmax(ours, -1), scores["softmax"][0])


def test_transformer_xl_position_term_depends_on_distance_alone():
    q = np.tile(draw(1, 4), (6, 1))
    scores = transformer_xl_scores(q, np.zeros((6, 4)), draw(4, 8), draw(4), draw(4, seed=1))
    np.testing.assert_allclose(scores[1:, 1:], scores[:-1, :-1], atol=1e-12)
    assert abs(scores[0, 1] - scores[1, 0]) > 1e-3  # left and right are told apart


# --- KERPLE and FIRE ---------------------------------------------------------------------------------


def test_kerple_equals_the_double_loop_and_sends_gradients():
    r1, r2 = (torch.tensor(r, dtype=torch.float64, requires_grad=True) for r in ([2.0, 0.5], [1.0, 3.0]))
    ours = kerple_log_bias(r1, r2, 2, 4)
    for h, i, j in np.ndindex(2, 2, 4):
        expected = -r1[h].item() * math.log(1 + r2[h].item() * abs((i + 2) - j))
        assert ours[h, i, j].item() == pytest.approx(expected, abs=1e-14)
    ours.sum().backward()
    assert torch.all(r1.grad < 0)
    assert torch.all(r2.grad < 0)
    np.testing.assert_allclose(
        kerple_log_bias([2.0, 0.5], [1.0, 3.0], 2, 4), ours.detach(), rtol=0, atol=1e-14
    )


def test_kerple_falls_more_slowly_the_farther_the_key():
    last = kerple_log_bias([1.0], [0.7], 1, 50)[0, 0, ::-1]  # distances 0, 1, 2 …
    assert np.all(np.diff(last) < 0)
    assert np.all(np.diff(last, 2) > 0)


@pytest.mark.parametrize("threshold", [2.0, 100.0])
def test_fire_distance_equals_the_double_loop(threshold):
    def psi(n):
        return math.log(1 + 0.3 * n)

    expected = [[psi(abs(i - j)) / psi(max(threshold, i)) for j in range(9)] for i in range(4, 9)]
    np.testing.assert_allclose(fire_distance(5, 9, c=0.3, threshold=threshold), expected, atol=1e-14)


@given(st.integers(1, 40), st.floats(0.01, 10.0), st.floats(0.5, 100.0))
def test_fire_distance_of_a_causal_query_stays_in_zero_to_one(length, c, threshold):
    causal = np.tril(fire_distance(length, length, c=c, threshold=threshold))
    assert causal.min() >= 0
    assert causal.max() <= 1 + 1e-15
    assert np.all(np.diag(causal) == 0)


def test_fire_bias_takes_a_torch_module_and_trains_all_its_parts():
    torch.manual_seed(0)
    mlp = torch.nn.Sequential(torch.nn.Linear(1, 32), torch.nn.ReLU(), torch.nn.Linear(32, 3)).double()
    c, threshold = (torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in (0.1, 4.0))
    bias = fire_bias(mlp, 6, 8, c=c, threshold=threshold)
    assert bias.shape == (3, 6, 8)
    expected = mlp(torch.tensor([[fire_distance(6, 8, c=0.1, threshold=4.0)[2, 1]]], dtype=torch.float64))
    torch.testing.assert_close(bias[:, 2, 1], expected[0])
    bias.square().sum().backward()
    assert all(p.grad.abs().sum() > 0 for p in (c, threshold, *mlp.parameters()))


# --- errors ------------------------------------------------------------------------------------------

Q, K = np.ones((2, 4)), np.ones((3, 4))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: relative_positions(0, 3), r"q_len must be a whole number of at least 1, got 0"),
        (lambda: relative_positions(1, 2.0), r"k_len must be a whole number of at least 1, got 2.0"),
        (lambda: relative_positions(4, 3), r"q_len must be at most k_len = 3.*got 4"),
        (lambda: t5_bucket(1.5, bidirectional=True), r"relative_position must be integers .*got float64"),
        (
            lambda: t5_bucket(torch.ones(2), bidirectional=True),
            r"relative_position .*got float32: \[1.0, 1.0",
        ),
        (lambda: t5_bucket(1, bidirectional=True, num_buckets=0), r"num_buckets must be .*got 0"),
        (lambda: t5_bucket(1, bidirectional=True, num_buckets=3), r"num_buckets must be at least 4 .*got 3"),
        (lambda: t5_bucket(1, bidirectional=False, num_buckets=1), r"num_buckets must be at least 2 .*got 1"),
        (lambda: t5_bucket(1, bidirectional=True, max_distance=-1), r"max_distance must be .*got -1"),
        (lambda: t5_bucket(1, bidirectional=True, max_distance=8), r"must exceed the 8 distances .*got 8"),
        (lambda: t5_bucket(1, bidirectional=False, max_distance=16), r"must exceed the 16 .*got 16"),
        (lambda: t5_bias(np.ones(32), 2, 2, bidirectional=True), r"table must have shape .*got \(32,\)"),
        (lambda: alibi_slopes(0), r"n_heads must be a whole number of at least 1, got 0"),
        (lambda: alibi_bias(-8, 2, 2), r"n_heads must be a whole number of at least 1, got -8"),
        (lambda: alibi_bias(8, 3, 2), r"q_len must be at most k_len = 2.*got 3"),
        (lambda: shaw_index(2, 2, 0), r"max_distance must be a whole number of at least 1, got 0"),
        (lambda: shaw_scores(Q, K, np.ones((4, 4))), r"table must be \(2K \+ 1.*got \(4, 4\)"),
        (lambda: shaw_scores(Q, K, np.ones((1, 4))), r"table must be \(2K \+ 1.*got \(1, 4\)"),
        (lambda: shaw_scores(Q, K, np.ones((3, 5))), r"table must have width head_dim = 4.*got 5"),
        (lambda: shaw_scores(Q, np.ones((3, 6)), np.ones((3, 4))), r"k must have width .*= 4.*got 6"),
        (lambda: transformer_xl_scores(Q, K, np.eye(6), Q[0], Q[0]), r"w_position .*head_dim = 4 rows"),
        (lambda: transformer_xl_scores(Q, K, np.ones((4, 5)), Q[0], Q[0]), r"even whole number.*got 5"),
        (lambda: transformer_xl_scores(Q, K, np.eye(4), np.ones(3), Q[0]), r"u must have width .*got 3"),
        (lambda: kerple_log_bias([1.0, -2.0], [1.0, 1.0], 2, 2), r"r1 must be positive, got \[1.0, -2.0\]"),
        (lambda: kerple_log_bias([1.0], [0.0], 2, 2), r"r2 must be positive, got \[0.0\]"),
        (lambda: kerple_log_bias([1.0], [1.0, 1.0], 2, 2), r"r2 must have shape .*got \(2,\)"),
        (lambda: fire_distance(2, 2, c=0.0), r"c must be positive, got 0.0"),
        (lambda: fire_distance(2, 2, threshold=-1.0), r"threshold must be positive, got -1.0"),
        (
            lambda: fire_bias(lambda x: x[..., 0], 2, 3),
            r"mlp must return shape \(2, 3, n_heads\), got \(2, 3\)",
        ),
    ],
)
def test_errors_name_the_value_and_what_is_allowed(call, message):
    with pytest.raises(ValueError, match=message):
        call()
