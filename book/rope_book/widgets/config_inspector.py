"""Chapter 21: the rotation in a model's config.json or GGUF, and whether two files agree."""

from typing import ClassVar

from rope_doctor.config import PRESETS

from ._traits import Choice, Paste, Slider
from .base import LiveFigure


class ConfigInspector(LiveFigure):
    """Read the rotation from a model's config.json or GGUF, and compare a second file with it.

    ``config`` is the text of a file, which replaces ``preset`` unless it is empty. The text is not sent anywhere
    and does not appear in the page's URL. If a GGUF is dropped or chosen, only its header is read, and its keys are
    converted to JSON. ``other`` is a second file, and ``second`` is a model to use instead of a second file; the
    figure then shows both sets of clocks and the verdict of ``rope-doctor compare``. If layers differ, ``layers``
    selects a rotation, in file order. ``length`` (tokens) is the text length, on which "dynamic" and "longrope"
    depend.

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
    config = Paste("", 65_536, label="Or paste or drop a config.json or GGUF: it stays in this page")
    other = Paste("", 65_536, label="Compare with a second one")
    second = Choice(
        "none",
        {"none": "no second model"} | {model.name: model.name for model in PRESETS},
        label="Compare with a model",
    )
