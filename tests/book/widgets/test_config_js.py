"""The page's reader of configs answers hostile texts quickly, in a sentence; texts are cut in linear time."""

import json
import time

import pytest

from rope_doctor import rope_from_config

from .v8 import scripts

LLAMA = '"model_type": "llama", "hidden_size": 64, "num_attention_heads": 1, "rope_theta": 1e4'
SOON = 1.0  # seconds; a quadratic algorithm took twelve for 20,000 letters


@pytest.fixture(scope="module")
def read():
    with scripts("maths/statement") as v8:
        yield lambda text, layer=None: v8.evaluate(f"readAny({json.dumps(text)}, {json.dumps(layer)}, null)")


def test_deep_nesting_is_refused(read):
    found = read("{" + LLAMA + ', "a": ' + '{"a":' * 5000 + "1" + "}" * 5001)
    assert "64 levels deep" in found["refused"]["sentence"]


def test_a_number_beyond_all_is_refused_as_python_does(read):
    found = read("{" + LLAMA.replace("1e4", "1e999") + "}")
    assert found["refused"]["sentence"] == "rope_theta must be a number above 1, at most 1e30, got inf"


@pytest.mark.parametrize("name", ["constructor", "toString", "__proto__"])
def test_names_of_every_object_are_no_architectures_rules_or_kinds(read, name):
    remarks = read("{" + LLAMA.replace("llama", name) + "}")["reading"]["remarks"]
    assert [kind for kind, _ in remarks] == ["layout assumed"]
    refused = read("{" + LLAMA + ', "rope_scaling": {"rope_type": "' + name + '"}}')["refused"]
    assert refused["reason"] == "no rule"
    assert read("{" + LLAMA + "}", name)["refused"]["reason"] == "one rotation"


def test_a_label_without_letters_is_a_label(read):
    text = (
        "{"
        + LLAMA.split(', "rope_theta"')[0]
        + ', "rope_parameters": {"": {"rope_theta": 5e5}, "b": {"rope_theta": 1e4}}}'
    )
    assert read(text)["refused"]["choices"] == ["", "b"]
    assert read(text, "")["reading"]["base"] == 5e5


def test_what_is_not_foreseen_is_said_too(read):
    with scripts("maths/statement") as v8:
        v8.evaluate("(JSON.parse = () => { throw new RangeError('too far'); }, 0)")
        assert "not JSON" in v8.evaluate("readAny('{}', null, null)")["refused"]["reason"]


def test_a_word_of_many_letters_is_cut_soon():
    with scripts("lib/words") as v8:
        start = time.perf_counter()
        assert len(v8.evaluate("shortened('x'.repeat(200000), 300)")) < 60
        assert time.perf_counter() - start < SOON


def test_a_layer_without_a_fraction_of_its_own_turns_whole(read):
    step = {"model_type": "step3p5", "head_dim": 128, "layer_types": ["full_attention", "sliding_attention"]}
    text = json.dumps(step | {"rope_theta": [5e6, 1e4], "partial_rotary_factors": [0.5]})
    for kind in step["layer_types"]:
        spec = rope_from_config(json.loads(text), layer_type=kind)
        found = read(text, kind)["reading"]
        assert (found["rotaryDim"], found["base"]) == (spec.rotary_dim, spec.base)
    assert spec.rotary_dim == 128
