"""Chapter 21: what a model's config.json or GGUF says of its rotation, and whether two of them agree."""

from typing import ClassVar

from rope_doctor.config import PRESETS

from ._traits import Choice, Paste, Slider
from .base import LiveFigure


class ConfigInspector(LiveFigure):
    """Read a model's config.json or GGUF, and hold a second file against it.

    ``config`` is the text of a file; it is read where it is not empty, in the page or the notebook, and is sent
    nowhere: the page's address does not hold it. A GGUF that is dropped or chosen is read by its header alone, and
    becomes a text: its keys as JSON. ``other`` is a second file, ``second`` another model in its place; the figure
    then shows both clocks, and says what ``rope-doctor compare`` says. ``layers`` picks among rotations where
    layers differ, in the order of the file. ``length`` (tokens) is the text to read for: "dynamic" and "longrope"
    depend on it.

    Values out of range raise TraitError with a sentence; a config that cannot be read is explained in the picture.

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

    preset = Choice("Llama 3.1 8B", {each.name: each.name for each in PRESETS}, label="Model")
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
        {"none": "no second model"} | {each.name: each.name for each in PRESETS},
        label="Compare with a model",
    )
