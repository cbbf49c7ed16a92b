"""Find the figure settings that draw a config's fern: a rule if one matches, otherwise the frequencies."""

from pathlib import Path
from typing import Any

import numpy as np

from rope_doctor.config import PRESETS, Reading
from rope_doctor.config.files import read_kinds

from .stretch import stretched

RULES = ("rope", "pi", "llama3", "yarn")  # rules that configs can specify
WIDTHS = (16, 20, 24, 32, 64, 96, 128, 256)
LENGTHS, BASES, FACTORS = (64, 2**20), (100.0, 1e8), (1.0, 128.0)  # ranges of the figure's controls
NEAR = 1e-6  # relative tolerance for float32 numbers from a file


def ferns(config: dict[str, Any] | str | Path) -> dict[str, dict[str, Any]]:
    """Return {layers: figure settings} for each rotation in a config, at the longest length that the config claims.

    If all rotating layers have the same rotation, the only key is "". Raises ConfigError if the config is invalid.

    >>> ferns({"model_type": "llama", "hidden_size": 64, "num_attention_heads": 1, "rope_theta": 500})
    {'': {'rule': 'rope', 'base': 500.0, 'trained': 4096, 'head_dim': 64, 'factor': 1.0}}

    Chapter 21.
    """
    longest = read_kinds(config)[0].longest
    rotating = [reading for reading in read_kinds(config, longest) if reading.rope_type != "nope"]
    found: dict[str, dict[str, Any]] = {}
    for reading in rotating:
        drawn = settings(reading)
        if drawn not in found.values():
            found[(reading.layer_type or "").replace("_", " ")] = drawn
    return found if len(found) > 1 else dict(zip([""], found.values(), strict=False))


def settings(reading: Reading) -> dict[str, Any]:
    """Return the figure settings that draw a reading's fern."""
    spec, factor = reading.spec, float(np.clip(reading.factor or 1, *FACTORS))
    trained = int(np.clip(reading.trained or (reading.longest or 4096) // factor, *LENGTHS))
    base = float(np.clip(reading.base, *BASES))
    for rule in RULES if spec.rotary_dim in WIDTHS else ():
        drawn = stretched(rule, spec.rotary_dim, base, trained, trained * factor)
        same = np.allclose(drawn.inv_freq, spec.inv_freq, rtol=NEAR, atol=0)
        if same and abs(drawn.attention_factor - spec.attention_factor) < NEAR:
            used = {"head_dim": spec.rotary_dim, "factor": factor}
            return {"rule": rule, "base": base, "trained": trained} | used
    stated = {
        "frequencies": list(map(_short, spec.inv_freq)),
        "attention_factor": _short(spec.attention_factor),
    }
    return {"rule": "file", "base": base, "trained": trained} | stated


def _short(number: float) -> float:
    """Return the number rounded to seven digits, the precision of float32."""
    return float(f"{number:.7g}")


def models() -> dict[str, dict[str, Any]]:
    """Return {model: figure settings} for the doctor's presets, with one entry per kind of layer if they differ."""
    return {
        f"{preset.name}, {layers}" if layers else preset.name: drawn
        for preset in PRESETS
        for layers, drawn in ferns(preset.config).items()
    }
