"""The patients in chapter 22's game: heads with 8 features, their rotations and their symptoms."""

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
ANSWERS = {  # grouped by the part that each mistake affects
    "The angles": {
        "turns_backwards": "it turns backwards",
        "one_clock": "all pairs turn at one speed",
        "counts_from_one": "positions count from 1",
        "positions_in_bfloat16": "positions are kept in bfloat16",
    },
    "Cosine and sine": {
        "minus_sign_missing": "a minus sign is missing",
        "sine_missing": "the sines are missing",
        "cos_and_sin_swapped": "cosine and sine are swapped",
        "table_of_other_layout": "tables of the other layout",
    },
    "The features, or nothing": {
        "other_layout": "the other layout",
        "rolls_features": "it rolls features by one",
        "uneven_gain": "a gain after the turn",
        "right": "nothing: it is right",
    },
}
CHOICES = {name: called for group in ANSWERS.values() for name, called in group.items()}
STARTS, OFFSETS, PLACES = (0, 40, 300), np.arange(33), np.arange(0, 321, 5)
Q, K = (x / np.linalg.norm(x) for x in np.random.default_rng(8).normal(size=(2, 8)))


def turned(name: str, x: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Rotate a vector as a patient does, at each position: `(seq, 8)`."""
    rotate = right(SPEC) if name == "right" else BROKEN[name](SPEC)
    return rotate(np.tile(x, (len(positions), 1)), np.asarray(positions, dtype=float))


def matrix_at(name: str, position: float) -> np.ndarray:
    """Return the matrix by which a patient multiplies vectors at a position, `(8, 8)`."""
    return np.array([turned(name, unit, np.array([position]))[0] for unit in np.eye(8)]).T


def symptoms(name: str) -> dict[str, np.ndarray]:
    """Return a patient's scores (start by offset), and the rotated query's lengths and errors (by position)."""
    scores = [(turned(name, Q, s + OFFSETS) * turned(name, K, s + 0 * OFFSETS)).sum(axis=1) for s in STARTS]
    query = turned(name, Q, PLACES)
    off = np.linalg.norm(query - turned("right", Q, PLACES), axis=1)
    return {"scores": np.array(scores), "lengths": np.linalg.norm(query, axis=1), "errors": off}


def summary(name: str) -> dict[str, float]:
    """Return the shortest and longest length, the largest range of a score over starts, and the largest error."""
    measured = symptoms(name)
    return {
        "shortest": float(measured["lengths"].min()),
        "longest": float(measured["lengths"].max()),
        "spread": float(np.ptp(measured["scores"], axis=0).max()),
        "error": float(measured["errors"].max()),
    }


def patients() -> dict[str, object]:
    """Return all patients with their diagnoses and cures, and the vectors and positions for the measurements."""
    healthy = {"does": "It turns every pair by its angle.", "fix": "Nothing to mend."}
    people = []
    for name in PATIENTS:
        verdict = healthy if name == "right" else {"does": MISTAKES[name].does, "fix": MISTAKES[name].fix}
        people.append({"name": name, "called": CHOICES[name], **verdict})
    places = {"starts": STARTS, "offsets": OFFSETS.tolist(), "places": PLACES.tolist()}
    return {"people": people, **places, "q": Q.tolist(), "k": K.tolist(), "base": SPEC.base}
