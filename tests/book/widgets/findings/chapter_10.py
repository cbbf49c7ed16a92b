"""Chapter 10: weights of a sentence that moves, from the chapter's table, and of five equal words."""

import numpy as np

from rope_book.widgets.maths.words import head_matrices, word_vectors
from rope_edu import apply_rope, inv_freq, rope_angles, softmax
from rope_edu import sinusoidal as sinusoids

from .reading import row

SENTENCE = "la la la la la"


def _moved(encoding):
    """Return the largest changes of a weight: switched on, and as the sentence moves (percentage points)."""
    switched_on, *moved = row("10", encoding)
    return switched_on, np.array(moved)


def sinusoidal():
    _, moved = _moved("sinusoidal")
    return {
        "They never settle": moved[0] > 0 and moved.min() > 20 and moved.max() < 100,
        "far rows of sinusoids": moved[-1] < 5,
        "zero all along": not moved.any(),
        "without end": moved.max() > 100,
    }


def rotary():
    _, moved = _moved("rotary")
    return {
        "By nothing": not moved.any(),
        "but more with *s*": moved[0] < moved[-1],
        "but not by zero": moved.all() and np.ptp(moved) == 0,
    }


def none():
    (without, still), (with_rotary, moved) = _moved("none"), _moved("rotary")
    alike = not still.any() and not moved.any()
    return {
        "position plays no part": alike and without == 0 < with_rotary,
        "both see only the distances": alike and without > 0,
        "the weights of no sentence": alike and with_rotary == 0,
        "only after rounding": not alike,
    }


def la():
    words, (w_q, w_k, _) = word_vectors(SENTENCE), head_matrices()
    angles = rope_angles(np.arange(5), inv_freq(8))
    projected = {
        "none": (words @ w_q.T, words @ w_k.T),
        "rotary": [apply_rope(words @ w.T, angles) for w in (w_q, w_k)],
        "sinusoidal": [(words + sinusoids(np.arange(5) + 900, 8)) @ w.T for w in (w_q, w_k)],
    }
    even = {name for name, (q, k) in projected.items() if np.allclose(softmax(q @ k.T), 0.2)}
    return {
        "With *none* only": even == {"none"},
        "With all": len(even) == 3,
        "*none* and *rotary*": even == {"none", "rotary"},
        "*sinusoidal* far out": "sinusoidal" in even and len(even) < 3,
    }
