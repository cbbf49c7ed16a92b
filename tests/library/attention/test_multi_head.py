"""Several heads: equal to torch's own and to an independent complex form; grouped queries; the refusals."""

import math
import warnings

import numpy as np
import pytest
import torch

from rope_edu import KVCache, Rotary, alibi_bias, causal_mask, inv_freq, multi_head_attention
from rope_edu.attention import DynamicRotary, NoPosition, ScoreBias, XPos, merge_heads, split_heads
from rope_edu.encodings import plain_rope, shaw_scores

kinds = pytest.mark.parametrize("make", [np.asarray, torch.asarray], ids=["numpy", "torch"])
D_MODEL, HEAD_DIM, SEQ = 12, 8, 6


def example(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def model(n_heads=4, n_kv_heads=4, *, d_model=D_MODEL, v_dim=HEAD_DIM, seq=SEQ):
    """Give x and the four weights, scaled so that everything stays of order 1."""
    rows = (n_heads * HEAD_DIM, n_kv_heads * HEAD_DIM, n_kv_heads * v_dim)
    weights = [example(n, d_model, seed=i) / math.sqrt(d_model) for i, n in enumerate(rows, start=1)]
    return example(2, seq, d_model), *weights, example(d_model, n_heads * v_dim, seed=4) / math.sqrt(rows[0])


def tensors(arrays, dtype=torch.float64):
    return [torch.tensor(x, dtype=dtype) for x in arrays]


def by_complex_numbers(x, w_q, w_k, w_v, w_o, n_heads, frequencies, turn_v=False, sign=1):
    """Evaluate causal rotary attention head by head, with complex numbers: written for this test alone."""
    output, positions = 0.0, np.arange(x.shape[-2])

    def project(w, h):
        return x @ w[h * HEAD_DIM : (h + 1) * HEAD_DIM].T

    def turned(y, sign=1):
        z = (y[..., 0::2] + 1j * y[..., 1::2]) * np.exp(sign * 1j * np.outer(positions, frequencies))
        return z

    for h in range(n_heads):
        z_q, z_k, v = turned(project(w_q, h)), turned(project(w_k, h), sign), project(w_v, h)
        if turn_v:
            z_v = turned(v)
            v = np.stack((z_v.real, z_v.imag), axis=-1).reshape(v.shape)
        scores = np.einsum("bmi,bni->bmn", z_q, z_k.conj()).real / math.sqrt(HEAD_DIM)
        e = np.exp(scores) * (positions[:, None] >= positions)
        output = output + (e / e.sum(-1, keepdims=True)) @ v @ w_o[:, h * HEAD_DIM : (h + 1) * HEAD_DIM].T
    return output


@kinds
def test_heads_are_split_as_slices_of_the_features_and_merged_back(make):
    x = make(example(2, 3, 8))
    heads = split_heads(x, 4)
    for h in range(4):
        np.testing.assert_array_equal(heads[:, h], x[..., 2 * h : 2 * h + 2])
    np.testing.assert_array_equal(merge_heads(heads), x)


@pytest.mark.parametrize("causal", [True, False])
def test_without_position_it_equals_torchs_multi_head_attention(causal):
    x, w_q, w_k, w_v, w_o = tensors(model(3, 3, d_model=24))
    x_first = x.transpose(0, 1)  # torch's function wants (seq, batch, d_model)
    mask = torch.ones(SEQ, SEQ).triu(1).bool() if causal else None
    expected, expected_weights = torch.nn.functional.multi_head_attention_forward(
        x_first, x_first, x_first, 24, 3, torch.cat((w_q, w_k, w_v)), None, None, None, False, 0.0, w_o, None,
        training=False, attn_mask=mask, need_weights=True, average_attn_weights=False,
    )  # fmt: skip
    output, weights = multi_head_attention(x, w_q, w_k, w_v, w_o, n_heads=3, causal=causal)
    torch.testing.assert_close(output, expected.transpose(0, 1), rtol=0, atol=1e-12)
    torch.testing.assert_close(weights, expected_weights, rtol=0, atol=1e-12)


@pytest.mark.parametrize("n_kv_heads", [1, 2, 4])
def test_grouped_queries_equal_torchs_with_values_of_another_width(n_kv_heads):
    x, w_q, w_k, w_v, w_o = tensors(model(4, n_kv_heads, v_dim=5))
    q, k, v = (split_heads(x @ w.mT, n) for w, n in ((w_q, 4), (w_k, n_kv_heads), (w_v, n_kv_heads)))
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    output, weights = multi_head_attention(x, w_q, w_k, w_v, w_o, n_heads=4, n_kv_heads=n_kv_heads)
    assert weights.shape == (2, 4, SEQ, SEQ)
    torch.testing.assert_close(output, merge_heads(expected) @ w_o.mT, rtol=0, atol=1e-12)


def test_grouped_queries_equal_full_heads_whose_weights_are_repeated():
    x, w_q, w_k, w_v, w_o = model(4, 2)
    w_k_full, w_v_full = (
        np.concatenate([w[h * HEAD_DIM : (h + 1) * HEAD_DIM] for h in (0, 0, 1, 1)]) for w in (w_k, w_v)
    )
    encoding = Rotary(inv_freq(HEAD_DIM))
    grouped, _ = multi_head_attention(x, w_q, w_k, w_v, w_o, n_heads=4, n_kv_heads=2, encoding=encoding)
    full, _ = multi_head_attention(x, w_q, w_k_full, w_v_full, w_o, n_heads=4, encoding=encoding)
    np.testing.assert_allclose(grouped, full, rtol=0, atol=1e-12)


@kinds
def test_rotary_attention_equals_complex_numbers_head_by_head(make):
    arrays = model()
    output, _ = multi_head_attention(*map(make, arrays), n_heads=4, encoding=Rotary(inv_freq(HEAD_DIM)))
    expected = by_complex_numbers(*arrays, 4, inv_freq(HEAD_DIM))
    np.testing.assert_allclose(output, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("wrong", [{"turn_v": True}, {"sign": -1}], ids=["values turned", "keys turned back"])
def test_turned_values_and_keys_turned_the_other_way_are_told_from_rope(wrong):
    arrays = model()
    output, _ = multi_head_attention(*arrays, n_heads=4, encoding=Rotary(inv_freq(HEAD_DIM)))
    assert abs(output - by_complex_numbers(*arrays, 4, inv_freq(HEAD_DIM), **wrong)).max() > 0.1


@pytest.mark.parametrize(
    "encoding", [NoPosition(), Rotary(inv_freq(8)), XPos(inv_freq(8))], ids=lambda e: type(e).__name__
)
def test_moving_the_whole_text_changes_neither_weights_nor_output(encoding):
    x, *weights = model()
    here, w_here = multi_head_attention(x, *weights, n_heads=4, encoding=encoding)
    positions = np.arange(SEQ) + 1000
    there, w_there = multi_head_attention(x, *weights, n_heads=4, encoding=encoding, positions=positions)
    np.testing.assert_allclose(w_there, w_here, rtol=0, atol=1e-11)
    np.testing.assert_allclose(there, here, rtol=0, atol=1e-11)


def test_with_turned_values_the_output_would_move_with_the_text():
    x, _, _, w_v, w_o = arrays = model()
    encoding = Rotary(inv_freq(HEAD_DIM))

    def output(shift):
        positions = np.arange(SEQ) + shift
        v = encoding.rotate_k(split_heads(x @ w_v.T, 4), positions)
        _, weights = multi_head_attention(*arrays, n_heads=4, encoding=encoding, positions=positions)
        return merge_heads(weights @ v) @ w_o.T

    assert abs(output(0) - output(3)).max() > 0.1


def test_a_bias_is_added_to_the_scaled_scores():
    x, *weights = model(seq=2)
    encoding = ScoreBias(lambda q, k_len: np.log([[1.0, 1.0], [3.0, 1.0]]))
    plain = multi_head_attention(x, *weights, n_heads=4)[1]
    biased = multi_head_attention(x, *weights, n_heads=4, encoding=encoding)[1]
    odds = biased[..., 1, 0] / biased[..., 1, 1]
    np.testing.assert_allclose(odds, 3 * plain[..., 1, 0] / plain[..., 1, 1], rtol=1e-12)


def test_shaws_term_as_a_bias_equals_shaws_scores():
    x, w_q, w_k, w_v, w_o = model(1, 1)
    table, zeros = example(5, HEAD_DIM, seed=9), np.zeros((SEQ, HEAD_DIM))
    encoding = ScoreBias(lambda q, k_len: shaw_scores(q, zeros[:k_len], table) / math.sqrt(HEAD_DIM))
    _, weights = multi_head_attention(x, w_q, w_k, w_v, w_o, n_heads=1, encoding=encoding, causal=False)
    e = np.exp(shaw_scores(x @ w_q.T, x @ w_k.T, table) / math.sqrt(HEAD_DIM))
    np.testing.assert_allclose(weights[:, 0], e / e.sum(-1, keepdims=True), rtol=1e-12)


def test_alibi_reaches_each_head_with_its_own_slope():
    x, w_q, w_k, w_v, w_o = model()
    encoding = ScoreBias(lambda q, k_len: alibi_bias(4, q.shape[-2], k_len))
    _, weights = multi_head_attention(x, 0 * w_q, w_k, w_v, w_o, n_heads=4, encoding=encoding)
    slopes = np.log(weights[0, :, -1, -1] / weights[0, :, -1, -2])
    np.testing.assert_allclose(slopes, [2**-2, 2**-4, 2**-6, 2**-8], rtol=1e-12)


@kinds
def test_one_text_without_a_batch_axis_and_many_with_two(make):
    x, *weights = map(make, model())
    whole, _ = multi_head_attention(x, *weights, n_heads=4)
    single, _ = multi_head_attention(x[0], *weights, n_heads=4)
    doubled, _ = multi_head_attention(x[None], *weights, n_heads=4)
    np.testing.assert_allclose(single, whole[0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(doubled[0], whole, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_dtype_stays_although_angles_and_biases_are_float64(dtype):
    arrays = tensors(model(), dtype)
    for encoding in (Rotary(inv_freq(8)), ScoreBias(lambda q, k_len: alibi_bias(4, q.shape[-2], k_len))):
        output, weights = multi_head_attention(*arrays, n_heads=4, encoding=encoding)
        assert output.dtype == weights.dtype == dtype


@pytest.mark.parametrize("kind", [Rotary, XPos])
def test_gradients_reach_input_weights_and_frequencies(kind):
    arrays = [z.requires_grad_() for z in tensors(model(2, 1, seq=3))]
    frequencies = torch.tensor(inv_freq(HEAD_DIM), requires_grad=True)

    def run(f, *arrays):
        return multi_head_attention(*arrays, n_heads=2, n_kv_heads=1, encoding=kind(f))

    assert torch.autograd.gradcheck(run, (frequencies, *arrays), fast_mode=True)


@pytest.mark.sampled
@pytest.mark.long
@pytest.mark.parametrize("kind", [Rotary, XPos])
@pytest.mark.parametrize(
    "rope", [torch.tensor(inv_freq(HEAD_DIM)), plain_rope(HEAD_DIM)], ids=["bare", "spec"]
)
def test_the_rotary_path_is_one_graph_for_torch_compile(kind, rope):
    arrays, encoding = tensors(model(4, 2), torch.float32), kind(rope)

    def run(*arrays):
        return multi_head_attention(*arrays, n_heads=4, n_kv_heads=2, encoding=encoding)[0]

    torch._dynamo.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # dynamo warns of lru_cache inside array_api_compat
        compiled = torch.compile(run, fullgraph=True, backend="eager")(*arrays)
    torch.testing.assert_close(compiled, run(*arrays))


@pytest.mark.parametrize("cache", [None, KVCache(block=4)], ids=["whole", "cached"])
def test_every_array_stays_on_the_device_of_x(cache):
    arrays = [torch.tensor(z, device="meta") for z in model(4, 2)]
    for encoding in (NoPosition(), Rotary(inv_freq(8)), XPos(inv_freq(8))):
        output, weights = multi_head_attention(
            *arrays, n_heads=4, n_kv_heads=2, encoding=encoding, cache=cache
        )
        assert output.device.type == weights.device.type == "meta"


def test_the_causal_mask_is_that_of_the_library():
    x, *weights = model()
    shown = multi_head_attention(x, *weights, n_heads=4)[1] > 0
    assert (shown == causal_mask(SEQ, SEQ)).all()


def test_a_rejected_call_leaves_the_cache_as_it_was():
    x, *weights = model()
    cache = KVCache()
    multi_head_attention(x, *weights, n_heads=4, cache=cache)
    with pytest.raises(ValueError, match="positions must have one entry per token"):
        multi_head_attention(x, *weights, n_heads=4, cache=cache, positions=[1, 2])
    assert (cache.length, cache.seen) == (SEQ, SEQ)


GOOD = dict(zip(("x", "w_q", "w_k", "w_v", "w_o"), model(4, 2), strict=True)) | {
    "n_heads": 4,
    "n_kv_heads": 2,
}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"x": np.ones(12)}, r"x must be \(…, seq, d_model\), got shape \(12,\)"),
        ({"x": np.ones((6, 12), dtype=int)}, "x must hold floats .*, got int64"),
        ({"w_q": np.ones((32, 11))}, r"w_q must be \(4 heads · width, d_model = 12\), got \(32, 11\)"),
        ({"w_q": np.ones((30, 12))}, r"w_q must be \(4 heads · width, d_model = 12\), got \(30, 12\)"),
        ({"w_k": np.ones((12, 12))}, "heads of w_q and w_k must be equally wide, got 8 and 6"),
        ({"w_v": np.ones((15, 12))}, r"w_v must be \(2 heads · width, d_model = 12\), got \(15, 12\)"),
        ({"w_v": [[1.0]]}, "w_v must be a NumPy array or a torch tensor, got list"),
        ({"w_o": np.ones((12, 30))}, r"w_o must be \(d_out, n_heads · v_dim = 32\), got \(12, 30\)"),
        ({"n_heads": 0}, "n_heads must be a whole number of at least 1, got 0"),
        ({"n_kv_heads": 3}, "n_kv_heads must divide n_heads = 4, got 3"),
        ({"positions": np.arange(5)}, r"positions must have one entry per token, \(6,\), got shape \(5,\)"),
        (
            {"positions": np.ones((2, 6))},
            r"positions must have one entry per token, \(6,\), got shape \(2, 6\)",
        ),
        ({"cache": KVCache(), "causal": False}, "a cache needs causal=True: without the mask, the outputs"),
        (
            {"cache": KVCache(), "encoding": DynamicRotary(lambda length: inv_freq(8))},
            "DynamicRotary cannot use a cache: its frequencies change with the length of the text, so keys "
            "stored at one length were rotated by frequencies that the next length no longer uses",
        ),
    ],
)
def test_arguments_that_do_not_fit_are_refused(changes, sentence):
    with pytest.raises(ValueError, match=sentence):
        multi_head_attention(**GOOD | changes)


def test_splitting_and_merging_refuse_shapes_that_do_not_fit():
    with pytest.raises(ValueError, match=r"x must be \(…, seq, 3 heads · head_dim\), got shape \(2, 8\)"):
        split_heads(np.ones((2, 8)), 3)
    with pytest.raises(ValueError, match=r"x must be \(…, n_heads, seq, head_dim\), got shape \(2, 8\)"):
        merge_heads(np.ones((2, 8)))
