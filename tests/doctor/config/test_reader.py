"""A config.json is read as transformers reads it, and what it does not say is refused with the field's name."""

import importlib.util
import json
import math
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import rope_edu
from rope_doctor.config import RULES, ConfigError, read_config, rope_from_config

HERE = Path(__file__).parent
EQUAL = 1e-12  # relative: a dozen roundings of 1.1e-16, some of them in exponents and in small differences


def loaded(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


draws = loaded("config_draws", HERE / "draws.py")
LLAMA = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "max_position_embeddings": 131_072,
}
LLAMA_3_1 = LLAMA | {
    "rope_theta": 500_000.0,
    "rope_scaling": {
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
        "rope_type": "llama3",
    },
}


def theirs(config, length):
    """Return transformers' (frequencies, factor) in float64 of a flat config of a Llama."""
    double = loaded(
        "transformers_double", HERE.parents[1] / "library" / "encodings" / "transformers_double.py"
    )
    parameters = dict(config.get("rope_parameters") or config.get("rope_scaling") or {})
    parameters["rope_type"] = parameters.pop("type", parameters.get("rope_type", "default"))
    for name in ("rope_theta", "partial_rotary_factor"):
        if name in config:
            parameters[name] = config[name]
    if parameters["rope_type"] == "default":  # no rule of theirs: linear by 1
        parameters |= {"rope_type": "linear", "factor": 1.0}
    head_dim = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    return double.transformers_rule(head_dim, config["max_position_embeddings"], length, parameters)


@pytest.mark.parametrize("kind", [kind for kind in draws.RULES if kind != "ntk_alpha"])
def test_a_config_of_each_type_gives_the_numbers_of_transformers(kind):
    pytest.importorskip("transformers")
    rng = np.random.default_rng(sum(map(ord, kind)))
    for _ in range(60):
        config, length = draws.drawn(rng, kind)
        spec = rope_from_config(config, seq_len=length)
        frequencies, factor = theirs(config, length)
        np.testing.assert_allclose(spec.inv_freq, frequencies, rtol=EQUAL, atol=0)
        assert spec.attention_factor == pytest.approx(factor, rel=EQUAL)


def test_hunyuans_alpha_gives_the_numbers_of_its_model():
    model = pytest.importorskip("transformers.models.hunyuan_v1_dense.modeling_hunyuan_v1_dense")
    double = loaded(
        "transformers_double", HERE.parents[1] / "library" / "encodings" / "transformers_double.py"
    )
    rng = np.random.default_rng(0)
    for _ in range(20):
        config, length = draws.drawn(rng, "ntk_alpha")
        config.pop("partial_rotary_factor", None)
        stated = config.get("rope_parameters") or config["rope_scaling"]
        stated.pop("partial_rotary_factor", None)
        base = stated.get("rope_theta") or config["rope_theta"]
        rule = model.HunYuanDenseV1RotaryEmbedding.compute_ntk_alpha_rope_parameters
        own = model.HunYuanDenseV1Config(
            **{name: config[name] for name in config if "rope" not in name and name != "model_type"},
            rope_parameters={**stated, "rope_theta": base},
        )
        own.head_dim = own.head_dim or own.hidden_size // own.num_attention_heads
        with double.InFloat64():
            frequencies, _ = rule(own)
        spec = rope_from_config(config, seq_len=length)
        assert spec.kind == "ntk-aware"
        np.testing.assert_allclose(spec.inv_freq, frequencies.double().numpy(), rtol=1e-12)


@pytest.mark.long
@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", range(21, 26))
def test_two_thousand_configs_give_a_spec_or_an_error_that_names_a_field(seed):
    known = {
        name.split(".")[-1]
        for field, rule in RULES["fields"].items()
        for name in [field, *rule.get("names", [])]
    }
    specs, errors = [], []
    for config, layer_type, seq_len in draws.cases(np.random.default_rng(seed), 2_000):
        try:
            specs.append(rope_from_config(config, layer_type=layer_type, seq_len=seq_len))
        except ConfigError as error:
            errors.append((config, error))
    assert min(len(specs), len(errors)) > 400  # neither of them is rare
    assert all(isinstance(spec, rope_edu.RopeSpec) and np.isfinite(spec.inv_freq).all() for spec in specs)
    assert all(_names_a_field(error, config, known) for config, error in errors)


