"""A rotation that is written back as a config is read as an equal spec, in both spellings."""

import importlib.util
import json
import re
from pathlib import Path

import numpy as np
import pytest

import rope_edu
from rope_doctor.config import PRESETS, RULES, ConfigError, read_config, rope_from_config, to_config

SPEC = importlib.util.spec_from_file_location("config_draws", Path(__file__).with_name("draws.py"))
draws = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(draws)


def back(reading, spelling, length):
    written = json.loads(json.dumps(to_config(reading, spelling=spelling)))
    return rope_from_config(written, seq_len=length)


@pytest.mark.parametrize("spelling", [4, 5])
@pytest.mark.parametrize("kind", RULES["rules"])
def test_a_rotation_of_any_rule_comes_back(kind, spelling):
    rng = np.random.default_rng(sum(map(ord, kind)))
    for _ in range(40):
        config, length = draws.drawn(rng, kind)
        reading = read_config(config, seq_len=length)
        assert back(reading, spelling, length) == reading.spec


@pytest.mark.parametrize("spelling", [4, 5])
@pytest.mark.parametrize("each", PRESETS, ids=lambda each: each.name)
def test_every_kind_of_layers_of_a_preset_comes_back(each, spelling):
    try:
        labels = read_config(each.config).layer_types or (None,)
    except ConfigError as error:
        labels = error.choices
    for label in labels:
        reading = read_config(each.config, layer_type=label)
        assert back(reading, spelling, None) == reading.spec


ERNIE = {"model_type": "ernie4_5_vl_moe_text", "head_dim": 128, "rope_theta": 5e5}
QWEN = {"model_type": "qwen3_vl_text", "head_dim": 128, "rope_theta": 5e6}


@pytest.mark.parametrize(
    "config",
    [ERNIE, QWEN, QWEN | {"model_type": "qwen2_vl", "rope_scaling": {"mrope_section": [16, 24, 24]}}],
)
def test_sections_come_back_in_their_order(config):
    reading = read_config(config)
    assert reading.spec.axes is not None
    assert back(reading, 4, None) == back(reading, 5, None) == reading.spec


def test_a_bare_spec_is_written_where_it_is_plain():
    for spec in (
        rope_edu.plain_rope(128, 5e5),
        rope_edu.partial_rope(80, 32, 1_000_042.0, layout="half_split"),
    ):
        for spelling in (4, 5):
            assert rope_from_config(to_config(spec, spelling=spelling)) == spec
    for spec in (rope_edu.llama3(128, 8, 8192), rope_edu.RopeSpec([1.0, 0.5, 0.4])):
        with pytest.raises(ValueError, match=re.escape("a spec does not hold its rule")):
            to_config(spec)
    with pytest.raises(ValueError, match="spelling must be 4 or 5, got 3"):
        to_config(rope_edu.plain_rope(4), spelling=3)
