"""`model` and `decode` on architectures of transformers, tiny, with random weights: no false alarm, and faults."""

import contextlib
import os

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from rope_doctor.probes import check_decoder, check_model  # noqa: E402
from rope_doctor.verdict import NOT_RUN  # noqa: E402

from .faults import DECODERS, MODELS  # noqa: E402
from .tiny import tiny  # noqa: E402

ARCHITECTURES = [
    "afmoe",
    "apertus",
    "arcee",
    "aria_text",
    "axk1",
    "axk2",
    "bailing_hybrid",
    "bamba",
    "beam",
    "bitnet",
    "codegen",
    "cohere",
    "cohere2",
    "cohere2_moe",
    "cohere_compass_text",
    "cwm",
    "dbrx",
    "deepseek_v2",
    "deepseek_v3",
    "deepseek_v32",
    "deepseek_v4",
    "diffllama",
    "doge",
    "dots1",
    "ernie4_5",
    "ernie4_5_moe",
    "exaone4",
    "exaone_moe",
    "falcon",
    "falcon_h1",
    "flex_olmo",
    "flint",
    "gemma",
    "gemma2",
    "gemma3_text",
    "gemma3n_text",
    "gemma4_text",
    "gemma4_unified_text",
    "glm",
    "glm4",
    "glm4_moe",
    "glm4_moe_lite",
    "glm_moe_dsa",
    "gpt_neox",
    "gpt_neox_japanese",
    "gpt_oss",
    "gptj",
    "granite",
    "granite_swa",
    "granitemoe",
    "granitemoe_swa",
    "granitemoehybrid",
    "granitemoeshared",
    "helium",
    "hrm_text",
    "hunyuan_v1_dense",
    "hunyuan_v1_moe",
    "hy_v3",
    "hy_v4",
    "hyperclovax",
    "internlm3",
    "iquestcoder",
    "jais2",
    "jetmoe",
    "kolibri1",
    "laguna",
    "lfm2",
    "lfm2_moe",
    "lfm3",
    "llama",
    "llama4_text",
    "longcat_flash",
    "mellum",
    "mimo_v2_flash",
    "minicpm3",
    "minimax",
    "minimax_m2",
    "minimax_m3_vl_text",
    "ministral",
    "ministral3",
    "mistral",
    "mixtral",
    "modernbert-decoder",
    "moshi",
    "nanochat",
    "nemotron",
    "olmo",
    "olmo2",
    "olmo3",
    "olmo_hybrid",
    "olmoe",
    "persimmon",
    "phi",
    "phi3",
    "phimoe",
    "qwen2",
    "qwen2_moe",
    "qwen3",
    "qwen3_5_moe_text",
    "qwen3_5_text",
    "qwen3_moe",
    "qwen3_next",
    "qwen4_exp_text",
    "recurrent_gemma",
    "seed_oss",
    "smollm3",
    "solar_open",
    "stablelm",
    "starcoder2",
    "vaultgemma",
    "youtu",
    "zamba2",
    "zaya",
]
WIDTHS = {"float32": torch.float32, "bfloat16": torch.bfloat16}
DECODED = {  # half of them in float32, a ninth in bfloat16; ALL_MODELS=1 takes all, in five minutes more
    "float32": ARCHITECTURES if os.environ.get("ALL_MODELS") else ARCHITECTURES[::2],
    "bfloat16": ARCHITECTURES if os.environ.get("ALL_MODELS") else ARCHITECTURES[1::9],
}
FOUND = {  # what is wrong in the library itself, of models that are made and not loaded
    ("codegen", "bfloat16"): "the slowest 0.000999451",
    ("gptj", "bfloat16"): "the slowest 0.000999451",
    ("moshi", "float32"): "the last of 19 tokens sees 19",
    ("moshi", "bfloat16"): "the last of 19 tokens sees 19",
}
FAMILIES = [  # the best known, run as they are loaded and at the usual length of `decode`
    *(
        "llama",
        "mistral",
        "qwen2",
        "qwen3",
        "gemma2",
        "gemma3_text",
        "gemma4_text",
        "gpt_oss",
        "phi3",
        "olmo2",
    ),
    *(
        "olmo3",
        "cohere",
        "cohere2",
        "smollm3",
        "llama4_text",
        "exaone4",
        "deepseek_v3",
        "deepseek_v4",
        "glm4",
    ),
    *("gptj", "gpt_neox", "ministral3"),
]
LONG = {"length": 64, "chunk": 24}  # past a window of 16, and short enough for a hundred models
FIRST_CAUSES = {  # else the check's own name
    "NewTokensFromZero": "count ignores the cache",
    "KeysTurnedAgainAtEachStep": "cached keys do not fit the new query",
    "OneCounterAdvancedByEachLayer": "cached keys do not fit the new query",
    "GivenPositionsIgnoredInSteps": "positions ignored in steps",
    "PaddingSeen": "padding visible",
    "PaddingCountedInSteps": "padding counted in steps",
    "FirstRowsPositionsForAll": "rows share a clock",
    "QueriesAndKeysByDifferentBases": "queries and keys by different rules",
    "PositionIdsIgnored": "position ids ignored",
    "FrequenciesOfTheLongestText": "an earlier text is remembered",
    "KeysOfTwoBases": "the switch moves the frequencies of cached keys",
}
DIFFER = {  # mistakes of the library itself (book/found.md): the checks that differ, and the cause that comes first
    "bamba": ({"chunks", "step by step", "rows at length 1"}, "count ignores the cache"),
    "recurrent_gemma": (
        {"left padding, without positions", "moved", "generate"},
        "state begins by position",
    ),
    "moshi": (  # the cache has a window, and the mask has none
        {"chunks", "step by step", "left padding", "generate"},
        "cache wrong beyond a length",
    ),
    "zamba2": (
        {
            *("chunks", "step by step", "step by step, with positions", "left padding", "rows at length 1"),
            *("shifted cache", "generate"),
        },
        "keys or state do not continue",
    ),
}


