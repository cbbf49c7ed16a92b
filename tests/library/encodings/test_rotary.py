"""Rotation: equal forms, independent peers, dtypes, gradients, memory, and every sentence of refusal."""

import math
import warnings

import numpy as np
import pytest
import torch

from rope_edu import apply_rope, inv_freq, rope_angles
from rope_edu.encodings import LAYOUTS, rotate_as_complex, rotate_by_matrix, rotate_pair, rotation_matrix

MAKERS = {"numpy": np.asarray, "torch": torch.asarray}
layouts = pytest.mark.parametrize("layout", LAYOUTS)
kinds = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


def example(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def angles_for(length, head_dim):
    return rope_angles(range(length), inv_freq(head_dim))


def exact(a, b):
    np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


def close(a, b, atol=1e-12):
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=0, atol=atol)


# Known values and equal forms


@layouts
@kinds
def test_first_axis_turns_towards_second_member_of_its_pair(make, layout):
    x, angles = make(np.array([1.0, 0.0, 0.0, 0.0])), [math.pi / 2, 0.0]
    towards = {"interleaved": [0, 1, 0, 0], "half_split": [0, 0, 1, 0]}[layout]
    close(apply_rope(x, angles, layout=layout), towards)


@pytest.mark.parametrize("pair", [[3.0, 4.0], (3.0, 4.0), np.array([3.0, 4.0]), torch.tensor([3.0, 4.0])])
def test_one_pair_turned_a_quarter_goes_from_x_y_to_minus_y_x_in_its_own_kind(pair):
    turned = rotate_pair(pair, math.pi / 2)
    assert type(turned) is type(pair)
    assert [float(t) for t in turned] == pytest.approx([-4.0, 3.0], abs=1e-6)


@kinds
@layouts
def test_pair_by_pair_matrix_and_elementwise_forms_are_equal(make, layout):
    x, angles = example(2, 5, 8), angles_for(5, 8)
    pairs = {"interleaved": [(0, 1), (2, 3), (4, 5), (6, 7)], "half_split": [(0, 4), (1, 5), (2, 6), (3, 7)]}
    expected = x.copy()
    for b in range(2):
        for m in range(5):
            for i, pair in enumerate(pairs[layout]):
                expected[b, m, list(pair)] = rotate_pair(x[b, m, list(pair)], angles[m, i])
    close(apply_rope(make(x), make(angles), layout=layout), expected)
    close(rotate_by_matrix(make(x), make(angles), layout=layout), expected)


@kinds
def test_complex_form_equals_elementwise_form_for_interleaved_pairs(make):
    x, angles = make(example(2, 5, 8)), make(angles_for(5, 8))
    close(rotate_as_complex(x, angles), apply_rope(x, angles))


@layouts
def test_rotation_matrix_is_orthogonal_with_determinant_one_and_two_entries_a_row(layout):
    matrix = rotation_matrix(angles_for(5, 8) + 0.1, layout=layout)
    assert matrix.shape == (5, 8, 8)
    close(matrix @ matrix.mT, np.broadcast_to(np.eye(8), (5, 8, 8)))
    close(np.linalg.det(matrix), np.ones(5))
    assert ((matrix != 0).sum(axis=-1) == 2).all()


def test_product_of_transposed_matrices_depends_on_the_offset_alone():
    early, late, offset = (rotation_matrix(rope_angles(m, inv_freq(8))) for m in (3, 10, 7))
    close(early.T @ late, offset)


# Peers that we did not write


def test_half_split_equals_transformers_llama():
    llama = pytest.importorskip("transformers.models.llama.modeling_llama")
    q, k = torch.tensor(example(1, 3, 6, 16)), torch.tensor(example(1, 3, 6, 16, seed=1))
    table = torch.tensor(np.tile(angles_for(6, 16), 2))[None]  # (1, seq, head_dim)
    theirs = llama.apply_rotary_pos_emb(q, k, table.cos(), table.sin())
    for x, expected in zip((q, k), theirs, strict=True):
        close(apply_rope(x, angles_for(6, 16), layout="half_split"), expected)


def test_interleaved_equals_transformers_gpt_j():
    gptj = pytest.importorskip("transformers.models.gptj.modeling_gptj")
    x, angles = torch.tensor(example(1, 6, 3, 16)), torch.tensor(angles_for(6, 16))  # heads after sequence
    expected = gptj.apply_rotary_pos_emb(x, angles.sin()[None], angles.cos()[None])
    close(apply_rope(x, angles[:, None, :], layout="interleaved"), expected)


# Dtypes and precision


@layouts
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, torch.float16, torch.float32])
def test_dtype_and_kind_of_the_input_come_back(dtype, layout):
    numpy = not isinstance(dtype, torch.dtype)
    x = np.ones((5, 8), dtype=dtype) if numpy else torch.ones((5, 8), dtype=dtype)
    turned = apply_rope(x, angles_for(5, 8), layout=layout)
    assert type(turned) is type(x)
    assert turned.dtype == x.dtype