def _names_a_field(error, config, known):
    """Tell whether the sentence has the path, and its last word is a field of the rules or of the config."""
    last = error.field.split(".")[-1]
    return error.field in str(error) and (last in known or f'"{last}"' in json.dumps(config))


def test_a_reading_depends_on_its_arguments_alone():
    rng = np.random.default_rng(3)
    for kind in ("dynamic", "longrope", "yarn"):
        config, length = draws.drawn(rng, kind)
        before = json.dumps(config)
        short = rope_from_config(config, seq_len=10)
        rope_from_config(config, seq_len=100 * length)
        assert rope_from_config(config, seq_len=10) == short
        assert json.dumps(config) == before


def test_both_spellings_of_a_model_are_one_rotation():
    new = LLAMA | {"rope_parameters": {**LLAMA_3_1["rope_scaling"], "rope_theta": 500_000.0}}
    assert rope_from_config(LLAMA_3_1) == rope_from_config(new)
    assert rope_from_config({"model_type": "llava", "text_config": LLAMA_3_1}) == rope_from_config(LLAMA_3_1)
    assert rope_from_config(LLAMA_3_1) == rope_edu.llama3(128, 8, 8192).replace(layout="half_split")


def test_a_path_is_read_as_its_dict(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(LLAMA_3_1))
    for path in (tmp_path, tmp_path / "config.json", str(tmp_path / "config.json")):
        assert rope_from_config(path) == rope_from_config(LLAMA_3_1)
    for text in (json.dumps(LLAMA_3_1)[:-20], "", "[" * 100_000, '{"rope_theta": NaN}'):
        (tmp_path / "broken.json").write_text(text)
        with pytest.raises(ValueError, match=r"broken\.json is not JSON"):
            rope_from_config(tmp_path / "broken.json")
    with pytest.raises(FileNotFoundError):
        rope_from_config(tmp_path / "none.json")


def without(config, *path):
    config = json.loads(json.dumps(config))
    place = config
    for name in path[:-1]:
        place = place[name]
    del place[path[-1]]
    return config


def changed(config, **fields):
    return config | {"rope_scaling": {**config["rope_scaling"], **fields}}


