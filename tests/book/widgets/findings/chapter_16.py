"""Chapter 16: YaRN's two ramps over the pairs of Llama 2."""

import numpy as np

from rope_book.widgets import Ramps
from rope_edu import inv_freq
from rope_edu.plain.scaling import kept_by_index, kept_by_turns, ramp_ends

SPEEDS = inv_freq(128)


def _kept(**settings):
    figure = Ramps(**settings)
    shares = []
    for figure.pair in range(64):
        shares.append(figure.multiplier)
    return np.isclose(shares, 1)


def factor():
    lost = _kept(factor=16.0) & ~_kept(factor=32.0)
    return {
        "None": not lost.any(),
        "About half": 0 < lost.sum() < _kept(factor=16.0).sum(),
        "All, since": lost.sum() == _kept(factor=16.0).sum(),
    }


def length():
    before, after = (np.array(ramp_ends(128, trained, 10_000.0)) for trained in (4096, 8192))
    return {
        "to the right": (after > before).all(),
        "To faster pairs": (after < before).all(),
        "thresholds are 1 and 32 turns": (after == before).all(),
    }


def _ramps():
    """Return what the code and the paper keep of each pair."""
    return kept_by_index(128, *ramp_ends(128, 4096, 10_000.0)), kept_by_turns(SPEEDS, 4096, 1, 32)


def middle():
    code, paper = (ramp[34] for ramp in _ramps())
    return {
        "They turn faster": paper < code < 1,
        "They turn more slowly": code < paper,
        "since the ends agree": code == paper,
        "without any rule": code == 1,
    }


def axis():
    turns = 4096 * SPEEDS / (2 * np.pi)
    within = (turns > 2) & (turns < 30)
    code, paper = (np.ptp(np.gradient(ramp[within], turns[within])) < 1e-9 for ramp in _ramps())
    return {
        "The paper's": paper and not code,
        "The code's": code and not paper,
        "Both": code and paper,
        "Neither": not (code or paper),
    }
