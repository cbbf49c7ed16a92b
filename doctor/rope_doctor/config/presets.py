"""Configs of real models, the fields that matter for their rotation, each with where its numbers come from."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Preset:
    """A model's name, the part of its config that states the rotation, and the source of these numbers."""

    name: str
    source: str
    config: dict[str, Any]


_FILE = json.loads(Path(__file__).with_name("presets.json").read_text(encoding="utf-8"))
COLLECTED: str = _FILE["collected"]  # the day on which the sources were read
PRESETS = tuple(Preset(**each) for each in _FILE["presets"])


def preset(name: str) -> Preset:
    """Return the preset of a name; ValueError lists the names.

    >>> preset("Llama 3.1 8B").config["rope_scaling"]["factor"]
    8.0
    """
    found = [each for each in PRESETS if each.name == name]
    if not found:
        raise ValueError(f"name must be one of {', '.join(each.name for each in PRESETS)}, got {name!r}")
    return found[0]
