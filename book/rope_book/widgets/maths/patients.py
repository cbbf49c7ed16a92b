"""The patients in chapter 22's game: heads with 8 features and their symptoms, but no diagnosis.

Numbers are rounded to three digits, which is enough for a picture.
"""

import numpy as np

from rope_doctor.clinic import BROKEN, MISTAKES, right
from rope_edu.encodings import plain_rope

SPEC = plain_rope(8, 100.0)
PATIENTS = (
    "table_of_other_layout",
    "turns_backwards",
    "sine_missing",
    "right",
    "uneven_gain",
    "other_layout",
    "minus_sign_missing",
    "positions_in_bfloat16",
    "one_clock",
    "rolls_features",
    "counts_from_one",
    "cos_and_sin_swapped",
)
CHOICES = {
    "right": "nothing: it is right",
    "other_layout": "the other layout",
    "turns_backwards": "it turns backwards",
    "minus_sign_missing": "a minus sign is missing",
    "sine_missing": "the sines are missing",
    "cos_and_sin_swapped": "cosine and sine are swapped",
    "table_of_other_layout": "tables laid out for the other layout",
    "rolls_features": "it rolls features by one",
    "one_clock": "all pairs turn at one speed",
    "uneven_gain": "a gain after the turn",
    "counts_from_one": "positions count from 1",
    "positions_in_bfloat16": "positions are kept in bfloat16",
}
STARTS, OFFSETS, PLACES, LOOK = (0, 40, 300), np.arange(33), np.arange(0, 321, 5), 2
Q, K = (x / np.linalg.norm(x) for x in np.random.default_rng(8).normal(size=(2, 8)))


def symptoms(name: str) -> dict[str, list]:
    """Return scores (start by offset), lengths and errors (by position), and the matrix at one position."""
    rotate, exact = right(SPEC) if name == "right" else BROKEN[name](SPEC), right(SPEC)

    def at(function, x, positions):
        return function(np.tile(x, (len(positions), 1)), np.asarray(positions))

    scores = [(at(rotate, Q, s + OFFSETS) * at(rotate, K, s + 0 * OFFSETS)).sum(axis=1) for s in STARTS]
    turned = at(rotate, Q, PLACES)
    measured = {
        "scores": scores,
        "lengths": np.linalg.norm(turned, axis=1),
        "errors": np.linalg.norm(turned - at(exact, Q, PLACES), axis=1),
        "matrix": rotate(np.eye(8), np.full(8, LOOK)).T,
    }
    return {key: (np.round(values, 3) + 0.0).tolist() for key, values in measured.items()}


def patients() -> dict[str, object]:
    """Return every patient with its diagnosis, its cure and its symptoms, and the axes of the pictures."""
    healthy = {"does": "It turns every pair by its angle.", "fix": "Nothing to mend."}
    people = []
    for name in PATIENTS:
        verdict = healthy if name == "right" else {"does": MISTAKES[name].does, "fix": MISTAKES[name].fix}
        people.append({"name": name, "called": CHOICES[name], **verdict, **symptoms(name)})
    return {"people": people, "starts": STARTS, "places": PLACES.tolist(), "look": LOOK}
