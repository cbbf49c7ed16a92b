"""The vectors: fresh, right by the library and in four languages' hands, and with teeth."""

import json
import subprocess
import sys
from dataclasses import asdict

import jsonschema
import numpy as np
import pytest

from makers import vectors as make
from rope_doctor import clinic, rope_from_config
from rope_doctor.__main__ import main
from rope_doctor.command import run_vectors
from rope_doctor.config import ConfigError
from rope_doctor.config.table import pair_axes
from rope_doctor.vectors import FILES, load, run
from rope_doctor.vectors.runner import CALLS, WIDTHS, _compare
from rope_edu import apply_rope, inv_freq, rope_angles
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


@pytest.mark.parametrize("name", FILES)
def test_what_is_committed_is_what_the_command_writes(name):
    assert make.text_of(name) == (HERE / f"{name}.json").read_text(encoding="utf-8")
    assert make.nearly(list(make.FILES[name]()), load(name))  # also on a machine with another last bit


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
    torch = pytest.importorskip("torch")
    dtype = getattr(torch, width)
    assert not failed(
        run(lambda *x, **asked: ours(*x, **asked, as_array=torch.tensor, dtype=dtype), width=width)
    )


@pytest.mark.long
@pytest.mark.makers
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


def test_transformers_passes_what_it_offers_in_float32():
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
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
    pytest.importorskip("transformers")
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
    assert main(["vectors", "theirs:rotate"]) == 1
    said = capsys.readouterr().out
    assert "FAILED an attention factor, interleaved" in said
    assert "attention_factor_missing" in said
    assert "30 of 32 cases passed" in said


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
    assert main(["vectors", "theirs:rotate"]) == 2
    [sentence] = capsys.readouterr().out.splitlines()
    assert sentence.startswith("Could not tell: ")
    assert "TypeError" not in sentence
    assert "rotate(x, positions) does not" in sentence
    assert "wrap it in a function with that signature" in sentence


def test_one_line_says_how_every_case_fails_alike(somebodys_module, capsys):
    somebodys_module("theirs", "def rotate(x, positions, **asked):\n    raise KeyError('cos')\n")
    assert main(["vectors", "theirs:rotate"]) == 1
    assert capsys.readouterr().out == (
        "FAILED every case in the same way: KeyError: 'cos'\n0 of 32 cases passed\n"
    )


def test_the_command_passes_what_is_right(somebodys_module, capsys):
    somebodys_module(
        "mine",
        "from rope_edu import apply_rope, inv_freq, rope_angles\n"
        "def rotate(x, positions, *, layout, rotary_dim, base, attention_factor):\n"
        "    angles = rope_angles(positions, inv_freq(rotary_dim, base))\n"
        "    return apply_rope(x, angles, layout=layout, attention_factor=attention_factor)\n",
    )
    assert main(["vectors", "mine:rotate"]) == 0
    assert capsys.readouterr().out == "32 of 32 cases passed\n"
    assert main(["vectors", "mine:rotate", "--json"]) == 0
    assert all(each["passed"] for each in json.loads(capsys.readouterr().out))


@pytest.mark.parametrize("cases", CALLS)
@pytest.mark.parametrize("width", WIDTHS)
def test_the_command_prints_as_json_what_run_returns(somebodys_module, capsys, cases, width):
    somebodys_module("still", "def rotate(x, *rest, **asked):\n    return x + 0.01\n")
    status = main(["vectors", "still:rotate", "--cases", cases, "--width", width, "--json"])
    expected = run(lambda x, *rest, **asked: x + 0.01, cases=cases, width=width)
    said = capsys.readouterr().out
    assert json.loads(said) == [asdict(each) | {"catches": list(each.catches)} for each in expected]
    assert said.startswith('[\n {\n  "name"')
    assert status == int(not all(each.passed for each in expected))


def test_the_folder_where_the_command_runs_comes_before_all_others(
    somebodys_module, capsys, tmp_path, monkeypatch
):
    named = "def rotate(x, *rest, **asked):\n    raise KeyError('{}')\n"
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "twice.py").write_text(named.format("there"))
    somebodys_module("twice", named.format("here"))
    monkeypatch.syspath_prepend(tmp_path / "other")
    assert main(["vectors", "twice:rotate"]) == 1
    assert "KeyError: 'here'" in capsys.readouterr().out


