"""Files that differ in some layers, or in what scales the scores, are told apart: bugs as people reported them."""

import copy
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rope_doctor.command import compare
from rope_doctor.command.read_files import in_words
from rope_doctor.config import PRESETS, ConfigError, preset, read_config
from rope_doctor.config.each_layer import layers_of_config
from rope_doctor.config.files import Statement, read_file
from rope_doctor.config.gguf import Header
from rope_doctor.config.gguf_rotation import KEYS, layers_of_keys, readings_of
from rope_doctor.verdict import NOT_RUN

from .written import ARCHITECTURES, LOST, written

ROOT = Path(__file__).resolve().parents[3]
FILES = json.loads((ROOT / "tests/doctor/config/released.json").read_text(encoding="utf-8"))["files"]
CONFIGS = {each.name: each.config for each in PRESETS}
RELEASED = {
    file["name"]: file.get("config", CONFIGS.get(file["name"]))
    for file in FILES
    if "refused" not in file["expected"]
}
SMOL = preset("SmolLM3 3B (defaults)").config
GEMMA = preset("Gemma 3 4B").config | {"sliding_window": 1024}
KINDS = ["full_attention" if (i + 1) % 6 == 0 else "sliding_attention" for i in range(34)]
SWAPPED = [{"full_attention": "sliding_attention"}.get(kind, "full_attention") for kind in KINDS]
DEEPSEEK = preset("DeepSeek-V3").config
MINISTRAL = preset("Ministral 3 8B (defaults)").config
NEOX = {
    "model_type": "gpt_neox",
    "hidden_size": 64,
    "num_attention_heads": 1,
    "max_position_embeddings": 2048,
}
QWEN = {
    "model_type": "qwen",
    "hidden_size": 256,
    "num_attention_heads": 2,
    "seq_length": 2048,
    "rope_theta": 1e4,
}
YARN = {"model_type": "qwen3_moe", "head_dim": 128, "rope_theta": 1e6, "max_position_embeddings": 131_072}
YARN |= {"rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32_768}}
PHI = preset("Phi-2").config
V4 = preset("DeepSeek-V4 Flash").config


def compared(folder, wanted, found):
    """Return the comparison of two configs."""
    for name, config in (("a.json", wanted), ("b.json", found)):
        (folder / name).write_text(json.dumps(config))
    return compare(folder / "a.json", folder / "b.json")


def without(config, *path):
    """Return a config without a field, given by its path."""
    config = copy.deepcopy(config)
    part = config
    for name in path[:-1]:
        part = part[name]
    del part[path[-1]]
    return config


def with_scaling(config, **fields):
    """Return a config with fields of its rope_scaling changed."""
    name = "rope_scaling" if config.get("rope_scaling") else "rope_parameters"
    return config | {name: config[name] | fields}


def vision(*, interleaved):
    """Return a config whose pairs follow three coordinates."""
    rope = {"rope_type": "default", "mrope_section": [24, 20, 20], "mrope_interleaved": interleaved}
    return {"model_type": "qwen2_5_vl_text", "head_dim": 128, "rope_theta": 1e6, "rope_scaling": rope}


DRAFT = {**preset("Llama 3.1 8B").config, "model_type": "llama", "num_hidden_layers": 1}
EAGLE = {"speculators_model_type": "eagle3", "transformer_layer_config": DRAFT}
INVERTED = SMOL | {"no_rope_layers": [1 - each for each in SMOL["no_rope_layers"]]}
CASES = {  # thread: (right, wrong, the first thing that differs, in which layers)
    "huggingface/transformers 43756, list of unrotated layers inverted": (
        SMOL, INVERTED, "kinds of layers", "layers 0–2, 4–6, 8–10, 12–14, 16–18, 20–22, … of 36",
    ),
    "Gemma 3's kinds swapped": (
        GEMMA | {"layer_types": KINDS}, GEMMA | {"layer_types": SWAPPED}, "kinds of layers", "layers 0–4, 6–10",
    ),
    "Gemma 3's kinds shifted by a layer": (
        GEMMA | {"layer_types": KINDS}, GEMMA | {"layer_types": KINDS[1:] + KINDS[:1]},
        "kinds of layers", "layers 4",
    ),
    "a pattern of 6 read as 2": (GEMMA, GEMMA | {"sliding_window_pattern": 2}, "kinds of layers", "layers 1, 3, 7"),
    "a window of 1024 read as 4096": (GEMMA, GEMMA | {"sliding_window": 4096}, "windows", "layers 0–4, 6–10"),
    "huggingface/transformers 47435, mscale missing from the softmax": (
        DEEPSEEK,
        with_scaling(
            without(without(DEEPSEEK, "rope_scaling", "mscale_all_dim"), "rope_scaling", "mscale"),
            attention_factor=1.0,
        ),
        "softmax scale", "all layers",
    ),
    "a log multiplier ten times as large": (
        DEEPSEEK, with_scaling(DEEPSEEK, mscale=10.0, mscale_all_dim=10.0), "softmax scale", "all layers",
    ),
    "queries no longer scaled by their position": (
        MINISTRAL, without(MINISTRAL, "rope_parameters", "llama_4_scaling_beta"),
        "query scale", "layers 0–33 of 34",
    ),
    "Qwen-7B's log-n attention turned off": (
        QWEN | {"use_logn_attn": True}, QWEN | {"use_logn_attn": False}, "query scale", "layers 0–47 of 48",
    ),
    "Llama 4's temperature with another floor": (
        preset("Llama 4 (defaults)").config,
        preset("Llama 4 (defaults)").config | {"floor_scale": 4096},
        "query scale", "layers 3, 7, 11, 15, 19, 23, … of 48",
    ),
    "Airockchip/rknn-llm 501, unrotated layers rotated": (
        SMOL, SMOL | {"no_rope_layers": [1] * 36}, "kinds of layers", "layers 3, 7, 11, 15, 19, 23, … of 36",
    ),
    "ml-explore/mlx-lm 1507, an explicit attention_factor ignored": (
        YARN | {"rope_scaling": YARN["rope_scaling"] | {"attention_factor": 1.0}}, YARN,
        "attention factor", "all layers",
    ),
    "vllm-project/speculators 574, the rule of a draft's nested config lost": (
        EAGLE, EAGLE | {"transformer_layer_config": without(EAGLE["transformer_layer_config"], "rope_scaling")},
        "frequencies", "all layers",
    ),
    "ggml-org/llama.cpp 13322, YaRN lost": (YARN, without(YARN, "rope_scaling"), "frequencies", "all layers"),
    "ml-explore/mlx-lm 1698, huggingface/transformers 48486, a partial width ignored": (
        PHI, PHI | {"partial_rotary_factor": 1.0}, "width", "all layers",
    ),
    "antonellof/ferrox 39, sliding layers scaled": (
        GEMMA, GEMMA | {"rope_local_base_freq": 8e4}, "frequencies", "sliding_attention layers",
    ),
    "vllm-project/vllm-gaudi 1437, alibaba/MNN 4133, coordinates contiguous for interleaved": (
        vision(interleaved=True), vision(interleaved=False), "sections", "all layers",
    ),
    "sgl-project/sglang 34788, ml-explore/mlx-lm 1189, one θ for all kinds of layers": (
        V4, V4 | {"compress_rope_theta": V4["rope_theta"]}, "frequencies", "compress layers",
    ),
    "θ lost in v5, gpt_neox": (
        NEOX | {"rotary_emb_base": 25_000}, NEOX | {"rope_theta": 25_000}, "loading", "all layers",
    ),
}  # fmt: skip


@pytest.mark.parametrize("thread", CASES)
def test_a_reported_bug_is_named_first_and_in_its_layers(thread, tmp_path):
    right, wrong, what, layers = CASES[thread]
    result = compared(tmp_path, right, wrong)
    assert result.verdict.status == 1
    assert result.differences[0].what == what
    assert result.differences[0].layers.startswith(layers)
    assert compared(tmp_path, right, right).verdict.status == 0


@pytest.mark.parametrize("name", RELEASED)
def test_a_released_config_is_like_itself_with_every_central_check_run(name, tmp_path):
    verdict = compared(tmp_path, RELEASED[name], RELEASED[name]).verdict
    assert verdict.status == 0
    assert all(check.outcome != NOT_RUN for check in verdict.checks if check.central)


def test_sixty_released_configs_and_more_are_like_the_gguf_that_is_made_of_them(tmp_path):
    """A preset that leaves its window or kinds to the model's code is not judged, and none is called wrong."""
    verdicts = {}
    for name, config in RELEASED.items():
        if config.get("model_type") in ARCHITECTURES.keys() - LOST.keys():
            (tmp_path / "config.json").write_text(json.dumps(config))
            verdicts[name] = compare(tmp_path / "config.json", written(tmp_path / "a.gguf", config)).verdict
    open_ = {name: verdict for name, verdict in verdicts.items() if verdict.status}
    assert len(verdicts) - len(open_) >= 60
    for name, verdict in open_.items():
        assert verdict.status == 2, name
        assert "windows" in verdict.not_judged, name
        assert verdict.not_judged.keys() <= {"kinds", "windows", "query-scale"}, name


@pytest.mark.nightly
def test_the_default_config_of_every_rotating_architecture_is_like_itself(tmp_path):
    """Those of the census; a default that states no rotation, or none of a language model, gets one sentence."""
    transformers = pytest.importorskip("transformers")
    transformers.logging.set_verbosity_error()
    census = json.loads((ROOT / "book" / "data" / "census.json").read_text(encoding="utf-8"))
    statuses = {}
    for name in (each["name"] for each in census["architectures"]):
        if name in transformers.CONFIG_MAPPING:
            config = json.loads(transformers.CONFIG_MAPPING[name]().to_json_string(use_diff=False))
            statuses[name] = status_of(tmp_path, config)
    assert set(statuses.values()) == {0, "refused"}
    assert list(statuses.values()).count(0) > 150


def status_of(folder, config):
    try:
        return compared(folder, config, config).verdict.status
    except ConfigError as error:
        return "refused" if "\n" not in str(error) else str(error)


def test_remarks_of_read_stay_in_compare(tmp_path):
    lost = NEOX | {"rope_theta": 25_000}
    assert "transformers 5 loses this θ" in str(compared(tmp_path, lost, lost))


def test_theta_that_a_transformers_4_does_not_find_is_noted_where_only_one_file_hides_it(tmp_path):
    """vllm-project/vllm 42624: a file of transformers 5 under 4 resets θ."""
    new = {
        "model_type": "llama",
        "head_dim": 64,
        "rope_parameters": {"rope_type": "default", "rope_theta": 5e5},
    }
    old = {"model_type": "llama", "head_dim": 64, "rope_theta": 5e5}
    assert "as transformers 4 did, does not find it" in str(compared(tmp_path, old, new))
    assert "does not find it" not in str(compared(tmp_path, new, new))


def test_what_cannot_be_told_is_not_alike(tmp_path):
    odd = {"model_type": "new", "head_dim": 64, "rope_theta": 1e4, "sliding_window": 512}
    result = compared(tmp_path, odd, odd | {"sliding_window": 1024})
    assert (result.verdict.status, set(result.verdict.not_judged)) == (2, {"kinds", "windows", "query-scale"})
    assert str(result).startswith("Could not tell: nothing that was judged differs")
    assert compared(tmp_path, odd, odd).verdict.status == 0
    result = compared(tmp_path, without(GEMMA, "sliding_window"), GEMMA)
    assert "windows" in result.verdict.not_judged


def test_ministral_3_does_not_scale_its_softmax_and_scales_its_queries(tmp_path):
    assert read_config(MINISTRAL).softmax_scale == 1  # modeling_ministral3.py: self.scaling = head_dim**-0.5
    assert read_config(DEEPSEEK).softmax_scale == pytest.approx(1.8739, abs=1e-4)
    (tmp_path / "a.json").write_text(json.dumps(MINISTRAL))
    words = in_words(read_file(tmp_path / "a.json"))
    assert "queries           × 1 + 0.1·ln(1 + ⌊p/16384⌋)" in words
    assert "1.6314" not in words


@pytest.mark.parametrize(
    ("scaling", "field"),
    [
        ({"type": "linear", "factor": 4.0, "original_max_position_embeddings": 4096}, "original_max"),
        ({"type": "dynamic", "factor": 4.0, "original_max_position_embeddings": 4096}, "original_max"),
        (
            {
                "type": "yarn",
                "factor": 4.0,
                "original_max_position_embeddings": 4096,
                "extrapolation_factor": 1.0,
            },
            "extrapolation_factor",
        ),
    ],
)
def test_a_field_that_transformers_ignores_is_no_refusal(scaling, field):
    """hiyouga/LLaMA-Factory 9588: a linear factor with the length before it."""
    config = {"model_type": "llama", "head_dim": 64, "rope_theta": 1e4, "max_position_embeddings": 16_384}
    [text] = [
        each.text
        for each in read_config(config | {"rope_scaling": scaling}).remarks
        if each.kind == "beside the rotation"
    ]
    assert field in text


def gguf(arch, lists=None, **keys):
    """Return the readings and layers of a GGUF with these keys."""
    values = {"general.architecture": arch, f"{arch}.attention.key_length": 8, f"{arch}.context_length": 8192}
    values |= {f"{arch}.{name.replace('__', '.')}": value for name, value in keys.items()}
    bare = {name.removeprefix(f"{arch}."): value for name, value in values.items()}
    return readings_of(Header(values, {}), lists or {})[1], layers_of_keys(bare, arch)


def test_an_unknown_architecture_of_a_gguf_is_refused_without_guesses():
    with pytest.raises(ConfigError, match=r'general.architecture is "new": this architecture is unknown'):
        gguf("new")


def test_exaone_4_uses_rope_freqs_where_it_rotates():
    """src/models/exaone4.cpp of llama.cpp, 0c1e5709: get_rope_factors in every layer that rotates."""
    factors = {"rope_freqs.weight": np.array([1, 1, 8, 8], "f4")}
    readings, layers = gguf("exaone4", factors, attention__sliding_window=4096, block_count=64)
    kinds = {each.layer_type: each for each in readings}
    assert kinds["sliding_attention"].rope_type == "factors of rope_freqs"
    assert kinds["full_attention"].rope_type == "nope"
    assert [row.rotates for row in layers.rows(8)] == [True, True, True, False] * 2
    assert layers.rows(8)[0].window == 4096
    small, layers = gguf("exaone4", factors, attention__sliding_window=4096, block_count=30)
    assert [each.layer_type for each in small] == [None]
    assert all(row.rotates and row.window is None for row in layers.rows(30))


def test_deepseek_ocr_rotates_by_halves_and_without_scaling():
    """src/models/deepseek2.cpp of llama.cpp, 0c1e5709: `ocr_rope_type`, and a scale of 1."""
    keys = {"rope__scaling__type": "yarn", "rope__scaling__factor": 40.0, "rope__freq_base": 1e4}
    [reading], _ = gguf("deepseek2-ocr", **keys, rope__scaling__original_context_length=4096)
    assert (reading.rope_type, reading.spec.layout) == ("default", "half_split")


def test_glm_4_pairs_halves_where_it_has_sections(tmp_path):
    """llama_model_rope_type and conversion/glm.py of llama.cpp, 0c1e5709: M-RoPE pairs halves."""
    assert gguf("glm4")[0][0].spec.layout == "interleaved"
    sections = {"rope__dimension_sections": [1, 1, 2, 0]}
    readings, layers = gguf("glm4", **sections)
    assert readings[0].spec.layout == "half_split"
    file = Statement(tmp_path / "a.gguf", "GGUF", "glm4", readings, None, layers)
    config = {"model_type": "glm4v_text", "head_dim": 8, "max_position_embeddings": 8192, "rope_theta": 1e4}
    rule = {"type": "mrope", "mrope_section": [1, 1, 2]}
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config | {"partial_rotary_factor": 1.0, "rope_scaling": rule}))
    result = compare(path, file)
    assert result.alike, str(result)
    assert "a.gguf pairs halves, so the rows of q and k must have been permuted" in str(result)


