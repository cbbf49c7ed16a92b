"""Configs of real models, reduced to the fields that determine the rotation, with sources."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Preset:
    """A model's name, the source of its numbers, and the part of its config that specifies the rotation."""

    name: str
    source: str
    config: dict[str, Any]


_FILE = json.loads(Path(__file__).with_name("presets.json").read_text(encoding="utf-8"))
COLLECTED: str = _FILE["collected"]  # the date on which the sources were read
PRESETS = tuple(Preset(**fields) for fields in _FILE["presets"])


def preset(name: str) -> Preset:
    """Return the preset with this name; if it is unknown, ValueError lists all names.

    >>> preset("Llama 3.1 8B").config["rope_scaling"]["factor"]
    8.0
    """
    presets = {preset.name: preset for preset in PRESETS}
    if name not in presets:
        raise ValueError(f"name must be one of {', '.join(presets)}, got {name!r}")
    return presets[name]
