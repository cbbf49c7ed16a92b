"""What is done once: inputs are checked at the front door, cosines and sines are taken for q, k and all layers."""

import sys
from collections import Counter

import numpy as np
import pytest
import torch

from rope_edu import Rotary, apply_rope, inv_freq
from rope_edu.attention import KVCache, multi_head_attention
from rope_edu.encodings import plain_rope, rope_angles
from rope_edu.fast import RotaryTable

W = np.eye(16)
CHECKS = 41  # calls in validation that one attention makes; they were 101 when each function checked its own


def calls(call):
    """Count calls by module and by function."""
    counts = Counter()

    def watch(frame, event, _):
        module = frame.f_globals.get("__name__", "")
        if event == "call" and module.startswith("rope_edu"):
            counts[module.removeprefix("rope_edu.")] += 1
            counts[frame.f_code.co_name] += 1

    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
    return counts


def attend(x, encoding, **how):
    return multi_head_attention(x, W, W, W, W, n_heads=2, encoding=encoding, **how)[0]


def test_attention_checks_its_inputs_once():
    x, encoding = np.ones((2, 5, 16)), Rotary(plain_rope(8))
    counts = calls(lambda: attend(x, encoding))
    assert counts["encodings.validation"] <= CHECKS
    assert counts["check_qkv"] == 0
    assert counts["check_one_of"] == 0


@pytest.mark.parametrize("positions", [None, range(5), [0, 1, 2, 3, 4], np.arange(5) / 2])
def test_four_layers_take_cosines_and_sines_once(positions):
    encoding, x = Rotary(plain_rope(8)), np.ones((2, 5, 16))

    def forward():
        y = x
        for _ in range(4):
            y = attend(y, encoding, positions=positions)

    assert calls(forward)["cos_and_sin"] == 1


def test_a_table_takes_none_after_its_first_block():
    encoding, x = Rotary(RotaryTable(plain_rope(8))), np.ones((2, 5, 16))
    attend(x, encoding)
    counts = calls(lambda: attend(x, encoding))
    assert counts["cos_and_sin"] == counts["_build_rows"] == 0
    np.testing.assert_allclose(attend(x, encoding), attend(x, Rotary(plain_rope(8))), rtol=0, atol=1e-12)


@pytest.mark.parametrize("make", [np.asarray, torch.asarray], ids=["numpy", "torch"])
def test_what_is_held_answers_for_its_own_positions_kind_and_dtype_only(make):
    encoding, positions = Rotary(inv_freq(8)), np.arange(5.0)
    x = make(np.random.default_rng(0).normal(size=(5, 8)))

    def right(x, positions):
        expected = apply_rope(x, rope_angles(positions, inv_freq(8)))
        found = encoding.rotate_q(x, positions)
        assert found.dtype == expected.dtype
        assert (found == expected).all()

    right(x, positions)
    positions += 3  # the same array, other numbers
    right(x, positions)
    right(x, range(5))
    right(x, range(3, 8))
    right(np.asarray(x).astype(np.float32), range(3, 8))
    right(torch.asarray(x).bfloat16(), range(3, 8)) if make is torch.asarray else None
    tensor = torch.arange(5)
    right(x if make is torch.asarray else torch.asarray(x), tensor)
    tensor += 1
    right(torch.asarray(x), tensor)


def test_learned_frequencies_are_never_held():
    frequencies = torch.tensor(inv_freq(8), requires_grad=True)
    encoding, x = Rotary(frequencies), torch.ones(5, 8, dtype=torch.float64)
    for _ in range(2):  # a second backward pass through what was kept would fail
        encoding.rotate_q(x, range(5)).sum().backward()
    before = encoding.rotate_q(x, range(5)).detach()
    with torch.no_grad():
        frequencies *= 2
    assert not torch.equal(encoding.rotate_q(x, range(5)), before)


def test_what_inference_mode_made_can_be_used_for_a_gradient():
    encoding, x = Rotary(inv_freq(8)), torch.ones(5, 8)
    with torch.inference_mode():
        encoding.rotate_q(x, range(5))
    x = x.clone().requires_grad_()
    encoding.rotate_q(x, range(5)).sum().backward()
    assert x.grad is not None


def test_a_cache_goes_on_counting_with_a_table():
    x = np.random.default_rng(1).normal(size=(1, 6, 16))
    whole = attend(x, Rotary(inv_freq(8)))
    cache, encoding = KVCache(), Rotary(RotaryTable(inv_freq(8)))
    steps = [attend(x[:, n : n + 1], encoding, cache=cache) for n in range(6)]
    np.testing.assert_allclose(np.concatenate(steps, axis=1), whole, rtol=0, atol=1e-12)