@layouts
@pytest.mark.parametrize("form", [apply_rope, rotate_by_matrix])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_halves_equal_the_float32_rotation_rounded_once_in_torch(dtype, form, layout):
    x = torch.tensor(example(5, 8)).to(dtype)
    once = form(x.float(), angles_for(5, 8), layout=layout).to(dtype)
    turned = form(x, angles_for(5, 8), layout=layout)
    assert turned.dtype == dtype
    assert torch.equal(turned, once)


@layouts
def test_halves_equal_the_float32_rotation_rounded_once_in_numpy(layout):
    x = example(5, 8).astype(np.float16)
    once = apply_rope(x.astype(np.float32), angles_for(5, 8), layout=layout).astype(np.float16)
    exact(apply_rope(x, angles_for(5, 8), layout=layout), once)


def test_complex_form_rounds_halves_once():
    x = torch.tensor(example(5, 8)).bfloat16()
    assert torch.equal(
        rotate_as_complex(x, angles_for(5, 8)), rotate_as_complex(x.float(), angles_for(5, 8)).bfloat16()
    )


@layouts
@pytest.mark.parametrize(
    ("dtype", "atol"), [(torch.bfloat16, 2e-2), (torch.float16, 2e-3), (torch.float32, 1e-6)]
)
def test_position_two_to_the_twenty_is_as_accurate_as_the_dtype_allows(dtype, atol, layout):
    x, angles = torch.tensor(example(3, 8)).to(dtype), rope_angles(2**20 + np.arange(3), inv_freq(8))
    truth = apply_rope(x.double(), angles, layout=layout)
    close(apply_rope(x, angles, layout=layout).double(), truth, atol=atol)


def test_cos_and_sin_are_taken_in_float64_and_rounded_once():
    angles = rope_angles([2**20 + 1], [0.1])
    turned = apply_rope(np.array([[1.0, 0.0]], dtype=np.float32), angles)
    exact(turned, np.array([[math.cos(angles.item()), math.sin(angles.item())]], dtype=np.float32))


# Shapes, tail, attention factor


@layouts
@kinds
def test_tail_passes_unchanged_and_is_not_scaled(make, layout):
    x, angles = make(example(5, 10)), angles_for(5, 6)
    turned = apply_rope(x, angles, layout=layout, attention_factor=2.0)
    exact(turned[..., 6:], x[..., 6:])
    close(turned[..., :6], 2 * apply_rope(x[..., :6], angles, layout=layout))


def test_no_pairs_and_no_tokens_are_fine():
    x = example(5, 8)
    exact(apply_rope(x, np.zeros((5, 0))), x)
    assert apply_rope(x[:0], np.zeros((0, 4))).shape == (0, 8)


@kinds
@layouts
def test_heads_after_the_sequence_rotate_as_heads_before_it(make, layout):
    x, angles = example(2, 3, 5, 8), make(angles_for(5, 8))
    before = apply_rope(make(x), angles, layout=layout)
    after = apply_rope(make(x.swapaxes(1, 2)), angles[:, None, :], layout=layout)
    exact(np.asarray(after).swapaxes(1, 2), before)


def test_each_row_of_a_batch_may_have_positions_of_its_own():
    x, positions = example(2, 3, 5, 8), np.array([[0, 1, 2, 3, 4], [7, 8, 9, 10, 11]])
    together = apply_rope(x, rope_angles(positions, inv_freq(8))[:, None])
    for row in range(2):
        exact(together[row], apply_rope(x[row], rope_angles(positions[row], inv_freq(8))))


@layouts
def test_numpy_angles_turn_a_tensor_and_tensor_angles_an_array(layout):
    x, angles = example(5, 8), angles_for(5, 8)
    expected = apply_rope(x, angles, layout=layout)
    mixed = apply_rope(torch.tensor(x), angles, layout=layout)
    assert isinstance(mixed, torch.Tensor)
    close(mixed, expected)
    assert isinstance(apply_rope(x, torch.tensor(angles), layout=layout), np.ndarray)
    close(apply_rope(x, torch.tensor(angles), layout=layout), expected)


def test_input_and_angles_are_left_alone():
    x, angles = example(5, 8), angles_for(5, 8)
    copies = x.copy(), angles.copy()
    apply_rope(x, angles, attention_factor=2.0)
    exact(x, copies[0])
    exact(angles, copies[1])


# Gradients and compilation


@layouts
def test_gradients_reach_x_and_angles(layout):
    x = torch.tensor(example(2, 3, 6), requires_grad=True)
    angles = torch.tensor(angles_for(3, 4), requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda x, angles: apply_rope(x, angles, layout=layout, attention_factor=1.3), (x, angles)
    )


@pytest.mark.parametrize("form", [rotate_as_complex, rotate_by_matrix])
def test_gradients_reach_x_and_angles_in_the_teaching_forms(form):
    x = torch.tensor(example(3, 4), requires_grad=True)
    assert torch.autograd.gradcheck(form, (x, torch.tensor(angles_for(3, 4), requires_grad=True)))


