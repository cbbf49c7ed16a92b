"""xPos: equal to the paper's form; what shrinks and what grows, where numbers end, the refusals."""

import math

import numpy as np
import pytest
import torch

from rope_edu.encodings import xpos_scale

kinds = pytest.mark.parametrize("make", [np.asarray, torch.asarray], ids=["numpy", "torch"])


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
