"""Chapter 24: faults of a small head, and the tests that notice them."""

import numpy as np

from rope_edu import apply_rope, causal_mask, inv_freq, rope_angles
from rope_edu.attention import attention

TEXTS = np.random.default_rng(0).normal(size=(2, 6, 8))


def _turned(x, positions, speed=1):
    return apply_rope(x, rope_angles(speed * np.asarray(positions), inv_freq(8)))


def _first_row_alone(x, positions):
    """Rotate a batch; if it has one new token a row, then only the first row."""
    turned = _turned(x, positions)
    return turned if x.shape[1] > 1 else np.concatenate([turned[:1], x[1:]])


def _whole(x, turn):
    """Return the outputs of a causal head that reads the whole text, of a batch (rows, seq, 8)."""
    q = turn(x, np.arange(x.shape[1]))
    return attention(q, q, x, mask=causal_mask(x.shape[1], x.shape[1]))[0]


def _by_steps(x, turn):
    """Return the outputs of the same head, which reads one token at a time and keeps the turned keys."""
    keys, outputs = x[:, :0], []
    for at in range(x.shape[1]):
        q = turn(x[:, at : at + 1], [at])
        keys = np.concatenate([keys, q], axis=1)
        outputs.append(attention(q, keys, x[:, : at + 1])[0])
    return np.concatenate(outputs, axis=1)


def _apart(read, other):
    return np.abs(np.asarray(read) - np.asarray(other)).max(axis=(0, 2))


def twice():
    def doubled(x, positions):
        return _turned(x, positions, speed=2)

    apart = _apart(_whole(TEXTS, doubled), _by_steps(TEXTS, doubled))
    return {
        "to the last digits": apart.max() < 1e-12,
        "Only for the first token": apart[0] < 1e-12 < apart[1:].min(),
    }


def row():
    turn, one = _first_row_alone, TEXTS[:1]
    alone = np.concatenate([_whole(text[None], turn) for text in TEXTS])
    notices = {
        "Two rows, read step by step": _apart(_by_steps(TEXTS, turn), alone),
        "One row, read whole": _apart(_whole(one, turn), _whole(one, _turned)),
        "One row with a cache": _apart(_by_steps(one, turn), _whole(one, turn)),
        "Two rows, read whole": _apart(_whole(TEXTS, turn), alone),
    }
    return {test: apart.max() > 1e-9 for test, apart in notices.items()}


def zeros():
    with np.errstate(all="raise"):
        turned = apply_rope(TEXTS[0], rope_angles(np.arange(6), np.zeros(4)))
    return {
        "the model runs": np.array_equal(turned, TEXTS[0]),
        "NaN in the first layer": np.isnan(turned).any(),
    }
