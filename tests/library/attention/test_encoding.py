"""The four doors: which encoding opens which, relativity, independent forms of the rotations, gradients."""

import dataclasses
import functools
import math

import numpy as np
import pytest
import torch

from rope_edu import Rotary, alibi_bias, inv_freq, sinusoidal
from rope_edu.attention import Additive, DynamicRotary, NoPosition, PositionEncoding, ScoreBias, XPos
from rope_edu.encodings import RopeSpec, dynamic_ntk, p_rope, partial_rope, plain_rope, t5_bias, yarn
from rope_edu.fast import RotaryTable

kinds = pytest.mark.parametrize("make", [np.asarray, torch.asarray], ids=["numpy", "torch"])
layouts = pytest.mark.parametrize("layout", ["interleaved", "half_split"])
POSITIONS = np.arange(5)


@pytest.mark.parametrize(
    ("encoding", "name"),
    [(NoPosition(), "embed"), (Additive(None), "encode"), (ScoreBias(None), "bias")],
    ids=lambda each: type(each).__name__,
)
def test_an_encoding_cannot_be_changed(encoding, name):
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(encoding, name, None)


def example(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def as_complex(x, layout, pairs):
    """Read the rotated features as complex numbers: written for this test, without the library's slices."""
    if layout == "interleaved":
        return np.array([x[..., 2 * i] + 1j * x[..., 2 * i + 1] for i in range(pairs)])
    return np.array([x[..., i] + 1j * x[..., i + pairs] for i in range(pairs)])


def scores(encoding, q, k, q_positions, k_positions):
    q, k = encoding.rotate_q(q, q_positions), encoding.rotate_k(k, k_positions)
    return np.asarray(q @ k.mT)


ALL = {
    "none": NoPosition(),
    "additive": Additive(lambda positions: sinusoidal(positions, 8)),
    "alibi": ScoreBias(lambda q, k_len: alibi_bias(q.shape[-3], q.shape[-2], k_len)),
    "t5": ScoreBias(
        lambda q, k_len: t5_bias(example(32, q.shape[-3]), q.shape[-2], k_len, bidirectional=False)
    ),
    "rotary": Rotary(inv_freq(8)),
    "half-split": Rotary(inv_freq(8), layout="half_split"),
    "partial": Rotary(partial_rope(8, 4)),
    "yarn": Rotary(yarn(8, 4, 64).replace(layout="half_split")),
    "p-rope": Rotary(p_rope(8, 0.5)),
    "xpos": XPos(inv_freq(8)),
    "dynamic": DynamicRotary(lambda length: dynamic_ntk(8, 4, length=length)),
}
OPEN_DOORS = {"none": [], "additive": ["embed"], "alibi": ["bias"], "t5": ["bias"]}  # all others rotate


@pytest.mark.parametrize("name", ALL)
def test_an_encoding_opens_its_own_doors_and_no_others(name):
    encoding, x = ALL[name], example(2, 5, 8)
    opened = [d for d in ("embed", "rotate_q", "rotate_k") if getattr(encoding, d)(x, POSITIONS) is not x]
    opened += ["bias"] if encoding.bias(x, 5) is not None else []
    assert opened == OPEN_DOORS.get(name, ["rotate_q", "rotate_k"])


def test_there_is_no_door_at_the_values():
    assert not [name for name in dir(PositionEncoding) if "_v" in name or "value" in name]


@pytest.mark.parametrize("name", ALL)
def test_only_dynamic_rotary_has_a_reason_against_a_cache(name):
    assert (ALL[name].cache_problem is not None) == (name == "dynamic")


@kinds
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", ["additive", "rotary", "half-split", "partial", "xpos", "dynamic"])
def test_kind_dtype_and_shape_stay_through_every_door(make, dtype, name):
    x = make(example(2, 5, 8).astype(dtype))
    for door in ("embed", "rotate_q", "rotate_k"):
        out = getattr(ALL[name], door)(x, POSITIONS)
        assert (type(out), out.dtype, out.shape) == (type(x), x.dtype, x.shape)


@kinds
@layouts
@pytest.mark.parametrize("pairs", [4, 3])
def test_rotary_turns_pairs_as_complex_numbers_and_leaves_the_tail(make, layout, pairs):
    x, frequencies = example(2, 5, 8), inv_freq(2 * pairs)
    out = np.asarray(Rotary(frequencies, layout=layout).rotate_k(make(x), POSITIONS))
    turned = as_complex(x, layout, pairs) * np.exp(1j * frequencies[:, None, None] * POSITIONS)
    np.testing.assert_allclose(as_complex(out, layout, pairs), turned, rtol=0, atol=1e-12)
    assert (out[..., 2 * pairs :] == x[..., 2 * pairs :]).all()


@kinds
@layouts
@pytest.mark.parametrize("pairs", [4, 3])
def test_xpos_scores_are_complex_products_with_a_decay(make, layout, pairs):
    q, k, frequencies, base = example(1, 8), example(1, 8, seed=1), inv_freq(2 * pairs), 16.0
    encoding, m, n = XPos(frequencies, layout=layout, scale_base=base), 40, 9
    product = (as_complex(q, layout, pairs) * as_complex(k, layout, pairs).conj())[:, 0]
    gamma = 0.4  # the paper's form: ζ_i = (i/(d/2) + γ)/(1 + γ)
    zeta = np.array([(i / pairs + gamma) / (1 + gamma) for i in range(pairs)])
    expected = (product * np.exp(1j * frequencies * (m - n))).real @ zeta ** ((m - n) / base)
    expected += float(q[0, 2 * pairs :] @ k[0, 2 * pairs :])  # the tail carries no position
    found = scores(encoding, make(q), make(k), [m], [n])
    np.testing.assert_allclose(found, [[expected]], rtol=1e-12)


@layouts
def test_xpos_without_turning_only_stretches_and_does_so_the_opposite_way_for_keys(layout):
    x, encoding = example(2, 5, 8), XPos(np.zeros(4), layout=layout)
    stretched = encoding.rotate_q(x, POSITIONS) * encoding.rotate_k(x, POSITIONS)
    np.testing.assert_allclose(stretched, x * x, rtol=1e-13)
    assert (abs(encoding.rotate_q(x, [1, 2, 3, 4, 5])) < abs(x)).all()


@pytest.mark.parametrize("name", ["rotary", "half-split", "partial", "p-rope", "yarn", "xpos"])
def test_scores_depend_on_the_difference_of_positions_alone(name):
    q, k = example(2, 5, 8), example(2, 5, 8, seed=1)
    here = scores(ALL[name], q, k, POSITIONS, POSITIONS)
    there = scores(ALL[name], q, k, POSITIONS + 300, POSITIONS + 300)
    np.testing.assert_allclose(here, there, rtol=0, atol=1e-11)
    assert abs(here - scores(ALL[name], q, k, POSITIONS, POSITIONS + 1)).max() > 0.1


def test_xpos_that_stretches_keys_as_it_does_queries_would_not_be_relative():
    q, k, wrong = example(2, 5, 8), example(2, 5, 8, seed=1), ALL["xpos"].rotate_q
    here, there = (wrong(q, p) @ wrong(k, p).mT for p in (POSITIONS, POSITIONS + 300))
    assert abs(here - there).max() > 0.1


def test_additive_vectors_are_not_relative_once_the_text_has_content():
    x, encoding = example(5, 8), ALL["additive"]
    here, there = (encoding.embed(x, POSITIONS + shift) for shift in (0, 300))
    assert abs(here @ here.T - there @ there.T).max() > 0.1


@kinds
def test_the_bias_of_the_last_queries_is_the_last_rows_of_the_whole(make):
    for name in ("alibi", "t5"):
        whole = ALL[name].bias(make(example(2, 6, 8)), 6)
        step = ALL[name].bias(make(example(2, 1, 8)), 6)
        np.testing.assert_array_equal(step, whole[..., -1:, :])


def test_a_bias_may_be_a_partial_of_a_plain_function():
    def slope(q, k_len, m):
        return -m * np.arange(k_len)[::-1]

    assert ScoreBias(functools.partial(slope, m=0.5)).bias(example(1, 1, 8), 3).tolist() == [-1.0, -0.5, 0.0]


def test_dynamic_rotary_turns_by_the_rule_for_the_last_position():
    x, lengths = example(2, 5, 8), []

    def rule(length):
        lengths.append(length)
        return dynamic_ntk(8, 4, length=length)

    out = DynamicRotary(rule).rotate_q(x, POSITIONS + 7)
    assert lengths == [12]
    expected = Rotary(dynamic_ntk(8, 4, length=12)).rotate_q(x, POSITIONS + 7)
    np.testing.assert_array_equal(out, expected)


def test_dynamic_rotary_turns_an_old_key_anew_when_the_text_grows_and_not_below_the_trained_length():
    key = example(1, 1, 8)
    tokens = [np.repeat(key, n, axis=-2) for n in (3, 4, 9)]
    short, trained, long = (ALL["dynamic"].rotate_k(x, np.arange(x.shape[-2]))[0, 2] for x in tokens)
    assert (short == trained).all()
    assert abs(short - long).max() > 1e-2


@layouts
def test_gradients_reach_the_rotated_and_the_frequencies(layout):
    x = torch.tensor(example(2, 5, 8), requires_grad=True)
    frequencies = torch.tensor(inv_freq(6), requires_grad=True)
    for kind in (Rotary, XPos):

        def turn(x, f, kind=kind):
            encoding = kind(f, layout=layout)
            return encoding.rotate_q(x, POSITIONS), encoding.rotate_k(x, POSITIONS)

        assert torch.autograd.gradcheck(turn, (x, frequencies))


def test_gradients_reach_a_learned_table():
    table = torch.tensor(example(5, 8), requires_grad=True)
    Additive(lambda positions: table[positions]).embed(
        torch.zeros(5, 8, dtype=torch.float64), POSITIONS
    ).sum().backward()
    assert (table.grad == 1).all()


def test_half_precision_xpos_is_float32_rounded_at_most_twice():
    x = torch.tensor(example(2, 5, 8))
    half = ALL["xpos"].rotate_k(x.bfloat16(), POSITIONS)
    exact = ALL["xpos"].rotate_k(x.bfloat16().double(), POSITIONS)
    assert (half.double() - exact).abs().max() <= 2 * 2**-9 * exact.abs().max()


def test_frequencies_of_more_pairs_than_the_head_has_are_refused():
    with pytest.raises(ValueError, match="2 · pairs must be at most head_dim = 8, got 5 pairs"):
        XPos(inv_freq(10)).rotate_q(example(2, 5, 8), POSITIONS)


@kinds
@layouts
@pytest.mark.parametrize("kind", [Rotary, XPos])
def test_a_spec_reaches_the_rotation_whole(make, layout, kind):
    """Layout and attention factor included: scores grow by the factor's square."""
    spec = RopeSpec(inv_freq(6), attention_factor=1.5, layout=layout, head_dim=8)
    q, k = make(example(2, 5, 8)), make(example(2, 5, 8, seed=1))
    bare = kind(inv_freq(6), layout=layout)
    for door in ("rotate_q", "rotate_k"):
        out, plain = (np.asarray(getattr(encoding, door)(q, POSITIONS)) for encoding in (kind(spec), bare))
        np.testing.assert_allclose(out[..., :6], 1.5 * plain[..., :6], rtol=1e-14)
        assert (out[..., 6:] == plain[..., 6:]).all()
    here = scores(kind(spec.replace(head_dim=6)), q[..., :6], k[..., :6], POSITIONS, POSITIONS)
    plain = scores(bare, q[..., :6], k[..., :6], POSITIONS, POSITIONS)
    np.testing.assert_allclose(here, 2.25 * plain, rtol=1e-13)


def test_a_spec_and_its_numbers_given_bare_do_the_same():
    spec, x = yarn(8, 4, 64).replace(layout="half_split"), example(2, 5, 8)
    bare = Rotary(spec.inv_freq, "half_split", spec.attention_factor)
    assert (Rotary(spec).rotate_q(x, POSITIONS) == bare.rotate_q(x, POSITIONS)).all()


@pytest.mark.parametrize("kind", [Rotary, XPos])
def test_a_layout_said_twice_and_differently_is_refused(kind):
    spec = plain_rope(8, layout="half_split")
    assert kind(spec, layout="half_split").layout == "half_split"
    with pytest.raises(
        ValueError, match="layout is 'half_split' in the spec but 'interleaved' as an argument"
    ):
        kind(spec, layout="interleaved")


@pytest.mark.parametrize("door", ["rotate_q", "rotate_k"])
@pytest.mark.parametrize("kind", [Rotary, XPos])
def test_a_spec_for_another_head_is_refused(kind, door):
    with pytest.raises(ValueError, match="the spec is for heads of 16 features, got 8"):
        getattr(kind(plain_rope(16, rotary_dim=8)), door)(example(2, 5, 8), POSITIONS)


def test_a_dynamic_rule_may_return_a_spec_or_bare_frequencies():
    x = example(2, 5, 8)
    spec = DynamicRotary(lambda length: dynamic_ntk(8, 2, length=length).replace(layout="half_split"))
    bare = DynamicRotary(lambda length: dynamic_ntk(8, 2, length=length).inv_freq, layout="half_split")
    assert (spec.rotate_q(x, POSITIONS) == bare.rotate_q(x, POSITIONS)).all()


@pytest.mark.parametrize("kind", [Rotary, XPos])
def test_a_misspelt_layout_is_refused(kind):
    with pytest.raises(ValueError, match="layout must be 'interleaved' or 'half_split', got 'halves'"):
        kind(inv_freq(8), layout="halves").rotate_q(example(2, 5, 8), POSITIONS)


def test_encodings_cannot_be_changed_after_they_are_made():
    with pytest.raises(AttributeError):
        ALL["rotary"].layout = "half_split"
    assert math.isclose(ALL["rotary"].inv_freq[0], 1.0)


@kinds
@pytest.mark.parametrize("positions", [range(0, 10, 2), range(7, 2, -1), range(-2, 3)], ids=str)
def test_a_table_rotates_by_the_numbers_of_any_range(make, positions):
    x, spec = make(example(2, 5, 8)), plain_rope(8)
    rotated = Rotary(RotaryTable(spec)).rotate_q(x, positions)
    np.testing.assert_allclose(rotated, Rotary(spec).rotate_q(x, list(positions)), rtol=0, atol=1e-12)
