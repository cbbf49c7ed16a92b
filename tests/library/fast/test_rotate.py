"""The fast rotation: held to apply_rope on every dtype, layout and shape; gradients; out=; sentences of refusal."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rope_edu import apply_rope, inv_freq, rope_angles
from rope_edu.encodings import LAYOUTS
from rope_edu.fast import RotaryTable, cos_sin_from_angles, rotate, rotate_

layouts = pytest.mark.parametrize("layout", LAYOUTS)
axes = pytest.mark.parametrize("seq_axis", [-2, -3])
compiled_or_not = pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
kinds = pytest.mark.parametrize("make", [np.asarray, torch.asarray], ids=["numpy", "torch"])
EPS = {"float64": 2**-52, "float32": 2**-23, "float16": 2**-10, "bfloat16": 2**-7}
CASES = [(np.asarray, d) for d in ("float16", "float32", "float64")] + [(torch.asarray, d) for d in EPS]


def example(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def as_case(x, case):
    make, dtype = case
    return x.astype(dtype) if make is np.asarray else torch.asarray(x).to(getattr(torch, dtype))


def numbers(x):
    return np.asarray(x.detach().double() if isinstance(x, torch.Tensor) else x.astype(np.float64))


def same(a, b):
    assert type(a) is type(b)
    assert a.dtype == b.dtype
    np.testing.assert_array_equal(numbers(a), numbers(b))


def near(turned, expected, x, dtype):
    """Differ by rounding: float32 arithmetic of another order, at most one step of a narrow dtype."""
    assert type(turned) is type(expected)
    assert turned.dtype == expected.dtype
    step = 2 * EPS[dtype] * np.abs(numbers(expected)) if dtype in ("float16", "bfloat16") else 0
    allowed = (
        step + 4 * max(EPS[dtype] if dtype == "float64" else EPS["float32"], 0) * np.abs(numbers(x)).max()
    )
    allowed = allowed + (1e-9 if dtype == "float64" else 0)  # an angle of 10⁶ radians has 10⁻¹⁰ of float64
    assert (np.abs(numbers(turned) - numbers(expected)) <= allowed).all()


# Equal to apply_rope


@settings(max_examples=150, deadline=None)
@given(
    case=st.sampled_from(CASES),
    layout=st.sampled_from(LAYOUTS),
    seq_axis=st.sampled_from([-2, -3]),
    batch=st.lists(st.integers(1, 3), max_size=2),
    heads=st.integers(1, 4),
    length=st.integers(0, 70),
    pairs=st.integers(1, 40),
    tail=st.integers(0, 3),
    offset=st.integers(0, 2**20),
    factor=st.sampled_from([1.0, 1.2079]),
    way=st.sampled_from(["new", "out", "in place"]),
    compiled=st.booleans(),
)
def test_equals_apply_rope(
    case, layout, seq_axis, batch, heads, length, pairs, tail, offset, factor, way, compiled
):
    axes = (length, heads) if seq_axis == -3 else (heads, length)
    x = as_case(example(*batch, *axes, 2 * pairs + tail), case)
    angles = rope_angles(range(offset, offset + length), inv_freq(2 * pairs))
    angles = angles[:, None] if seq_axis == -3 else angles
    expected = apply_rope(x, angles, layout=layout, attention_factor=factor)
    table = RotaryTable(inv_freq(2 * pairs), layout=layout, attention_factor=factor)
    y = x.copy() if case[0] is np.asarray else x.clone()
    out = {"new": None, "out": 0 * x, "in place": y}[way]
    turned = rotate(y, table=table, offset=offset, seq_axis=seq_axis, out=out, compiled=compiled)
    assert out is None or turned is out
    if way != "in place":
        same(y, x)
    near(turned, expected, 1 + abs(x) if length else x + 1, case[1]) if length else same(turned, expected)


@pytest.mark.sampled
@layouts
@axes
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("way", ["new", "out", "in place"])
@compiled_or_not
def test_equals_apply_rope_where_the_work_takes_several_blocks(case, way, layout, seq_axis, compiled):
    shape = (2, 40, 300, 34) if seq_axis == -2 else (2, 300, 40, 34)
    x, angles = as_case(example(*shape), case), rope_angles(range(7, 307), inv_freq(32))
    expected = apply_rope(x, angles if seq_axis == -2 else angles[:, None], layout=layout)
    y = x.copy() if case[0] is np.asarray else x.clone()
    out = {"new": None, "out": 0 * x, "in place": y}[way]
    table = RotaryTable(inv_freq(32), layout=layout)
    turned = rotate(y, table=table, offset=7, seq_axis=seq_axis, out=out, compiled=compiled)
    near(turned, expected, x, case[1])


@kinds
@layouts
def test_views_with_odd_strides_and_offsets_are_rotated_alike(make, layout):
    table, angles = RotaryTable(inv_freq(8), layout=layout), rope_angles(range(6), inv_freq(8))
    wide = make(example(3, 6, 19).astype(np.float32))
    views = [wide[..., 1:9], wide[..., ::2][..., :8], wide[:, :, 3:12], make(example(3, 8, 6)).swapaxes(1, 2)]
    for x in views:
        expected = apply_rope(x, angles, layout=layout)
        before = wide + 0
        np.testing.assert_allclose(rotate(x, table=table), expected, rtol=0, atol=1e-6)
        same(wide, before)
        rotate(x, table=table, out=x)
        np.testing.assert_allclose(x, expected, rtol=0, atol=1e-6)


def test_a_broadcast_input_is_rotated_into_a_new_array():
    table, angles = RotaryTable(inv_freq(8)), rope_angles(range(6), inv_freq(8))
    for x in (np.broadcast_to(example(8), (3, 6, 8)), torch.tensor(example(8)).expand(3, 6, 8)):
        np.testing.assert_allclose(rotate(x, table=table), apply_rope(x, angles), rtol=0, atol=1e-12)


@kinds
@layouts
@axes
def test_queries_and_keys_go_in_one_call_with_their_own_numbers_of_heads(make, layout, seq_axis):
    q, k = make(example(2, 6, 5, 8)), make(example(2, 3, 5, 8, seed=1))
    if seq_axis == -3:
        q, k = q.swapaxes(1, 2), k.swapaxes(1, 2)
    table = RotaryTable(inv_freq(8), layout=layout)
    both = rotate(q, k, table=table, offset=3, seq_axis=seq_axis)
    for turned, x in zip(both, (q, k), strict=True):
        same(turned, rotate(x, table=table, offset=3, seq_axis=seq_axis))
    outs = 0 * q, 0 * k
    given_back = rotate(q, k, table=table, offset=3, seq_axis=seq_axis, out=outs)
    assert given_back[0] is outs[0]
    assert given_back[1] is outs[1]
    rotate(q, k, table=table, offset=3, seq_axis=seq_axis, out=(q, k))
    for a, b, c in zip(both, outs, (q, k), strict=True):
        same(a, b)
        same(a, c)


@kinds
@layouts
@axes
@compiled_or_not
def test_each_text_of_a_batch_may_have_positions_of_its_own(make, layout, seq_axis, compiled):
    positions = np.array([[0, 1, 2, 3, 4], [7, 8.5, 9, 100_000, 11]])
    x = make(example(2, 3, 5, 8))
    expected = apply_rope(x, rope_angles(positions, inv_freq(8))[:, None], layout=layout)
    if seq_axis == -3:
        x, expected = x.swapaxes(1, 2), expected.swapaxes(1, 2)
    table = RotaryTable(inv_freq(8), layout=layout)
    turned = rotate(x, table=table, positions=positions, seq_axis=seq_axis, compiled=compiled)
    np.testing.assert_allclose(turned, expected, rtol=0, atol=1e-12)


@kinds
@layouts
def test_cos_and_sin_of_any_angles_equal_apply_rope(make, layout):
    x, angles = make(example(2, 3, 5, 10)), example(2, 1, 5, 4, seed=1) * 100
    cos_sin = cos_sin_from_angles(angles, like=x, layout=layout, attention_factor=1.3)
    expected = apply_rope(x, angles, layout=layout, attention_factor=1.3)
    np.testing.assert_allclose(rotate(x, table=cos_sin), expected, rtol=0, atol=1e-13)


@kinds
def test_angles_may_lie_in_memory_in_any_order(make):
    x, angles = make(example(5, 8)), np.asfortranarray(example(5, 4, seed=1))
    held = cos_sin_from_angles(make(angles), like=x)
    np.testing.assert_allclose(rotate(x, table=held), apply_rope(x, angles), rtol=0, atol=1e-13)


@kinds
def test_a_held_view_rotates_as_its_table(make):
    table, x = RotaryTable(inv_freq(8)), make(example(3, 1, 8))
    held = table.cos_sin(10**6, 1, like=x)
    same(rotate(x, table=held), rotate(x, table=table, offset=10**6))


@kinds
@layouts
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("head_dim", [8, 9])
def test_the_short_way_in_place_equals_the_long_one(make, layout, dtype, head_dim):
    x, table = make(example(3, 2, head_dim).astype(dtype)), RotaryTable(inv_freq(8), layout=layout)
    views = [x, make(example(3, 2, 2 * head_dim).astype(dtype))[..., 1::2]]
    for view in views:
        cos_sin = table.cos_sin(10**6, 2, like=view)
        expected = rotate(view, table=cos_sin)
        assert rotate_(view, cos_sin) is view
        same(view, expected)


@kinds
def test_the_short_way_refuses_what_the_long_one_refuses(make):
    cos_sin = RotaryTable(inv_freq(8)).cos_sin(0, 1, like=make(np.ones(1)))
    with pytest.raises(ValueError, match=r"cos_sin must be CosSinRows, .* got RotaryTable"):
        rotate_(make(np.ones((1, 8))), RotaryTable(inv_freq(8)))
    with pytest.raises(ValueError, match="x has 3 tokens on axis -2, the cosines and sines 1"):
        rotate_(make(np.ones((3, 8))), cos_sin)
    with pytest.raises(ValueError, match="x must be a NumPy array or a torch tensor, got list"):
        rotate_([[1.0] * 8], cos_sin)
    with pytest.raises(ValueError, match=r"x must be (ndarray|Tensor) as the cosines and sines are"):
        rotate_((torch.ones if make is np.asarray else np.ones)((1, 8)), cos_sin)


def test_the_short_way_refuses_a_tensor_that_wants_a_gradient():
    with pytest.raises(ValueError, match="gradients cannot flow through out"):
        rotate_(
            torch.ones(1, 8, requires_grad=True), RotaryTable(inv_freq(8)).cos_sin(0, 1, like=torch.ones(1))
        )


@compiled_or_not
def test_a_key_that_wants_a_gradient_is_refused_before_the_query_is_written(compiled):
    q, k = torch.ones(5, 8), torch.ones(5, 8, requires_grad=True)
    with pytest.raises(ValueError, match="gradients cannot flow through out"):
        rotate(q, k, table=RotaryTable(inv_freq(8)), out=(q, k), compiled=compiled)
    assert torch.equal(q, torch.ones(5, 8))


@layouts
@compiled_or_not
@pytest.mark.parametrize("make", [np.asarray, torch.asarray], ids=["numpy", "torch"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_16_bits_are_within_half_a_step_and_a_thousandth_of_the_exact_rotation(make, dtype, layout, compiled):
    if (make, dtype) == (np.asarray, "bfloat16"):
        return  # NumPy has none
    size = np.logspace(-1, 2, 500)[:, None]
    x = as_case(example(64, 500, 32) * size, (make, dtype))
    angles = np.arange(9_500, 10_000)[:, None] * inv_freq(32)
    exact = apply_rope(numbers(x), angles, layout=layout)
    table = RotaryTable(inv_freq(32), layout=layout)
    turned = rotate(x, table=table, offset=9_500, compiled=compiled)
    # Half a step of 16 bits; then float32: cos, sin, two products and a sum, each half its eps of a pair's length.
    step = EPS[dtype] * 2.0 ** np.floor(np.log2(np.maximum(np.abs(exact), 2.0**-14)))
    members = [slice(0, 16), slice(16, 32)] if layout == "half_split" else [slice(0, 32, 2), slice(1, 32, 2)]
    length = np.hypot(*(numbers(x)[..., member] for member in members))
    inside = np.empty_like(exact)
    inside[..., members[0]] = inside[..., members[1]] = 2 * EPS["float32"] * length
    off = np.abs(numbers(turned) - exact)
    assert (off <= step / 2 + inside).all()
    typical = np.abs(exact) > length.mean() / 2  # a large result: float32 is a thousandth of the step
    assert (off <= 0.501 * step)[typical].mean() > 0.999


@layouts
@compiled_or_not
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_16_bits_round_ties_to_even_and_keep_what_is_no_finite_number(dtype, layout, compiled):
    step = torch.finfo(dtype).eps
    ties = torch.tensor([1 + step, 1 + 3 * step, -1 - step, -1 - 3 * step, 0.0, -0.0] + 42 * [1.0])
    cos_sin = cos_sin_from_angles(np.zeros((1, 24)), like=ties.to(dtype), layout=layout, attention_factor=1.5)
    turned = rotate(ties.to(dtype)[None], table=cos_sin, compiled=compiled)[0]
    assert turned.tolist() == (1.5 * ties).to(dtype).tolist()  # exact in float32, so torch rounds once
    assert (1.5 * ties[:4] != turned[:4]).all()
    odd = torch.tensor([math.inf, 1.0, -math.inf, 1.0, math.nan, 1.0, 3e38, 3e38] + 40 * [1.0]).to(dtype)
    odd = odd if layout == "interleaved" else torch.cat((odd[::2], odd[1::2]))
    ninety = cos_sin_from_angles(np.full((1, 24), math.pi / 4), like=odd, layout=layout)
    turned = rotate(odd[None], table=ninety, compiled=compiled)[0]
    first, second = (turned[::2], turned[1::2]) if layout == "interleaved" else turned.chunk(2)
    assert first[:2].tolist() == second[:2].tolist() == [math.inf, -math.inf]
    assert first[2].isnan()
    assert second[2].isnan()
    assert second[3] == math.inf


# Gradients


@layouts
@axes
@compiled_or_not
def test_gradients_are_right_to_the_second_order(layout, seq_axis, compiled):
    x = torch.tensor(example(2, 3, 3, 7), requires_grad=True)
    table = RotaryTable(inv_freq(6), layout=layout, attention_factor=1.3)

    def turned(x):
        return rotate(x, table=table, offset=5, seq_axis=seq_axis, compiled=compiled)

    assert torch.autograd.gradcheck(turned, x)
    assert torch.autograd.gradgradcheck(turned, x)


@layouts
@compiled_or_not
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_gradient_is_the_rotation_back_in_the_dtype_of_x(dtype, layout, compiled):
    x, upstream = (torch.tensor(example(4, 600, 64, seed=s)).to(dtype) for s in (0, 1))
    x.requires_grad_()
    turned = rotate(x, table=RotaryTable(inv_freq(64), layout=layout), offset=3, compiled=compiled)
    turned.backward(upstream)
    back = rotate(upstream, table=RotaryTable(-inv_freq(64), layout=layout), offset=3)
    assert x.grad.dtype == dtype
    near(x.grad, back, upstream, str(dtype).removeprefix("torch."))


@layouts
@compiled_or_not
def test_gradient_of_a_sum_comes_back_though_it_is_one_broadcast_number(layout, compiled):
    x = torch.tensor(example(4, 600, 64), requires_grad=True)
    rotate(x, table=RotaryTable(inv_freq(64), layout=layout), compiled=compiled).sum().backward()
    expected = apply_rope(torch.ones_like(x), -rope_angles(range(600), inv_freq(64)), layout=layout)
    np.testing.assert_allclose(x.grad, expected, rtol=0, atol=1e-12)


def odd(x):
    """The same numbers, one byte behind a whole multiple of their size."""
    place = torch.frombuffer(bytearray(8 * x.numel() + 1), dtype=torch.float64, offset=1)
    return place.view(x.shape).copy_(x)


WAYS = {
    "transposed": lambda x: x.mT.contiguous().mT,
    "with gaps": lambda x: x.repeat_interleave(2, -1)[:, ::2],
    "negated": lambda x: torch._neg_view(-x),
    "at an odd address": odd,
}


@layouts
@compiled_or_not
@pytest.mark.parametrize("way", WAYS)
def test_gradient_comes_back_right_however_it_lies_in_memory(layout, compiled, way):
    x, upstream = (torch.tensor(example(50, 64, seed=seed)) for seed in (0, 1))
    x.requires_grad_()
    turned = rotate(x, table=RotaryTable(inv_freq(64), layout=layout), compiled=compiled)
    (found,) = torch.autograd.grad(turned, x, WAYS[way](upstream))
    expected = apply_rope(upstream, -rope_angles(range(50), inv_freq(64)), layout=layout)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@layouts
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_no_tensor_is_saved_for_the_backward_pass_as_the_table_is_there(dtype, layout):
    q, k = (torch.ones(2, 8, 50, 32, dtype=dtype, requires_grad=True) for _ in "qk")
    table, saved = RotaryTable(inv_freq(32), layout=layout), []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: saved.append(t) or t, lambda t: t):
        turned = rotate(q, k, table=table, compiled=True)
    assert saved == []
    assert all(t.grad_fn.cos_sin is table.cos_sin(0, 50, like=q) for t in turned)


def test_functional_gradients_pass_and_leave_a_table_that_can_be_used():
    table, x = RotaryTable(inv_freq(8)), torch.tensor(example(3, 5, 8))
    grad = torch.func.grad(lambda x: (rotate(x, table=table) ** 2).sum())(x)
    np.testing.assert_allclose(grad, 2 * x, rtol=0, atol=1e-12)  # turning keeps the length
    np.testing.assert_allclose(
        rotate(x, table=table), apply_rope(x, rope_angles(range(5), inv_freq(8))), atol=1e-12
    )
    each = torch.func.vmap(lambda x: rotate(x, table=table))(x)
    np.testing.assert_allclose(each, rotate(x, table=table), rtol=0, atol=1e-12)


def test_forward_derivatives_pass():
    table, x = RotaryTable(inv_freq(8)), torch.tensor(example(5, 8))
    with torch.autograd.forward_ad.dual_level():
        dual = rotate(torch.autograd.forward_ad.make_dual(x, x), table=table)
        primal, tangent = torch.autograd.forward_ad.unpack_dual(dual)
    np.testing.assert_allclose(tangent, primal, rtol=0, atol=1e-12)  # the rotation is linear


# Refusals

TABLE = RotaryTable(inv_freq(8))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: rotate([[1.0, 0.0]], table=TABLE), "q must be a NumPy array or a torch tensor, got list"),
        (lambda: rotate(np.ma.ones((5, 8)), table=TABLE), "q must not be a MaskedArray"),
        (lambda: rotate(np.ones((5, 8), int), table=TABLE), "q must hold floats .*, got int64"),
        (lambda: rotate(np.ones(8), table=TABLE), r"q must be \(…, seq, head_dim\), got shape \(8,\)"),
        (
            lambda: rotate(np.ones((5, 8)), table=TABLE, seq_axis=-3),
            r"q must be \(…, seq, heads, head_dim\), got shape \(5, 8\)",
        ),
        (lambda: rotate(np.ones((5, 8)), table=TABLE, seq_axis=1), "seq_axis must be -2 or -3 .*, got 1"),
        (
            lambda: rotate(np.ones((5, 8)), table=inv_freq(8)),
            "table must be a RotaryTable or CosSinRows, got ndarray",
        ),
        (lambda: rotate(np.ones((5, 6)), table=TABLE), "2 · pairs must be at most head_dim = 6, got 4 pairs"),
        (lambda: rotate(np.ones((5, 8)), table=TABLE, offset=-1), "start must be a whole number .*, got -1"),
        (lambda: rotate(np.ones((5, 8)), table=TABLE, offset=0, positions=range(5)), "offset or positions"),
        (
            lambda: rotate(np.ones((5, 8)), table=TABLE, positions=range(6)),
            r"q has 5 tokens on axis -2, the cosines and sines 6; for heads after the sequence use seq_axis=-3",
        ),
        (
            lambda: rotate(np.ones((2, 3, 5, 8)), table=TABLE, positions=np.ones((3, 5))),
            r"the leading axes of the cosines and sines \(3, 1, 5\) must broadcast to \(2, 3, 5\)",
        ),
        (
            lambda: rotate(np.ones((5, 8)), table=TABLE.cos_sin(0, 5), offset=3),
            "CosSinRows already have positions",
        ),
        (
            lambda: rotate(np.ones((5, 8)), table=TABLE.cos_sin(0, 5)),
            "q must hold float32 or 16 bits for these cosines and sines, got float64",
        ),
        (
            lambda: rotate(torch.ones(5, 8), table=TABLE.cos_sin(0, 5)),
            "q must be ndarray as the cosines and sines are, got Tensor",
        ),
        (
            lambda: rotate(torch.ones(5, 8), torch.ones(5, 8, device="meta"), table=TABLE),
            "k must be on the device of the cosines and sines, cpu, got meta",
        ),
        (
            lambda: rotate(np.ones((5, 8)), np.ones((4, 8)), table=TABLE),
            "k has 4 tokens on axis -2, the cosines and sines 5",
        ),
        (
            lambda: rotate(np.ones((5, 8)), np.ones((5, 8)), table=TABLE, out=np.ones((5, 8))),
            r"out must be a pair \(for q, for k\), got ndarray",
        ),
        (
            lambda: rotate(np.ones((5, 8)), table=TABLE, out=np.ones((5, 8), np.float32)),
            "out must have the dtype of x, float64, got float32",
        ),
        (
            lambda: rotate(torch.ones(5, 8, requires_grad=True), table=TABLE, out=torch.ones(5, 8)),
            "gradients cannot flow through out",
        ),
        (
            lambda: cos_sin_from_angles(torch.ones(5, 4, requires_grad=True), like=torch.ones(1)),
            "angles must not require a gradient",
        ),
        (
            lambda: cos_sin_from_angles([1.0], like=np.ones(1)),
            r"angles must be \(…, seq, pairs\), got shape \(1,\)",
        ),
    ],
)
def test_what_does_not_fit_is_refused_with_what_is_allowed(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


@kinds
def test_out_that_overlaps_in_part_is_refused(make):
    buffer = make(example(6, 8))
    with pytest.raises(ValueError, match="share no memory"):
        rotate(buffer[:-1], table=TABLE, out=buffer[1:])


@kinds
def test_out_that_overlaps_is_refused_though_one_that_looks_alike_was_not(make):
    buffer = make(example(40, 8))
    rotate(buffer[:5], table=TABLE, out=buffer[20:25])
    with pytest.raises(ValueError, match="share no memory"):
        rotate(buffer[:5], table=TABLE, out=buffer[1:6])


def test_out_may_be_given_for_a_tensor_that_needs_gradients_where_none_is_wanted():
    x = torch.tensor(example(5, 8), requires_grad=True)
    with torch.no_grad():
        out = rotate(x, table=TABLE, out=torch.empty(5, 8, dtype=torch.float64))
    same(out, rotate(x, table=TABLE).detach())
