"""Encodings as modules: the library's numbers, one implementation of attention for both, gradients, precision."""

import math

import pytest
import torch

import rope_edu
from rope_edu.attention import multi_head_attention
from rope_edu.attention.encoding import PositionEncoding
from rope_edu.nn import ENCODINGS, Attention, TinyTransformer, make_encoding

EVERY = (*ENCODINGS, "dynamic-ntk")
SIZES = {"d_model": 16, "n_heads": 2, "max_len": 64}


def make(name, **options):
    torch.manual_seed(0)
    encoding = make_encoding(name, **SIZES, **options)
    for weight in encoding.parameters():  # T5's table begins at zero: nothing would be tested
        torch.nn.init.normal_(weight, std=0.5)
    return encoding


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("layout", ["interleaved", "half_split"])
def test_attention_equals_that_of_the_library_with_the_same_weights(name, layout):
    encoding, attention = make(name, layout=layout), Attention(16, 2)
    x = torch.randn(3, 7, 16)
    w_q, w_k, w_v = attention.w_qkv.weight.chunk(3)
    expected, _ = multi_head_attention(x, w_q, w_k, w_v, attention.w_o.weight, n_heads=2, encoding=encoding)
    assert torch.allclose(attention(x, encoding, range(7)), expected, atol=1e-6)


def reference(name, encoding):
    """Say again, with functions of the library alone, what an encoding does to scores of raw q and k."""
    frequencies = {
        "rotary": rope_edu.inv_freq(8),
        "partial": rope_edu.inv_freq(4),
        "p-rope": rope_edu.p_rope_inv_freq(8, 0.5),
    }
    if name in frequencies:
        angles = rope_edu.rope_angles(range(5), frequencies[name])
        return lambda q, k: rope_edu.apply_rope(q, angles) @ rope_edu.apply_rope(k, angles).mT / math.sqrt(8)
    if name == "alibi":
        return lambda q, k: q @ k.mT / math.sqrt(8) + torch.tensor(rope_edu.alibi_bias(2, 5, 5))
    if name == "t5":
        return lambda q, k: (
            q @ k.mT / math.sqrt(8) + rope_edu.t5_bias(encoding.table, 5, 5, bidirectional=False)
        )
    table = torch.cat((encoding.table, torch.zeros(16, 8)))  # keys to the right are masked
    return lambda q, k: rope_edu.shaw_scores(q, k, table) / math.sqrt(8)


@pytest.mark.parametrize("name", ["rotary", "partial", "p-rope", "alibi", "t5", "shaw"])
def test_scores_are_those_of_the_functions_of_the_library(name):
    encoding = make(name, p=0.5, partial_factor=0.5).double()
    q, k = torch.randn(2, 4, 2, 5, 8, dtype=torch.float64)
    turned = encoding.rotate_q(q, range(5)) @ encoding.rotate_k(k, range(5)).mT / math.sqrt(8)
    bias = encoding.bias(q, 5)
    scores = turned if bias is None else turned + bias
    assert torch.allclose(scores.tril(), reference(name, encoding)(q, k).tril(), atol=1e-12)


@pytest.mark.parametrize("name", EVERY)
def test_positions_as_a_range_and_as_a_tensor_do_the_same(name):
    encoding, x = make(name), torch.randn(2, 2, 5, 8)
    for door, tensor in (
        (encoding.rotate_q, x),
        (encoding.rotate_k, x),
        (encoding.embed, torch.randn(2, 5, 16)),
    ):
        assert torch.equal(door(tensor, range(3, 8)), door(tensor, torch.arange(3, 8)))


@pytest.mark.parametrize("name", EVERY)
def test_an_encoding_is_one_of_the_library_and_opens_the_doors_that_belong_to_it(name):
    encoding, q = make(name), torch.ones(1, 2, 5, 8)
    assert isinstance(encoding, PositionEncoding)
    embeds = not torch.equal(encoding.embed(torch.ones(1, 5, 16), range(5)), torch.ones(1, 5, 16))
    rotates = not torch.equal(encoding.rotate_q(q, range(5)), q)
    biases = encoding.bias(q, 5) is not None
    expected = {"none": (0, 0, 0), "learned": (1, 0, 0), "sinusoidal": (1, 0, 0)}
    expected |= dict.fromkeys(("shaw", "t5", "alibi"), (0, 0, 1))
    assert (embeds, rotates, biases) == expected.get(name, (0, 1, 0))


def test_what_is_kept_for_one_length_place_and_dtype_is_not_used_for_another():
    rotary, alibi, sinusoidal = make("rotary"), make("alibi"), make("sinusoidal")
    x = torch.randn(1, 2, 4, 8)
    for positions in (range(4), range(4, 8), range(4)):
        assert torch.equal(rotary.rotate_q(x, positions), make("rotary").rotate_q(x, positions))
    for q_len, k_len in ((4, 4), (4, 9), (1, 9)):
        assert torch.equal(
            alibi.bias(x[..., :q_len, :], k_len), torch.tensor(rope_edu.alibi_bias(2, q_len, k_len)).float()
        )
    assert sinusoidal.embed(x.new_zeros(1, 4, 16), range(4)).dtype == torch.float32
    assert sinusoidal.embed(x.new_zeros(1, 4, 16).double(), range(4)).dtype == torch.float64
    exact = torch.tensor(rope_edu.sinusoidal(range(4), 16))
    assert torch.equal(sinusoidal.embed(torch.zeros(1, 4, 16).double(), range(4))[0], exact)


def test_what_is_kept_stays_small_however_long_the_decoding():
    rotary = make("rotary")
    for position in range(500):
        rotary.rotate_q(torch.ones(1, 8), range(position, position + 1))
    assert len(rotary._kept) <= 64


def test_a_module_in_bfloat16_turns_by_angles_that_were_never_rounded():
    rotary, x = make("rotary").to(torch.bfloat16), torch.randn(1, 3, 8).to(torch.bfloat16)
    positions = range(4093, 4096)
    exact = rope_edu.apply_rope(x.double(), rope_edu.rope_angles(positions, rope_edu.inv_freq(8)))
    error = (rotary.rotate_q(x, positions).double() - exact).abs().max()
    assert (
        error < 2 * 2**-8 * x.abs().max()
    )  # the rounding of the output; a rounded frequency is off by radians


def test_gradients_reach_learned_frequencies_and_follow_their_change():
    rotary, x = make("learned-rotary"), torch.randn(1, 2, 5, 8)
    before = rotary.rotate_q(x, range(5))
    before[..., 0].sum().backward()
    assert (rotary.log_inv_freq.grad != 0).sum() == 1  # pair 0 alone
    with torch.no_grad():
        rotary.log_inv_freq += 0.1
    assert not torch.allclose(rotary.rotate_q(x, range(5)), before)


def test_shaw_has_a_table_for_each_layer_and_t5_one_for_all():
    tables = {
        name: TinyTransformer(5, encoding=name, d_model=16, n_layers=3).encodings for name in ("shaw", "t5")
    }
    assert (len(tables["shaw"]), len(tables["t5"])) == (3, 1)


def test_an_unknown_encoding_is_refused_with_all_names():
    with pytest.raises(ValueError, match=r"encoding must be one of none, learned.*xpos.*got 'rope'"):
        make_encoding("rope", d_model=8, n_heads=1)
