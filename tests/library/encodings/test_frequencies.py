"""Frequencies, wavelengths, angles: values with a source, kinds, precision, and every sentence of refusal."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from rope_edu import inv_freq, rope_angles, wavelength

BASES = st.floats(1.5, 1e9)
EVEN_DIMS = st.integers(1, 256).map(lambda pairs: 2 * pairs)


@given(EVEN_DIMS, BASES)
def test_frequencies_equal_the_formula_written_as_a_loop(head_dim, base):
    expected = [math.exp(-2 * i / head_dim * math.log(base)) for i in range(head_dim // 2)]
    assert inv_freq(head_dim, base) == pytest.approx(expected, rel=1e-12)


def test_frequencies_are_numpy_float64_whatever_the_number_types_of_the_arguments():
    result = inv_freq(np.int64(8), np.float32(10_000))
    assert isinstance(result, np.ndarray)
    assert result.dtype == np.float64
    assert result.tolist() == inv_freq(8).tolist()


@pytest.mark.parametrize(("base", "tokens"), [(1e4, 54_410), (5e5, 2_559_196), (1e6, 5_063_256)])
def test_slowest_pair_of_known_models_needs_the_published_number_of_tokens(base, tokens):
    assert round(wavelength(inv_freq(128, base))[-1]) == tokens


def test_llama_2_completes_a_turn_in_46_of_64_pairs_within_4096_tokens():
    assert int((wavelength(inv_freq(128)) <= 4096).sum()) == 46  # 2310.05209: critical dimension 92


@pytest.mark.parametrize("make", [np.asarray, torch.tensor])
def test_wavelength_keeps_the_kind_and_is_infinite_for_a_pair_that_never_turns(make):
    result = wavelength(make([1.0, 0.0]))
    assert type(result) is type(make([1.0]))
    assert result.tolist() == [2 * math.pi, math.inf]


@pytest.mark.parametrize(
    "positions", [[0, 3], (0, 3), range(0, 6, 3), np.array([0, 3]), np.array([0.0, 3.0], dtype=np.float16)]
)
def test_angles_are_position_times_frequency_for_every_way_to_give_positions(positions):
    result = rope_angles(positions, [1.0, 0.25])
    assert isinstance(result, np.ndarray)
    assert result.tolist() == [[0.0, 0.0], [3.0, 0.75]]


@pytest.mark.parametrize("position", [3, 3.0, np.int32(3), np.array(3), torch.tensor(3)])
def test_one_position_gives_one_angle_a_pair(position):
    result = rope_angles(position, [1.0, 0.25])
    assert tuple(result.shape) == (2,)
    assert result.tolist() == [3.0, 0.75]


def test_leading_axes_of_positions_are_kept():
    assert rope_angles(np.zeros((2, 3, 5)), inv_freq(8)).shape == (2, 3, 5, 4)


@pytest.mark.parametrize(
    ("positions", "frequencies"),
    [
        (torch.arange(3), np.ones(2)),
        (np.arange(3), torch.ones(2)),
        (range(3), torch.ones(2, dtype=torch.bfloat16)),
        (torch.arange(3), torch.ones(2)),
    ],
)
def test_a_tensor_on_either_side_gives_float64_tensor_angles(positions, frequencies):
    result = rope_angles(positions, frequencies)
    assert isinstance(result, torch.Tensor)
    assert result.dtype == torch.float64
    assert result.tolist() == [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]


@pytest.mark.parametrize("frequencies", [inv_freq(128)[::-1], np.broadcast_to(0.5, 3)])
def test_reversed_and_read_only_frequencies_reach_torch(frequencies):
    result = rope_angles(torch.arange(2), frequencies)
    assert result[1].tolist() == frequencies.tolist()


def test_angles_follow_the_device_of_the_frequencies():
    result = rope_angles(np.arange(3), torch.ones(2, device="meta"))
    assert result.device.type == "meta"
    assert result.shape == (3, 2)


def test_angles_at_a_million_tokens_are_not_rounded_to_float32():
    exact = 1_000_003 * 0.1
    got = rope_angles(np.array([1_000_003], dtype=np.int32), np.array([0.1]))[0, 0]
    assert got == exact
    assert abs(float(np.float32(1_000_003) * np.float32(0.1)) - exact) > 1e-3  # what float32 would do


def test_gradients_reach_learned_frequencies_and_positions():
    positions = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    frequencies = torch.tensor([1.0, 0.1], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(rope_angles, (positions, frequencies))


@pytest.mark.parametrize("head_dim", [3, 0, -2, 4.0, True, "8", None])
def test_head_dim_that_is_no_even_number_of_features_is_refused(head_dim):
    with pytest.raises(ValueError, match=rf"head_dim must be an even whole number.*got {head_dim!r}"):
        inv_freq(head_dim)


@pytest.mark.parametrize("base", [1, 0.5, -10_000.0, math.inf, math.nan, True, "10000", 2j])
def test_base_that_is_not_finite_and_above_one_is_refused(base):
    with pytest.raises(ValueError, match="base must be a finite number above 1, got"):
        inv_freq(8, base)


@pytest.mark.parametrize("positions", [[0.0, math.nan], math.inf, torch.tensor([-math.inf])])
def test_positions_that_are_not_finite_are_refused(positions):
    with pytest.raises(ValueError, match="positions must be finite"):
        rope_angles(positions, inv_freq(8))


@pytest.mark.parametrize("positions", [True, [1j], torch.tensor([True]), torch.tensor([1j]), ["one"], None])
def test_positions_that_are_not_real_numbers_are_refused(positions):
    with pytest.raises(ValueError, match="positions must be real numbers"):
        rope_angles(positions, inv_freq(8))


@pytest.mark.parametrize(
    ("frequencies", "sentence"),
    [
        (np.ones((2, 2)), r"inv_freq must have one axis.*got shape \(2, 2\)"),
        (1.0, r"inv_freq must have one axis.*got shape \(\)"),
        ([1.0, math.inf], "inv_freq must be finite"),
        (torch.tensor([math.nan]), "inv_freq must be finite"),
        ([True], "inv_freq must be real numbers"),
        ([1j], "inv_freq must be real numbers"),
    ],
)
def test_frequencies_that_no_pair_can_have_are_refused(frequencies, sentence):
    with pytest.raises(ValueError, match=sentence):
        rope_angles([0], frequencies)


def test_wavelength_refuses_a_negative_frequency():
    with pytest.raises(ValueError, match="inv_freq must not be negative"):
        wavelength([-1.0])


def test_a_negative_frequency_turns_the_other_way():
    forward, backward = rope_angles([0, 1, 7], [0.5]), rope_angles([0, 1, 7], [-0.5])
    np.testing.assert_array_equal(backward, -forward)