@layouts
def test_gradient_of_a_rotation_is_the_rotation_back(layout):
    x, upstream = torch.tensor(example(5, 8), requires_grad=True), torch.tensor(example(5, 8, seed=1))
    apply_rope(x, angles_for(5, 8), layout=layout).backward(upstream)
    close(x.grad, apply_rope(upstream, -angles_for(5, 8), layout=layout))


@pytest.mark.sampled
@layouts
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_torch_compile_traces_angles_and_rotation_as_one_graph(backend, layout):
    def rotate(x, positions, frequencies):
        return apply_rope(x, rope_angles(positions, frequencies), layout=layout, attention_factor=1.2)

    inputs = torch.tensor(example(5, 8)).bfloat16(), torch.arange(5), torch.tensor(inv_freq(8))
    torch._dynamo.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # dynamo warns of lru_cache inside array_api_compat
        compiled = torch.compile(rotate, fullgraph=True, backend=backend)(*inputs)
    assert torch.equal(compiled, rotate(*inputs))


# Refusals

FORMS = [apply_rope, rotate_as_complex, rotate_by_matrix]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", ["int64", "bool", "complex128"])
@kinds
def test_x_that_is_not_of_floats_is_refused(make, dtype, form):
    with pytest.raises(ValueError, match=f"x must hold floats .*, got {dtype}"):
        form(make(np.ones((5, 8), dtype=dtype)), angles_for(5, 8))


@pytest.mark.parametrize("form", FORMS)
def test_x_that_is_no_array_or_one_number_is_refused(form):
    with pytest.raises(ValueError, match="x must be a NumPy array or a torch tensor, got list"):
        form([1.0, 0.0], [0.0])
    with pytest.raises(ValueError, match="x must have a feature axis"):
        form(np.array(1.0), [0.0])


@pytest.mark.parametrize("form", FORMS)
def test_what_lies_under_a_mask_is_not_used(form):
    with pytest.raises(ValueError, match="x must not be a MaskedArray"):
        form(np.ma.masked_array(np.ones((5, 8)), mask=False), angles_for(5, 8))
    with pytest.raises(ValueError, match="positions must not be a MaskedArray"):
        rope_angles(np.ma.masked_array([0.0, 9.0], mask=[False, True]), inv_freq(8))


@pytest.mark.parametrize("form", FORMS)
def test_more_pairs_than_the_head_holds_are_refused(form):
    with pytest.raises(ValueError, match="head_dim = 8, got 5 pairs"):
        form(example(5, 8), np.zeros((5, 5)))


@pytest.mark.parametrize("form", [rotate_as_complex, rotate_by_matrix])
def test_teaching_forms_refuse_a_tail(form):
    with pytest.raises(ValueError, match="2 · pairs must equal head_dim = 8, got 3 pairs"):
        form(example(5, 8), np.zeros((5, 3)))


@pytest.mark.parametrize("shape", [(6, 4), (2, 5, 4), (1, 5, 4)])
def test_angles_that_would_not_fit_or_would_enlarge_x_are_refused_with_both_shapes(shape):
    with pytest.raises(ValueError, match=r"x is \(5, 8\); insert an axis.*angles\[:, None, :\]") as refusal:
        apply_rope(example(5, 8), np.zeros(shape))
    assert str(shape) in str(refusal.value)


@pytest.mark.parametrize("angles", [[[True]], [[1j]]])
def test_angles_that_are_not_real_are_refused(angles):
    with pytest.raises(ValueError, match="angles must be real numbers"):
        apply_rope(example(1, 2), np.array(angles))


def test_angles_without_an_axis_of_pairs_are_refused():
    with pytest.raises(ValueError, match="angles must have an axis of pairs"):
        apply_rope(example(1, 2), 0.5)


@pytest.mark.parametrize("layout", ["half-split", "neox", None, 1])
def test_a_misspelt_layout_is_refused_with_the_two_that_exist(layout):
    sentence = f"layout must be 'interleaved' or 'half_split', got {layout!r}"
    with pytest.raises(ValueError, match=sentence):
        apply_rope(example(5, 8), angles_for(5, 8), layout=layout)
    with pytest.raises(ValueError, match=sentence):
        rotate_by_matrix(example(5, 8), angles_for(5, 8), layout=layout)
    with pytest.raises(ValueError, match=sentence):
        rotation_matrix(angles_for(5, 8), layout=layout)


@pytest.mark.parametrize("factor", [0, -1.0, math.inf, math.nan, True, "1"])
def test_attention_factor_that_is_not_finite_and_above_zero_is_refused(factor):
    with pytest.raises(ValueError, match="attention_factor must be a finite number above 0, got"):
        apply_rope(example(5, 8), angles_for(5, 8), attention_factor=factor)


def test_one_pair_of_another_length_or_with_an_infinite_angle_is_refused():
    with pytest.raises(ValueError, match="pair must have 2 members, got 3"):
        rotate_pair([1.0, 2.0, 3.0], 0.0)
    with pytest.raises(ValueError, match="angle must be a finite number"):
        rotate_pair([1.0, 2.0], math.inf)