def test_step_3_5_rotates_half_the_width_in_full_layers():
    """src/models/step35.cpp of llama.cpp, 0c1e5709: n_rot_full / 2."""
    keys = {"attention__sliding_window": 512, "attention__sliding_window_pattern": [True, False] * 4}
    factors = {"rope_freqs.weight": np.array([1, 8, 1, 1], "f4")}
    readings, _ = gguf("step35", factors, **keys, rope__freq_base=1e4, rope__freq_base_swa=5e3)
    kinds = {each.layer_type: each.spec for each in readings}
    assert kinds["full_attention"].inv_freq == pytest.approx([1, 0.01 / 8])
    assert kinds["sliding_attention"].inv_freq == pytest.approx(5e3 ** -(np.arange(4) / 4))


@pytest.mark.parametrize("arch", ["gemma4", "mimo2", "plamo3", "modern-bert"])
def test_sliding_layers_have_a_base_of_10_000_unless_another_is_stated(arch):
    """src/llama-hparams.h of llama.cpp, 0c1e5709."""
    readings, _ = gguf(arch, attention__sliding_window=512, rope__freq_base=1e6)
    assert {each.layer_type: each.base for each in readings} == {
        "full_attention": 1e6,
        "sliding_attention": 1e4,
    }


@pytest.mark.parametrize("window", [None, 2048])
def test_afmoe_leaves_every_fourth_layer_still_with_and_without_a_window(window):
    """src/models/afmoe.cpp of llama.cpp, 0c1e5709: n_no_rope_layer_step is 4 by default."""
    readings, layers = gguf(
        "afmoe", block_count=8, **({"attention__sliding_window": window} if window else {})
    )
    assert [row.rotates for row in layers.rows(8)] == [True, True, True, False] * 2
    assert [each.rope_type for each in readings].count("nope") == 1


