r"""Find a live model's layer kinds, and match the config's rotations, the modules and the layers to them."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from rope_doctor.config.files import read_kinds
from rope_doctor.config.layers import body_of
from rope_doctor.config.presets import preset
from rope_doctor.config.reader import NOPE, Reading, loaded
from rope_doctor.config.values import Notes
from rope_edu.encodings.spec import RopeSpec

NAME_PATTERNS = {  # patterns in the names of modules and buffers, keyed by part of the layer kind's name
    "sliding": re.compile(r"local|sliding|swa"),
    "full": re.compile(r"global|full"),
    "compress": re.compile(r"compress"),
    "main": re.compile(r"main"),
}
WITHOUT_ATTENTION = re.compile(r"linear|conv|mamba|recurrent|ssm|delta")  # patterns in a layer kind's name
LAYER_LISTS = ("layer_types", "layers_block_type", "block_types", "_block_types")  # repeated if too short
LAYER = re.compile(r"(?:^|\.)(?:layers|h|blocks|block|layer)\.(\d+)(?:\.|$)")


@dataclass(frozen=True)
class LayerKinds:
    """A config's readings, keyed by layer kind; the kind of unnamed layers is None."""

    readings: dict[str | None, Reading]
    layers: tuple[str | None, ...]  # kind of each layer; empty if the config does not specify it
    config: dict[str, Any]
    body: dict[str, Any] = field(default_factory=dict)  # the language-model section of the config
    attending: tuple[int, ...] | None = None  # layers with attention, or None if unknown

    @staticmethod
    def of(model: Any, config: Any = None) -> "LayerKinds":
        """Return the layer kinds in a config, by default the model's; ValueError if there is no config."""
        content = _content(model, config)
        body = body_of(content, Notes())[0].values
        readings = {reading.layer_type: reading for reading in read_kinds(content)}
        return LayerKinds(readings, _layers(body, readings), content, body, _attending(body))

    @property
    def turning(self) -> dict[str | None, Reading]:
        return {label: reading for label, reading in self.readings.items() if reading.rope_type != NOPE}

    def named(self, word: str) -> str | None:
        """Return the layer kind that a name suggests, or None."""
        if word in self.readings:
            return word
        for part, pattern in NAME_PATTERNS.items():
            if pattern.search(word.lower()):
                return next((label for label in self.readings if label and part in label), None)
        return None

    def of_module(self, name: str) -> str | None:
        """Return the kind that a module's name suggests, otherwise the kind of its layer, or None."""
        return self.named(name.rpartition(".")[2]) or self.of_layer(name)

    def of_layer(self, name: str) -> str | None:
        """Return the kind of a module's layer, or None if it is unnamed or unknown."""
        layer = LAYER.search(name)
        return self.layers[int(layer[1])] if layer and int(layer[1]) < len(self.layers) else None

    def allowed(self, name: str, at: dict[str | None, Reading] | None = None) -> list[Reading]:
        """Return the possible readings for a layer: that of its kind, or all of them if the kind is unknown."""
        readings, layer = at or self.readings, LAYER.search(name)
        number = int(layer[1]) if layer else len(self.layers)
        if number < len(self.layers) and self.layers[number] in readings:
            return [readings[self.layers[number]]]
        return list(readings.values())

    def at_length(self, length: int) -> dict[str | None, Reading]:
        """Return the readings by kind for a text of `length` tokens."""
        return {reading.layer_type: reading for reading in read_kinds(self.config, length)}

    def candidates(self, label: str | None) -> list[Reading]:
        """Return this kind's reading if it rotates, otherwise those of all kinds that rotate."""
        return [self.turning[label]] if label in self.turning else list(self.turning.values())

    def nearest(
        self, label: str | None, off: Callable[[RopeSpec], float]
    ) -> tuple[str | None, RopeSpec] | None:
        """Return the candidate kind whose spec minimises `off`, and the spec, or None if no kind rotates."""
        best = min(self.candidates(label), key=lambda reading: off(reading.spec), default=None)
        return None if best is None else (best.layer_type, best.spec)

    def words(self, label: str | None) -> str:
        return "all layers" if label is None else f"{label} layers"


def _layers(body: dict[str, Any], readings: dict[str | None, Reading]) -> tuple[str | None, ...]:
    """Return the kind of each layer, or an empty tuple if the config does not assign kinds to layers."""
    count, types = body.get("num_hidden_layers") or 0, body.get("layer_types")
    rotates, interval = body.get("no_rope_layers"), body.get("no_rope_layer_interval")
    if NOPE in readings and len(readings) > 1:
        other = next(label for label in readings if label != NOPE)
        if not isinstance(rotates, list) and interval:
            rotates = [(layer + 1) % interval for layer in range(count)]
        return tuple(other if flag else NOPE for flag in rotates or ())
    if len(readings) == 1 and not isinstance(types, list):
        return tuple(readings) * count
    if isinstance(types, list):
        kinds = tuple(_kind_of(str(word), readings) for word in types)
        return kinds if any(kind in readings for kind in kinds) else ()
    pattern = body.get("sliding_window_pattern") or body.get("_sliding_window_pattern")
    if isinstance(pattern, int) and {"full_attention", "sliding_attention"} <= set(readings):
        return tuple(
            "sliding_attention" if (layer + 1) % pattern else "full_attention" for layer in range(count)
        )
    return ()


def _kind_of(word: str, readings: dict[str | None, Reading]) -> str | None:
    """Return the key under which a config specifies the rotation of layers with this name in `layer_types`."""
    if word in readings:
        return word
    if "compress" in readings and "main" in readings:  # the names of rotations in DeepSeek V4
        return "main" if word == "sliding_attention" else "compress"
    return None if None in readings else word


def _attending(body: dict[str, Any]) -> tuple[int, ...] | None:
    """Return the indices of the layers with attention, or None if the config does not give the number of layers."""
    count = body.get("num_hidden_layers")
    types = next(
        (body[name] for name in LAYER_LISTS if isinstance(body.get(name), list) and body[name]), None
    )
    if types is not None:
        words = islice(cycle(types), count if isinstance(count, int) else len(types))
        return tuple(layer for layer, word in enumerate(words) if not WITHOUT_ATTENTION.search(str(word)))
    only = body.get("attn_layer_indices")
    if isinstance(only, list):
        return tuple(only)
    return tuple(range(count)) if isinstance(count, int) else None


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
