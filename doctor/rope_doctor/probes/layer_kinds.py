r"""A live model's layer kinds: their readings from its config, and the kind of each module and layer."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rope_doctor.config.files import read_kinds
from rope_doctor.config.layers import body_of
from rope_doctor.config.presets import preset
from rope_doctor.config.reader import NOPE, Reading, loaded
from rope_doctor.config.values import Notes
from rope_edu.encodings.spec import RopeSpec

NAME_PATTERNS = {  # patterns in the names of a layer kind's modules and buffers
    "sliding": re.compile(r"local|sliding|swa"),
    "full": re.compile(r"global|full"),
    "compress": re.compile(r"compress"),
    "main": re.compile(r"main"),
}
LAYER = re.compile(r"(?:^|\.)(?:layers|h|blocks|block|layer)\.(\d+)(?:\.|$)")


@dataclass(frozen=True)
class LayerKinds:
    """A config's readings by layer kind; None is the kind of unnamed layers."""

    readings: dict[str | None, Reading]
    layers: tuple[str | None, ...]  # each layer's kind; empty if the config lists none
    config: dict[str, Any]

    @staticmethod
    def of(model: Any, config: Any = None) -> "LayerKinds":
        """Return the layer kinds in a config, by default the model's; ValueError if the model has no config."""
        content = _content(model, config)
        body = body_of(content, Notes())[0].values
        readings = {reading.layer_type: reading for reading in read_kinds(content)}
        return LayerKinds(readings, _layers(body, readings), content)

    @property
    def turning(self) -> dict[str | None, Reading]:
        return {label: reading for label, reading in self.readings.items() if reading.rope_type != NOPE}

    def at(self, label: str | None, length: int) -> Reading:
        """Return a kind's reading for a text of `length` tokens."""
        return {reading.layer_type: reading for reading in read_kinds(self.config, length)}[label]

    def named(self, word: str) -> str | None:
        """Return the kind that a name suggests, or None."""
        if word in self.readings:
            return word
        for part, pattern in NAME_PATTERNS.items():
            if pattern.search(word.lower()):
                return next((label for label in self.readings if label and part in label), None)
        return None

    def of_module(self, name: str) -> str | None:
        """Return the kind that a module's name suggests, or else its layer's kind, or None."""
        return self.named(name.rpartition(".")[2]) or self.of_layer(name)

    def of_layer(self, name: str) -> str | None:
        """Return the kind of a module's layer if the config lists each layer's kind, otherwise None."""
        layer = LAYER.search(name)
        return self.layers[int(layer[1])] if layer and int(layer[1]) < len(self.layers) else None

    def candidates(self, label: str | None) -> list[Reading]:
        """Return this kind's reading if it rotates, otherwise the readings of all kinds that rotate."""
        return [self.turning[label]] if label in self.turning else list(self.turning.values())

    def nearest(
        self, label: str | None, off: Callable[[RopeSpec], float]
    ) -> tuple[str | None, RopeSpec] | None:
        """Return the candidate kind with the nearest rotation, and its spec; None if no kind rotates."""
        best = min(self.candidates(label), key=lambda reading: off(reading.spec), default=None)
        return None if best is None else (best.layer_type, best.spec)

    def words(self, label: str | None) -> str:
        return "all layers" if label is None else f"{label} layers"


def _layers(body: dict[str, Any], readings: dict[str | None, Reading]) -> tuple[str | None, ...]:
    """Return each layer's kind; empty unless the config lists kinds that rotate differently."""
    rotates = body.get("no_rope_layers")
    if isinstance(rotates, list) and NOPE in readings:
        other = next((label for label in readings if label != NOPE), None)
        return tuple(other if flag else NOPE for flag in rotates)
    listed = body.get("layer_types")
    if isinstance(listed, list) and any(label in readings for label in listed):
        return tuple(map(str, listed))
    return ()


def _content(model: Any, config: Any) -> dict[str, Any]:
    if config is None:
        own = getattr(model, "config", None)
        if own is None or not hasattr(own, "to_dict"):
            raise ValueError("the model has no config: state the expected rotation with --config")
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