def test_the_full_layers_of_smallthinker_do_not_rotate_and_its_window_is_4096():
    """src/models/smallthinker.cpp of llama.cpp, 0c1e5709."""
    readings, layers = gguf("smallthinker", attention__sliding_window=1024, block_count=8)
    assert [row.rotates for row in layers.rows(8)] == [False, True, True, True] * 2
    assert {row.window for row in layers.rows(8)} == {None, 4096}
    assert {each.layer_type: each.rope_type for each in readings} == {
        "sliding_attention": "default",
        "full_attention": "nope",
    }
    readings, layers = gguf("smallthinker", block_count=8)
    assert all(row.rotates for row in layers.rows(8))
    assert [each.layer_type for each in readings] == [None]


@pytest.mark.parametrize(
    ("arch", "multiplier", "scale"),
    [
        ("deepseek2", 0.0707, (0.0707 * np.log(40) + 1) ** 2),  # a tenth, and mscale is the same
        ("deepseek2", None, (0.1 * np.log(40) + 1) ** 2),  # the growth of cosines and sines is counted again
        ("glm-dsa", 0.0707, (0.1 * np.log(40) + 1) ** 2),  # the multiplier is not read
        ("mistral4", 0.1, (0.1 * np.log(40) + 1) ** 2),
        ("mistral3", 1.0, 1.0),
    ],
)
def test_the_softmax_is_scaled_as_the_graph_scales_it(arch, multiplier, scale):
    """src/models/deepseek2.cpp and glm-dsa.cpp of llama.cpp, 0c1e5709: kq_scale."""
    keys = {"rope__scaling__type": "yarn", "rope__scaling__factor": 40.0, "rope__freq_base": 1e4}
    keys |= {"rope__scaling__original_context_length": 4096, "rope__dimension_count": 8}
    keys |= {"rope__scaling__yarn_log_multiplier": multiplier} if multiplier else {}
    [reading], _ = gguf(arch, **keys)
    assert reading.softmax_scale == pytest.approx(scale)


