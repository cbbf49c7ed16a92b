"""Every rotating config class of the installed transformers is read as its own rotary module computes it."""

import importlib
import inspect
import json
import re
from pathlib import Path

import numpy as np
import pytest

from rope_edu.config import ConfigError, read_config

transformers = pytest.importorskip("transformers")
MODELS = Path(transformers.__file__).parent / "models"
EMBEDDING = re.compile(r"^class (\w*(?:Rotary|RoPE|Rope)\w*Emb\w*)\(", re.MULTILINE)
ELSEWHERE = re.compile("Vision|Audio|ViT|DINO|Dino|Sapiens|EfficientLoFTR|PeVideo|MLCD|DiT|Encoder|Conformer")
FLOAT32 = 2e-6  # relative: their powers are float32, with exponents rounded too
DIFFERENT = {  # model_type: why the two differ
    "ernie4_5_vl_moe_text": "their module holds the same frequencies sorted by coordinate",
    "musicflamingo": "their module turns by seconds of sound; its text is Qwen2's",
    "esm": "absolute by default, and its module is not made then",
    "zamba2": "use_mem_rope is false by default, and its module is not made then",
    "glm4_moe": "4,096 / 96 is rounded down to 42, of which 21 features would turn: not in pairs",
    "glm4v_moe_text": "likewise",
    "qwen3_omni_moe_text": "2,048 / 28 is rounded down to 73 features: not in pairs",
}
NOT_MADE = {
    "BltConfig",
    "CohereCompassTextConfig",
    "Nemotron3DiarizationConfig",
}  # their defaults make no module


def modules():
    """Yield (config, {layer type: (frequencies, attention factor)}) of each class that turns text."""
    for file in sorted(MODELS.glob("*/modeling_*.py")):
        names = [name for name in EMBEDDING.findall(file.read_text("utf-8")) if not ELSEWHERE.search(name)]
        module = (
            importlib.import_module(f"transformers.models.{file.parent.name}.{file.stem}") if names else None
        )
        for name in names:
            made = getattr(module, name)
            kind = list(inspect.signature(made.__init__).parameters.values())[1].annotation
            kind = getattr(module, kind, None) if isinstance(kind, str) else kind
            if not getattr(kind, "model_type", "") or kind.__name__ in NOT_MADE:
                continue
            config = kind()
            config = config if hasattr(config, "max_position_embeddings") else config.get_text_config()
            yield config, held(made(config))


def held(module):
    found = {}
    for name, values in module.named_buffers():
        if name.endswith("inv_freq") and "original" not in name:
            label = name.removesuffix("inv_freq").rstrip("_") or None
            scaling = f"{label}_attention_scaling" if label else "attention_scaling"
            found[label] = values.double().numpy(), float(getattr(module, scaling, 1.0))
    return found


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
