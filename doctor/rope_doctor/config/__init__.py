"""Read and write the rotation in a config.json; rules and presets are JSON files, which JavaScript also reads."""

from rope_doctor.config.presets import COLLECTED, PRESETS, Preset, preset
from rope_doctor.config.reader import Reading, read_config, rope_from_config
from rope_doctor.config.values import RULES, ConfigError, Remark
from rope_doctor.config.writer import to_config

__all__ = [
    "COLLECTED",
    "PRESETS",
    "RULES",
    "ConfigError",
    "Preset",
    "Reading",
    "Remark",
    "preset",
    "read_config",
    "rope_from_config",
    "to_config",
]
