"""Absolute encodings, against loops over the paper's formula and against their own invariants."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from rope_edu.encodings.absolute import learned_table, shift_matrix, sinusoidal

ANYWHERE = st.integers(-(10**9), 10**9)
NEAR = st.integers(-100_000, 100_000)
WIDTHS = st.sampled_from([2, 4, 6, 64, 130])


def sinusoidal_by_loop(positions, d_model, base=10_000.0):
    """Write out the paper's formula, one feature at a time, with Python floats."""
    return [
        [
            math.sin(p / base ** (f / d_model)) if f % 2 == 0 else math.cos(p / base ** ((f - 1) / d_model))
            for f in range(d_model)
        ]
        for p in positions
    ]


@pytest.mark.parametrize("d_model", [2, 6, 64])
@pytest.mark.parametrize("base", [10_000.0, 500.0])
def test_sinusoidal_equals_the_papers_formula(d_model, base):
    positions = [0, 1, 2, 17, 511, 4096]
    expected = sinusoidal_by_loop(positions, d_model, base)
    np.testing.assert_allclose(sinusoidal(positions, d_model, base), expected, atol=1e-11)


def test_sinusoidal_agrees_with_the_table_that_transformers_builds():
    from transformers.models.xlnet.modeling_xlnet import XLNetModel

    positions = torch.arange(50, dtype=torch.float64)
    frequencies = 1 / torch.pow(10_000, torch.arange(0, 32, 2, dtype=torch.float64) / 32)
    theirs = XLNetModel.positional_embedding(positions, frequencies)[:, 0]  # sines first, then cosines
    ours = sinusoidal(positions, 32)
    np.testing.assert_allclose(ours[:, 0::2], theirs[:, :16], rtol=0, atol=1e-13)
    np.testing.assert_allclose(ours[:, 1::2], theirs[:, 16:], rtol=0, atol=1e-13)


def test_sinusoidal_returns_the_kind_and_shape_of_its_positions():
    positions = torch.arange(6).reshape(2, 3)
    ours = sinusoidal(positions, 8)
    assert isinstance(ours, torch.Tensor)
    assert ours.dtype == torch.float64
    assert ours.shape == (2, 3, 8)
    np.testing.assert_allclose(ours, sinusoidal(positions.numpy(), 8), atol=1e-14)
    assert sinusoidal(5, 8).shape == (8,)


@given(ANYWHERE, WIDTHS)
def test_norm_is_the_same_at_every_position(position, d_model):
    row = sinusoidal(position, d_model)
    assert np.abs(row).max() <= 1 + np.finfo(float).eps  # a cosine may be an ulp off, in either direction
    assert np.linalg.norm(row) == pytest.approx(math.sqrt(d_model / 2), abs=1e-12)


@given(NEAR, NEAR, st.integers(-1000, 1000), WIDTHS)
def test_dot_product_depends_on_the_offset_alone(here, there, offset, d_model):
    at_here = sinusoidal(here, d_model) @ sinusoidal(here + offset, d_model)
    at_there = sinusoidal(there, d_model) @ sinusoidal(there + offset, d_model)
    assert at_here == pytest.approx(at_there, abs=1e-8)


def test_dot_product_falls_with_the_first_few_offsets():
    rows = sinusoidal(range(4), 64)
    assert np.all(np.diff(rows @ rows[0]) < 0)


@given(NEAR, st.integers(-1000, 1000), WIDTHS)
def test_shift_matrix_carries_every_position_to_a_later_one(position, offset, d_model):
    shifted = shift_matrix(offset, d_model) @ sinusoidal(position, d_model)
    np.testing.assert_allclose(shifted, sinusoidal(position + offset, d_model), atol=1e-9)


@given(st.floats(-1000, 1000), st.floats(-1000, 1000), WIDTHS)
def test_shift_matrices_are_orthogonal_and_compose_by_adding_offsets(a, b, d_model):
    first, second = shift_matrix(a, d_model), shift_matrix(b, d_model)
    np.testing.assert_allclose(first @ first.T, np.eye(d_model), atol=1e-12)
    np.testing.assert_allclose(first @ second, shift_matrix(a + b, d_model), atol=1e-10)


def test_shift_matrix_turns_clockwise_in_blocks_of_two():
    matrix = shift_matrix(1.0, 4)
    blocks = np.kron(np.eye(2), np.ones((2, 2)))
    assert np.all(matrix[blocks == 0] == 0)
    turn = matrix[0, 0] + 1j * matrix[1, 0]  # where (1, 0) goes, as a complex number
    assert np.angle(turn) == pytest.approx(-1.0)
    assert np.angle(matrix[2, 2] + 1j * matrix[3, 2]) == pytest.approx(-0.01)


def test_shift_matrix_is_the_transpose_of_ropes_rotation():
    from rope_edu.encodings.frequencies import inv_freq
    from rope_edu.encodings.rotary import rotation_matrix

    rotation = rotation_matrix(7 * inv_freq(8), layout="interleaved")
    np.testing.assert_allclose(shift_matrix(7, 8), rotation.T, atol=1e-14)


def test_learned_table_is_reproducible_and_has_the_asked_scale():
    table = learned_table(1000, 50, scale=0.5, seed=3)
    assert table.shape == (1000, 50)
    assert table.std() == pytest.approx(0.5, rel=0.02)
    assert abs(table.mean()) < 0.01
    np.testing.assert_array_equal(table, learned_table(1000, 50, scale=0.5, seed=3))
    assert not np.array_equal(table, learned_table(1000, 50, scale=0.5, seed=4))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sinusoidal([0], 7), r"even whole number of at least 2, got 7"),
        (lambda: sinusoidal([0], 0), r"even whole number of at least 2, got 0"),
        (lambda: sinusoidal([0], 8, base=1.0), r"base must be a finite number above 1, got 1.0"),
        (lambda: sinusoidal([math.nan], 8), r"positions must be finite"),
        (lambda: shift_matrix(math.inf, 8), r"offset must be a finite number, got inf"),
        (lambda: shift_matrix(1, 5), r"d_model must be an even whole number of at least 2, got 5"),
        (lambda: learned_table(0, 8), r"n_positions must be a whole number of at least 1, got 0"),
        (lambda: learned_table(8, -2), r"d_model must be a whole number of at least 1, got -2"),
        (lambda: learned_table(8, 2, scale=0.0), r"scale must be a finite number above 0, got 0.0"),
    ],
)
def test_errors_name_the_value_and_what_is_allowed(call, message):
    with pytest.raises(ValueError, match=message):
        call()