def test_the_floor_of_scaled_queries_is_the_key_that_the_architecture_reads():
    """load_arch_hparams of mistral3 and deepseek2 of llama.cpp, 0c1e5709."""
    keys = {"attention__temperature_scale": 0.1, "attention__temperature_length": 16}
    keys |= {"rope__scaling__original_context_length": 32, "block_count": 1}
    floors = {arch: gguf(arch, **keys)[1].rows(1)[0].queries for arch in ("mistral3", "mistral4", "llama")}
    assert floors == {"mistral3": "1 + 0.1·ln(1 + ⌊p/32⌋)", "mistral4": "1 + 0.1·ln(1 + ⌊p/16⌋)", "llama": ""}


def test_recurrent_layers_that_a_file_lists_are_without_attention():
    """load_arch_hparams of qwen3next of llama.cpp, 0c1e5709."""
    _, layers = gguf("qwen3next", block_count=3, attention__recurrent_layers=[False, True, False])
    assert [row.label for row in layers.rows(3)] == ["full_attention", "linear_attention", "full_attention"]


def test_deepseek_v4_has_two_bases_in_a_gguf():
    """src/models/deepseek4.cpp of llama.cpp, 0c1e5709; sglang 34788 and mlx-lm 1189 gave all layers one."""
    keys = {"rope__freq_base": 1e4, "attention__compress_rope_freq_base": 160_000.0}
    keys |= {"rope__scaling__type": "yarn", "rope__scaling__factor": 16.0}
    readings, _ = gguf("deepseek4", **keys, rope__scaling__original_context_length=4096)
    main, compress = readings
    assert (main.layer_type, main.base, main.rope_type) == ("main", 1e4, "default")
    assert (compress.layer_type, compress.base, compress.rope_type) == ("compress", 160_000.0, "yarn")
    assert (main.spec.attention_factor, compress.spec.attention_factor) == (1, 1)
    assert main.spec.layout == compress.spec.layout == "interleaved"  # LLAMA_ROPE_TYPE_NORM


