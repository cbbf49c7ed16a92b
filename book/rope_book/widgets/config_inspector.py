"""Chapter 21: the rotation in a model's config.json or GGUF, and whether two files agree."""

import json
import math
from typing import Any, ClassVar

from rope_doctor.config import PRESETS, ConfigError, Reading, preset, read_config
from rope_edu.encodings import wavelength

from ._results import result
from ._traits import Choice, Paste, Slider
from .base import LiveFigure


def reading_of(now: Any) -> Reading | None:
    """Return the reading of the first file, or of its selected layers if they differ, or None if the file is
    rejected."""
    try:
        content = json.loads(now.config) if now.config.strip() else preset(now.preset).config
        kinds = kinds_of(content, now.length)
        chosen = kinds[now.layers == "second" and len(kinds) > 1] if kinds else None
        return read_config(content, layer_type=chosen, seq_len=now.length)
    except ValueError:
        return None


def kinds_of(content: dict[str, Any], length: int) -> tuple[str, ...]:
    """Return the names of the kinds of layers that a file distinguishes."""
    try:
        return read_config(content, seq_len=length).layer_types
    except ConfigError as refused:
        if not refused.choices:
            raise
        return refused.choices


def slow_within(reading: Reading | None, tokens: float | None) -> float:
    """Return the number of pairs that complete no turn within ``tokens``, or NaN without a reading or a length."""
    if reading is None or not tokens:
        return math.nan
    return int((wavelength(reading.spec.inv_freq) > tokens).sum())


class ConfigInspector(LiveFigure):
    """Read the rotation from a model's config.json or GGUF, and compare a second file with it.

    ``config`` is the text of a file, which replaces ``preset`` unless it is empty. The text is not sent anywhere
    and does not appear in the page's URL. If a GGUF is dropped or chosen, only its header is read, and its keys are
    converted to JSON. ``other`` is the text of a second file, and ``second`` selects a model to use instead. The
    figure then shows both rotations and the verdict of ``rope-doctor compare``. If a file's layers differ,
    ``layers`` selects the first or the second rotation, in file order. ``length`` (tokens) is the text length, on
    which "dynamic" and "longrope" depend.

    Its results are ``pairs``, the number of rotating pairs; ``slow``, the number that complete no turn in the text;
    and ``slow_in_claim``, the number that complete no turn within the length that the file claims (NaN if it claims
    none).

    An out-of-range value raises a TraitError that lists the allowed values; for an invalid config, the picture
    shows the reason.

    >>> ConfigInspector(preset="gpt-oss (defaults)", view="score")
    ConfigInspector(preset='gpt-oss (defaults)', view='score')

    Source: `rope_doctor.config.read_config`, `rope_doctor.command.compare`. Chapter 21.
    """

    lead = ("preset", "config", "other")
    few: ClassVar = {
        "preset": (
            "Llama 3.1 8B",
            "Mistral 7B v0.1",
            "Qwen2.5 7B Instruct 1M",
            "Gemma 3 4B",
            "gpt-oss (defaults)",
        )
    }

    preset = Choice("Llama 3.1 8B", {model.name: model.name for model in PRESETS}, label="Model")
    view = Choice(
        "waves",
        {"waves": "wavelength of each pair", "score": "score against distance"},
        label="Show",
    )
    layers = Choice("first", {"first": "the first kind", "second": "the second kind"}, label="Layers")
    length = Slider(8192, 1, 2**20, log=True, label="Text", unit="tokens")
    config = Paste("", 65_536, label="Or your own config.json or GGUF")
    other = Paste("", 65_536, label="Compare with another")
    second = Choice(
        "none",
        {"none": "no second model"} | {model.name: model.name for model in PRESETS},
        label="Compare with a model",
    )

    @result("pairs")
    def pairs(self):
        """Number of rotating pairs in a head."""
        reading = reading_of(self)
        return len(reading.spec.inv_freq) if reading else math.nan

    @result("pairs")
    def slow(self):
        """Number of pairs that complete no turn in the text."""
        return slow_within(reading_of(self), self.length)

    @result("pairs")
    def slow_in_claim(self):
        """Number of pairs that complete no turn within the claimed length, or NaN if the file claims none."""
        reading = reading_of(self)
        return slow_within(reading, reading and reading.longest)
