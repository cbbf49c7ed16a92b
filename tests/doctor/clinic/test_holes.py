"""Evidence and bounds that no mistake of the others pins down: exact sentences, far entries, slow clocks."""

import dataclasses

import numpy as np
import pytest

from rope_doctor.clinic import (
    BROKEN,
    MISTAKES,
    diagnose,
    evidence,
    frequencies,
    right,
)
from rope_doctor.clinic.axes import Axes
from rope_doctor.clinic.matrices import name_pairs
from rope_edu import apply_rope, inv_freq, p_rope, plain_rope, rope_angles
from rope_edu.encodings import LAYOUTS

SPEC = plain_rope(8, 10_000.0)
SINE = f"{np.sin(1):.4g}"
SAID = {
    "other_layout": "Found half_split (feature 0 with 4), expected interleaved (0 with 1).",
    "turns_backwards": "Found -1 radians per token in pair 0, expected 1.",
    "minus_sign_missing": f"Found {SINE} of feature 1 in feature 0 at position 1, expected -{SINE} (pair 0).",
    "sine_missing": f"Found 0 of feature 1 in feature 0 at position 1, expected -{SINE} (pair 0).",
    "uneven_gain": "Found 0.5 of feature 0 in feature 0 at position 0, expected 1 (pair 0).",
    "wrong_pairs": "Found feature 0 paired with 2, expected 0 with 1, or 0 with 4.",
    "one_clock": "Found 1 radians per token in pair 0 and 1 in the last, expected a slower one.",
    "frequencies_reversed": "Found 0.001 radians per token in pair 0 and 1 in the last, expected the reverse.",
    "exponent_doubled": "Found 0.01 radians per token in pair 1, expected 0.1; 3 of 4 pairs differ. "
    "Found base 1e+08, expected 10000.",
    "table_ends": "Found position 1024 rotated as 599.",
    "positions_in_bfloat16": "Found position 257 rotated as 256.",
    "positions_in_float16": "Found position 2049 rotated as 2048.",
    "frequencies_in_bfloat16": "Found 0.100098 radians per token in pair 1, expected 0.1; 3 of 4 pairs differ.",
    "no_position": f"Found 1 of feature 0 in feature 0 at position 1, expected {np.cos(1):.4g} (pair 0).",
    "takes_first_for_all": "Of rows at 5 and 9, the second is rotated as at 5, expected 9.",
}


@pytest.mark.parametrize("name", SAID)
def test_evidence_names_the_first_place_that_differs(name):
    assert diagnose(BROKEN[name](SPEC), 8, against=SPEC).evidence == {name: SAID[name]}


@pytest.mark.parametrize("name", [name for name in BROKEN if not MISTAKES[name].needs_spec])
def test_there_is_evidence_without_the_wanted_rotation(name):
    found = diagnose(BROKEN[name](SPEC), 8, takes=MISTAKES[name].takes)
    assert found.mistakes == (name,)
    assert any(character.isdigit() for character in found.evidence[name])


def test_a_roll_is_told_by_a_feature_that_does_not_come_back():
    said = diagnose(BROKEN["rolls_features"](SPEC), 8).evidence["rolls_features"]
    assert (
        said == "Found feature 0 in feature 1 at position 1, but not 1 in 0; expected both, of opposite sign."
    )


def test_slow_clocks_are_not_taken_for_one():
    assert frequencies.describe_base(1e-5 * inv_freq(16), 16, 16) == "base 10000, all frequencies times 1e-05"
    assert frequencies.describe_base(np.full(8, 3.0), 16, 16) == "one speed for all pairs"
    assert frequencies.describe_base(np.array([1.0]), 2, 2) == "one pair, so any base"
    assert frequencies.describe_base(np.array([1.0, 0.1, 0.7, 0.2]), 8, 8) == "no base fits"
    assert frequencies.describe_base(np.array([1.0, 0.1]), 4, 4) == "base 100"


def test_rows_reach_every_head_and_batch_row_and_come_back():
    rows = np.arange(12.0).reshape(3, 4)
    for takes, shape in {
        "seq head_dim": (3, 4),
        "batch heads seq head_dim": (2, 3, 3, 4),
        "seq heads head_dim": (3, 3, 4),
        "seq batch head_dim": (3, 2, 4),
    }.items():
        axes = Axes.parse(takes)
        whole, positions = axes.spread(rows, [7, 8, 9])
        assert whole.shape == shape
        assert positions.tolist() == ([[7, 8, 9]] * 2 if "batch" in takes else [7, 8, 9])
        assert (axes.in_order(whole) == rows).all()
        assert (axes.first_rows(whole) == rows).all()


def test_a_tail_that_changes_is_no_rotation_of_the_part():
    spec = plain_rope(8, rotary_dim=4)
    gain = np.array([1, 1, 1, 1, 1.02, 1, 1, 1])
    assert diagnose(lambda x, p: right(spec)(x, p) * gain, 8).mistakes == ("tail_changes",)
    assert diagnose(lambda x, p: right(spec)(x, p) * np.where(gain > 1, 1.005, 1), 8).mistakes == ()