@pytest.mark.parametrize("share", [64.0, 0.0, 1.0, -1.0])
def test_the_share_of_unstretched_angles_in_a_gguf_changes_its_frequencies(share):
    """ikawrakow/ik_llama.cpp 2003: yarn_ext_factor 64. `rope_yarn` of ggml mixes by the ramp times it."""
    keys = {"rope__scaling__type": "yarn", "rope__scaling__factor": 4.0, "rope__freq_base": 1e4}
    keys |= {"rope__scaling__original_context_length": 32, "rope__dimension_count": 8}
    usual = gguf("qwen2", **keys)[0][0].spec
    spec = gguf("qwen2", **keys, rope__scaling__yarn_ext_factor=share)[0][0].spec
    plain = 1e4 ** -(np.arange(0, 8, 2) / 8)
    used = 1.0 if share < 0 else share
    assert spec.inv_freq == pytest.approx(plain / 4 + used * (usual.inv_freq - plain / 4))
    assert (spec.attention_factor == 1) == (share == 0)


@pytest.mark.parametrize(
    ("field", "value"), [("beta_fast", 8.0), ("beta_slow", 4.0), ("original_max_position_embeddings", 512)]
)
def test_what_bounds_the_ramp_of_yarn_is_read_in_a_gguf_as_in_a_config(field, value):
    config = {"model_type": "qwen2", "head_dim": 32, "rope_theta": 1e4, "max_position_embeddings": 8192}
    rule = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 2048}
    keys = {"rope__scaling__type": "yarn", "rope__scaling__factor": 4.0, "rope__freq_base": 1e4}
    keys |= {"rope__scaling__original_context_length": 2048, "attention__key_length": 32}
    of_field = KEYS[f"rope_scaling.{field}"].replace(".", "__")
    usual, wanted = (
        read_config(config | {"rope_scaling": each}).spec for each in (rule, rule | {field: value})
    )
    ((found,), _) = gguf("qwen2", **keys | {of_field: value})
    assert found.spec.inv_freq == pytest.approx(wanted.inv_freq)
    assert wanted.inv_freq != pytest.approx(usual.inv_freq)


