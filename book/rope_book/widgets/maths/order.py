"""Apply a small attention layer without positions to words represented by unit vectors in the plane."""

import math

import numpy as np

from rope_edu.attention import attention, causal_mask

from .words import BITS_32

# Chosen so that the outputs for the book's sentences are far apart; other values would make the same point.
W_Q = [[-0.2, -1.4], [1.8, -0.9]]
W_K = [[0.9, 1.7], [-1.0, -0.1]]
W_V = [[0.9, -1.1], [0.6, 1.5]]
SEED = 180062


def word_direction(word: str) -> tuple[float, float]:
    r"""Return a unit vector derived from a word's letters, ignoring case.

        angle = 2π · hash / 2³²,   hash: FNV-1a starting from `SEED`, then mixed so that all bits affect the highest

    Args:
        word: any text.

    Returns:
        (cos, sin) of the angle.

    >>> word_direction("dog") == word_direction("Dog"), round(math.hypot(*word_direction("dog")), 12)
    (True, 1.0)

    Chapter 1.
    """
    mixed = SEED
    for letter in word.lower():
        mixed = ((mixed ^ ord(letter)) * 0x01000193) & BITS_32
    for shift, factor in ((15, 0x2C1B3C6D), (12, 0x297A2D39)):
        mixed = ((mixed ^ (mixed >> shift)) * factor) & BITS_32
    angle = 2 * math.pi * (mixed ^ (mixed >> 15)) / 2**32
    return math.cos(angle), math.sin(angle)


def read_words(words: list[str], *, causal: bool, layers: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Apply the same layer to the words `layers` times; return the last weights and outputs.

    >>> weights, outputs = read_words(["one", "two"], causal=True)
    >>> weights.shape, outputs.shape, weights[0].tolist()
    ((2, 2), (2, 2), [1.0, 0.0])

    Chapter 1.
    """
    x = np.array([word_direction(word) for word in words])
    mask = causal_mask(len(words), len(words)) if causal else None
    for _ in range(layers):
        x, weights = attention(*(x @ np.array(w).T for w in (W_Q, W_K, W_V)), mask=mask)
    return weights, x
