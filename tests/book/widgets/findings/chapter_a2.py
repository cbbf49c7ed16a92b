"""Chapter A2: a memory of 8 × 8 numbers, and the sum of its keys."""

import numpy as np

from rope_edu import inv_freq, rope_angles
from rope_edu.plain.linear import linear_attention_step


def _memory(tokens, turned=False):
    """Return the state after keys and values (tokens, 2, 8), turned by their positions or not."""
    state = np.zeros((8, 8)), np.zeros(8)
    angles = turned * rope_angles(np.arange(len(tokens)), inv_freq(8))
    for (k, v), angle in zip(tokens, angles, strict=True):
        _, state = linear_attention_step(k, k, v, state, angle)
    return state


def _tokens(count):
    return np.random.default_rng(0).normal(size=(count, 2, 8))


def memory():
    numbers = sum(part.size for part in _memory(_tokens(1)))
    return next(count for count in range(1, 100) if _tokens(count).size > numbers)


def fade():
    rows = np.abs(_memory(_tokens(1000) ** 2, turned=True)[0]).mean(axis=1).reshape(4, 2).mean(axis=1)
    return {
        "The upper ones": rows[0] < rows[-1] / 4,
        "The lower ones": rows[-1] < rows[0] / 4,
        "All alike": max(rows[0] / rows[-1], rows[-1] / rows[0]) <= 4,
    }


def order():
    tokens = _tokens(5)
    known = _memory(tokens)[0]
    forgets = {
        "Where a word was": tokens[::-1],
        "Which words": _tokens(6)[1:],
        "How often": np.concatenate([tokens, tokens[:1]]),
    }
    same = {words: np.allclose(_memory(other)[0], known) for words, other in forgets.items()}
    return same | {"Nothing": not any(same.values())}
