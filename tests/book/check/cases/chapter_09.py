"""Known mistakes, and more right answers, of chapter 9."""

import numpy as np
from solutions import answers_of

from rope_edu import inv_freq
from rope_edu.encodings import mean_cosine, score_curve

SOLUTION = answers_of("chapter_09")


query_for = SOLUTION["9.1"]


def equal_pairs(k, frequencies, p):
    """The phases of the key turned back, and all pairs of one size: highest at p as well."""
    z = (k[0::2] + 1j * k[1::2]) * np.exp(-1j * p * frequencies)
    z *= np.linalg.norm(k) / np.sqrt(len(z)) / np.abs(z)
    return np.stack([z.real, z.imag], axis=1).ravel()


def curve(head_dim, base, far):
    return mean_cosine(inv_freq(head_dim, base), np.arange(far + 1))


rises = SOLUTION["9.2"]


average_score = SOLUTION["9.4"]


def same_vectors(n, distance, seed):
    q = np.random.default_rng(seed).normal(size=(n, 64))
    return score_curve(q, q, inv_freq(64), [distance]).mean() / 8


def unturned(n, distance, seed):
    q, k = np.random.default_rng(seed).normal(size=(2, n, 64))
    return (q * k).sum(axis=1).mean() / 8


ALSO_RIGHT = {
    "9.1": [equal_pairs],
    "9.3": [44_000],
}
WRONG = {
    "9.1": [
        (lambda k, f, p: query_for(k, f, -p), "Check the sign of your turn."),
        (lambda k, f, p: k, "That holds for the key as it is"),
        (lambda k, f, p: 2 * query_for(k, f, p), "the query must be as long as the key"),
        (
            lambda k, f, p: query_for(k, f, p)[None],
            "The query has the shape of the key, (64,). Its shape is (1, 64)",
        ),
        (lambda k, f, p: 0 * k, "A query of zeros scores 0 everywhere."),
    ],
    "9.2": [
        (lambda d, b, far: far - rises(d, b, far), "the steps on which it falls"),
        (lambda d, b, far: rises(d, b, far - 1), "you need the curve at far + 1 places"),
        (lambda d, b, far: rises(d, 10_000, far), "Does the base reach inv_freq?"),
        (lambda d, b, far: (curve(d, b, far) > 0).sum(), "A score above 0 is not a rise"),
        (lambda d, b, far: far, "Those are all steps."),
        (lambda d, b, far: np.diff(curve(d, b, far)) > 0, "It must return one number of steps."),
    ],
    "9.3": [
        (10_000, "too low"),
        (1_000_000, "too high"),
        (10.69, "That is ln b"),
        (0.5, "The answer is one number above 1."),
    ],
    "9.4": [
        (same_vectors, "are q and k drawn independently?"),
        (unturned, "Distances 1 and 100 give the same"),
        (lambda n, r, seed: 8 * average_score(n, r, seed), "divide by √d"),
        (lambda n, r, seed: n * average_score(n, r, seed), "the sum of the scores, not their mean"),
        (lambda n, r, seed: average_score(n, r, 0), "the draws must follow the seed"),
        (
            lambda n, r, seed: [average_score(1, r, seed + i) for i in range(n)],
            "It must return one number, the mean of n scores.",
        ),
        (
            lambda n, r, seed: average_score(n, r, seed) / 8,
            "the means have size 0.118; 1/√n is 1.000.",
        ),
    ],
}
