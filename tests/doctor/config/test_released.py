"""Files as models were released, each with its source, are read with their layouts, widths, bases and rules."""

import json
from pathlib import Path

import pytest

from rope_doctor.config import PRESETS, ConfigError, read_config

FILES = json.loads(Path(__file__).with_name("released.json").read_text(encoding="utf-8"))["files"]
CONFIGS = {each.name: each.config for each in PRESETS}


def test_there_are_at_least_150_and_each_has_a_source():
    assert len({file["name"] for file in FILES}) == len(FILES) >= 150
    assert all(len(file["source"]) > 20 for file in FILES)
    assert CONFIGS.keys() <= {file["name"] for file in FILES}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file["name"])
def test_a_released_file_is_read(file):
    config, expected = file.get("config", CONFIGS.get(file["name"])), file["expected"]
    if "refused" in expected:
        with pytest.raises(ConfigError) as error:
            read_config(config)
        assert error.value.field == expected["refused"]
        return
    for label, facts in expected.items():
        reading = read_config(config, layer_type=None if label == "all" else label)
        spec = reading.spec
        found = [reading.rope_type, reading.base, reading.factor, spec.head_dim, spec.rotary_dim, spec.layout]
        assert [*found, pytest.approx(spec.attention_factor, abs=1e-9)] == facts


def test_the_kinds_of_layers_of_a_released_file_are_all_there():
    for file in FILES:
        config, expected = file.get("config", CONFIGS.get(file["name"])), file["expected"]
        labels = [label for label in expected if label not in ("all", "refused")]
        assert kinds(config) == labels


def kinds(config):
    try:
        return list(read_config(config).layer_types)
    except ConfigError as error:
        return list(error.choices)
