"""Partial rotary and p-RoPE: which denominator, which partner, what stands still; the refusals."""

import math

import numpy as np
import pytest

from rope_edu import apply_rope, inv_freq, rope_angles
from rope_edu.encodings import p_rope, partial_rope, plain_rope
from rope_edu.encodings.layouts import pair_slices


def test_partial_rotary_divides_by_the_rotated_width():
    spec = partial_rope(64, 16, 500.0)
    assert (spec.inv_freq == 500.0 ** -(np.arange(0, 16, 2) / 16)).all()
    assert (spec.head_dim, spec.rotary_dim, spec.kind) == (64, 16, "partial")


def test_p_rope_divides_by_the_whole_head_and_stills_the_slow_pairs():
    spec = p_rope(64, 0.25)
    assert (spec.inv_freq[:8] == inv_freq(64)[:8]).all()
    assert (spec.inv_freq[8:] == 0).all()
    assert (spec.head_dim, spec.rotary_dim, spec.kind) == (64, 64, "p-rope")


def test_the_two_turn_equally_many_pairs_at_other_speeds_with_other_partners():
    partial, kept = partial_rope(64, 16, layout="half_split"), p_rope(64, 0.25, layout="half_split")
    assert np.count_nonzero(partial.inv_freq) == np.count_nonzero(kept.inv_freq) == 8
    assert partial.inv_freq[-1] < 4e-4 < 0.1 < kept.inv_freq[7]
    x = np.eye(64)[0]  # feature 0 alone
    partners = {
        spec.kind: int(np.flatnonzero(apply_rope(x, rope_angles(1, spec.inv_freq), layout="half_split"))[-1])
        for spec in (partial, kept)
    }
    assert partners == {"partial": 8, "p-rope": 32}
    assert pair_slices(partial.rotary_dim, "half_split")[1].start == 8


@pytest.mark.parametrize(("p", "turning"), [(0.0, 0), (0.1, 5), (0.25, 12), (0.5, 25), (0.58, 28), (1.0, 50)])
def test_the_number_of_turning_pairs_is_rounded_down(p, turning):
    """Of 50; 0.58 · 100 is 57.99… in binary, and transformers rounds it down too."""
    assert np.count_nonzero(p_rope(100, p).inv_freq) == turning


def test_p_of_one_is_rope_and_p_of_zero_leaves_everything_in_place():
    assert (p_rope(16, 1).inv_freq == plain_rope(16).inv_freq).all()
    x = np.random.default_rng(0).normal(size=(5, 16))
    assert (apply_rope(x, rope_angles(range(5), p_rope(16, 0).inv_freq)) == x).all()


@pytest.mark.parametrize("p", [-0.1, 1.1, math.nan, "half", True, None])
def test_a_fraction_outside_zero_to_one_is_refused(p):
    with pytest.raises(
        ValueError, match="p, the fraction of pairs that turn, must be a number from 0 to 1, got"
    ):
        p_rope(8, p)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: p_rope(7, 0.5), "head_dim must be an even whole number of at least 2, got 7"),
        (lambda: p_rope(8, 0.5, 1.0), "base must be a finite number above 1, got 1.0"),
        (lambda: p_rope(8, 0.5, layout="neox"), "layout must be 'interleaved' or 'half_split', got 'neox'"),
        (lambda: partial_rope(8, 3), "rotary_dim must be an even whole number of at least 2, got 3"),
        (lambda: partial_rope(8, 10), "rotary_dim must be at most head_dim = 8, got 10"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


@pytest.mark.parametrize(("head_dim", "p"), [(512, 0.25), (64, 0.25), (100, 0.58), (8, 0.3)])
def test_p_rope_is_transformers_proportional_rule_pair_by_pair(head_dim, p):
    """Exponents count from 0 over the whole head: pair 0 turns 1 rad per token, whatever p is."""
    pytest.importorskip("transformers")
    from transformers import LlamaConfig
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    parameters = {"rope_type": "proportional", "rope_theta": 1e6, "partial_rotary_factor": p}
    config = LlamaConfig(head_dim=head_dim, rope_parameters=parameters)
    theirs, _ = ROPE_INIT_FUNCTIONS["proportional"](config, "cpu")
    ours = p_rope(head_dim, p, 1e6).inv_freq
    assert np.allclose(ours, theirs.double().numpy(), rtol=1e-5)
    assert ours[0] == 1.0
