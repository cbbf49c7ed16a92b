r"""Kinds of layers of a live model: the statements of its config on each, and which module or layer is of which."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rope_doctor.config.files import read_kinds
from rope_doctor.config.layers import body_of
from rope_doctor.config.presets import preset
from rope_doctor.config.reader import STILL, Reading, loaded
from rope_doctor.config.table import Notes
from rope_edu.encodings.spec import RopeSpec

WORDS = {  # in names of modules and buffers, of kinds of layers
    "sliding": re.compile(r"local|sliding|swa"),
    "full": re.compile(r"global|full"),
    "compress": re.compile(r"compress"),
    "main": re.compile(r"main"),
}
LAYER = re.compile(r"(?:^|\.)(?:layers|h|blocks|block|layer)\.(\d+)(?:\.|$)")


@dataclass(frozen=True)
class Kinds:
    """The readings of a config by kind of layers; None is the kind of layers that have no name of their own."""

    readings: dict[str | None, Reading]
    layers: tuple[str | None, ...]  # the kind of each layer; empty where the config lists none
    config: dict[str, Any]

    @staticmethod
    def of(model: Any, config: Any = None) -> "Kinds":
        """Return the kinds of a config, by default the model's own; ValueError if there is none."""
        content = _content(model, config)
        body = body_of(content, Notes())[0].values
        readings = {each.layer_type: each for each in read_kinds(content)}
        return Kinds(readings, _layers(body, readings), content)

    @property
    def turning(self) -> dict[str | None, Reading]:
        return {label: each for label, each in self.readings.items() if each.rope_type != STILL}

    def at(self, label: str | None, length: int) -> Reading:
        """Return a kind's reading for a text of some length."""
        return {each.layer_type: each for each in read_kinds(self.config, length)}[label]

    def named(self, word: str) -> str | None:
        """Return the kind that a word in a name speaks of, or None."""
        if word in self.readings:
            return word
        for part, pattern in WORDS.items():
            if pattern.search(word.lower()):
                return next((label for label in self.readings if label and part in label), None)
        return None

    def of_module(self, name: str) -> str | None:
        """Return the kind of the layer that a module belongs to, or of which its name speaks, or None."""
        return self.named(name.rpartition(".")[2]) or self.of_layer(name)

    def of_layer(self, name: str) -> str | None:
        """Return the kind of the layer whose module this is, if the config lists the kinds, else None."""
        found = LAYER.search(name)
        return self.layers[int(found[1])] if found and int(found[1]) < len(self.layers) else None

    def candidates(self, label: str | None) -> list[Reading]:
        """Return the readings that a module of this kind may have: one, or all that rotate."""
        return [self.turning[label]] if label in self.turning else list(self.turning.values())

    def nearest(
        self, label: str | None, off: Callable[[RopeSpec], float]
    ) -> tuple[str | None, RopeSpec] | None:
        """Return the kind, among those that a module may be of, whose rotation is nearest, and its spec."""
        best = min(self.candidates(label), key=lambda each: off(each.spec), default=None)
        return None if best is None else (best.layer_type, best.spec)

    def words(self, label: str | None) -> str:
        return "all layers" if label is None else f"{label} layers"


def _layers(body: dict[str, Any], readings: dict[str | None, Reading]) -> tuple[str | None, ...]:
    """Return the kind of each layer, if the kinds that rotate differently are listed."""
    turns = body.get("no_rope_layers")
    if isinstance(turns, list) and "nope" in readings:
        others = next((label for label in readings if label != "nope"), None)
        return tuple(others if each else "nope" for each in turns)
    listed = body.get("layer_types")
    if isinstance(listed, list) and any(each in readings for each in listed):
        return tuple(map(str, listed))
    return ()


def _content(model: Any, config: Any) -> dict[str, Any]:
    if config is None:
        own = getattr(model, "config", None)
        if own is None or not hasattr(own, "to_dict"):
            raise ValueError("the model has no config of its own: state what is wanted with --config")
        config = own.to_dict()
    if isinstance(config, str) and not Path(config).exists():
        try:
            config = preset(config).config
        except (KeyError, ValueError):
            raise FileNotFoundError(f"there is no file and no preset called {config}") from None
    content = loaded(config)
    if not isinstance(content, dict):
        raise ValueError(f"a config must be an object, got {type(content).__name__}")
    return content