REFUSED = {
    "rope_scaling.rope_type must be one of": changed(LLAMA_3_1, rope_type="llama4"),
    'rope_scaling.rope_type is "axial"': changed(LLAMA_3_1, rope_type="axial"),
    "rope_scaling.rope_type must be a word, got 3": changed(LLAMA_3_1, rope_type=3),
    'rope_scaling.rope_type is "llama3", but rope_scaling.type is "yarn"': changed(LLAMA_3_1, type="yarn"),
    "rope_scaling.factor must be a number from 1 to 1e6, got 0.5": changed(LLAMA_3_1, factor=0.5),
    'rope_scaling.factor must be a number from 1 to 1e6, got "8"': changed(LLAMA_3_1, factor="8"),
    "rope_scaling.factor must be a number from 1 to 1e6, got true": changed(LLAMA_3_1, factor=True),
    "rope_scaling.factor is missing": without(LLAMA_3_1, "rope_scaling", "factor"),
    "rope_scaling.original_max_position_embeddings is missing": without(
        LLAMA_3_1, "rope_scaling", "original_max_position_embeddings"
    ),
    "rope_scaling.low_freq_factor is missing": without(LLAMA_3_1, "rope_scaling", "low_freq_factor"),
    "rope_scaling.low_freq_factor is 5 and must not be above": changed(LLAMA_3_1, low_freq_factor=5),
    "rope_scaling.betafast is not used by the rule": changed(LLAMA_3_1, betafast=32),
    "rope_scaling.beta_fast is not used by the rule": changed(LLAMA_3_1, beta_fast=32),
    "rope_theta is missing": without(LLAMA_3_1, "rope_theta"),
    'rope_theta must be a number above 1, at most 1e30, got "5e5"': LLAMA_3_1 | {"rope_theta": "5e5"},
    "rope_theta must be a number above 1, at most 1e30, got -500000": LLAMA_3_1 | {"rope_theta": -500_000},
    "rope_scaling.rope_theta is 10000, but rope_theta is 500000": changed(LLAMA_3_1, rope_theta=10_000),
    "rope_scaling must be an object, got [1]": LLAMA_3_1 | {"rope_scaling": [1]},
    "head_dim is missing": without(LLAMA_3_1, "hidden_size"),
    "hidden_size is 4097, which num_attention_heads = 32 does not divide": LLAMA_3_1 | {"hidden_size": 4097},
    "head_dim is 127: 127 features would be rotated": LLAMA_3_1 | {"head_dim": 127},
    "partial_rotary_factor is 0.01: 1 features would be rotated": LLAMA_3_1 | {"partial_rotary_factor": 0.01},
    "rope_scaling.mrope_section must add up to the 64 pairs, got [16, 24]": changed(
        LLAMA_3_1, mrope_section=[16, 24]
    ),
    'text_config.rope_theta must be a number above 1, at most 1e30, got "a"': {
        "text_config": LLAMA_3_1 | {"rope_theta": "a"}
    },
    "layer_types must be a list of words, got 7": LLAMA_3_1
    | {"layer_types": 7, "sliding_window": 8, "model_type": "cohere2"},
    'position_embedding_type is "absolute": this model does not rotate': LLAMA_3_1
    | {"position_embedding_type": "absolute"},
    'model_type is "gpt2": this model does not rotate': {"model_type": "gpt2", "n_embd": 768, "n_head": 12},
    'text_config.model_type is "opt": this model': {"text_config": {"model_type": "opt", "hidden_size": 768}},
    "rope_scaling.long_factor must be a list of numbers from 0.001 to 1e6": LLAMA
    | {
        "rope_theta": 1e4,
        "max_position_embeddings": 8192,
        "original_max_position_embeddings": 1024,
        "rope_scaling": {"type": "longrope", "short_factor": [1.0] * 64, "long_factor": [math.nan] * 64},
    },
    "rope_theta must be a number above 1, at most 1e30, got nan": LLAMA_3_1 | {"rope_theta": math.nan},
    "config must be an object": [LLAMA_3_1],
    'config must be an object with the fields of a config.json, got "{': json.dumps(LLAMA_3_1),
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_what_a_config_does_not_say_is_refused_with_the_field_and_the_value(sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        rope_from_config(REFUSED[sentence])


@pytest.mark.long
def test_every_reason_for_refusal_has_occurred():
    """Each sentence of rules.json is met, here or among configs drawn at random."""
    met = set()
    for config in [*REFUSED.values(), *(case[0] for case in draws.cases(np.random.default_rng(5), 3000))]:
        for layer_type in (None, "global"):
            try:
                rope_from_config(config, layer_type=layer_type)
            except ConfigError as error:
                met.add(error.reason)
    extra = {
        "not JSON",
        "not a GGUF",
        "wrong length",
        "too short",
        "ramp",
        "no such layer type",
    }  # below, and of files
    extra |= {"too deep", "several in one kind", "sections of features", "cannot be dealt"}
    extra |= {"no config", "not fetched", "not read to its end", "unknown architecture"}
    assert met | extra == set(RULES["refusals"])


def test_rare_settings_are_refused():
    yarn = LLAMA | {"rope_theta": 1.5, "rope_scaling": {"type": "yarn", "factor": 2.0}}
    yarn["rope_scaling"]["original_max_position_embeddings"] = 10**9
    with pytest.raises(ConfigError, match="ramp would run backwards"):
        rope_from_config(yarn)
    lists = {"short_factor": [1.0] * 64, "long_factor": [2.0] * 64, "factor": 2.0, "type": "su"}
    phi = LLAMA | {"rope_theta": 1e4, "original_max_position_embeddings": 1, "rope_scaling": lists}
    with pytest.raises(ConfigError, match="must be at least 2"):
        rope_from_config(phi)
    with pytest.raises(ConfigError, match="long_factor must have one number for each of 64 pairs, got 3"):
        rope_from_config(changed(phi, long_factor=[1.0, 2.0, 3.0]))
    with pytest.raises(
        ConfigError, match=r'layer_type must be null or one of "full_attention", got "global"'
    ):
        rope_from_config(LLAMA | {"layer_types": ["full_attention"] * 2}, layer_type="global")


GEMMA = {
    "model_type": "gemma3_text",
    "hidden_size": 2560,
    "head_dim": 256,
    "rope_theta": 1e6,
    "rope_local_base_freq": 1e4,
    "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
    "max_position_embeddings": 131_072,
}


def test_layers_with_two_bases_are_told_apart():
    with pytest.raises(ConfigError, match='layer_type must be one of "full_attention", "sliding_attention"'):
        rope_from_config(GEMMA)
    far = rope_from_config(GEMMA, layer_type="full_attention")
    assert far == rope_edu.position_interpolation(256, 8, base=1e6).replace(layout="half_split")
    near = rope_from_config(GEMMA, layer_type="sliding_attention")
    assert near == rope_edu.plain_rope(256, 1e4, layout="half_split")
    sparse = without(without(without(GEMMA, "rope_theta"), "rope_local_base_freq"), "head_dim")
    assert rope_from_config({"text_config": sparse}, layer_type="full_attention") == far


def test_layers_without_position_do_not_turn():
    command = {"model_type": "cohere2", "hidden_size": 4096, "num_attention_heads": 32, "rope_theta": 5e4}
    command |= {"sliding_window": 4096, "layer_types": ["sliding_attention"] * 3 + ["full_attention"]}
    assert rope_from_config(command) == rope_edu.plain_rope(128, 5e4)
    still = rope_from_config(command, layer_type="full_attention")
    assert still.kind == "nope"
    assert not still.inv_freq.any()
    smol = {"model_type": "smollm3", "hidden_size": 2048, "num_attention_heads": 16, "rope_theta": 5e6}
    smol["num_hidden_layers"] = 36
    assert rope_from_config(smol) == rope_edu.plain_rope(128, 5e6, layout="half_split")
    assert rope_from_config(smol, layer_type="nope").kind == "nope"
    assert "9 of 36 layers do not rotate" in read_config(smol).remarks[-1].text


def test_the_softmax_scale_is_that_of_the_width_where_nothing_else_is_said():
    assert read_config({"model_type": "llama", "head_dim": 64, "rope_theta": 1e4}).softmax_scale == 1


def test_widths_under_all_their_names():
    width = {"rope_theta": 1e4, "hidden_size": 4096, "num_attention_heads": 16}
    for fields, rotary in [
        ({"rotary_pct": 0.25}, 64),
        ({"rotary_dim": 64}, 64),
        ({"partial_rotary_factor": 0.25, "rotary_dim": 64}, 64),
        ({}, 256),
    ]:
        spec = rope_from_config(width | fields)
        assert (spec.head_dim, spec.rotary_dim) == (256, rotary)
    with pytest.raises(ConfigError, match=r"rotary_pct is 0\.5, but rotary_dim is 64"):
        rope_from_config(width | {"rotary_pct": 0.5, "rotary_dim": 64})
    gptj = {"model_type": "gptj", "n_embd": 4096, "n_head": 16, "n_positions": 2048, "rotary_dim": 64}
    assert rope_from_config(gptj) == rope_edu.partial_rope(256, 64)
    mla = {
        "model_type": "deepseek_v3",
        "qk_rope_head_dim": 64,
        "rope_theta": 1e4,
        "hidden_size": 7168,
        "num_attention_heads": 128,
    }
    assert rope_from_config(mla) == rope_edu.plain_rope(64)
    assert rope_from_config(mla | {"rope_interleave": False}).layout == "half_split"


def test_sections_and_their_order():
    vision = {"model_type": "qwen2_vl", "hidden_size": 3584, "num_attention_heads": 28, "rope_theta": 1e6}
    old = read_config(vision | {"rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]}})
    assert (old.spec.sections, old.section_order) == ((16, 24, 24), "contiguous")
    stated = {"rope_type": "default", "mrope_section": [24, 20, 20], "mrope_interleaved": True}
    assert read_config(vision | {"rope_scaling": stated}).section_order == "interleaved"


YARN = LLAMA | {
    "rope_theta": 1e6,
    "rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32_768},
}
REMARKED = {
    "not read": LLAMA | {"rope_theta": 1e4, "rope_scalling": {"factor": 2.0}},
    "lengths differ": LLAMA | {"rope_theta": 1e4, "max_sequence_length": 16_384},
    "theta lost by 4": LLAMA | {"rope_parameters": {"rope_type": "default", "rope_theta": 5e5}},
    "factor disagrees": changed(YARN, factor=8.0),
    "half an mscale": changed(YARN, mscale=1.2),
    "softmax scale": changed(YARN, mscale=1.0, mscale_all_dim=1.0) | {"model_type": "deepseek_v3"},
    "softmax not scaled": changed(YARN, mscale=1.0, mscale_all_dim=1.0),
    "layout assumed": LLAMA | {"rope_theta": 1e4, "model_type": "new"},
    "default taken": LLAMA,
    "factor from lengths": changed(YARN, factor=None),
    "layers without position": LLAMA | {"rope_theta": 1e4, "no_rope_layers": [1, 0, 1, 0]},
    "factor ignored by 5": LLAMA | {"rope_theta": 1e4, "partial_rotary_factor": 0.5},
    "of no layer": LLAMA | {"rope_theta": 1e4, "per_layer_config": {"x": {"head_dim": 8}}},
    "beside the rotation": changed(YARN, finetuned=True),
    "depends on length": LLAMA | {"rope_theta": 1e4, "rope_scaling": {"type": "dynamic", "factor": 2.0}},
    "theta lost by 5": {
        "model_type": "gpt_neox",
        "hidden_size": 64,
        "num_attention_heads": 1,
        "rope_theta": 25_000,
    },
}


def test_every_remark_is_made_where_it_is_true_and_nowhere_else():
    assert set(REMARKED) == set(RULES["remarks"])
    for kind, config in REMARKED.items():
        assert kind in {remark.kind for remark in read_config(config).remarks}
    assert read_config(YARN).remarks == ()


STATED = {"rope_type": "default", "rope_theta": 7e5}
LOST = {
    "two places": (
        "llama",
        LLAMA
        | {
            "rope_parameters": STATED | {"rope_type": "linear", "factor": 4.0},
            "rope_scaling": {"type": "linear", "factor": 4.0},
        },
    ),
    "no layer type": ("llama", LLAMA | {"rope_parameters": {"full_attention": STATED}}),
    "named otherwise": (
        "gpt_neox",
        {"model_type": "gpt_neox", "hidden_size": 64, "num_attention_heads": 1, "rope_theta": 7e5},
    ),
    "flat": ("gemma3_text", {"model_type": "gemma3_text", "hidden_size": 64, "rope_parameters": STATED}),
    "full attention alone": (
        "olmo3",
        {"model_type": "olmo3", "hidden_size": 64, "num_attention_heads": 1, "rope_theta": 7e5},
    ),
    "outside": ("llava", {"model_type": "llava", "rope_theta": 7e5, "text_config": LLAMA}),
}


@pytest.mark.parametrize("how", LOST)
def test_where_theta_is_said_to_be_lost_the_installed_transformers_loses_it(how):
    auto = pytest.importorskip("transformers").AutoConfig
    assert set(LOST) == set(RULES["how_lost"])
    family, config = LOST[how]
    layer_type = "full_attention" if family in ("gemma3_text",) else None
    reading = read_config(config, layer_type=layer_type)
    assert reading.base == 7e5
    assert "theta lost by 5" in {remark.kind for remark in reading.remarks}
    read = auto.for_model(**json.loads(json.dumps(config))).get_text_config()
    stated = read.rope_parameters
    bases = {
        stated.get("rope_theta"),
        *(part["rope_theta"] for part in stated.values() if isinstance(part, dict)),
    }
    kept = {"full_attention": {7e5}}.get(how, set())
    if how == "full attention alone":
        assert stated["sliding_attention"]["rope_theta"] == 500_000.0
    elif how == "flat":
        assert stated["full_attention"]["rope_theta"] == 1e6
    elif how == "no layer type":
        assert stated["rope_theta"] == 1e4
    else:
        assert 7e5 not in bases | kept


@pytest.mark.parametrize(("label", "is_lost"), [("full_attention", False), ("sliding_attention", True)])
def test_a_base_is_said_to_be_lost_where_the_file_declares_no_such_layer(label, is_lost):
    kinds = {"full_attention": STATED, label: STATED}
    config = LLAMA | {
        "model_type": "gemma3_text",
        "num_hidden_layers": 2,
        "layer_types": ["full_attention"] * 2,
        "rope_parameters": kinds,
    }
    said = [remark.text for remark in read_config(config, layer_type="full_attention").remarks]
    lost = [text for text in said if "belongs to no declared layer type" in text]
    assert len(lost) == is_lost
    assert all(f"rope_parameters.{label}" in text for text in lost)


def _sections_of_the_module(family):
    """Return the sections that the model's rotary module takes where the file has none, read in its source."""
    folder = re.sub("_text$", "", family)
    root = Path(importlib.util.find_spec("transformers").origin).parent / "models" / folder
    found = re.search(r'"mrope_section", (\[[\d, ]+\])', (root / f"modeling_{folder}.py").read_text())
    return json.loads(found[1]) if found else None


def _width_of_full_attention(config):
    overrides = {layer["head_dim"] for layer in config.to_dict().get("per_layer_config", {}).values()}
    return overrides.pop() if len(overrides) == 1 else None


def test_the_defaults_are_those_of_the_installed_transformers():
    """Fields that a file may leave out, for the architectures that transformers itself has."""
    auto = pytest.importorskip("transformers").AutoConfig
    elsewhere = (
        "chatglm",
        "qwen",
        "RefinedWeb",
        "RefinedWebModel",
        "mixformer-sequential",
        "phi-msft",
    )  # remote code
    known = pytest.importorskip("transformers.models.auto.configuration_auto").CONFIG_MAPPING
    newer = {"hy_v4_vl_text", "lara_mini"} - set(known)  # transformers 5.24 brings them
    for family, defaults in RULES["defaults"].items():
        if family in elsewhere or family in newer:
            continue
        own = auto.for_model(family).get_text_config()
        stated = getattr(own, "rope_parameters", None) or {"rope_theta": 10_000.0}
        flat = stated.get("full_attention", stated)
        found = {
            "rope_theta": flat.get("rope_theta"),
            "partial_rotary_factor": flat.get("partial_rotary_factor"),
            "rope_local_base_freq": stated.get("sliding_attention", {}).get("rope_theta"),
            "mrope_section": _sections_of_the_module(family),
            "global_head_dim": _width_of_full_attention(own),
            "head_dim_of_a_bare_part": 128 if own.to_dict().get("hidden_size") == 4096 else None,
            "no_rope_layer_interval": 4 if getattr(own, "no_rope_layers", [1] * 4)[3] == 0 else None,
        }
        for name, value in defaults.items():
            theirs = found[name] if found.get(name) is not None else getattr(own, name, None)
            assert theirs == value, (family, name)
