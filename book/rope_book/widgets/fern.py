"""The first page and chapters 9, 15, 17 and 21: the hands of a head, laid tip to tail."""

import math
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from rope_doctor.config import read_config
from rope_edu.arrays import ArrayLike
from rope_edu.encodings import RopeSpec, inv_freq

from ._results import result
from ._rules import Preset
from ._traits import Choice, Numbers, Slider
from .base import LiveFigure
from .maths import fern as maths
from .maths import fern_of_config
from .maths.stretch import RULES, stretched

_FAR = 2.0**20  # in tokens
_PLAIN = {
    "model": "own",
    "base": 10_000.0,
    "rule": "rope",
    "factor": 8.0,
    "trained": 4096,
    "head_dim": 128,
    "start": 0.0,
    "gathered": 1.0,
    "shown": "one",
}
_MODELS = fern_of_config.models()
_STAGES = {
    "clocks": {"distance": 3.0, "gathered": 0.0},
    "stem": {"distance": 0.0},
    "curl": {"distance": 12.0},
    "push": {"distance": 12.0, "start": 1000.0},
    "far": {"distance": 8000.0},
    "bend": {"distance": 8000.0, "base": 500_000.0},
    "rules": {"distance": 8000.0, "shown": "rules"},
}


def spec_of(now):
    """Return the rotation of the hands."""
    if now.rule == "file":
        frequencies = now.frequencies or inv_freq(now.head_dim, now.base)
        return RopeSpec(frequencies, now.attention_factor, kind="file")
    return stretched(now.rule, now.head_dim, now.base, now.trained, now.trained * now.factor)


class Fern(LiveFigure):
    """Lay the hands of a head tip to tail, slowest first, each turned by distance · θ_i, to form a fern.

    At ``distance`` 0 all hands point up, and the stem is straight. As the distance grows, it curls from the tip,
    where the hands are fast. ``reach`` is the height of the tip as a fraction of the straight stem's; ``score`` is
    ``reach`` times the sum of ``lengths``. Both can be read and observed. A chart plots the height against the
    distance.

    ``base``, ``head_dim`` and ``rule`` ("rope" for none, "pi", "ntk-aware", "yarn", "llama3", which stretch by
    ``factor``) set the frequencies; ``model`` sets them to those of a released model. With the rule "file",
    ``frequencies`` sets them, and the stem is longer by ``attention_factor`` squared: see :meth:`of_config`. A hand
    glows at an angle that it never reached in training on ``trained`` tokens. ``start`` tokens precede both words
    and do not change the fern. ``gathered`` brings the hands together, from clocks (0) to the stem (1). ``shown``
    is "one" fern with its curve, or the "rules" side by side. ``stage`` sets all of these at once.

    ``lengths`` and ``angles`` (radians) turn the fern into that of a query and a key: see :meth:`of`. Pairs with
    neither have length 1 and angle 0, as for equal vectors; numbers beyond the last pair are ignored.

    An out-of-range value raises a TraitError that lists the allowed values.

    >>> Fern(distance=0).reach, Fern(distance=8000, base=500_000).reach > 0.35
    (1.0, True)

    Source: Su et al. 2021, arXiv 2104.09864, section 3.4.3, equation 35, for the sum. Chapter 9.
    """

    lead = ("distance", "stage", "base")
    parts: ClassVar = ("fern", "score")

    model = Choice(
        "own",
        {"own": "your own numbers"} | {name: name for name in _MODELS},
        label="Model",
    ).under(Preset(_MODELS))
    stage = Choice(
        "curl",
        {
            "clocks": "clocks",
            "stem": "one stem",
            "curl": "it curls",
            "push": "push both",
            "far": "too far",
            "bend": "larger base",
            "rules": "rules",
            "own": "yours",
        },
        label="Stage",
        buttons=True,
    ).under(Preset({name: _PLAIN | values for name, values in _STAGES.items()}))
    distance = Slider(12.0, 0.0, _FAR, log=True, label="Distance, m − n", unit="tokens")
    base = Slider(10_000.0, 100.0, 100_000_000.0, log=True, label="Base, b")
    rule = Choice(
        "rope",
        {name: RULES[name] for name in ("rope", "pi", "ntk-aware", "yarn", "llama3")}
        | {"file": "a file's own"},
        label="Rule",
    )
    factor = Slider(8.0, 1.0, 128.0, log=True, label="Stretch, s")
    trained = Slider(4096, 64, 2**20, log=True, label="Trained length, L", unit="tokens")
    head_dim = Choice(
        128, {d: f"{d} ({d // 2} pairs)" for d in fern_of_config.WIDTHS}, label="Turning width, d"
    )
    start = Slider(0.0, 0.0, 100_000.0, log=True, label="Text before both", unit="tokens")
    gathered = Slider(1.0, 0.0, 1.0, step=0.01, label="Laid tip to tail, from clocks to stem")
    shown = Choice("one", {"one": "one fern and its score", "rules": "the rules side by side"}, label="Show")
    lengths = Numbers(128, 0.0, 1e6, label="Lengths of content, |q| |k|, one per pair")
    angles = Numbers(128, -math.tau, math.tau, label="Angles of content, φ (radians), one per pair")
    frequencies = Numbers(256, 0.0, math.tau, label="Frequencies of a file (radians per token), one per pair")
    attention_factor = Slider(1.0, 0.1, 4.0, step=0.01, label="Attention factor of a file")

    @classmethod
    def of(cls, q: ArrayLike, k: ArrayLike, **settings: Any) -> "Fern":
        """Return the fern of a query and a key, both interleaved and not yet rotated, `(head_dim,)`.

        >>> Fern.of([1.0, 0.0] * 32, [0.0, 2.0] * 32, distance=0).reach  # every key is a quarter turn away
        0.0
        """
        products = np.reshape(q, (-1, 2)) @ [1, 1j] * (np.reshape(k, (-1, 2)) @ [1, -1j])
        content = {"lengths": np.abs(products), "angles": np.angle(products)}
        return cls(**{"head_dim": 2 * len(products)} | content | settings)

    @classmethod
    def of_config(
        cls, config: dict[str, Any] | str | Path, *, layer_type: str | None = None, **settings: Any
    ) -> "Fern":
        """Return the fern of a config.json, for a text as long as the config claims to support.

        >>> Fern.of_config({"model_type": "llama", "head_dim": 128, "rope_theta": 1e6})
        Fern(stage='own', base=1000000.0, factor=1.0)
        """
        longest = read_config(config, layer_type=layer_type).longest
        reading = read_config(config, layer_type=layer_type, seq_len=longest)
        return cls(**fern_of_config.settings(reading) | settings)

    @property
    def spec(self) -> RopeSpec:
        """The rotation of the hands; without ``frequencies``, the rule "file" uses those of plain RoPE."""
        return spec_of(self)

    @result()
    def reach(self):
        """Height of the tip, as a fraction of the straight stem's."""
        spec = spec_of(self)
        joints = maths.fern(spec.inv_freq, spec.attention_factor, self.distance, self.lengths, self.angles)
        return round(float(joints[-1, 1]), 12) + 0.0

    @result()
    def score(self):
        """Score of the query and the key: ``reach`` times the sum of the lengths."""
        whole = maths.padded(self.lengths, len(spec_of(self).inv_freq), 1.0).sum()
        return Fern.reach.compute(self) * float(whole)
