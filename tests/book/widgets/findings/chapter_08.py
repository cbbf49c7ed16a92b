"""Chapter 8: half_split on converted vectors, on vectors as they are, and on keys alone."""

import numpy as np

from rope_edu import apply_rope, inv_freq, rope_angles
from rope_edu.encodings import interleaved_to_half_split

Q, K = np.random.default_rng(0).normal(size=(2, 8))
STARTS = np.arange(60)


def _turned(x, positions, layout):
    return apply_rope(np.tile(x, (len(positions), 1)), rope_angles(positions, inv_freq(8)), layout=layout)


def _scores(for_q, for_k):
    """Return the scores at distance 4, all along the text."""
    return (_turned(Q, STARTS + 4, for_q) * _turned(K, STARTS, for_k)).sum(axis=1)


def converted():
    before = interleaved_to_half_split(_turned(Q, STARTS, "interleaved"))
    apart = np.abs(_turned(interleaved_to_half_split(Q), STARTS, "half_split") - before).max(axis=1)
    return {
        "Never": apart.max() < 1e-12,
        "only at position 0": apart[0] < 1e-12 < apart[1:].min(),
        "Yes, since half_split": apart[0] >= 1e-12,
    }


def unconverted():
    right, found = _scores("interleaved", "interleaved"), _scores("half_split", "half_split")
    flat, same = np.ptp(found) < 1e-9, np.isclose(found[0], right[0])
    return {
        "at a different height": flat and not same and found[0] != 0,
        "at the right height": flat and same,
        "It goes up and down": not flat,
        "falls to zero": flat and found[0] == 0,
    }


def mixed():
    found = _scores("interleaved", "half_split")
    flat, same = np.ptp(found) < 1e-9, np.isclose(found[0], _scores("interleaved", "interleaved")[0])
    return {
        "not flat any more": not flat,
        "at yet another height": flat and not same,
        "flat at the right height": flat and same,
    }
