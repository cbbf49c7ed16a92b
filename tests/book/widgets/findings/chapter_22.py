"""Chapter 22: what can be seen of a broken rotation."""

import numpy as np

from rope_book.widgets import GainAndTurn
from rope_book.widgets.maths.patients import PATIENTS, matrix_at, symptoms
from rope_doctor.clinic import BROKEN, diagnose
from rope_edu import plain_rope

WANTED = plain_rope(8)
LINES = dict(zip("BCDE", ("table_of_other_layout", "other_base", "uneven_gain", "sine_missing"), strict=True))


def _keeps(rotate):
    """Return whether a rotation keeps lengths, and the score at distance 4."""
    (q, k), places = np.random.default_rng(2).normal(size=(2, 8)), np.arange(60)
    turned = rotate(np.tile(q, (60, 1)), places + 4)
    scores = (turned * rotate(np.tile(k, (60, 1)), places)).sum(axis=1)
    return np.allclose(np.linalg.norm(turned, axis=1), np.linalg.norm(q)), np.ptp(scores) < 1e-6


def keep():
    kept = {letter: _keeps(BROKEN[name](WANTED)) for letter, name in LINES.items()}
    both = {letter for letter, found in kept.items() if all(found)}
    return {
        "Only C": both == {"C"},
        "B, C and D": both == {"B", "C", "D"},
        "None": not both and not kept["C"][0],
        "C keeps lengths, but": not both and kept["C"][0],
    }


def tell():
    other = BROKEN["other_base"](WANTED)
    alone, against = diagnose(other, 8).mistakes, diagnose(other, 8, against=WANTED).mistakes
    return {"No": not alone and bool(against), "more positions and vectors": bool(alone)}


def patients():
    names = (PATIENTS[number - 1] for number in (4, 11))
    fourth, eleventh = (symptoms(name) | {"matrix": matrix_at(name, 2)} for name in names)
    differ = {name for name in fourth if not np.allclose(fourth[name], eleventh[name])}
    return {
        "clocks, matrix and place": differ == {"matrix", "errors"},
        "scores at equal distances": "scores" in differ,
        "the lengths after the turn": "lengths" in differ,
        "cannot be told apart": not differ,
    }


def gain():
    after, before = (
        np.ptp([GainAndTurn(where=where, position=at).score for at in range(0, 60, 5)]) > 1e-9
        for where in ("after", "before")
    )
    return {
        "The one after": after and not before,
        "The one before": before and not after,
        "Both": before and after,
        "Neither": not (before or after),
    }
