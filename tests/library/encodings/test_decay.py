"""Score against distance: equal to rotating and multiplying; the bounds hold and the decay claim does not."""

import cmath

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from rope_edu import apply_rope, inv_freq, rope_angles
from rope_edu.encodings import mean_cosine, roformer_bound, score_curve, trivial_bound

DISTANCES = np.array([-50, -1, 0, 1, 7, 300])


def example(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


@pytest.mark.parametrize("n", [0, 12, 1000])
def test_curve_equals_rotating_both_and_multiplying_at_any_place(n):
    q, k, frequencies = example(8), example(8, seed=1), inv_freq(8)
    key = apply_rope(k, rope_angles(n, frequencies))
    queries = [apply_rope(q, rope_angles(n + r, frequencies)) for r in DISTANCES]
    curve = score_curve(q, k, frequencies, DISTANCES)
    np.testing.assert_allclose(curve, [query @ key for query in queries], rtol=0, atol=1e-10)


def test_curve_peaks_where_the_key_was_turned_ahead():
    q, frequencies = example(128), inv_freq(128)
    k = apply_rope(q, rope_angles(777, frequencies))  # q turned by 777: best matched 777 tokens back
    distances = np.arange(2000)
    curve = score_curve(q, k, frequencies, distances)
    assert distances[curve.argmax()] == 777
    assert curve[777] == pytest.approx(q @ q)


def test_curve_of_a_batch_of_tensors_is_a_tensor_with_gradients():
    q = torch.tensor(example(3, 1, 8), requires_grad=True)
    k = torch.tensor(example(2, 8, seed=1))
    curve = score_curve(q, k, inv_freq(8), DISTANCES)
    assert tuple(curve.shape) == (3, 2, 6)
    expected = score_curve(q.detach().numpy()[1, 0], k.numpy()[1], inv_freq(8), DISTANCES)
    np.testing.assert_allclose(curve[1, 1].detach(), expected, rtol=0, atol=1e-12)
    assert torch.autograd.gradcheck(lambda q: score_curve(q, k, inv_freq(8), DISTANCES), (q,))


def test_mean_cosine_is_the_curve_of_equal_vectors_as_a_share_of_its_start():
    ones, frequencies = np.ones(16), inv_freq(16)
    curve = score_curve(ones, ones, frequencies, DISTANCES)
    np.testing.assert_allclose(mean_cosine(frequencies, DISTANCES), curve / 16, rtol=0, atol=1e-12)


def test_mean_cosine_rises_on_115_of_the_first_256_steps():
    curve = mean_cosine(inv_freq(128), np.arange(257))
    assert int((np.diff(curve) > 0).sum()) == 115


def test_decay_figure_of_the_paper_is_the_bound_for_equal_vectors_and_is_not_monotone():
    ones, distances = np.ones(128), np.arange(257)
    mean_of_partial_sums = roformer_bound(ones, ones, inv_freq(128), distances) / 128  # h = 2, 64 pairs
    recomputed = {0: 32.5, 1: 31.54, 10: 17.95, 50: 12.63, 128: 9.27, 256: 6.54}
    assert mean_of_partial_sums[list(recomputed)].round(2).tolist() == list(recomputed.values())
    assert int((np.diff(mean_of_partial_sums) > 0).sum()) == 115


@given(st.integers(0, 2**32 - 1), st.integers(-10_000, 10_000))
def test_no_score_exceeds_either_bound(seed, distance):
    q, k = np.random.default_rng(seed).normal(size=(2, 8))
    score = abs(score_curve(q, k, inv_freq(8), [distance])[0])
    assert score <= roformer_bound(q, k, inv_freq(8), [distance])[0] + 1e-9
    assert score <= trivial_bound(q, k) + 1e-9


def test_bounds_equal_the_paper_written_as_loops():
    q, k, frequencies = example(8), example(8, seed=1), inv_freq(8)
    pairs = [(0, 1), (2, 3), (4, 5), (6, 7)]
    h = [complex(q[a], q[b]) * complex(k[a], k[b]).conjugate() for a, b in pairs] + [0]
    largest_step = max(abs(h[i + 1] - h[i]) for i in range(4))
    expected = [
        largest_step
        * sum(abs(sum(cmath.exp(1j * r * frequencies[i]) for i in range(j))) for j in range(1, 5))
        for r in DISTANCES
    ]
    np.testing.assert_allclose(roformer_bound(q, k, frequencies, DISTANCES), expected, rtol=1e-12)
    assert trivial_bound(q, k) == pytest.approx(sum(abs(z) for z in h))


def test_paper_bound_is_never_tighter_than_trivial_for_equal_vectors():
    ones, frequencies = np.ones(128), inv_freq(128)
    ratio = roformer_bound(ones, ones, frequencies, np.arange(8192)) / trivial_bound(ones, ones)
    assert ratio.min() == pytest.approx(1.768, abs=5e-4)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"q": np.ones(7)}, r"q must be \(…, 2 · pairs\).*got shape \(7,\)"),
        ({"k": np.ones(6)}, r"k must be \(…, 2 · pairs\).*got shape \(6,\)"),
        ({"q": np.ones(8) * 1j}, "q must be real numbers"),
        ({"inv_freq": np.ones(3)}, "inv_freq must have one entry per pair, 4, got 3"),
        ({"distances": 5}, r"distances must have one axis, got shape \(\)"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(changes, sentence):
    good = {
        "q": np.ones(8),
        "k": np.ones(8),
        "inv_freq": inv_freq(8),
        "distances": [0],
    }
    for function in (score_curve, roformer_bound):
        with pytest.raises(ValueError, match=sentence):
            function(**good | changes)