@pytest.mark.parametrize("heads", [3, 4, 12])
def test_an_exponent_over_heads_is_told_from_a_missing_factor(heads):
    frequencies_of = 10_000.0 ** (-np.arange(0, 8, 2) / (8 * heads))
    found = diagnose(lambda x, p: apply_rope(x, rope_angles(p, frequencies_of)), 8, against=SPEC)
    assert found.mistakes == ("other_denominator",)
    assert found.evidence["other_denominator"].endswith(
        f"Found 2i/{8 * heads} in the exponent, expected 2i/8."
    )


def test_the_zeros_of_a_rule_that_are_kept_are_no_mistake():
    for layout in ("interleaved", "half_split"):
        spec = p_rope(16, 0.5, 1e6, layout=layout)
        assert diagnose(right(spec), 16, against=spec).mistakes == ()


@pytest.mark.parametrize("pairs", [2, 3, 4, 8])
@pytest.mark.parametrize("ratio", [1.5, 3.0, 9.0, 40.0])
def test_rising_powers_modulo_a_turn_are_told_by_three_pairs_up_to_a_base_of_10_to_the_8(ratio, pairs):
    told = pairs >= 3 and ratio**pairs < 1e8
    shown = np.angle(np.exp(1j * ratio ** np.arange(pairs)))
    assert frequencies.has_positive_exponent(shown, None) == told
    assert not frequencies.has_positive_exponent(1.01 * shown, None)  # it must begin at 1


@pytest.mark.parametrize("place", [0, 2, 3])
@pytest.mark.parametrize(
    "change",
    [[[1, -1], [1, 1]], [[1, 1], [-1, 1]], [[1.2, 1.2], [1.2, 1.2]], [[1, 1], [1, 0.8]], [[0.8, 1], [1, 1]]],
    ids=["no minus", "two minuses", "longer", "second cosine", "first cosine"],
)
def test_the_pair_shown_as_evidence_is_the_one_that_is_no_turn(place, change):
    cos, sin = np.cos([0.3, 0.7, 1.1, 2.0]), np.sin([0.3, 0.7, 1.1, 2.0])
    blocks = np.stack([cos, -sin, sin, cos], axis=-1).reshape(4, 2, 2)
    blocks[place] *= change
    assert evidence._worst(blocks) == place


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_rotation_along_the_heads_turns_each_head_by_its_number_in_the_wanted_layout(layout):
    spec, x = (
        plain_rope(8, layout=layout).replace(attention_factor=1.5),
        np.random.default_rng(5).normal(size=(2, 3, 5, 8)),
    )
    found = BROKEN["turns_along_heads"](spec)(x, np.arange(5))
    for head in range(3):
        wanted = right(spec)(x[1, head], np.full(5, head))
        np.testing.assert_allclose(found[1, head], wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("members", "layout", "width", "begin"),
    [
        ([(0, 1), (2, 3)], "interleaved", 4, 0),
        ([(2, 3), (4, 5)], "interleaved", 4, 2),
        ([(0, 1), (4, 5)], "interleaved", 6, 0),  # a pair between them stands still
        ([(0, 1), (3, 4)], None, 4, 0),
        ([(1, 2), (3, 4)], None, 4, 0),
        ([(0, 2), (1, 3)], "half_split", 4, 0),
        ([(4, 6), (5, 7)], "half_split", 4, 4),
        ([(0, 4), (2, 6)], "half_split", 8, 0),
        ([(0, 3), (1, 2)], None, 4, 0),
    ],
)
def test_pairs_have_a_layout_where_neighbours_or_halves_meet_from_an_even_feature_on(
    members, layout, width, begin
):
    found = name_pairs(np.array(members))
    assert (found.layout, found.rotary_dim, found.begin) == (layout, width, begin)
    assert (found.mistake == "wrong_pairs") == (layout is None)


def test_a_first_pair_that_stands_still_divides_nothing():
    still = SPEC.replace(inv_freq=np.array([0.0, 0.1, 0.01, 0.001]))
    with np.errstate(all="raise"):
        found = frequencies.differ(np.array([0.5, 0.1, 0.01, 0.001]), still, 0.0, 1e-3)
    assert found == {
        "other_frequencies": "Found 0.5 radians per token in pair 0, expected 0; 1 of 4 pairs differ."
    }


def test_a_diagnosis_of_no_rotation_states_no_part_of_one():
    found = diagnose(lambda x, positions: np.abs(x), 8)
    stated = {each.name: getattr(found, each.name) for each in dataclasses.fields(found)}
    assert found.mistakes
    assert not found.is_rotation
    assert {name: stated[name] for name in ("layout", "sense", "base", "first_feature", "inv_freq")} == {
        "layout": None,
        "sense": None,
        "base": None,
        "first_feature": 0,
        "inv_freq": None,
    }
