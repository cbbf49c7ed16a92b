"""Dynamic NTK: equal to transformers, unchanged up to the trained length, without a memory, the refusals."""

import math

import numpy as np
import pytest
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from rope_edu import dynamic_ntk_inv_freq, inv_freq


def dynamic(head_dim, length, trained_length, factor, base):
    """Give transformers' frequencies of the rope type "dynamic" (float32)."""
    config = LlamaConfig(
        hidden_size=2 * head_dim,
        num_attention_heads=2,
        head_dim=head_dim,
        max_position_embeddings=trained_length,
        rope_parameters={"rope_type": "dynamic", "rope_theta": base, "factor": factor},
    )
    return ROPE_INIT_FUNCTIONS["dynamic"](config, "cpu", seq_len=length)[0].numpy()


@pytest.mark.parametrize("base", [10_000.0, 5e5])
@pytest.mark.parametrize("factor", [1.0, 2.0, 8.0])
@pytest.mark.parametrize("length", [1, 2048, 2049, 5000, 100_000])
@pytest.mark.parametrize("head_dim", [4, 64, 128])
def test_it_equals_transformers_dynamic(head_dim, length, factor, base):
    ours = dynamic_ntk_inv_freq(head_dim, length, 2048, factor=factor, base=base)
    # theirs is float32: base^x has a relative error of x · ln(base) half-eps, and this rule's bases go up to e^27
    rtol = 40 * np.finfo(np.float32).eps
    np.testing.assert_allclose(ours, dynamic(head_dim, length, 2048, factor, base), rtol=rtol)


@pytest.mark.parametrize("factor", [0.5, 1.0, 4.0])
def test_up_to_the_trained_length_nothing_changes(factor):
    for length in (1, 99, 100):
        assert (dynamic_ntk_inv_freq(16, length, 100, factor=factor) == inv_freq(16)).all()


def test_factor_one_divides_the_last_pair_by_the_stretch_and_leaves_the_first():
    frequencies = dynamic_ntk_inv_freq(128, 4 * 4096, 4096)
    assert frequencies[0] == 1.0
    assert inv_freq(128)[-1] / frequencies[-1] == pytest.approx(4.0, rel=1e-12)
    base = 10_000 * 4 ** (128 / 126)  # what this amounts to
    assert base == pytest.approx(40_890, abs=1)
    np.testing.assert_allclose(frequencies, inv_freq(128, base), rtol=1e-12)


def test_beyond_the_trained_length_every_pair_but_the_first_slows_with_every_token():
    before, after = dynamic_ntk_inv_freq(16, 150, 100), dynamic_ntk_inv_freq(16, 151, 100)
    assert (after[1:] < before[1:]).all()


def test_a_longer_text_in_between_changes_nothing():
    before = dynamic_ntk_inv_freq(16, 150, 100)
    dynamic_ntk_inv_freq(16, 10_000, 100)
    assert (dynamic_ntk_inv_freq(16, 150, 100) == before).all()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"head_dim": 2}, r"head_dim must be at least 4: the rule raises to d/\(d − 2\); got 2"),
        ({"head_dim": 5}, "head_dim must be an even whole number of at least 2, got 5"),
        ({"length": 0}, "length must be a whole number of at least 1, got 0"),
        ({"trained_length": 1.5}, "trained_length must be a whole number of at least 1, got 1.5"),
        ({"factor": 0}, "factor must be a finite number above 0, got 0"),
        ({"factor": math.inf}, "factor must be a finite number above 0, got inf"),
        ({"base": 1}, "base must be a finite number above 1, got 1"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(changes, sentence):
    with pytest.raises(ValueError, match=sentence):
        dynamic_ntk_inv_freq(**{"head_dim": 8, "length": 10, "trained_length": 10} | changes)
