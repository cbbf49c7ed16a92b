"""Chapter A1: errors of angles in the formats of the figure."""

import numpy as np

from rope_book.widgets import AngleError
from rope_doctor.precision import PIPELINES, angle_error
from rope_edu import inv_freq


def _errors(pipeline, positions, step=0):
    """Return the error of the worst pair at each position (rad)."""
    return angle_error(positions, inv_freq(128), PIPELINES[pipeline], step=step).max(axis=-1)


def jump():
    return int((_errors("positions in bfloat16", np.arange(1000)) > 0.5).argmax())


def float32():
    return AngleError(pipeline="float32", position=1_000_000).error


def step():
    frequencies, positions = (
        _errors(f"{kind} in bfloat16", np.arange(200, 1000), step=1).max() < 0.1
        for kind in ("frequencies", "positions")
    )
    return {
        "Frequencies in": frequencies and not positions,
        "Positions in": positions and not frequencies,
        "Neither": not (positions or frequencies),
        "Both": positions and frequencies,
    }


def flat():
    errors = _errors("cos and sin in bfloat16", [1, 100, 10_000, 1_000_000])
    level = np.ptp(errors) < errors.max() / 2
    return {
        "wherever it comes from": level and errors.min() > 0,
        "so errors cancel": errors.max() == 0,
        "before it grows": not level,
    }
