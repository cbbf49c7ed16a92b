"""p-RoPE and xPos: equal to transformers and to the paper's form; what stands still, what decays, the refusals."""

import math

import numpy as np
import pytest
import torch
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from rope_edu import apply_rope, inv_freq, p_rope_inv_freq, rope_angles, xpos_scale

kinds = pytest.mark.parametrize("make", [np.asarray, torch.asarray], ids=["numpy", "torch"])


def proportional(head_dim, p, base):
    """Give transformers' frequencies of the rope type "proportional" (float32)."""
    parameters = {"rope_type": "proportional", "rope_theta": base, "partial_rotary_factor": p}
    config = LlamaConfig(
        hidden_size=2 * head_dim, num_attention_heads=2, head_dim=head_dim, rope_parameters=parameters
    )
    return ROPE_INIT_FUNCTIONS["proportional"](config, "cpu")[0].numpy()


@pytest.mark.parametrize("base", [10_000.0, 1e6])
@pytest.mark.parametrize("p", [0.0, 0.1, 0.25, 0.5, 0.58, 0.75, 1.0])
@pytest.mark.parametrize("head_dim", [8, 100, 128])
def test_p_rope_equals_transformers_proportional(head_dim, p, base):
    ours, theirs = p_rope_inv_freq(head_dim, p, base), proportional(head_dim, p, base)
    assert ((ours == 0) == (theirs == 0)).all()
    # theirs is float32: base^x has a relative error of x · ln(base) ≤ 14 half-eps, and a few ulps of the power
    np.testing.assert_allclose(ours, theirs, rtol=20 * np.finfo(np.float32).eps)


def test_p_rope_keeps_the_fast_pairs_of_the_whole_head_and_stills_the_rest():
    frequencies = p_rope_inv_freq(64, 0.25)
    assert (frequencies[:8] == inv_freq(64)[:8]).all()
    assert (frequencies[8:] == 0).all()


def test_p_of_one_is_rope_and_p_of_zero_leaves_everything_in_place():
    assert (p_rope_inv_freq(16, 1) == inv_freq(16)).all()
    x = np.random.default_rng(0).normal(size=(5, 16))
    assert (apply_rope(x, rope_angles(range(5), p_rope_inv_freq(16, 0))) == x).all()


def test_partial_rotary_is_something_else():
    partial = np.concatenate((inv_freq(16), np.zeros(24)))  # the first 16 features of 64
    assert not np.allclose(p_rope_inv_freq(64, 0.25), partial)


@pytest.mark.parametrize("p", [-0.1, 1.1, math.nan, "half", True, None])
def test_a_fraction_outside_zero_to_one_is_refused(p):
    with pytest.raises(
        ValueError, match="p must be a number from 0 to 1, the fraction of pairs that turn, got"
    ):
        p_rope_inv_freq(8, p)


@pytest.mark.parametrize(("head_dim", "base"), [(7, 1e4), (8, 1.0)])
def test_a_head_or_a_base_that_rope_refuses_is_refused(head_dim, base):
    with pytest.raises(ValueError, match="must be"):
        p_rope_inv_freq(head_dim, 0.5, base)


@kinds
def test_xpos_scale_is_zeta_of_the_paper_to_the_power_of_the_position(make):
    positions, d, gamma = np.array([[0, 1, 700], [-3, 5000, 12]]), 6, 0.4
    scale = xpos_scale(make(positions), d, 512.0)
    assert scale.shape == (2, 3, 3)
    assert scale.dtype == make(np.zeros(1)).dtype  # float64
    for (b, s), n in np.ndenumerate(positions):
        for i in range(3):
            zeta = (i / (d / 2) + gamma) / (1 + gamma)
            assert float(scale[b, s, i]) == pytest.approx(zeta ** (n / 512), rel=1e-13)


def test_xpos_scale_of_a_query_times_that_of_a_key_depends_on_the_distance_alone():
    products = xpos_scale([40, 1040], 8) / xpos_scale([9, 1009], 8)
    np.testing.assert_allclose(products[0], products[1], rtol=1e-12)


def test_far_keys_shrink_and_the_fastest_pair_shrinks_most():
    scale = xpos_scale(range(100), 64)
    assert (np.diff(scale, axis=0) < 0).all()
    assert (np.diff(scale[1:], axis=1) > 0).all()
    assert scale[0].tolist() == [1.0] * 32


def test_keys_overflow_where_the_docstring_says():
    keys = 1 / xpos_scale([4532, 4533, 36_260, 36_261], 64)[:, 0]
    with np.errstate(over="ignore"):
        assert np.isfinite(keys.astype(np.float16)).tolist() == [True, False, False, False]
        assert np.isfinite(keys.astype(np.float32)).tolist() == [True, True, True, False]


def test_gradients_reach_the_positions():
    positions = torch.tensor([0.0, 3.5, 700.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda p: xpos_scale(p, 6), (positions,))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (([0, math.inf], 8), "positions must be finite"),
        (([True], 8), "positions must be real numbers"),
        (([0], 7), "rotary_dim must be an even whole number of at least 2, got 7"),
        (([0], 8, 0.0), "scale_base must be a finite number above 0, got 0.0"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        xpos_scale(*arguments)
