"""Chapter 4: the score of one pair, as the figure computes it."""

import math

from rope_book.widgets import RotatePair


def _change(**state):
    """Return the change of the score from the state with `position` 6 and `key_position` 2."""
    return RotatePair(**state).score - RotatePair(**state | {"position": 6, "key_position": 2}).score


SLID = {"position": 16, "key_position": 12}


def move():
    change = _change(position=16)
    return {
        "Yes, because": change < -1,
        "It falls a little": -1 <= change < 0,
        "No, a rotation": change == 0,
    }


def lock():
    change = abs(_change(**SLID))
    return {
        "to the last digit": change < 1e-12,
        "small error that grows": 1e-12 <= change < 1e-3,
        "since both arrows point elsewhere": change >= 1e-3,
    }


def key():
    other = {"k": [-0.8, 0.8]}
    kept = abs(_change(**SLID, **other)) < 1e-12
    one_curve = all(
        math.isclose(RotatePair(position=at, **other).score, RotatePair(position=at).score)
        for at in (3, 9, 20)
    )
    return {
        "Another *k* gives another curve": kept and not one_curve,
        "the same as before too": kept and one_curve,
        "only because the two arrows were alike": not kept,
    }


def again():
    return 6 + round(2 * math.pi / RotatePair().inv_freq)
