"""Exercises of chapter 9: score against distance."""

from collections.abc import Callable
from typing import Any

import numpy as np

from rope_edu.check.answers import array, number, of_function
from rope_edu.check.exercise import Verdict, close, judges, slip_of
from rope_edu.check.ruled import ruled
from rope_edu.encodings import inv_freq, mean_cosine, score_curve

FREQUENCIES = inv_freq(64)
DISTANCES = np.arange(-500, 501)


@judges("9.1")
@of_function
def _finds_the_key(query_for: Callable[[np.ndarray, np.ndarray, int], Any]) -> Verdict:
    """Judge exercise 9.1: the score of the query and a random key is highest at p, and only there."""
    keys = np.random.default_rng(9).normal(size=(3, 64))
    for key, p in zip(keys, (50, 3, 321), strict=True):
        query = array(
            query_for(key.copy(), FREQUENCIES, p), key.shape, "The query has the shape of the key, (64,)."
        )
        if not query.any():
            return "A query of zeros scores 0 everywhere."
        scores = score_curve(query, key, FREQUENCIES, DISTANCES)
        top = int(DISTANCES[scores.argmax()])
        if top != p:
            why = {-p: " Check the sign of your turn.", 0: " That is so for the key as it stands: turn it."}
            return f"For p = {p} the score is highest at distance {top}.{why.get(top, '')}"
        if not close(float(np.linalg.norm(query)), float(np.linalg.norm(key))):
            return "It peaks where it should; but the query must be as long as the key."
    return True


@judges("9.2")
@of_function
def _counts_rises(rises: Callable[[int, float, int], Any]) -> Verdict:
    """Judge exercise 9.2 on three heads."""
    for head_dim, base, far in ((128, 10_000.0, 256), (64, 500_000.0, 100), (16, 100.0, 7)):
        found = number(rises(head_dim, base, far), "It must return one number of steps.")
        steps = np.diff(mean_cosine(inv_freq(head_dim, base), np.arange(far + 1)))
        if close(found, far - int((steps > 0).sum())):
            return "These are the steps on which it falls."
        if not close(found, int((steps > 0).sum())):
            case = f"rises({head_dim}, {base:,.0f}, {far})"
            why = _why_not_so_many(found, head_dim, base, far, steps)
            return f"{case} gave {found}: how many of its {far} steps lead up?{why}"
    return True


def _why_not_so_many(found: float, head_dim: int, base: float, far: int, steps: np.ndarray) -> str:
    """Say what was counted instead, if that is known."""
    curve = mean_cosine(inv_freq(head_dim, base), np.arange(far + 1))
    usual = np.diff(mean_cosine(inv_freq(head_dim), np.arange(far + 1)))
    slips = {
        " To count the last one too, you need the curve at far + 1 places.": (steps[:-1] > 0).sum(),
        " A score above 0 is no rise: compare each with the one before.": (curve > 0).sum(),
        " Does the base reach inv_freq?": (usual > 0).sum(),
        " Those are all steps.": far,
    }
    return slip_of(found, slips)


@judges("9.3")
def _keeps_three_tenths(base: object) -> Verdict:
    """Judge exercise 9.3: mean cosine over 800 … 1200 between 0.28 and 0.32 for d = 128."""
    return ruled("9.3", number(base, "The answer is one number above 1."))


@judges("9.4")
@of_function
def _averages_to_zero(average_score: Callable[[int, int, int], Any]) -> Verdict:
    """Judge exercise 9.4: means of n scores have spread 1/√n, no drift, and feel the distance."""

    def average(n: int, distance: int, seed: int) -> float:
        return float(
            number(average_score(n, distance, seed), "It must return one number, the mean of n scores.")
        )

    for n, distance in ((1, 1), (25, 100), (400, 1)):
        means = np.array([average(n, distance, seed) for seed in range(200)]) * np.sqrt(n)
        if np.ptp(means) < 1e-9:
            return "Every seed gives the same mean: the draws must follow the seed."
        if abs(means.mean()) > 0.35 * max(1.0, means.std()):  # five standard errors of the 200
            return f"At distance {distance} the means do not lie about 0: are q and k drawn independently?"
        size = means.std() / np.sqrt(64)
        if n == 1 and 0.75 < size < 1.25:
            return "The means are 8 times too large: divide by √d."
        if n > 1 and 0.75 < means.std() / n < 1.25:
            return f"For n = {n} that is the sum of the scores, not their mean."
        if not 0.75 < means.std() < 1.25:
            return f"For n = {n} the means have size {means.std() / np.sqrt(n):.3f}; 1/√n is {n**-0.5:.3f}."
    if all(close(average(3, 1, seed), average(3, 100, seed), 1e-12) for seed in range(5)):
        return "Distances 1 and 100 give the same: turn q or k by the distance before they meet."
    return True
