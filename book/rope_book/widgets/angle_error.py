"""Chapter A1: how far off a pair's hand is if its angle is computed at low precision."""

from dataclasses import asdict

import numpy as np

from rope_doctor.precision import NUMBER_FORMATS, PIPELINES, Pipeline, angle_error
from rope_edu.encodings import inv_freq

from ._results import result
from ._rules import Preset
from ._traits import Choice, Slider
from .base import LiveFigure

STEPS = ("frequencies", "positions", "angles", "cos_sin")
_FORMATS = {
    name: {f"{step}_in": asdict(pipeline)[step] for step in STEPS} for name, pipeline in PIPELINES.items()
}


def _format_of(default: str, label: str) -> Choice:
    return Choice(default, {name: name for name in NUMBER_FORMATS}, label=label)


class AngleError(LiveFigure):
    """See how far off a head's worst pair is at every position, for a pipeline that you choose.

    A pipeline is four number formats: ``frequencies_in``, ``positions_in``, ``angles_in`` (the product) and
    ``cos_sin_in`` (cos and sin). Selecting a known ``pipeline`` sets all four; changing one of them sets
    ``pipeline`` to "own". ``measure`` selects the error of the angle m · θ or that of the rotation from one token
    to the next, on which scores depend. Lines show the largest error up to each position, sampled at about 100
    positions where rounding is worst. The clock shows the worst pair at ``position``.

    Its result is ``error``, the error of the worst pair (NaN if an angle is infinite).

    An out-of-range value raises a TraitError that lists the allowed values.

    >>> AngleError(pipeline="float32", position=3000)
    AngleError(pipeline='float32', position=3000, positions_in='float32')

    Source: Wang et al. 2024, arXiv 2411.13476. Chapter A1.
    """

    pipeline = Choice(
        "positions in bfloat16",
        {name: name for name in PIPELINES} | {"own": "as chosen below"},
        label="Pipeline",
    ).under(Preset(_FORMATS))
    position = Slider(4100, 1, 2**20, log=True, label="Position, m", unit="tokens")
    measure = Choice("angle", {"angle": "of the angle m·θ", "step": "of a turn by one token"}, label="Error")
    frequencies_in = _format_of("float32", "Frequencies θ in")
    positions_in = _format_of("bfloat16", "Positions m in")
    angles_in = _format_of("float32", "Angles m·θ in")
    cos_sin_in = _format_of("float32", "Cos and sin in")
    base = Slider(10_000.0, 100.0, 100_000_000.0, log=True, label="Base, b")
    head_dim = Choice(
        128, {d: f"{d} ({d // 2} pairs)" for d in (16, 32, 64, 128, 256)}, label="Head width, d"
    )

    @result("rad")
    def error(self):
        """Error of the worst pair at the position."""
        pipeline = Pipeline(*(getattr(self, f"{step}_in") for step in STEPS))
        step, frequencies = int(self.measure == "step"), inv_freq(self.head_dim, self.base)
        return float(np.max(angle_error([self.position], frequencies, pipeline, step=step)))
