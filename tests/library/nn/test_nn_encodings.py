"""Encodings as modules: the library's numbers, one implementation of attention for both, gradients, precision."""

import copy
import math
import pickle

import pytest
import torch

import rope_edu
from rope_book.training.transformer import Attention, TinyTransformer
from rope_edu.attention import KVCache, Rotary, multi_head_attention
from rope_edu.attention.encoding import PositionEncoding
from rope_edu.encodings import RopeSpec, dynamic_ntk, llama3, p_rope, partial_rope, plain_rope, yarn
from rope_edu.nn import ENCODINGS, OPTIONS, RotaryModule, make_encoding
from rope_edu.nn.encodings import LearnedRotary

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
    options = {"layout": layout} if "layout" in OPTIONS[name] else {}
    encoding, attention = make(name, **options).double(), Attention(16, 2).double()
    x = torch.randn(3, 7, 16, dtype=torch.float64)
    w_q, w_k, w_v = attention.w_qkv.weight.chunk(3)
    expected, _ = multi_head_attention(x, w_q, w_k, w_v, attention.w_o.weight, n_heads=2, encoding=encoding)
    torch.testing.assert_close(attention(x, encoding, range(7)), expected, rtol=0, atol=1e-12)


def reference(name, encoding):
    """Say again, with functions of the library alone, what an encoding does to scores of raw q and k."""
    frequencies = {
        "rotary": rope_edu.inv_freq(8),
        "partial": rope_edu.inv_freq(4),
        "p-rope": p_rope(8, 0.5).inv_freq,
    }
    if name in frequencies:
        angles = rope_edu.rope_angles(range(5), frequencies[name])
        return lambda q, k: rope_edu.apply_rope(q, angles) @ rope_edu.apply_rope(k, angles).mT / math.sqrt(8)
    if name == "alibi":
        return lambda q, k: q @ k.mT / math.sqrt(8) + torch.tensor(rope_edu.alibi_bias(2, 5, 5))
    if name == "t5":
        return lambda q, k: (
            q @ k.mT / math.sqrt(8) + rope_edu.encodings.t5_bias(encoding.table, 5, 5, bidirectional=False)
        )
    table = torch.cat((encoding.table, torch.zeros(16, 8)))  # keys to the right are masked
    return lambda q, k: rope_edu.encodings.shaw_scores(q, k, table) / math.sqrt(8)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("rotary", {}),
        ("partial", {"partial_factor": 0.5}),
        ("p-rope", {"p": 0.5}),
        ("alibi", {}),
        ("t5", {}),
        ("shaw", {}),
    ],
)
def test_scores_are_those_of_the_functions_of_the_library(name, options):
    encoding = make(name, **options).double()
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
    def numbers(x):
        if isinstance(x, torch.Tensor):
            return x.numel()
        return sum(map(numbers, x)) if isinstance(x, list | tuple) else 0

    rotary, alibi = make("rotary"), make("alibi")
    for position in range(500):
        rotary.rotate_q(torch.ones(1, 8), range(position, position + 1))
        alibi.bias(torch.ones(2, 1, 8), position + 1)
    assert numbers(rotary.doors._last) == 2 * 4  # a cosine and a sine for each pair
    assert len(alibi._constants) <= 64


@pytest.mark.parametrize("name", EVERY)
def test_what_was_kept_in_inference_mode_can_be_used_for_a_gradient(name):
    torch.manual_seed(0)
    model, tokens = TinyTransformer(5, encoding=name, d_model=16), torch.arange(5)[None]
    with torch.inference_mode():
        model(tokens)
    model(tokens).square().sum().backward()
    assert all(weight.grad is not None for weight in model.parameters())


@pytest.mark.parametrize("name", EVERY)
def test_an_encoding_can_be_copied_and_pickled(name):
    encoding, x, q = make(name), torch.randn(2, 5, 16), torch.randn(2, 2, 5, 8)
    for other in (copy.deepcopy(encoding), pickle.loads(pickle.dumps(encoding))):
        assert torch.equal(other.embed(x, range(5)), encoding.embed(x, range(5)))
        assert torch.equal(other.rotate_k(q, range(5)), encoding.rotate_k(q, range(5)))
        bias, expected = other.bias(q, 5), encoding.bias(q, 5)
        assert bias is expected is None or torch.equal(bias, expected)


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


SPECS = {
    "plain": plain_rope(8),
    "partial": partial_rope(8, 4, layout="half_split"),
    "p-rope": p_rope(8, 0.5),
    "yarn": yarn(8, 4, 64).replace(layout="half_split"),
    "llama3": llama3(8, 8, 8192),
}


@pytest.mark.parametrize("name", SPECS)
def test_a_module_made_of_a_spec_rotates_as_the_library_does_attention_factor_included(name):
    spec, x = SPECS[name], torch.randn(2, 2, 5, 8, dtype=torch.float64)
    module = make_encoding(spec, **SIZES)
    assert isinstance(module, RotaryModule)
    assert module.rope is spec
    expected = Rotary(spec).rotate_q(x, range(5))
    for door in (module.rotate_q, module.rotate_k):
        assert torch.equal(door(x, range(5)), expected)
    bare = RotaryModule(spec.inv_freq, spec.layout)
    assert (bare.rope.layout, bare.rope.head_dim) == (spec.layout, spec.rotary_dim)
    assert (bare.rope.inv_freq == spec.inv_freq).all()


