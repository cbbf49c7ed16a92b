"""Boxes that nobody foresaw: what is said of each is true, and names what is odd in it."""

from itertools import count

import numpy as np
import pytest

from rope_doctor import rope_from_config
from rope_doctor.clinic import BROKEN, MISTAKES, diagnose, right
from rope_doctor.precision import round_to
from rope_edu import apply_rope, inv_freq, p_rope, plain_rope, rope_angles, sinusoidal, yarn

D = 64
HALVES = plain_rope(D, layout="half_split")
LADDER = inv_freq(D)
SIGNS = np.where(np.arange(D // 2) % 2, -1.0, 1.0)
PERMUTED = np.random.default_rng(0).permutation(D)
DEALT = np.arange(D).reshape(2, -1).T.ravel()  # 0, 32, 1, 33, …


def turn(x, positions, frequencies=LADDER, layout="half_split", factor=1.0):
    return apply_rope(x, rope_angles(positions, frequencies), layout=layout, attention_factor=factor)


def by(angles):
    """Turn by a function's angles of (positions, frequencies)."""
    return lambda x, positions: apply_rope(x, angles(positions[:, None], LADDER), layout="half_split")


def in_place(x, positions):
    x[:] = turn(x, positions)
    return x


def moves_positions(x, positions):
    positions += 1
    return turn(x, positions)


def counting():
    calls = count()
    return lambda x, positions: turn(x, positions + next(calls))


def of_unit_length(x, positions):
    lengths = np.linalg.norm(x, axis=-1, keepdims=True)
    return turn(x / np.maximum(lengths, 1e-12), positions)


def float16_angles(positions, frequencies):
    with np.errstate(over="ignore"):
        return (positions * frequencies).astype(np.float16).astype(np.float64)


BOXES = {
    "a part": (lambda x, p: turn(x, p, inv_freq(24)), None, (), "24 of 64 features, half_split"),
    "a part over the head's width": (
        lambda x, p: turn(x, p, LADDER[:12]), None, (), "base 31.6228 (that is 10000 over the head's 64 features)",
    ),
    "the end of the head": (
        lambda x, p: np.concatenate((x[:, :48], turn(x[:, 48:], p, inv_freq(16))), axis=1),
        None, (), "16 of 64 features (48 to 63), half_split",
    ),
    "the end, where the start was wanted": (
        lambda x, p: np.concatenate((x[:, :48], turn(x[:, 48:], p, inv_freq(16))), axis=1),
        plain_rope(D, rotary_dim=16, layout="half_split"), ("other_part",), "48 to 63",
    ),
    "the end, as neighbours": (
        lambda x, p: np.concatenate((x[:, :48], turn(x[:, 48:], p, inv_freq(16), "interleaved")), axis=1),
        None, (), "16 of 64 features (48 to 63), interleaved",
    ),
    "p-RoPE": (right(p_rope(D, 0.25, 1e6)), p_rope(D, 0.25, 1e6), (), "16 of 64 features, interleaved"),
    "p-RoPE in halves": (
        right(p_rope(D, 0.25, 1e6, layout="half_split")), None, (), "24 of 32 pairs do not turn",
    ),
    "clockwise": (lambda x, p: turn(x, -p), None, (), "clockwise, base 10000"),
    "clockwise, where the other was wanted": (lambda x, p: turn(x, -p), HALVES, ("turns_backwards",), ""),
    "from position 7": (lambda x, p: turn(x, p + 7), HALVES, ("counts_from_one",), "at position 7"),
    "a factor in the queries alone": (
        lambda x, p: turn(x, p, factor=1.21), HALVES.replace(attention_factor=1.1),
        ("attention_factor_twice",), "attention factor 1.21",
    ),
    "a factor on the tail too": (
        lambda x, p: 1.2 * turn(x, p, inv_freq(32)), None, ("tail_changes",),
        "unrotated feature 32 times 1.2 at position 1, expected 1.",
    ),
    "short vectors without the minus sign": (
        lambda x, p: 1e-3 * BROKEN["minus_sign_missing"](HALVES)(x, p), None, ("minus_sign_missing",), "",
    ),
    "the tail lost": (
        lambda x, p: turn(x, p, inv_freq(32)) * (np.arange(D) < 32), None, ("tail_changes",), "32 of 64",
    ),
    "negated": (lambda x, p: -turn(x, p), None, (), "features come out negated"),
    "negated, where it was not wanted": (
        lambda x, p: -turn(x, p), HALVES, ("reordered",), "Found feature −0 in place 0, expected 0:",
    ),
    "neighbours in, halves out": (
        lambda x, p: turn(x, p, layout="interleaved")[:, np.argsort(DEALT)], None, (), "come out in halves",
    ),
    "halves in, neighbours out": (lambda x, p: turn(x, p)[:, DEALT], None, (), "come out as neighbours"),
    "second members negated": (
        lambda x, p: turn(x, p) * np.where(np.arange(D) < 32, 1, -1), None, (), "with 32 of them negated",
    ),
    "rolled afterwards": (lambda x, p: np.roll(turn(x, p), 1, axis=1), None, (), "in another order"),
    "a phase of its own": (
        by(lambda p, f: p * f + np.linspace(0.1, 2, D // 2)), None, ("phase_at_zero",), "half_split",
    ),
    "every other pair backwards": (
        by(lambda p, f: p * f * SIGNS), None, ("senses_differ",), "16 of 32 pairs rotating against pair 0",
    ),
    "pairs drawn at random": (
        lambda x, p: turn(x[:, PERMUTED], p)[:, np.argsort(PERMUTED)], None, ("wrong_pairs",), "base 10000",
    ),
    "frequencies drawn at random": (
        by(lambda p, f: p * np.random.default_rng(3).permutation(f)), None, (), "no base fits",
    ),
    "frequencies reversed": (
        by(lambda p, f: p * f[::-1]), HALVES, ("frequencies_reversed",), "cosines and sines float64",
    ),
    "positions divided by 4": (lambda x, p: turn(x, p / 4), None, (), "base 10000, all frequencies times 0.25"),
    "a rule": (
        right(yarn(D, 8.0, 4096)), None, (), "base 10000 in the first 11 of 32 pairs, as under a scaling rule",
    ),
    "base 5 000 000": (lambda x, p: turn(x, p, inv_freq(D, 5e6)), HALVES, ("other_base",), "base 5e+06"),
    "in place": (in_place, None, ("changes_its_input",), "after the call, expected"),
    "positions moved in place": (moves_positions, None, ("changes_its_input", "counts_from_one"), "position 1"),
    "a counter inside": (counting(), None, ("differs_when_repeated",), "Not a rotation"),
    "a norm inside": (of_unit_length, None, ("not_linear",), "a norm, a clip"),
    "whole numbers out": (lambda x, p: turn(x, p).astype(int), None, ("not_linear",), "rounding"),
    "a bias": (lambda x, p: turn(x, p) + 1, None, ("adds_instead_of_turning",), "adds something"),
    "sinusoids added": (lambda x, p: x + sinusoidal(p, D), None, ("adds_instead_of_turning",), ""),
    "counted from the first of the call": (
        lambda x, p: turn(x, p - p.min()), None, ("counts_from_the_first",), "half_split, counter-clockwise",
    ),
    "lengths that fall, as xPos's": (
        lambda x, p: turn(x, p) * 0.99 ** (p[:, None] / 512), None, ("length_by_position",), "",
    ),
    "float32 out": (lambda x, p: turn(x, p).astype(np.float32), HALVES, (), "cosines and sines float32"),
    "float32 angles": (by(lambda p, f: np.float32(p) * np.float32(f)), HALVES, (), "angles float32"),
    "float16 out": (lambda x, p: turn(x, p).astype(np.float16), HALVES, ("result_in_float16",), ""),
    "float16 angles": (by(float16_angles), HALVES, ("angles_in_float16",), "does not reach 2^20"),
    "float16 frequencies": (
        by(lambda p, f: p * f.astype(np.float16).astype(float)), HALVES, ("frequencies_in_float16",), "base about",
    ),
    "bfloat16 tables": (
        lambda x, p: round_to(turn(x, p), "bfloat16"), HALVES, ("result_in_bfloat16",), "sines bfloat16",
    ),
    "a list": (lambda x, p: turn(x, p).tolist(), HALVES, (), "No known mistake."),
    "a table of 2,048 rows": (lambda x, p: turn(x, np.minimum(p, 2047)), HALVES, ("table_ends",), ""),
    "no number beyond a table": (
        lambda x, p: np.where(p[:, None] < 5000, turn(x, p), np.nan), HALVES, (), "does not reach 2^20",
    ),
}  # fmt: skip


# float16 angles end at infinity
@pytest.mark.filterwarnings("ignore:invalid value encountered in:RuntimeWarning")
@pytest.mark.parametrize("name", BOXES)
def test_an_odd_box_is_described_as_it_is(name):
    box, wanted, mistakes, words = BOXES[name]
    found = diagnose(box, D, against=wanted)
    assert found.mistakes == mistakes
    assert words in str(found)


def test_one_pair_has_any_base():
    assert "one pair, so any base" in str(diagnose(right(plain_rope(2)), 2))


def test_another_order_for_queries_and_keys_alike_leaves_scores_alone():
    """Neighbours in and halves out, as DeepSeek's code in transformers: equal scores, so no mistake by itself."""
    x, places = np.random.default_rng(1).normal(size=(2, D)), np.array([9, 4])
    q, k = BOXES["neighbours in, halves out"][0](x, places)
    other = turn(x, places, layout="interleaved")
    assert np.isclose(q @ k, other[0] @ other[1], rtol=1e-12)


def test_transformers_own_rotation_in_another_order_is_read():
    torch = pytest.importorskip("torch")
    deepseek = pytest.importorskip("transformers.models.deepseek_v3.modeling_deepseek_v3")

    def rotate(x, positions):
        angles = torch.tensor(rope_angles(positions, LADDER))
        cos, sin = (torch.cat((f(angles), f(angles)), dim=-1)[None] for f in (torch.cos, torch.sin))
        x = torch.tensor(x)[None, None]
        return deepseek.apply_rotary_pos_emb_interleave(x, x, cos, sin)[0][0, 0].numpy()

    found = diagnose(rotate, D)
    assert (found.mistakes, found.layout, found.comes_out) == ((), "interleaved", "in halves")
    assert diagnose(rotate, D, against=plain_rope(D)).mistakes == ("reordered",)


def wants_tensors(x, positions):
    return pytest.importorskip("torch").cos(positions)[:, None] * x


@pytest.mark.parametrize(
    ("function", "against", "sentence"),
    [
        (lambda x, p: x.__setitem__(slice(None), 0), None, "it returns nothing: return the rotated x"),
        (lambda x, p: (x, x), None, "so that it returns one array of that shape"),
        (lambda x, p: x + 1j, None, "it returns complex numbers"),
        (lambda x, p: "turned", None, "function fails on 8 rows at positions 0 to 7: ValueError: could not"),
        (wants_tensors, None, r"if it needs tensors, wrap it: lambda x, p: yours\(torch.tensor\(x\)"),
        (5, None, "'int' object is not callable"),
        (
            turn,
            {"rope_theta": 1e4},
            "against must be a RopeSpec or None, got dict; rope_from_config makes one",
        ),
        (turn, 10_000.0, "against must be a RopeSpec or None, got float"),
    ],
)
def test_what_cannot_be_read_is_told_how_to_wrap_it(function, against, sentence):
    with pytest.raises(ValueError, match=sentence):
        diagnose(function, D, against=against)


def test_a_config_is_what_was_wanted():
    config = {"model_type": "llama", "head_dim": D, "rope_theta": 5e5}
    spec = rope_from_config(config)
    assert diagnose(lambda x, p: turn(x, p, spec.inv_freq), D, against=spec).mistakes == ()
    assert diagnose(turn, D, against=spec).mistakes == ("other_base",)


def test_each_odd_mistake_is_one_that_has_a_sentence():
    assert {name for _, _, mistakes, _ in BOXES.values() for name in mistakes} <= set(MISTAKES)
