"""The kernel of native.cpp: what only it can get wrong. That it rotates right is tested with the eager one."""

import copy
import math
import pickle

import numpy as np
import pytest
import torch

from rope_edu import apply_rope, inv_freq, rope_angles
from rope_edu.encodings import LAYOUTS
from rope_edu.fast import RotaryTable, native, rotate, rotate_

layouts = pytest.mark.parametrize("layout", LAYOUTS)
kinds = pytest.mark.parametrize("make", [np.asarray, torch.asarray], ids=["numpy", "torch"])
TABLE = RotaryTable(inv_freq(8))


def example(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


@kinds
@layouts
def test_views_are_rotated_where_they_lie_and_nothing_beside_them(make, layout):
    table, angles = RotaryTable(inv_freq(8), layout=layout), rope_angles(range(6), inv_freq(8))
    wide = make(example(3, 6, 19).astype(np.float32))
    before = wide + 0
    view = wide[::2, :, 1:10]  # eight features and a tail
    expected = apply_rope(view, angles, layout=layout)
    out = make(np.zeros((3, 6, 19), np.float32))
    rotate(view, table=table, out=out[::2, :, 10:], compiled=True)
    np.testing.assert_allclose(out[::2, :, 10:], expected, rtol=0, atol=1e-6)
    assert np.count_nonzero(np.asarray(out)) == np.count_nonzero(np.asarray(expected))
    rotate(view, table=table, out=view, compiled=True)
    np.testing.assert_allclose(view, expected, rtol=0, atol=1e-6)
    before[::2, :, 1:10] = expected
    np.testing.assert_allclose(wide, before, rtol=0, atol=1e-6)


@layouts
@pytest.mark.parametrize("shift", [0, 1, 4, 16])
@pytest.mark.parametrize("head_dim", [64, 66, 71])
def test_large_results_are_written_past_the_cache_at_any_address(layout, shift, head_dim, monkeypatch):
    monkeypatch.setattr(native, "LARGE", 0)
    table = RotaryTable(inv_freq(64), layout=layout)
    x = example(3, 50, head_dim).astype(np.float32)
    place = np.zeros(x.size + 40, np.float32)
    out = place[shift : shift + x.size].reshape(x.shape)
    rotate(x, table=table, offset=5, out=out, compiled=True)
    assert not place[:shift].any()
    assert not place[shift + x.size :].any()
    expected = apply_rope(x, rope_angles(range(5, 55), inv_freq(64)), layout=layout)
    np.testing.assert_allclose(out, expected, rtol=0, atol=1e-6)


@layouts
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_number_of_threads_changes_no_bit(dtype, layout):
    x, table = torch.tensor(example(5, 700, 192)).to(dtype), RotaryTable(inv_freq(192), layout=layout)
    assert x.nbytes > native.SEVERAL_THREADS
    threads, turned = torch.get_num_threads(), []
    try:
        for n in (1, 2, 3):
            torch.set_num_threads(n)
            turned.append(rotate(x, table=table, compiled=True))
    finally:
        torch.set_num_threads(threads)
    assert torch.equal(turned[0], turned[1])
    assert torch.equal(turned[0], turned[2])


def test_autograd_notices_that_a_tensor_was_written():
    x = torch.tensor(example(5, 8), requires_grad=True)
    y = x * 1
    square = y**2
    with torch.no_grad():
        rotate(y, table=TABLE, out=y, compiled=True)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        square.sum().backward()


def test_inference_tensors_are_rotated_in_place():
    with torch.inference_mode():
        x = torch.tensor(example(5, 8))
        expected = rotate(x, table=TABLE)
        torch.testing.assert_close(rotate(x, table=TABLE, out=x, compiled=True), expected)


@kinds
def test_features_that_do_not_lie_side_by_side_are_refused(make):
    with pytest.raises(ValueError, match="compiled=True needs the features of x side by side"):
        rotate(make(example(5, 16))[:, ::2], table=TABLE, compiled=True)
    with pytest.raises(ValueError, match="compiled=True needs the features of out side by side"):
        rotate(make(example(5, 8)), table=TABLE, out=make(example(8, 5)).T, compiled=True)


def test_a_view_that_negates_is_read_right_and_not_written():
    view = torch._neg_view(torch.tensor(example(5, 8)))
    assert view.is_neg()
    expected = rotate(view.resolve_neg(), table=TABLE)
    torch.testing.assert_close(rotate(view, table=TABLE, compiled=True), expected, rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match="a view that negates"):
        rotate(view, table=TABLE, out=view, compiled=True)


def test_an_out_that_cannot_hold_the_result_is_refused():
    with pytest.raises(ValueError, match="out must have a place of its own for each number"):
        rotate(torch.ones(3, 5, 8), table=TABLE, out=torch.ones(5, 8).expand(3, 5, 8), compiled=True)
    closed = np.ones((5, 8))
    closed.flags.writeable = False
    with pytest.raises(ValueError, match="out must have a place of its own for each number"):
        rotate(np.ones((5, 8)), table=TABLE, out=closed, compiled=True)


def test_many_axes_are_rotated_and_too_many_refused():
    x = example(1, 2, 1, 2, 1, 2, 2, 5, 8)
    np.testing.assert_allclose(rotate(x, table=TABLE, compiled=True), rotate(x, table=TABLE), atol=1e-12)
    with pytest.raises(ValueError, match="compiled=True takes at most 10 axes, got 11"):
        rotate(example(*(9 * [2]), 5, 8), table=TABLE, compiled=True)


@pytest.mark.parametrize(
    ("compiler", "sentence"),
    [("/nowhere/c++", r"needs a C\+\+ compiler that works"), ("false", r"needs a C\+\+ compiler that works")],
)
def test_a_missing_compiler_is_named(compiler, sentence, monkeypatch):
    monkeypatch.setenv("CXX", compiler)
    native.kernels.cache_clear()
    with pytest.raises(ValueError, match=sentence):
        rotate(np.ones((5, 8)), table=TABLE, compiled=True)
    native.kernels.cache_clear()


def test_no_compiler_at_all_is_said(monkeypatch):
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", "")
    native.kernels.cache_clear()
    with pytest.raises(ValueError, match=r"needs a C\+\+ compiler .*found none"):
        rotate(np.ones((5, 8)), table=TABLE, compiled=True)
    native.kernels.cache_clear()


@layouts
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("pairs", [3, 16, 33])
def test_numbers_of_every_size_are_rounded_once(pairs, dtype, layout):
    """Heads share turns, so that float is tried first: it must not be trusted where numbers are tiny or huge."""
    least, most = math.log2(torch.finfo(dtype).smallest_normal) - 6, math.log2(torch.finfo(dtype).max) - 1
    size = np.random.default_rng(1).uniform(least, most, size=(12, 40, 1))  # by rows: else most would be lost
    sizes = size + np.random.default_rng(2).uniform(-4, 0, size=(12, 40, 2 * pairs))
    x = torch.tensor(example(12, 40, 2 * pairs) * 2.0**sizes).to(dtype)
    x[3], x[4, :, ::3] = 0, 0
    table, angles = (
        RotaryTable(inv_freq(2 * pairs), layout=layout),
        rope_angles(range(7, 47), inv_freq(2 * pairs)),
    )
    turned = rotate(x, table=table, offset=7, compiled=True)
    assert torch.equal(turned, apply_rope(x, angles, layout=layout))
    assert torch.equal(rotate(x.clone(), table=table, offset=7, compiled=True), turned)
    rotate(x, table=table, offset=7, out=x, compiled=True)
    assert torch.equal(x, turned)


@layouts
def test_infinities_stay_where_heads_share_turns(layout):
    x = torch.ones(8, 4, 32, dtype=torch.bfloat16)
    x[:, :, 5] = math.inf
    x[:, :, 9] = -math.inf
    turned = rotate(x, table=RotaryTable(inv_freq(32), layout=layout), compiled=True)
    expected = apply_rope(x, rope_angles(range(4), inv_freq(32)), layout=layout)
    np.testing.assert_array_equal(turned.double().numpy(), expected.double().numpy())


@layouts
def test_a_kept_call_does_what_the_first_one_did(layout):
    table = RotaryTable(inv_freq(8), layout=layout)
    turns = table.turns(10**6, 1, like=torch.empty(0))
    for seed in range(3):
        x = torch.tensor(example(2, 6, 1, 9, seed=seed), dtype=torch.float32)
        expected = rotate(x, table=table, offset=10**6)
        assert rotate_(x, turns, compiled=True) is x
        torch.testing.assert_close(x, expected)
        q, k = (x.clone() for _ in "qk")
        rotate(q, k, table=table, offset=10**6, out=(q, k), compiled=True)
        torch.testing.assert_close(q, rotate(expected, table=table, offset=10**6))
        assert torch.equal(q, k)


def test_turns_that_keep_a_call_can_be_copied():
    turns = TABLE.turns(7, 1, like=torch.empty(0))
    x = torch.tensor(example(6, 1, 8), dtype=torch.float32)
    y = rotate(x, table=turns)
    rotate_(x, turns, compiled=True)
    for made in (copy.deepcopy(turns), pickle.loads(pickle.dumps(turns))):
        assert turns.calls
        assert not made.calls
        torch.testing.assert_close(rotate(y, table=made, compiled=True), rotate(x, table=turns))


def test_a_kept_call_is_not_for_others():
    turns = TABLE.turns(7, 1, like=torch.empty(0))
    x = torch.tensor(example(6, 1, 8), dtype=torch.float32)
    rotate_(x, turns, compiled=True)
    with pytest.raises(ValueError, match="q has 1 tokens on axis -2, the turns 2"):
        rotate_(x, TABLE.turns(7, 2, like=x), compiled=True)
    with pytest.raises(ValueError, match="q must hold float32"):
        rotate_(x.double(), turns, compiled=True)
    gaps = torch.tensor(example(6, 1, 16), dtype=torch.float32)[..., :8]
    expected = rotate(gaps, table=turns)
    rotate_(gaps, turns, compiled=True)
    torch.testing.assert_close(gaps, expected)
    negated = torch._neg_view(x.clone())
    with pytest.raises(ValueError, match="a view that negates"):
        rotate_(negated, turns, compiled=True)
    with pytest.raises(ValueError, match="out cannot be followed by a gradient"):
        rotate_(x.clone().requires_grad_(), turns, compiled=True)
    for other in (x.numpy().copy(), x.tolist(), None):
        with pytest.raises(ValueError, match=f"must be .* got {type(other).__name__}"):
            rotate_(other, turns, compiled=True)
    assert rotate_(x.to("meta"), TABLE.turns(7, 1, like=x.to("meta"))).is_meta
    y = x.clone().requires_grad_() * 1
    square = y**2
    with torch.no_grad():
        rotate_(y, turns, compiled=True)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        square.sum().backward()
    with torch.inference_mode():
        z = x.clone()
        torch.testing.assert_close(rotate_(z, turns, compiled=True), rotate(x, table=turns))
