"""Every preset is read, has a source, and one that claims to be transformers' default is."""

import contextlib

import pytest

from rope_doctor.config import PRESETS, ConfigError, preset, read_config

LABELS = (None, "full_attention", "sliding_attention", "main", "compress", "nope")


def readings(config):
    """Return the reading of every type of layer that the config has."""
    found = []
    for label in LABELS:
        with contextlib.suppress(ConfigError):
            found.append(read_config(config, layer_type=label))
    return found


def test_there_are_at_least_forty_and_no_name_twice():
    assert len({each.name for each in PRESETS}) == len(PRESETS) >= 40
    assert all(len(each.source) > 20 for each in PRESETS)


@pytest.mark.parametrize("each", PRESETS, ids=lambda each: each.name)
def test_a_preset_is_read_and_its_architecture_is_known(each):
    found = readings(each.config)
    assert found
    for reading in found:
        assert reading.spec.rotary_dim >= 16
        assert not any(remark.kind == "layout assumed" for remark in reading.remarks)


def test_transformers_defaults_are_those_of_the_installed_one():
    mapping = pytest.importorskip("transformers").CONFIG_MAPPING
    newer = {"lfm3"} - set(mapping)  # transformers 5.23 brings it
    for each in PRESETS:
        if not each.source.startswith("transformers 5.23.0") or each.config["model_type"] in newer:
            continue
        own = mapping[each.config["model_type"]]().to_dict()
        for name, value in each.config.items():
            if name not in ("model_type", "global_head_dim", "max_position_embeddings", "layer_types"):
                assert own[name] == value, (each.name, name)


def test_an_unknown_name_is_refused():
    with pytest.raises(ValueError, match=r"name must be one of Llama 2 7B, .*, got 'GPT-5'"):
        preset("GPT-5")
