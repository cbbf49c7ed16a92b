"""Attention: equal to loops and to torch's own; masks, empty rows, kinds, and every sentence of refusal."""

import math

import numpy as np
import pytest
import torch

from rope_edu import apply_rope, causal_mask, inv_freq, rope_angles, softmax
from rope_edu.attention import attention, attention_scores

kinds = pytest.mark.parametrize("make", [np.asarray, torch.asarray], ids=["numpy", "torch"])


def example(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def qkv(*leading, q_len=3, k_len=5):
    return (
        example(*leading, q_len, 4),
        example(*leading, k_len, 4, seed=1),
        example(*leading, k_len, 2, seed=2),
    )


@kinds
@pytest.mark.parametrize("scale", [None, 0.3])
def test_attention_equals_plain_loops(make, scale):
    q, k, v = qkv()
    bias, mask = example(3, 5, seed=3), causal_mask(3, 5)
    output, weights = attention(make(q), make(k), make(v), bias=bias, mask=mask, scale=scale)
    for m in range(3):
        allowed = range(m + 3)  # the queries are positions 2, 3, 4
        logits = [float(q[m] @ k[n]) * (scale or 0.5) + bias[m, n] for n in allowed]
        total = sum(math.exp(z) for z in logits)
        expected = [math.exp(z) / total for z in logits] + [0.0] * (2 - m)
        assert weights[m].tolist() == pytest.approx(expected)
        assert output[m].tolist() == pytest.approx(sum(w * row for w, row in zip(expected, v, strict=True)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_attention_equals_torch_scaled_dot_product_attention(dtype):
    q, k, v = (torch.tensor(z).to(dtype) for z in qkv(2, 3))
    mask = torch.tensor(causal_mask(3, 5))
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    output, weights = attention(q, k, v, mask=mask)
    assert output.dtype == weights.dtype == dtype
    torch.testing.assert_close(output, expected)


@kinds
def test_without_positions_attention_is_blind_to_the_order_of_the_keys(make):
    q, k, v = qkv()
    order = [3, 0, 4, 1, 2]
    output, weights = attention(make(q), make(k), make(v))
    shuffled, shuffled_weights = attention(make(q), make(k[order]), make(v[order]))
    np.testing.assert_allclose(shuffled, output, rtol=0, atol=1e-12)
    np.testing.assert_allclose(shuffled_weights, weights[:, order], rtol=0, atol=1e-12)


def test_with_rope_weights_stay_when_all_positions_shift_and_change_when_the_order_does():
    x, frequencies = example(5, 4), inv_freq(4)

    def weights(positions):
        turned = apply_rope(x, rope_angles(positions, frequencies))
        return attention(turned, turned, x)[1]

    np.testing.assert_allclose(weights(np.arange(5)), weights(np.arange(5) + 1000), rtol=0, atol=1e-10)
    assert not np.allclose(weights(np.arange(5)), weights(np.array([3, 0, 4, 1, 2])))


def test_causal_mask_of_a_whole_sequence_is_the_lower_triangle():
    assert (causal_mask(4, 4) == np.tril(np.ones((4, 4), dtype=bool))).all()
    assert causal_mask(4, 4).dtype == bool


def test_causal_mask_of_the_last_queries_is_the_last_rows_of_the_whole():
    assert (causal_mask(2, 6) == causal_mask(6, 6)[-2:]).all()


def test_each_new_token_with_a_cache_equals_its_row_of_the_whole():
    q, k, v = qkv(q_len=5)
    whole, _ = attention(q, k, v, mask=causal_mask(5, 5))
    for t in range(5):
        step, _ = attention(q[t : t + 1], k[: t + 1], v[: t + 1], mask=causal_mask(1, t + 1))
        np.testing.assert_allclose(step[0], whole[t], rtol=0, atol=1e-12)


@kinds
def test_softmax_sums_to_one_in_each_row_and_ignores_a_constant(make):
    x = make(example(3, 4))
    np.testing.assert_allclose(np.asarray(softmax(x)).sum(-1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(softmax(x + 100.0), softmax(x), rtol=1e-12)


@kinds
def test_softmax_of_huge_scores_stays_finite(make):
    assert softmax(make(np.array([1e300, 1e300, -1e300]))).tolist() == [0.5, 0.5, 0.0]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_softmax_of_halves_equals_float32_rounded_once(dtype):
    x = torch.tensor(example(3, 7)).to(dtype)
    assert torch.equal(softmax(x), softmax(x.float()).to(dtype))


@kinds
def test_a_query_that_may_attend_to_nothing_gets_zeros(make):
    q, k, v = (make(z) for z in qkv())
    mask = causal_mask(3, 5)
    mask[1] = False
    output, weights = attention(q, k, v, mask=mask)
    assert weights[1].tolist() == [0.0] * 5
    assert output[1].tolist() == [0.0] * 2
    assert float(weights[0].sum()) == pytest.approx(1.0)


def test_gradients_reach_q_k_v_and_bias_and_are_finite_beside_an_empty_row():
    q, k, v = (torch.tensor(z, requires_grad=True) for z in qkv())
    bias = torch.tensor(example(3, 5, seed=3), requires_grad=True)
    mask = torch.tensor(causal_mask(3, 5))
    mask[1] = False
    assert torch.autograd.gradcheck(lambda q, k, v, b: attention(q, k, v, bias=b, mask=mask), (q, k, v, bias))


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_a_float64_bias_does_not_widen_the_result(dtype):
    q, k, v = (z.astype(dtype) for z in qkv())
    output, weights = attention(q, k, v, bias=np.zeros((3, 5)))
    assert output.dtype == weights.dtype == dtype


def test_leading_axes_broadcast():
    q, k, v = example(2, 3, 4, 8), example(3, 5, 8), example(1, 1, 5, 6)
    output, weights = attention(q, k, v, bias=example(3, 1, 5))
    assert output.shape == (2, 3, 4, 6)
    assert weights.shape == (2, 3, 4, 5)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"q": np.ones((3, 6))}, "q and k must be equally wide, got 6 and 4"),
        ({"q": np.ones(4)}, r"q must be \(…, seq, width\), got shape \(4,\)"),
        ({"k": np.ones((5, 4), dtype=int)}, "k must hold floats .*, got int64"),
        ({"v": np.ones((4, 2))}, "v must be as long as k, 5 positions, got 4"),
        ({"v": [[1.0]] * 5}, "v must be a NumPy array or a torch tensor, got list"),
        ({"q": np.ones((2, 3, 4)), "k": np.ones((3, 5, 4))}, "the leading axes must broadcast, got"),
        ({"bias": np.zeros((5, 3))}, r"bias \(5, 3\) must broadcast to \(3, 5\)"),
        ({"bias": np.zeros((2, 3, 5))}, r"bias \(2, 3, 5\) must broadcast to \(3, 5\)"),
        ({"mask": np.ones((2, 5), dtype=bool)}, r"mask \(2, 5\) must broadcast to \(3, 5\)"),
        ({"mask": np.ones((3, 5))}, "mask must be bool, True where a query may attend, got float64"),
        ({"scale": math.inf}, "scale must be a finite number, got inf"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(changes, sentence):
    good = dict(zip("qkv", qkv(), strict=True))
    with pytest.raises(ValueError, match=sentence):
        attention(**good | changes)


def test_scores_alone_refuse_what_attention_refuses():
    with pytest.raises(ValueError, match="q and k must be equally wide, got 6 and 4"):
        attention_scores(np.ones((3, 6)), np.ones((5, 4)))


def test_softmax_of_integers_is_refused():
    with pytest.raises(ValueError, match=r"x must hold floats .*, got int64"):
        softmax(np.arange(3))


@pytest.mark.parametrize(("q_len", "k_len"), [(0, 3), (2, 0), (1.0, 3), (True, 3)])
def test_lengths_that_are_no_counts_are_refused(q_len, k_len):
    with pytest.raises(ValueError, match="_len must be a whole number of at least 1, got"):
        causal_mask(q_len, k_len)


def test_more_queries_than_keys_are_refused():
    with pytest.raises(ValueError, match="q_len must be at most k_len = 3: every query is also a key; got 4"):
        causal_mask(4, 3)