@pytest.mark.parametrize(("share", "status"), [(None, 0), (-1.0, 0), (64.0, 1)])
def test_a_gguf_is_not_like_its_config_if_its_share_is_64(share, status, tmp_path):
    """ikawrakow/ik_llama.cpp 2003."""
    config = {"model_type": "qwen2", "head_dim": 8, "rope_theta": 1e4, "max_position_embeddings": 8192}
    rule = {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32}
    (tmp_path / "config.json").write_text(json.dumps(config | {"rope_scaling": rule, "num_hidden_layers": 2}))
    keys = {"rope__scaling__type": "yarn", "rope__scaling__factor": 4.0, "rope__freq_base": 1e4}
    keys |= {"rope__scaling__original_context_length": 32, "rope__dimension_count": 8, "block_count": 2}
    keys |= {} if share is None else {"rope__scaling__yarn_ext_factor": share}
    readings, layers = gguf("qwen2", **keys)
    file = Statement(tmp_path / "a.gguf", "GGUF", "qwen2", readings, None, layers)
    result = compare(tmp_path / "config.json", file)
    assert result.verdict.status == status, str(result)
    assert [difference.what for difference in result.differences] == ["frequencies"] * status


@pytest.mark.parametrize(
    ("arch", "keys", "labels"),
    [
        ("gemma3", {"attention__sliding_window": 1024}, "sssssfs"),
        ("gemma3", {"attention__sliding_window": 1024, "attention__sliding_window_pattern": 2}, "sfsfsfs"),
        ("gemma3n", {"attention__sliding_window": 512}, "ssssfss"),
        ("gemma2", {"attention__sliding_window": 4096}, "sfsfsfs"),
        ("gpt-oss", {"attention__sliding_window": 128}, "sfsfsfs"),
        ("olmo2", {"attention__sliding_window": 4096}, "sssfsss"),
        ("cohere2", {"attention__sliding_window": 4096}, "sssfsss"),
        ("modern-bert", {"attention__sliding_window": 128}, "fssfssf"),
        ("llama4", {}, "cccfccc"),
        ("phi3", {"attention__sliding_window": 2047}, "fffffff"),
        ("llama", {}, "fffffff"),
        ("qwen3next", {}, "lllflll"),
        ("lfm2", {"attention__head_count_kv": [0, 0, 8, 0, 0, 8, 0]}, "llfllfl"),
        (
            "gemma4",
            {"attention__sliding_window": 512, "attention__sliding_window_pattern": [True, False] * 4},
            "sfsfsfs",
        ),
    ],
)
def test_the_layers_of_a_gguf_are_those_that_llama_cpp_builds(arch, keys, labels):
    """set_swa_pattern in load_arch_hparams of each architecture in src/models of llama.cpp."""
    _, layers = gguf(arch, block_count=7, **keys)
    assert "".join(row.label[0] for row in layers.rows(7)) == labels