def test_letters_beyond_ascii_are_printed_as_they_are(somebodys_module, capsys):
    somebodys_module("theirs", "def rotate(x, *rest, **asked):\n    raise KeyError('θ')\n")
    assert main(["vectors", "theirs:rotate", "--json"]) == 1
    assert "KeyError: 'θ'" in capsys.readouterr().out


def test_the_page_of_help_has_all_widths_and_files_and_its_lines(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["vectors", "--help"])
    said = capsys.readouterr().out
    assert said.startswith("usage: rope-doctor vectors")
    assert run_vectors.__doc__.strip() in said
    together = " ".join(said.split())
    assert f"--width {{{','.join(WIDTHS)}}}" in together
    assert f"--cases {{{','.join(CALLS)}}}" in together


def test_the_function_is_given_arrays_of_numpy(somebodys_module, capsys):
    somebodys_module(
        "kind",
        "def rotate(x, positions, *, layout, rotary_dim, base, attention_factor):\n"
        "    raise KeyError(type(x).__name__)\n",
    )
    assert main(["vectors", "kind:rotate"]) == 1
    assert "KeyError: 'ndarray'" in capsys.readouterr().out


def test_a_result_that_is_off_by_the_tolerance_itself_passes():
    for off, right in ((0.25, True), (np.nextafter(0.25, 1), False)):
        found = _compare(np.array([[off, 0.0]]), np.zeros((1, 2)), 0.25, np.s_[:])
        assert found == (right, "off by 0.25, allowed 0.25")


def test_no_file_is_read_in_the_encoding_of_the_machine():
    code = "from rope_doctor.vectors import FILES, load\nfor name in FILES: load(name)"
    asked = [sys.executable, "-X", "warn_default_encoding", "-W", "error::EncodingWarning", "-c", code]
    subprocess.run(asked, check=True, timeout=60)


def test_an_unknown_file_or_width_is_refused():
    with pytest.raises(ValueError, match=r"name must be 'rotate', .* or 'scale', got 'turns'"):
        load("turns")
    with pytest.raises(ValueError, match="width must be one of"):
        run(ours, width="float8")
    with pytest.raises(
        ValueError, match="cases must be one of 'rotate', 'batch', 'axes', 'shift', got 'scale'"
    ):
        run(ours, cases="scale")


def by_axes(x, positions, *, axes, rotary_dim, base, layout, attention_factor):
    angles = np.stack([positions[axis] for axis in axes], axis=-1) * inv_freq(rotary_dim, base)
    return apply_rope(x, angles, layout=layout, attention_factor=attention_factor)


def moved(x, shift, *, rotary_dim, base, layout, attention_factor):
    return apply_rope(x, rope_angles(np.full(len(x), shift), inv_freq(rotary_dim, base)), layout=layout)


@pytest.mark.parametrize(("cases", "function"), [("batch", ours), ("axes", by_axes), ("shift", moved)])
def test_the_library_passes_batches_coordinates_and_shifts(cases, function):
    assert not failed(run(function, cases=cases))
    assert not failed(
        run(
            lambda x, *rest, **asked: function(x.astype(np.float32), *rest, **asked),
            cases=cases,
            width="float32",
        )
    )


WRONG = {
    "first_row_for_all": ("batch", lambda x, p, **asked: ours(x, np.broadcast_to(p[:1], p.shape), **asked)),
    "counts_from_zero": (
        "batch",
        lambda x, p, **asked: ours(x, np.zeros_like(p) + np.arange(p.shape[1]), **asked),
    ),
    "other_rows_at_0": (
        "batch",
        lambda x, p, **asked: ours(x, np.where(np.arange(len(p))[:, None] == 0, p, 0), **asked),
    ),
    "one_coordinate": ("axes", lambda x, p, axes, **asked: by_axes(x, p, axes=[0] * len(axes), **asked)),
    "rows_for_columns": ("axes", lambda x, p, **asked: by_axes(x, p[[0, 2, 1]], **asked)),
    "not_moved": ("shift", lambda x, shift, **asked: x),
    "moved_backwards": ("shift", lambda x, shift, **asked: moved(x, -shift, **asked)),
}


