"""Every rotating config class of the installed transformers is read as its own rotary module computes it."""

import copy
import functools
import importlib
import inspect
import json
import re
from pathlib import Path

import numpy as np
import pytest

from rope_doctor.config import PRESETS, ConfigError, read_config
from rope_doctor.config.files import read_kinds
from rope_doctor.config.values import RULES

transformers = pytest.importorskip("transformers")
MODELS = Path(transformers.__file__).parent / "models"
EMBEDDING = re.compile(r"^class (\w*(?:Rotary|RoPE|Rope)\w*Emb\w*)\(", re.MULTILINE)
ELSEWHERE = re.compile("Vision|Audio|ViT|DINO|Dino|Sapiens|EfficientLoFTR|PeVideo|MLCD|DiT|Encoder|Conformer")
FLOAT32 = 2e-6  # relative: their powers are float32, with exponents rounded too
FILES = json.loads(Path(__file__).with_name("released.json").read_text(encoding="utf-8"))["files"]
CONFIGS = {each.name: each.config for each in PRESETS}
DIFFERENT_FILES = {  # name: why the two differ
    "dbrx-base": "their module does not see attn_config.rope_theta, 500,000, and turns by 10,000",
}
DIFFERENT = {  # model_type: why the two differ
    "ernie4_5_vl_moe_text": "their module holds the same frequencies sorted by coordinate",
    "musicflamingo": "their module turns by seconds of sound; its text is Qwen2's",
    "esm": "absolute by default, and its module is not made then",
    "zamba2": "use_mem_rope is false by default, and its module is not made then",
    "glm4_moe": "4,096 / 96 is rounded down to 42, of which 21 features would be rotated: not in pairs",
    "glm4v_moe_text": "likewise",
    "qwen3_omni_moe_text": "2,048 / 28 is rounded down to 73 features: not in pairs",
}
FITTING = [{"partial_rotary_factor": 1.0}, {"rope_scaling": {"rope_type": "linear", "factor": 2.0}}]
NOT_MADE = {
    "BltConfig",
    "CohereCompassTextConfig",
    "Nemotron3DiarizationConfig",
}  # their defaults make no module


@functools.cache
def classes():
    """Return each (config class, rotary module class), as the modeling files pair them."""
    return tuple(paired())


def paired():
    for file in sorted(MODELS.glob("*/modeling_*.py")):
        names = [name for name in EMBEDDING.findall(file.read_text("utf-8")) if not ELSEWHERE.search(name)]
        module = (
            importlib.import_module(f"transformers.models.{file.parent.name}.{file.stem}") if names else None
        )
        for name in names:
            made = getattr(module, name)
            kind = list(inspect.signature(made.__init__).parameters.values())[1].annotation
            kind = getattr(module, kind, None) if isinstance(kind, str) else kind
            if getattr(kind, "model_type", "") and kind.__name__ not in NOT_MADE:
                yield kind, made


def modules():
    """Yield (config, {layer type: (frequencies, attention factor)}) of each class that turns text."""
    for kind, made in classes():
        config = kind()
        config = config if hasattr(config, "max_position_embeddings") else config.get_text_config()
        yield config, held(made(config))


def remarks(file):
    return {remark.kind for reading in read_kinds(file) for remark in reading.remarks}


def released():
    """Yield (name, file, what its module holds) of each released file whose model transformers has."""
    made = {}
    for kind, module in classes():
        made.setdefault(kind, module)
    for each in FILES:
        file = each.get("config", CONFIGS.get(each["name"]))
        known = file.get("model_type") in transformers.CONFIG_MAPPING
        kind = transformers.CONFIG_MAPPING[file["model_type"]] if known else None
        part = getattr(kind, "sub_configs", {}).get("text_config", kind)
        if "refused" not in each["expected"] and (part in made or kind in made):
            values = {key: value for key, value in file.items() if key != "model_type"}
            config = part(**copy.deepcopy(values.get("text_config", values) if part is not kind else values))
            yield each["name"], file, held(made.get(part, made.get(kind))(config))


def held(module):
    found = {}
    for name, values in module.named_buffers():
        if name.endswith("inv_freq") and "original" not in name:
            label = name.removesuffix("inv_freq").rstrip("_") or None
            scaling = f"{label}_attention_scaling" if label else "attention_scaling"
            found[label] = values.double().numpy(), float(getattr(module, scaling, 1.0))
    return found


@pytest.mark.long
def test_defaults_and_saved_files_of_every_class_give_the_rotation_of_its_module():
    transformers.logging.set_verbosity_error()
    different, count = set(), 0
    for config, layers in modules():
        written = [json.loads(json.dumps(config.to_dict(), default=str)), json.loads(config.to_json_string())]
        for file in written:
            for label, (frequencies, factor) in layers.items():
                count += 1
                try:
                    spec = read_config(file, layer_type=label).spec
                    np.testing.assert_allclose(spec.inv_freq, frequencies, rtol=FLOAT32)
                    assert spec.attention_factor == pytest.approx(factor, rel=FLOAT32)
                except (AssertionError, ConfigError):
                    different.add(config.model_type)
    assert count > 300
    assert different == set(DIFFERENT)


def test_a_remark_names_each_architecture_that_ignores_a_partial_factor_under_the_rule_default():
    """Most classes of transformers do: their function for this rule never asks for the factor."""
    transformers.logging.set_verbosity_error()
    ignoring, reading = set(), set()
    for kind, made in classes():
        function = getattr(made, "compute_default_rope_parameters", None)
        if function is not None:
            asks = 'get("partial_rotary_factor"' in inspect.getsource(function)
            (reading if asks else ignoring).add(kind.model_type)
    file = {"head_dim": 64, "rope_theta": 1e4, "partial_rotary_factor": 0.5}
    known = {*RULES["interleaved"], *RULES["half_split"]} - set(RULES["families_that_do_not_rotate"])
    said = {name for name in known if "factor ignored by 5" in remarks(file | {"model_type": name})}
    assert len(said) > 120
    assert said >= known & ignoring
    assert not said & (reading - ignoring)
    assert not any(
        "factor ignored by 5" in remarks(file | {"model_type": "llama"} | more) for more in FITTING
    )


def test_released_files_give_the_rotation_of_the_module_that_runs_them():
    transformers.logging.set_verbosity_error()
    different, count = set(), 0
    for name, file, layers in released():
        for label, (frequencies, factor) in layers.items():
            count += 1
            spec = read_config(file, layer_type=label).spec
            same = np.allclose(spec.inv_freq, frequencies, rtol=FLOAT32, atol=0)
            if not (same and spec.attention_factor == pytest.approx(factor, rel=FLOAT32)):
                different.add(name)
    assert count > 150
    assert different == set(DIFFERENT_FILES)
