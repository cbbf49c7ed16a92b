"""Generate word vectors and a small head, with the same numbers in Python and in the figures.

None of these numbers are learned. A word's vector is drawn from a normal distribution, seeded by the word's
letters, so that equal words have equal vectors on every machine. The head's matrices are drawn in the same way,
with seeds chosen so that the weights for the book's five-word sentence are easy to tell apart; other seeds would
make the same points.
"""

import math
from collections.abc import Iterator

import numpy as np

D_MODEL = 8  # the width of a word's vector, and of the head's queries, keys and values
MATRIX_SEEDS = {"w_q": 126, "w_k": 127, "w_v": 128}
SHAW_SEED, SHAW_CLIP = 129, 4
ALIBI_SLOPE = 0.5
BITS_32 = 0xFFFFFFFF


def normals(seed: int, count: int) -> list[float]:
    r"""Draw standard normal numbers that are the same on every machine and in the figures' scripts.

    The generator is mulberry32, followed by the Box–Muller transform.

    Args:
        seed: an integer, of which only the lowest 32 bits are used.
        count: number of draws.

    Returns:
        A list of `count` floats, dimensionless.

    >>> [round(number, 4) for number in normals(7, 3)]
    [0.142, -0.8643, -1.0064]

    Chapter 10.
    """
    uniform = _uniform(seed)
    draws = ((math.sqrt(-2 * math.log(1 - next(uniform))), next(uniform)) for _ in range(count))
    return [radius * math.cos(2 * math.pi * turn) for radius, turn in draws]


def word_vector(word: str, width: int = D_MODEL) -> list[float]:
    r"""Return a word's vector, seeded by the word's letters, ignoring case.

        vector = normals(FNV-1a hash of the letters' code points, width)

    Args:
        word: any text.
        width: length of the vector.

    Returns:
        A list of `width` floats, dimensionless.

    >>> word_vector("love") == word_vector("Love"), word_vector("love") == word_vector("hate")
    (True, False)

    Chapter 10.
    """
    seed = 0x811C9DC5
    for letter in word.lower():
        seed = ((seed ^ ord(letter)) * 0x01000193) & BITS_32
    return normals(seed, width)


def word_vectors(sentence: str, width: int = D_MODEL) -> np.ndarray:
    """Stack the vectors of a sentence's words: float64 `(words, width)`."""
    return np.array([word_vector(word, width) for word in sentence.split()])


def head_matrices() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the head's W_q, W_k and W_v, each `(8, 8)`, with one row per output feature, as in torch's Linear."""
    return tuple(random_matrix(seed, D_MODEL) for seed in MATRIX_SEEDS.values())


def t5_table(*, bidirectional: bool) -> np.ndarray:
    """Return a made-up T5 table for one head, `(32, 1)`: −ln(1 + bucket), halved for keys to the right."""
    near_to_far = -np.log1p(np.arange(16 if bidirectional else 32))
    return np.concatenate([near_to_far, near_to_far / 2] if bidirectional else [near_to_far])[:, None]


def shaw_table() -> np.ndarray:
    """Return made-up Shaw vectors for one head, `(9, 8)`, for relative positions from −4 to 4."""
    return _rows(SHAW_SEED, 2 * SHAW_CLIP + 1)


def random_matrix(seed: int, width: int) -> np.ndarray:
    """Draw a square matrix of normal numbers with variance 1/width, which preserves lengths on average."""
    return np.array(normals(seed, width * width)).reshape(width, width) / math.sqrt(width)


def _rows(seed: int, count: int) -> np.ndarray:
    """Draw `count` rows of D_MODEL normally distributed numbers."""
    return np.array(normals(seed, count * D_MODEL)).reshape(count, D_MODEL)


def _uniform(seed: int) -> Iterator[float]:
    """Yield uniform numbers in [0, 1) from mulberry32."""
    state = seed & BITS_32
    while True:
        state = (state + 0x6D2B79F5) & BITS_32
        mixed = ((state ^ (state >> 15)) * (state | 1)) & BITS_32
        mixed ^= (mixed + (mixed ^ (mixed >> 7)) * (mixed | 61)) & BITS_32
        yield (mixed ^ (mixed >> 14)) / 2**32
