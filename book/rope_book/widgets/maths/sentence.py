"""One head that reads a sentence under each positional encoding, at any place in a long text."""

import math
from collections.abc import Callable

import numpy as np

from rope_edu import alibi_bias, inv_freq, sinusoidal
from rope_edu.attention import (
    Additive,
    NoPosition,
    PositionEncoding,
    Rotary,
    ScoreBias,
    attention_scores,
    causal_mask,
)
from rope_edu.encodings import shaw_scores, t5_bias

from .words import D_MODEL, head_matrices, shaw_table, t5_table, word_vectors


def _shaw(q: np.ndarray, k_len: int) -> np.ndarray:
    """Return Shaw's term for each query and key, scaled like the score."""
    return shaw_scores(q, np.zeros((k_len, D_MODEL)), shaw_table()) / math.sqrt(D_MODEL)


def _t5(causal: bool) -> Callable[[np.ndarray, int], np.ndarray]:
    """Return T5's bias from its table for a decoder or an encoder."""
    table = t5_table(bidirectional=not causal)
    return lambda q, k_len: t5_bias(table, q.shape[-2], k_len, bidirectional=not causal)


def encoding_of(name: str, *, causal: bool) -> PositionEncoding:
    """Return the encoding with the given name for a head of width 8; T5's table depends on the mask.

    >>> encoding_of("none", causal=False)
    NoPosition()

    Chapter 10.
    """
    made: dict[str, Callable[[], PositionEncoding]] = {
        "none": NoPosition,
        "sinusoidal": lambda: Additive(lambda positions: sinusoidal(positions, D_MODEL)),
        "alibi": lambda: ScoreBias(lambda q, k_len: alibi_bias(8, q.shape[-2], k_len)[:1]),  # slope 1/2
        "t5": lambda: ScoreBias(_t5(causal)),
        "shaw": lambda: ScoreBias(_shaw),
        "rotary": lambda: Rotary(inv_freq(D_MODEL)),
    }
    return made[name]()


def sentence_scores(sentence: str, encoding: str, start: int, *, causal: bool) -> np.ndarray:
    """Return the head's scores for a sentence that starts at position `start`: (words, words), −∞ where masked.

    >>> far, near = (sentence_scores("love natural language", "rotary", s, causal=False) for s in (700, 0))
    >>> bool(np.allclose(far, near))
    True

    Chapter 10.
    """
    door, rows = encoding_of(encoding, causal=causal), word_vectors(sentence)
    positions = np.arange(start, start + len(rows))
    w_q, w_k, _ = head_matrices()
    x = door.embed(rows, positions)
    q, k = door.rotate_q((x @ w_q.T)[None], positions), door.rotate_k((x @ w_k.T)[None], positions)
    bias = door.bias(q, len(rows))
    scores = (attention_scores(q, k) + (0.0 if bias is None else bias))[0]
    return np.where(causal_mask(len(rows), len(rows)), scores, -np.inf) if causal else scores
