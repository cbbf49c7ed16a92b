"""Two files are said to rotate alike if they do, whatever their form, and what differs is named."""

import json
from pathlib import Path

import numpy as np
import pytest

import rope_edu.command.compare_files as module
from rope_edu.command import compare
from rope_edu.config import PRESETS, preset, rope_from_config, to_config
from rope_edu.config.files import read_kinds

from .written import ARCHITECTURES, written

CONVERTED = [each for each in PRESETS if each.config["model_type"] in ARCHITECTURES]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Every preset that llama.cpp converts, as a config and as a GGUF."""
    folder = tmp_path_factory.mktemp("presets")
    for number, each in enumerate(CONVERTED):
        (folder / f"{number}.json").write_text(json.dumps(each.config))
        written(folder / f"{number}.gguf", each.config)
    return folder


def save(path, config):
    path.write_text(json.dumps(config))
    return path


def rotations(config):
    """Return (layers, widths, layout, factor, axes, frequencies) of every kind of layers."""
    found = {}
    for each in read_kinds(config):
        spec = each.spec
        rest = (spec.inv_freq.tolist(), spec.head_dim, spec.layout, spec.attention_factor, spec.axes)
        found[each.layer_type] = "still" if each.rope_type == "nope" else rest
    return found


def alike(first, second):
    """Tell whether two configs state the same numbers, for each kind of layers that either has."""
    a, b = rotations(first), rotations(second)
    labels = ({*a, *b} - {None}) | ({None} if None in a and None in b else set())
    return all(a.get(label, a.get(None)) == b.get(label, b.get(None)) for label in labels)


def test_at_least_forty_presets_survive_their_conversion(folder):
    assert len(CONVERTED) >= 40
    for number, each in enumerate(CONVERTED):
        result = compare(folder / f"{number}.json", folder / f"{number}.gguf")
        assert result.alike, f"{each.name}: {result}"


def test_all_pairs_of_presets_are_judged_rightly(folder):
    judged = []
    for i, first in enumerate(CONVERTED):
        for j, second in enumerate(CONVERTED):
            forms = ("json", "json") if (i + j) % 3 else ("json", "gguf")
            result = compare(folder / f"{i}.{forms[0]}", folder / f"{j}.{forms[1]}")
            same = alike(first.config, second.config)
            assert result.alike == same, (first.name, second.name, str(result))
            judged.append(same)
    assert min(judged.count(True), judged.count(False)) >= 60


@pytest.mark.parametrize("each", PRESETS, ids=lambda each: each.name)
def test_both_spellings_of_a_preset_rotate_alike(each, tmp_path):
    kinds = read_kinds(each.config)
    if len(kinds) == 1:
        first = save(tmp_path / "a.json", each.config)
        for spelling in (4, 5):
            second = save(tmp_path / f"{spelling}.json", to_config(kinds[0], spelling=spelling))
            assert compare(first, second).alike
    else:
        first = second = save(tmp_path / "a.json", each.config)
        assert compare(first, second).alike


FLAT = ("Llama 3.1 8B", "Qwen2.5 7B Instruct with YaRN", "LLaMA-2 7B 32K (Together)", "Pythia 6.9B", "Phi-4")


def mutations(config):
    """Yield copies of a config in which one number is another, by much or by very little."""
    steps = [sign * 10.0**-power for power in range(1, 17) for sign in (1, -1)]
    scaling = config.get("rope_scaling", {})
    for step in steps:
        for name in ("rope_theta", "rotary_emb_base"):
            if name in config:
                yield config | {name: config[name] * (1 + step)}
        for name in ("factor", "low_freq_factor", "beta_fast"):
            if name in scaling:
                yield config | {"rope_scaling": scaling | {name: scaling[name] * (1 + step)}}
    for length in (8191, 8193, 65_536):
        if "original_max_position_embeddings" in scaling:
            yield config | {"rope_scaling": scaling | {"original_max_position_embeddings": length}}
    yield config | {"rope_interleave": True}
    yield config | {"partial_rotary_factor": 0.5}
    yield config | {"max_position_embeddings": config["max_position_embeddings"] - 1}
    yield config | {"attention_bias": True}


@pytest.mark.parametrize("name", FLAT)
def test_a_mutation_is_reported_where_an_angle_changes_by_a_millionth_and_nowhere_else(name, tmp_path):
    config = preset(name).config
    config = {key: value for key, value in config.items() if key != "rotary_pct"}
    first, wanted = save(tmp_path / "a.json", config), rope_from_config(config)
    length, seen = config["max_position_embeddings"], {True: 0, False: 0}
    for mutated in mutations(config):
        spec = rope_from_config(mutated)
        other = spec.rotary_dim != wanted.rotary_dim or spec.layout != wanted.layout
        off = other or np.abs(length * spec.inv_freq - length * wanted.inv_freq).max()
        if not 0.999e-6 < off < 1.001e-6:
            result = compare(first, save(tmp_path / "b.json", mutated))
            assert result.alike == (off < 1e-6), (mutated, off)
            seen[result.alike] += 1
    assert min(seen.values()) >= 5


def test_one_step_of_float32_in_a_gguf_is_noticed(folder, tmp_path):
    config = preset("Llama 2 7B").config
    first = save(tmp_path / "a.json", config)
    near = float(np.nextafter(np.float32(10_000), np.float32(1e9)))
    assert compare(first, written(tmp_path / "same.gguf", config)).alike
    assert not compare(first, written(tmp_path / "near.gguf", config, base=near)).alike


@pytest.mark.parametrize(
    ("change", "what", "fix"),
    [
        ({"base": 10_000.0}, "frequencies", "Set llama.rope.freq_base to 1000000 in"),
        ({"rotary_dim": 64}, "width", "Set llama.rope.dimension_count to 128 in"),
    ],
)
def test_a_number_lost_in_a_conversion_is_named_with_its_key(change, what, fix, tmp_path):
    config = preset("Code Llama 7B").config
    result = compare(save(tmp_path / "a.json", config), written(tmp_path / "b.gguf", config, **change))
    assert [each.what for each in result.differences] == [what]
    assert result.differences[0].fix.startswith(fix)


def test_a_factor_lost_in_a_conversion_is_named(tmp_path):
    config = preset("Gemma 3 4B").config
    result = compare(save(tmp_path / "a.json", config), written(tmp_path / "b.gguf", config, factor=4.0))
    [difference] = result.differences
    assert (difference.what, difference.layers, difference.pair) == (
        "frequencies",
        "full_attention layers",
        0,
    )
    assert "Set gemma3.rope.scaling.factor to 8" in difference.fix
    assert difference.angle == pytest.approx(131_072 / 8)


def test_a_rule_lost_in_a_conversion_is_named(tmp_path):
    config = preset("Llama 3.1 8B").config
    plain = {key: value for key, value in config.items() if key != "rope_scaling"}
    result = compare(save(tmp_path / "a.json", config), written(tmp_path / "b.gguf", plain))
    assert "Fix: Write the factors of llama3 as the tensor rope_freqs.weight of" in str(result)
    assert result.differences[0].pair == 29  # the first of those that the rule changes


def test_the_ramp_of_gpt_oss_is_rounded_in_a_gguf_and_that_is_seen(tmp_path, monkeypatch):
    monkeypatch.setitem(ARCHITECTURES, "gpt_oss", "gpt-oss")
    config = preset("gpt-oss (defaults)").config
    result = compare(save(tmp_path / "a.json", config), written(tmp_path / "b.gguf", config))
    assert [each.what for each in result.differences] == ["frequencies"]  # truncate has no key


def test_layers_without_position_must_be_the_same(tmp_path):
    smol, qwen = preset("SmolLM3 3B (defaults)").config, preset("Qwen3 8B").config
    qwen = qwen | {"rope_theta": 2_000_000.0}
    result = compare(save(tmp_path / "a.json", smol), save(tmp_path / "b.json", qwen))
    assert [(each.what, each.layers) for each in result.differences] == [
        ("rotation", "layers without position")
    ]


def test_rules_that_depend_on_the_length_are_compared_at_both_ends(tmp_path):
    lists = {"rope_type": "longrope", "short_factor": [1.0] * 32, "long_factor": [4.0] * 32, "factor": 2.0}
    lists |= {"original_max_position_embeddings": 4096}
    config = {"model_type": "phi3", "head_dim": 64, "rope_theta": 1e4, "max_position_embeddings": 8192}
    first = save(tmp_path / "a.json", config | {"rope_scaling": lists})
    assert compare(first, first).alike
    for name in ("short_factor", "long_factor"):
        second = save(tmp_path / "b.json", config | {"rope_scaling": lists | {name: [*[3.0] * 31, 1.0]}})
        assert [each.what for each in compare(first, second).differences] == ["frequencies"]


def test_every_chapter_that_is_named_is_a_chapter():
    notebooks = Path(__file__).resolve().parents[2] / "notebooks"
    slugs = [path.stem[3:].replace("_", " ") for path in notebooks.glob("*.ipynb")]
    assert {title.lower() for title in module.CHAPTERS.values()} <= set(slugs)


def test_factors_as_torch_computes_them_in_float32_are_alike_and_a_wrong_one_is_not(tmp_path):
    torch = pytest.importorskip("torch")
    config = preset("Llama 3.2 1B").config
    freqs = 1.0 / (5e5 ** (torch.arange(0, 64, 2, dtype=torch.float32) / 64))
    turns = 8192 * freqs / (2 * torch.pi)
    blend = ((turns - 1) / 3).clamp(0, 1)
    factors = (1 / ((1 - blend) / 32 + blend)).numpy()
    first = save(tmp_path / "a.json", config)
    for factor, same in ((1, True), (1 + 4e-6, False)):
        factors[18] *= factor  # the first pair that is divided by 32
        path = written(tmp_path / "b.gguf", config, factors=factors)
        assert compare(first, path).alike is same