@pytest.mark.sampled
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_no_false_alarm_on_a_model_as_it_comes(name, width):
    model = tiny(name, width=WIDTHS[width])
    report = check_model(model)
    assert report.right is ((name, width) not in FOUND), str(report)
    assert FOUND.get((name, width), "") in str(report)
    assert not [check.name for check in report.verdict.checks if check.central and check.outcome == NOT_RUN]


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("name", "width"), [(name, width) for width in WIDTHS for name in DECODED[width] if name not in DIFFER]
)
@pytest.mark.sampled
def test_no_false_alarm_on_a_decoder_as_it_comes(name, width):
    report = check_decoder(tiny(name, width=WIDTHS[width]), **LONG)
    assert report.verdict.status == 0, str(report)
    assert report.of("step by step").lengths == (12, LONG["length"])  # past the window of 16


@pytest.mark.nightly
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", FAMILIES)
def test_a_loaded_model_of_a_well_known_family_passes_both_commands(name, width, tmp_path):
    tiny(name).save_pretrained(tmp_path)
    model = transformers.AutoModelForCausalLM.from_pretrained(tmp_path, dtype=WIDTHS[width])
    for check in (check_model, check_decoder):
        report = check(model)
        assert report.verdict.status == 0, str(report)


@pytest.mark.sampled
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", DIFFER)
def test_a_mistake_of_the_library_is_found_with_its_cause_in_both_widths(name, width):
    """In bfloat16, rounding hides those of Bamba and Zamba 2, and a float32 copy shows them."""
    report = check_decoder(tiny(name, width=WIDTHS[width]), **LONG)
    checks, cause = DIFFER[name]
    assert report.verdict.status == 1
    assert {check.name for check in report.checks if check.outcome == "differs"} == checks, str(report)
    assert report.causes[0].name == cause, str(report)


def test_at_least_forty_architectures_and_most_are_watched():
    assert min(len(ARCHITECTURES), len(DECODED["float32"])) >= 40
    assert len(set(ARCHITECTURES)) == len(ARCHITECTURES)


@pytest.mark.parametrize("name", MODELS)
def test_a_fault_in_a_model_is_found(name):
    model, put = MODELS[name]()
    if put.__doc__ is None:  # else it is the library's own
        assert check_model(model).right is True
    with put(model) or contextlib.nullcontext():
        report = check_model(model)
    assert report.right is False
    assert all(fault.fix.endswith(".") and fault.found != fault.wanted for fault in report.faults)
    assert str(report).count("Fix: ") == 1


@pytest.mark.parametrize("name", DECODERS)
def test_a_fault_in_a_decoder_is_found(name):
    make, differs = DECODERS[name]
    report = check_decoder(make(), **LONG)
    assert report.verdict.status == 1
    assert report.of(differs).outcome == "differs"
    cause, *rest = report.causes
    assert cause.name == FIRST_CAUSES.get(name, differs), str(report)
    assert len(rest) == sum(check.outcome == "differs" for check in report.checks) - 1
    assert str(report).count("Fix: ") == 1


def test_there_are_thirty_faults_and_more():
    assert len(MODELS) + len(DECODERS) >= 30


def test_the_probe_leaves_a_model_as_it_was():
    model = tiny("llama", rope_parameters={"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0})
    model.train()
    before = model.model.rotary_emb.inv_freq.clone()
    check_model(model)
    check_decoder(model, length=128, chunk=24)
    assert torch.equal(model.model.rotary_emb.inv_freq, before)
    assert model.training
    assert not model._forward_pre_hooks
    assert torch.nn.functional.scaled_dot_product_attention.__module__ != "rope_doctor.probes.watching"