@pytest.mark.parametrize("name", WRONG)
def test_every_wrong_batch_coordinate_and_shift_fails_where_a_case_says_so(name):
    cases, function = WRONG[name]
    results = run(function, cases=cases, width="float32, angles in float32")
    assert [result.passed for result in results] == [name not in result.catches for result in results]


def test_a_factor_that_is_applied_again_to_moved_keys_fails():
    results = run(
        lambda x, shift, **asked: asked["attention_factor"] * moved(x, shift, **asked), cases="shift"
    )
    assert [result.passed for result in results] == [
        "factor_twice" not in result.catches for result in results
    ]


def test_the_orders_of_sections_are_those_that_the_reader_of_configs_knows():
    for case in load("axes"):
        assert list(pair_axes(case["sections"], case["order"])) == case["axes"], case["name"]


def test_the_factors_of_two_mscales_are_those_of_transformers_and_of_deepseeks_formula():
    pytest.importorskip("transformers")
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
    from transformers.models.deepseek_v3 import modeling_deepseek_v3 as deepseek
    from transformers.models.deepseek_v3.configuration_deepseek_v3 import DeepseekV3Config

    for case in load("scale"):
        stated = {name: case[name] for name in ("mscale", "mscale_all_dim") if name in case}
        parameters = {"rope_type": "yarn", "rope_theta": 1e4, "factor": case["factor"]}
        parameters |= {"original_max_position_embeddings": 4096, **stated}
        if "transformers" in case["truth"]:
            config = DeepseekV3Config(
                qk_rope_head_dim=64, max_position_embeddings=163_840, rope_parameters=parameters
            )
            assert ROPE_INIT_FUNCTIONS["yarn"](config, "cpu")[1] == pytest.approx(case["on_cos_and_sin"])
            if case["mla"]:
                assert deepseek.yarn_apply_mscale(parameters, 1.0) == pytest.approx(case["on_softmax_scale"])
        if "DeepSeek" in case["truth"]:
            spec = yarn(64, case["factor"], 4096, **({"mscale": 1.0, "mscale_all_dim": 0.0} | stated))
            assert spec.attention_factor == pytest.approx(case["on_cos_and_sin"])
    assert {"DeepSeek's" in case["truth"] for case in load("scale")} == {True, False}


def test_a_published_case_keeps_its_bytes_and_a_new_one_raises_the_version():
    versions = dict(make.published())
    assert list(versions) == sorted(versions, key=lambda text: tuple(map(int, text.split("."))))
    lines = {
        (name, case): make.fingerprint(line) for name in FILES for case, line in make.committed(name).items()
    }
    recorded = {
        (name, case): digits
        for added in versions.values()
        for name, cases in added.items()
        for case, digits in cases.items()
    }
    assert recorded == lines
    assert len(versions["1.0.0"]["rotate"]) == 28
    stated = {json.loads((HERE / f"{name}.json").read_text("utf-8"))["version"] for name in FILES}
    assert stated == {list(versions)[-1]}


def test_every_file_is_as_its_schema_says_and_the_schema_has_teeth():
    schema = json.loads((HERE / "schema.json").read_text(encoding="utf-8"))
    check = jsonschema.Draft202012Validator(schema)
    check.check_schema(schema)
    for name in FILES:
        content = json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))
        check.validate(content)
        case = content["cases"][0]
        for broken in (
            {k: v for k, v in case.items() if k != "source"},
            case | {"another": 1},
            case | {"name": 7},
        ):
            assert not check.is_valid(content | {"cases": [broken]}), (name, broken)


class UnprintableError(Exception):
    def __str__(self):
        raise RuntimeError("no message")


def raising(error):
    def function(x, positions, *, layout, rotary_dim, base, attention_factor):
        raise error

    return function


def test_an_error_whose_message_fails_is_reported_with_its_case():
    results = run(raising(UnprintableError()))
    assert [result.name for result in results] == [case["name"] for case in load("rotate")]
    assert {result.seen for result in results} == {"UnprintableError: (its message raises RuntimeError)"}


@pytest.mark.parametrize("error", [KeyboardInterrupt, GeneratorExit])
def test_what_ends_the_run_passes_through_with_the_name_of_its_case(error):
    with pytest.raises(error) as caught:
        run(raising(error()))
    assert caught.value.__notes__ == ["raised in the case 'one pair, interleaved'"]