@pytest.mark.parametrize("name", SPECS)
def test_a_transformer_made_with_a_spec_decodes_with_a_cache_as_it_reads(name):
    torch.manual_seed(0)
    model = TinyTransformer(7, encoding=SPECS[name], d_model=16, n_layers=2, n_heads=2).double().eval()
    tokens = torch.randint(7, (2, 9))
    with torch.no_grad():
        cache = model.new_cache()
        steps = torch.cat([model(token, cache) for token in tokens.split(1, dim=1)], dim=1)
        torch.testing.assert_close(steps, model(tokens), rtol=0, atol=1e-12)
    assert isinstance(cache[0], KVCache)


def test_a_trained_model_may_be_given_another_rule():
    torch.manual_seed(0)
    model = TinyTransformer(7, encoding=plain_rope(8), d_model=16, n_heads=2)
    tokens, weights = torch.randint(7, (1, 9)), dict(model.named_parameters())
    before = model(tokens)
    model.encodings[0] = RotaryModule(yarn(8, 4, 64))
    assert dict(model.named_parameters()).keys() == weights.keys()  # nothing of a rotation is learned
    assert not torch.allclose(model(tokens), before, atol=1e-3)


def test_learned_frequencies_start_from_a_spec_and_keep_its_layout_and_factor():
    spec, x = yarn(8, 4, 64).replace(layout="half_split"), torch.randn(1, 2, 5, 8, dtype=torch.float64)
    learned = LearnedRotary(spec)
    # exp(log θ) with the logarithm in float32, at most 9.1: off by 9.1 · eps/2 of itself, at 4 tokens 4 times that
    atol = 4 * 9.1 * torch.finfo(torch.float32).eps * float(x.abs().max())
    torch.testing.assert_close(
        learned.rotate_q(x, range(5)), Rotary(spec).rotate_q(x, range(5)), rtol=0, atol=atol
    )
    with pytest.raises(ValueError, match="inv_freq must be above 0 to be learned, got 0"):
        LearnedRotary(p_rope(8, 0.5))


def test_a_parameter_is_refused_where_nothing_is_learned_and_learned_by_the_rotation_of_the_library():
    frequencies = torch.nn.Parameter(torch.tensor([1.0, 0.1], dtype=torch.float64))
    with pytest.raises(ValueError, match="inv_freq must not require a gradient"):
        RotaryModule(frequencies)
    Rotary(frequencies).rotate_q(torch.randn(3, 4), range(3)).sum().backward()
    assert (frequencies.grad != 0).all()


def test_every_name_has_the_options_that_its_maker_reads_and_refuses_others():
    assert OPTIONS["none"] == OPTIONS["alibi"] == {}
    assert OPTIONS["partial"] == {"partial_factor": 0.25, "base": 10_000.0, "layout": "interleaved"}
    for name in EVERY:
        make(name, **{option: value for option, value in OPTIONS[name].items() if value is not None})
        with pytest.raises(ValueError, match=f"'{name}' takes .*; got depth"):
            make(name, depth=3)
    with pytest.raises(ValueError, match="'alibi' takes no options; got base, layout"):
        make("alibi", layout="half_split", base=100.0)


def test_dynamic_ntk_follows_the_rule_of_the_library_options_included():
    module, x = make("dynamic-ntk", trained_length=4, factor=2.0, base=100.0), torch.randn(1, 2, 9, 8)
    spec = dynamic_ntk(8, 4, length=9, factor=2.0, base=100.0)
    assert torch.equal(module.rotate_q(x, range(9)), Rotary(spec).rotate_q(x, range(9)))
    with pytest.raises(ValueError, match="trained_length must be a whole number of at least 1, got 0"):
        make("dynamic-ntk", trained_length=0)


def test_a_learned_table_has_512_rows_and_dynamic_ntk_begins_after_as_many_unless_told_otherwise():
    assert make_encoding("learned", d_model=4, n_heads=1).table.shape == (512, 4)
    q, dynamic = torch.ones(1, 513, 4), make_encoding("dynamic-ntk", d_model=4, n_heads=1)
    for length, turns_as_trained in ((512, True), (513, False)):
        trained = Rotary(plain_rope(4)).rotate_q(q[:, :length], range(length))
        found = dynamic.rotate_q(q[:, :length], range(length))
        assert torch.equal(found, trained) == turns_as_trained


def test_a_spec_that_does_not_fit_the_heads_or_is_contradicted_is_refused():
    with pytest.raises(ValueError, match="the spec must be for heads of 8 features, got 16"):
        make(plain_rope(16))
    with pytest.raises(ValueError, match="a RopeSpec takes no options, got base"):
        make(plain_rope(8), base=100.0)
    with pytest.raises(ValueError, match="the spec is for heads of 16 features, got 8"):
        RotaryModule(RopeSpec([1.0], head_dim=16)).rotate_q(torch.ones(3, 8), range(3))
    with pytest.raises(
        ValueError, match="layout is 'interleaved' in the spec but 'half_split' as an argument"
    ):
        RotaryModule(plain_rope(8), layout="half_split")


def test_an_unknown_encoding_is_refused_with_all_names():
    with pytest.raises(
        ValueError, match=r"encoding must be a RopeSpec or one of none, learned.*xpos.*got 'rope'"
    ):
        make_encoding("rope", d_model=8, n_heads=1)
