"""RopeSpec: what it holds cannot be changed or contradict itself; what it refuses; how bare frequencies pass."""

import copy
import pickle

import numpy as np
import pytest
import torch

from rope_edu import inv_freq
from rope_edu.encodings import RopeSpec, plain_rope, rope_parts, section_axes


@pytest.mark.parametrize("make", [list, np.asarray, torch.tensor], ids=["list", "numpy", "torch"])
def test_frequencies_of_every_kind_become_read_only_float64_copies(make):
    given = make([1.0, 0.25])
    spec = RopeSpec(given)
    given[0] = 7.0
    assert (type(spec.inv_freq), spec.inv_freq.dtype) == (np.ndarray, np.float64)
    assert spec.inv_freq.tolist() == [1.0, 0.25]
    with pytest.raises(ValueError, match="read-only"):
        spec.inv_freq[0] = 2.0


def test_no_field_can_be_set():
    with pytest.raises(AttributeError):
        plain_rope(4).layout = "half_split"


def test_widths_follow_from_the_frequencies_unless_the_head_is_wider():
    assert (RopeSpec([1.0, 0.1]).head_dim, RopeSpec([1.0, 0.1]).rotary_dim) == (4, 4)
    assert (RopeSpec([1.0, 0.1], head_dim=7).head_dim, RopeSpec([1.0, 0.0], head_dim=7).rotary_dim) == (7, 4)


def test_sections_count_the_pairs_of_each_coordinate_if_there_are_several():
    spec = plain_rope(8)
    assert spec.sections is None
    assert spec.replace(axes=section_axes(4, [1, 2, 1])).sections == (1, 2, 1)


def test_replace_changes_one_field_keeps_the_rest_and_checks_anew():
    spec = RopeSpec([1.0, 0.1, 0.01], 1.5, "half_split", 8, "made up", (0, 1, 1))
    other = spec.replace(layout="interleaved")
    assert other == RopeSpec([1.0, 0.1, 0.01], 1.5, "interleaved", 8, "made up", (0, 1, 1))
    assert spec.layout == "half_split"
    with pytest.raises(ValueError, match="layout must be 'interleaved' or 'half_split', got 'halves'"):
        spec.replace(layout="halves")
    with pytest.raises(ValueError, match="head_dim must be at least 2 · pairs = 6, got 4"):
        spec.replace(head_dim=4)
    with pytest.raises(TypeError, match="theta"):
        spec.replace(theta=2.0)


def test_specs_are_equal_and_hash_alike_if_all_fields_are_and_only_then():
    spec = RopeSpec([1.0, 0.1, 0.01], 1.5, "half_split", 8, "made up", [0, 1, 1])
    same = RopeSpec(np.array([1.0, 0.1, 0.01]), 1.5, "half_split", 8, "made up", (0, 1, 1))
    assert spec == same
    assert {spec: 1}[same] == 1
    changes = [
        {"inv_freq": [1.0, 0.1, 0.02]},
        {"attention_factor": 1.4},
        {"layout": "interleaved"},
        {"head_dim": 9},
        {"kind": "another"},
        {"axes": (1, 0, 1)},
    ]
    assert all(spec.replace(**change) != spec for change in changes)
    assert spec != "spec"


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])
def test_a_copy_is_equal_and_as_read_only(again):
    spec = RopeSpec([1.0, 0.1], 1.5, "half_split", 8, "made up", (0, 1))
    assert again(spec) == spec
    assert not again(spec).inv_freq.flags.writeable


def test_its_text_says_what_differs_from_plain_rope():
    assert repr(plain_rope(128)) == '<RopeSpec "rope": 64 pairs, 1 … 0.000115478 rad/token, interleaved>'
    spec = RopeSpec([1.0, 0.5, 0.0], 1.25, "half_split", 8, "mixed", (0, 1, 1))
    assert repr(spec) == (
        '<RopeSpec "mixed": 3 pairs, 1 of them still, 1 … 0.5 rad/token, half_split, first 6 of 8 features, '
        "attention_factor 1.25, sections (1, 2)>"
    )
    assert repr(RopeSpec([0.0])) == '<RopeSpec "rope": 1 pair, 1 of them still, interleaved>'


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"inv_freq": []}, "inv_freq must hold at least one pair, got none"),
        ({"inv_freq": [[1.0]]}, r"inv_freq must have one axis, \(pairs,\), got shape \(1, 1\)"),
        ({"inv_freq": [float("nan")]}, "inv_freq must be finite"),
        ({"inv_freq": [1j]}, "inv_freq must be real numbers"),
        (
            {"inv_freq": torch.ones(2, requires_grad=True)},
            "inv_freq must not require a gradient: a spec holds",
        ),
        ({"attention_factor": 0}, "attention_factor must be a finite number above 0, got 0"),
        ({"layout": "neox"}, "layout must be 'interleaved' or 'half_split', got 'neox'"),
        ({"head_dim": 3}, "head_dim must be at least 2 · pairs = 4, got 3"),
        ({"head_dim": 4.0}, "head_dim must be a whole number of at least 1, got 4.0"),
        ({"kind": ""}, "kind must be the name of a rule, such as 'rope' or 'yarn', got ''"),
        ({"axes": [0, 1, 2]}, r"axes must name a coordinate for each of the 2 pairs, got \[0, 1, 2\]"),
        ({"axes": [0, -1]}, "each of axes must be a whole number of at least 0, got -1"),
        ({"axes": 2}, "axes must name a coordinate for each of the 2 pairs, got 2"),
    ],
)
def test_a_field_out_of_range_is_refused_by_its_name(fields, sentence):
    with pytest.raises(ValueError, match=sentence):
        RopeSpec(**{"inv_freq": [1.0, 0.1]} | fields)


def test_plain_rope_holds_the_frequencies_of_its_rotated_part():
    assert (plain_rope(64, 5e5).inv_freq == inv_freq(64, 5e5)).all()
    partial = plain_rope(64, rotary_dim=16, layout="half_split")
    assert (partial.inv_freq == inv_freq(16)).all()
    assert (partial.head_dim, partial.rotary_dim, partial.layout) == (64, 16, "half_split")
    with pytest.raises(ValueError, match="rotary_dim must be at most head_dim = 8, got 16"):
        plain_rope(8, rotary_dim=16)


def test_parts_of_a_spec_and_of_bare_frequencies():
    spec = RopeSpec([1.0], 1.5, "half_split")
    inv, layout, factor = rope_parts(spec, layout="half_split", attention_factor=1.5)  # said twice, the same
    assert inv is spec.inv_freq
    assert (layout, factor) == ("half_split", 1.5)
    learned = torch.ones(2, requires_grad=True)
    assert rope_parts(learned)[0] is learned
    assert rope_parts(learned, "half_split", 2)[1:] == ("half_split", 2.0)


@pytest.mark.parametrize(("name", "value"), [("layout", "interleaved"), ("attention_factor", 2.0)])
def test_a_spec_that_is_contradicted_beside_it_is_an_error(name, value):
    spec = RopeSpec([1.0], 1.5, "half_split")
    with pytest.raises(ValueError, match=rf"{name} is .* in the spec but {value!r} as an argument: omit it"):
        rope_parts(spec, **{name: value})
