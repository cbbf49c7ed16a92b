"""A model's config.json, read: rules and presets as data that JavaScript reads too."""

from rope_edu.config.reader import Reading, Remark, read_config, rope_from_config
from rope_edu.config.values import RULES, ConfigError

__all__ = ["RULES", "ConfigError", "Reading", "Remark", "read_config", "rope_from_config"]