def test_kinds_of_a_config_are_those_of_its_gguf(tmp_path):
    """A GGUF calls no layer by name: linear attention is the lack of heads, and sparse attention is full."""
    config = {"model_type": "qwen3_next", "head_dim": 256, "rope_theta": 1e7, "partial_rotary_factor": 0.25}
    config |= {"max_position_embeddings": 262_144, "num_hidden_layers": 8}
    config |= {"layer_types": ["full_attention" if i % 4 == 3 else "linear_attention" for i in range(8)]}
    (tmp_path / "a.json").write_text(json.dumps(config))
    keys = {"attention__key_length": 256, "rope__dimension_count": 64, "rope__freq_base": 1e7}
    readings, layers = gguf("qwen3next", **keys, context_length=262_144, block_count=8)
    other = Statement(tmp_path / "b.gguf", "GGUF", "qwen3next", readings, None, layers)
    assert compare(tmp_path / "a.json", other).verdict.status == 0
    _, wrong = gguf("qwen3next", **keys, block_count=8, full_attention_interval=2)
    assert (
        compare(tmp_path / "a.json", replace(other, layers=wrong)).differences[0].layers == "layers 1, 5 of 8"
    )


def test_a_window_longer_than_every_text_is_none():
    config = {"model_type": "phi3", "sliding_window": 262_144, "max_position_embeddings": 131_072}
    assert layers_of_config(config, ()).rows(1)[0].label == "full_attention"


def test_a_window_of_an_architecture_whose_layers_are_not_known_is_said():
    assert gguf("starcoder2", attention__sliding_window=4096)[1].row is None
