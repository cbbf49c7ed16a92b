"""Layouts: where each feature goes, that rotation and reordering commute, and conversion of weights."""

import numpy as np
import pytest
import torch

from rope_edu import apply_rope, inv_freq, rope_angles
from rope_edu.attention import attention_scores
from rope_edu.encodings import (
    LAYOUTS,
    convert_projection,
    half_split_to_interleaved,
    interleaved_to_half_split,
    layout_permutation,
    pair_slices,
)
from rope_edu.encodings.layouts import check_layout

kinds = pytest.mark.parametrize("make", [np.asarray, torch.asarray], ids=["numpy", "torch"])


def example(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


@pytest.mark.parametrize(
    ("layout", "pairs"), [("interleaved", [(0, 1), (2, 3), (4, 5)]), ("half_split", [(0, 3), (1, 4), (2, 5)])]
)
def test_members_pair_up_as_the_layout_says(layout, pairs):
    first, second = pair_slices(6, layout)
    assert list(zip(range(9)[first], range(9)[second], strict=True)) == pairs


def test_permutation_lists_evens_then_odds_then_the_tail():
    assert layout_permutation(6).tolist() == [0, 2, 4, 1, 3, 5]
    assert layout_permutation(4, 7).tolist() == [0, 2, 1, 3, 4, 5, 6]


@kinds
def test_feature_i_of_half_split_comes_from_feature_2i(make):
    x = make(np.arange(8))
    assert interleaved_to_half_split(x).tolist() == [0, 2, 4, 6, 1, 3, 5, 7]
    assert interleaved_to_half_split(x, rotary_dim=4).tolist() == [0, 2, 1, 3, 4, 5, 6, 7]


@kinds
@pytest.mark.parametrize("rotary_dim", [None, 2, 6, 8])
def test_there_and_back_is_the_identity_both_ways(make, rotary_dim):
    x = make(example(2, 3, 8))
    for there, back in [
        (interleaved_to_half_split, half_split_to_interleaved),
        (half_split_to_interleaved, interleaved_to_half_split),
    ]:
        again = back(there(x, rotary_dim), rotary_dim)
        assert type(again) is type(x)
        assert again.tolist() == x.tolist()


@kinds
@pytest.mark.parametrize("rotary_dim", [4, 8])
def test_reorder_then_rotate_equals_rotate_then_reorder(make, rotary_dim):
    x, angles = make(example(2, 5, 8)), rope_angles(range(5), inv_freq(rotary_dim))
    reordered = apply_rope(interleaved_to_half_split(x, rotary_dim), angles, layout="half_split")
    rotated = interleaved_to_half_split(apply_rope(x, angles, layout="interleaved"), rotary_dim)
    # x cos − y sin with or without fused products: each is off by at most 2 half-eps of |x| + |y| < 6
    np.testing.assert_allclose(reordered, rotated, rtol=0, atol=2 * 2 * 1.2e-16 * 8)
    assert not np.allclose(reordered, apply_rope(x, angles, layout="interleaved"))


def test_mixed_layouts_lose_relativity():
    q, k, frequencies = example(8), example(8, seed=1), inv_freq(8)

    def spread(k_layout):
        positions = np.array([0, 10, 100, 1000])
        turned_q = apply_rope(
            np.tile(q, (4, 1)), rope_angles(positions + 3, frequencies), layout="interleaved"
        )
        turned_k = apply_rope(np.tile(k, (4, 1)), rope_angles(positions, frequencies), layout=k_layout)
        return np.ptp((turned_q * turned_k).sum(-1))

    assert (
        spread("interleaved") < 1e-11
    )  # angles near 1000 are rounded by 6e-14 each, the products sum to less than 20
    assert spread("half_split") > 0.1


@kinds
@pytest.mark.parametrize("rotary_dim", [None, 4])
def test_converted_projections_give_the_same_scores_in_the_other_layout(make, rotary_dim):
    n_heads, head_dim, d_model, seq = 3, 6, 5, 7  # at width 4 the permutation is its own inverse
    tokens = make(example(seq, d_model))
    wq, wk = (
        make(example(n_heads * head_dim, d_model, seed=1)),
        make(example(n_heads * head_dim, d_model, seed=2)),
    )
    bq = make(example(n_heads * head_dim, seed=3))
    angles = rope_angles(range(seq), inv_freq(rotary_dim or head_dim))

    def scores(wq, bq, wk, layout):
        q, k = tokens @ wq.T + bq, tokens @ wk.T
        q, k = (z.reshape(seq, n_heads, head_dim).swapaxes(0, 1) for z in (q, k))
        return attention_scores(apply_rope(q, angles, layout=layout), apply_rope(k, angles, layout=layout))

    for source, to in [LAYOUTS, LAYOUTS[::-1]]:
        converted = [convert_projection(w, n_heads, to=to, rotary_dim=rotary_dim) for w in (wq, bq, wk)]
        np.testing.assert_allclose(scores(*converted, to), scores(wq, bq, wk, source), rtol=0, atol=1e-12)


def test_conversion_equals_the_view_and_transpose_of_llama_conversion_scripts():
    n_heads, head_dim, d_model = 2, 6, 5
    weight = torch.tensor(example(n_heads * head_dim, d_model))
    scripted = weight.view(n_heads, head_dim // 2, 2, d_model).transpose(1, 2).reshape(weight.shape)
    assert torch.equal(convert_projection(weight, n_heads, to="half_split"), scripted)


def test_conversion_there_and_back_is_the_identity_and_copies():
    weight = example(12, 3)
    there = convert_projection(weight, 2, to="half_split")
    assert not np.shares_memory(there, weight)
    assert convert_projection(there, 2, to="interleaved").tolist() == weight.tolist()


def test_gradients_pass_through_reordering():
    x = torch.tensor(example(2, 6), requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: interleaved_to_half_split(x, 4), (x,))


@pytest.mark.parametrize("layout", ["Interleaved", "gptj", "", None])
def test_a_misspelt_layout_is_refused_with_the_two_that_exist(layout):
    with pytest.raises(ValueError, match=f"layout must be 'interleaved' or 'half_split', got {layout!r}"):
        check_layout(layout)
    with pytest.raises(ValueError, match=f"to must be 'interleaved' or 'half_split', got {layout!r}"):
        convert_projection(np.ones((4, 2)), 1, to=layout)


@pytest.mark.parametrize("rotary_dim", [3, 0, -2, 2.0, True])
def test_rotary_dim_that_is_no_even_number_of_features_is_refused(rotary_dim):
    for call in (
        lambda: layout_permutation(rotary_dim, 8),
        lambda: interleaved_to_half_split(np.ones(8), rotary_dim),
        lambda: convert_projection(np.ones(8), 1, to="half_split", rotary_dim=rotary_dim),
    ):
        with pytest.raises(ValueError, match=f"rotary_dim must be an even whole number.*got {rotary_dim!r}"):
            call()


def test_rotary_dim_above_the_head_is_refused():
    with pytest.raises(ValueError, match="rotary_dim must be at most head_dim = 4, got 6"):
        layout_permutation(6, 4)


@pytest.mark.parametrize(
    ("weight", "n_heads", "sentence"),
    [
        (np.ones((7, 2)), 2, r"weight must be \(2 heads · head_dim, d_model\) or a bias, got shape \(7, 2\)"),
        (np.ones((2, 4, 2)), 2, r"got shape \(2, 4, 2\)"),
        (np.ones((4, 2)), 0, "n_heads must be a whole number of at least 1, got 0"),
        ([1.0, 2.0], 1, "weight must be a NumPy array or a torch tensor, got list"),
    ],
)
def test_weights_that_do_not_split_into_heads_are_refused(weight, n_heads, sentence):
    with pytest.raises(ValueError, match=sentence):
        convert_projection(weight, n_heads, to="half_split")


def test_features_without_an_axis_are_refused():
    with pytest.raises(ValueError, match="x must have a feature axis"):
        interleaved_to_half_split(np.array(1.0))
