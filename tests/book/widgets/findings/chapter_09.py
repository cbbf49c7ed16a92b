"""Chapter 9: scores of a head of 128 features against distance."""

import numpy as np

from rope_book.widgets import ScoreDistance
from rope_book.widgets.score_distance import head_of
from rope_edu import inv_freq
from rope_edu.encodings import roformer_bound, score_curve, trivial_bound


def _curve(distances, **state):
    return score_curve(*head_of(ScoreDistance(**state)), np.arange(distances))


def base():
    plain, large = ScoreDistance(), ScoreDistance(base=1e8)
    falls_less = _curve(1025, base=1e8).mean() > _curve(1025).mean()
    ratio = large.rises / plain.rises
    return {
        "About as many": 0.9 < ratio < 1.1 and falls_less,
        "Hardly any": ratio < 0.1,
        "More steps": ratio >= 1.1 and not falls_less,
        "falls to zero": np.allclose(_curve(1025, base=1e8)[-100:], 0),
    }


def gaussian():
    waves = _curve(1025, vectors="independent")
    near, far = waves[:200], waves[-200:]
    on_both_sides = near.min() < 0 < near.max() and far.min() < 0 < far.max()
    return {
        "Waves above and below": on_both_sides and 0.5 < np.ptp(far) / np.ptp(near) < 2,
        "A flat line": np.ptp(waves) < 1,
        "High at first": waves[0] == waves.max() and not on_both_sides,
        "Noise": np.abs(np.diff(waves)).mean() > np.ptp(waves) / 4,
    }


def peak():
    return int(_curve(1025, vectors="rotated", peak=777).argmax())


def bounds():
    ones, distances = np.ones(128), np.arange(1, 1025)
    lower = roformer_bound(ones, ones, inv_freq(128), distances) < trivial_bound(ones, ones)
    exceeded = _curve(1025).max() > trivial_bound(ones, ones) * (1 + 1e-12)
    return {
        "The trivial one": not lower.any() and not exceeded,
        "since it falls with the distance": lower.all(),
        "at far distances": lower[-1] and not lower[0],
        "rises above both": exceeded,
    }
