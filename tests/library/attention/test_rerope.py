"""ReRoPE: scores by the rectified distance, one pair at a time; what it equals at its ends; the refusals."""

import math

import numpy as np
import pytest
import torch

from rope_edu.attention import Rotary, attention, causal_mask, rerope_attention
from rope_edu.encodings import half_split_to_interleaved, plain_rope, score_curve, yarn

kinds = pytest.mark.parametrize("make", [np.asarray, torch.asarray], ids=["numpy", "torch"])
SEQ, WIDTH = 11, 8


def qkv(*leading):
    rng = np.random.default_rng(0)
    return [rng.normal(size=(*leading, SEQ, width)) for width in (WIDTH, WIDTH, 3)]


def one_by_one(q, k, v, spec, window, leak):
    """Score each query and key by the curve of scores at their rectified distance, in NumPy."""
    scores = np.full((SEQ, SEQ), -np.inf)
    if spec.layout == "half_split":
        q, k = half_split_to_interleaved(q), half_split_to_interleaved(k)
    for m in range(SEQ):
        for n in range(m + 1):
            distance = m - n if m - n < window else window + (m - n - window) / leak
            score = score_curve(q[m], k[n], spec.inv_freq, [distance])[0]
            scores[m, n] = spec.attention_factor**2 * score / math.sqrt(WIDTH)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return weights @ v, weights


@kinds
@pytest.mark.parametrize("layout", ["interleaved", "half_split"])
@pytest.mark.parametrize(("window", "leak"), [(1, math.inf), (4, math.inf), (4, 3.0), (50, 2.0)])
def test_the_score_is_that_of_the_rectified_distance(make, layout, window, leak):
    spec, arrays = yarn(WIDTH, 4, 64).replace(layout=layout), qkv()
    expected = one_by_one(*arrays, spec, window, leak)
    found = rerope_attention(*map(make, arrays), spec, window=window, leak=leak)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)


@pytest.mark.parametrize("options", [{"window": SEQ}, {"window": SEQ - 1}, {"window": 2, "leak": 1}])
def test_a_window_as_long_as_the_text_or_a_leak_of_one_is_plain_rope(options):
    q, k, v = qkv(2, 3)
    spec = plain_rope(WIDTH)
    turn, positions = Rotary(spec), np.arange(SEQ)
    expected, _ = attention(
        turn.rotate_q(q, positions), turn.rotate_k(k, positions), v, mask=causal_mask(SEQ, SEQ)
    )
    output, _ = rerope_attention(q, k, v, spec, **options)
    np.testing.assert_allclose(output, expected, rtol=0, atol=1e-12)


def test_the_last_queries_alone_get_the_last_rows_of_the_whole():
    q, k, v = qkv(2)
    whole, _ = rerope_attention(q, k, v, plain_rope(WIDTH), window=3)
    last, weights = rerope_attention(q[:, -2:], k, v, plain_rope(WIDTH), window=3)
    np.testing.assert_allclose(last, whole[:, -2:], rtol=0, atol=1e-12)
    assert weights.shape == (2, 2, SEQ)


def test_all_keys_beyond_the_window_look_equally_far_and_those_within_do_not():
    q = k = np.ones((SEQ, WIDTH))
    weights = rerope_attention(q, k, k, plain_rope(WIDTH), window=4)[1][-1]
    assert np.ptp(weights[: SEQ - 4]) < 1e-15
    assert np.ptp(weights[SEQ - 4 :]) > 1e-2


def test_gradients_reach_q_k_v_and_learned_frequencies():
    arrays = [torch.tensor(x, requires_grad=True) for x in qkv()]
    frequencies = torch.tensor(plain_rope(WIDTH).inv_freq, requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda *given: rerope_attention(*given, window=3)[0], (*arrays, frequencies)
    )


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"window": 0}, "window must be a whole number of at least 1, got 0"),
        ({"leak": 0.5}, "leak must be a finite number of at least 1, got 0.5"),
        ({"rope": plain_rope(16)}, "the spec is for heads of 16 features, got 8"),
        (
            {"k": np.ones((SEQ - 1, WIDTH)), "v": np.ones((SEQ - 1, 3))},
            "q_len must be at most k_len = 10: .*; got 11",
        ),
        ({"v": np.ones((SEQ - 1, 3))}, "v must be as long as k, 11 positions, got 10"),
        ({"q": np.ones(WIDTH)}, r"q must be \(…, seq, width\), got shape \(8,\)"),
    ],
)
def test_what_does_not_fit_is_refused(changes, sentence):
    good = dict(zip("qkv", qkv(), strict=True)) | {"rope": plain_rope(WIDTH), "window": 3}
    with pytest.raises(ValueError, match=sentence):
        rerope_attention(**good | changes)
