"""Writing into `out`, by the kernel and by array operations: what is written, and which `out` is refused."""

import numpy as np
import pytest
import torch

from rope_edu.encodings import LAYOUTS, inv_freq, rope_angles
from rope_edu.fast import cos_sin_from_angles, rotate


def example(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def angles_for(length, head_dim):
    return rope_angles(range(length), inv_freq(head_dim))


def exact(a, b):
    np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


layouts = pytest.mark.parametrize("layout", LAYOUTS)
kinds = pytest.mark.parametrize("make", [np.array, torch.tensor], ids=["numpy", "torch"])


@pytest.fixture(params=[None, False], ids=["kernel", "operations"])
def rotated(request):
    """Rotate by any angles, with the kernel or without it."""

    def call(x, angles, *, layout="interleaved", out=None):
        rows = cos_sin_from_angles(angles, like=x, layout=layout)
        return rotate(x, table=rows, out=out, compiled=request.param)

    return call


@layouts
@kinds
def test_out_is_filled_and_returned(rotated, make, layout):
    x, angles = make(example(2, 5, 10)), angles_for(5, 8)
    expected = rotated(x, angles, layout=layout)
    out = make(np.full((2, 5, 10), np.nan))
    assert rotated(x, angles, layout=layout, out=out) is out
    exact(out, expected)


@layouts
@kinds
@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_rotating_in_place_equals_rotating_into_a_new_array(rotated, make, layout, dtype):
    x, angles = make(example(2, 5, 10).astype(dtype)), angles_for(5, 8)
    expected = rotated(x, angles, layout=layout)
    assert rotated(x, angles, layout=layout, out=x) is x
    exact(x, expected)


@layouts
@kinds
def test_a_second_view_of_the_same_elements_counts_as_in_place(rotated, make, layout):
    packed, angles = make(example(5, 3, 8)), angles_for(5, 8)
    expected, other = rotated(packed[:, 0], angles, layout=layout), np.asarray(packed[:, 1:]).copy()
    rotated(packed[:, 0], angles, layout=layout, out=packed[:, 0])
    exact(packed[:, 0], expected)
    exact(packed[:, 1:], other)


def test_out_works_without_gradients_on_a_tensor_that_needs_them(rotated):
    x, angles = torch.tensor(example(5, 8), requires_grad=True), angles_for(5, 8)
    with torch.no_grad():
        out = rotated(x, angles, out=torch.empty(5, 8, dtype=torch.float64))
    assert not out.requires_grad
    exact(out, rotated(x, angles).detach())


@kinds
def test_out_that_overlaps_x_in_part_is_refused(rotated, make):
    buffer = make(example(6, 8))
    with pytest.raises(ValueError, match="share no memory"):
        rotated(buffer[:-1], angles_for(5, 8), out=buffer[1:])


@kinds
def test_out_that_is_x_transposed_is_refused(rotated, make):
    square = make(example(8, 8))
    with pytest.raises(ValueError, match="share no memory"):
        rotated(square, angles_for(8, 8), out=square.T)


@kinds
def test_out_beside_x_in_one_buffer_is_allowed(rotated, make):
    buffer, angles = make(example(10, 8)), angles_for(5, 8)
    expected = rotated(buffer[:5], angles)
    rotated(buffer[:5], angles, out=buffer[5:])
    exact(buffer[5:], expected)


@pytest.mark.parametrize(
    ("out", "sentence"),
    [
        (torch.empty(5, 8, dtype=torch.float64), "out must be of the type of x, ndarray, got Tensor"),
        ([[0.0] * 8] * 5, "out must be of the type of x, ndarray, got list"),
        (np.empty((5, 8), dtype=np.float32), "out must have the dtype of x, float64, got float32"),
        (np.empty((1, 5, 8)), r"out must have the shape of x, \(5, 8\), got \(1, 5, 8\)"),
    ],
)
def test_out_unlike_x_is_refused(rotated, out, sentence):
    with pytest.raises(ValueError, match=sentence):
        rotated(example(5, 8), angles_for(5, 8), out=out)


def test_out_on_another_device_is_refused(rotated):
    with pytest.raises(ValueError, match="out must be on the device of x, cpu, got meta"):
        rotated(torch.ones(5, 8), angles_for(5, 8), out=torch.empty(5, 8, device="meta"))
