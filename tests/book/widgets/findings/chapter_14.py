"""Chapter 14: angles beyond the trained range."""

import numpy as np

from rope_book.widgets import TrainedTurns
from rope_edu import inv_freq, wavelength
from rope_edu.encodings import completes_turn, meets_new_angle
from rope_edu.plain.rerope import rerope_attention

TRAINED = 4096
TURN = float(wavelength(inv_freq(128))[46]) / TRAINED  # a turn of pair 46, × L


def _onsets(trained, base=10_000.0):
    """Return the distances at which slow pairs meet their first new angle."""
    speeds = inv_freq(128, base)
    slow = speeds[~completes_turn(speeds, trained)]
    return set(trained + 1 + meets_new_angle(trained + np.arange(1, 50), slow, trained).argmax(axis=0))


def first():
    ends, other_base = _onsets(TRAINED) == {TRAINED + 1}, _onsets(TRAINED, 500_000.0) == {TRAINED + 1}
    follows = _onsets(2048) == {2049}
    return {
        "from 0 to where it points at L": ends and other_base and follows,
        "The base gives": ends and not other_base,
        "the table of positions ends": ends and other_base and not follows,
        "completes its turn": not ends,
    }


def round():
    return TURN


def back():
    return 1.5 % TURN


def base():
    with_10_000, with_500_000 = (64 - TrainedTurns(base=base).complete for base in (10_000.0, 500_000.0))
    return {
        "More": with_500_000 > with_10_000,
        "Fewer": with_500_000 < with_10_000,
        "As many": with_500_000 == with_10_000,
    }


def rerope():
    q, key = np.random.default_rng(0).normal(size=(2, 1, 8))
    window = 4
    k = np.tile(key, (8 * window + 1, 1))
    weights = rerope_attention(q, k, k, inv_freq(8), window)[1][
        0, : 7 * window
    ]  # of all keys beyond the window
    still = np.allclose(weights, weights[0])
    return {
        "None": weights.all() and still,
        "The fast ones": not still and weights.all(),
        "only masks far keys": not weights.any(),
    }
