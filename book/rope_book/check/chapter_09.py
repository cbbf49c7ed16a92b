"""Chapter 9 exercises: score against distance."""

import numpy as np

from rope_book.check.answers import Answer, array, number, of_function
from rope_book.check.exercise import Known, Verdict, close, judges, of_cases
from rope_edu.encodings import inv_freq, mean_cosine, score_curve

FREQUENCIES = inv_freq(64)
DISTANCES = np.arange(-500, 501)


@judges("9.1")
@of_function
def _finds_the_key(query_for: Answer) -> Verdict:
    """Judge exercise 9.1: the score of the query and a random key must be highest at distance p."""
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
            why = {-p: " Check the sign of your turn.", 0: " That holds for the key as it is: rotate it."}
            return f"For p = {p} the score is highest at distance {top}.{why.get(top, '')}"
        if not close(float(np.linalg.norm(query)), float(np.linalg.norm(key))):
            return "It peaks where it should; but the query must be as long as the key."
    return True


@judges("9.2")
@of_cases(((128, 10_000.0, 256), (64, 500_000.0, 100), (16, 100.0, 7)), "It must return one number of steps.")
def _counts_rises(result: float, head_dim: int, base: float, far: int) -> Known:
    """Judge exercise 9.2 with three combinations of width, base and range."""
    curve, usual = (mean_cosine(inv_freq(head_dim, b), np.arange(far + 1)) for b in (base, 10_000.0))
    up = np.diff(curve) > 0
    case = f"rises({head_dim}, {base:,.0f}, {far}) gave {result}: how many of its {far} steps lead up?"
    slips = {
        f"{case} To count the last one too, you need the curve at far + 1 places.": up[:-1].sum(),
        f"{case} A score above 0 is not a rise: compare each with the one before.": (curve > 0).sum(),
        f"{case} Does the base reach inv_freq?": (np.diff(usual) > 0).sum(),
        f"{case} Those are all steps.": far,
    }
    return up.sum(), {"These are the steps on which it falls.": far - up.sum()} | slips, case


@judges("9.4")
@of_function
def _averages_to_zero(average_score: Answer) -> Verdict:
    """Judge exercise 9.4: means of n scores must be centred on 0, scale with 1/√n and depend on the distance."""

    def average(n: int, distance: int, seed: int) -> float:
        return float(
            number(average_score(n, distance, seed), "It must return one number, the mean of n scores.")
        )

    for n, distance in ((1, 1), (25, 100), (400, 1)):
        means = np.array([average(n, distance, seed) for seed in range(200)]) * np.sqrt(n)
        if np.ptp(means) < 1e-9:
            return "Every seed gives the same mean: the draws must follow the seed."
        if abs(means.mean()) > 0.35 * max(1.0, means.std()):  # 5 standard errors of the mean of 200 values
            return f"At distance {distance} the means are not centred on 0: are q and k drawn independently?"
        size = means.std() / np.sqrt(64)
        if n == 1 and 0.75 < size < 1.25:
            return "The means are 8 times too large: divide by √d."
        if n > 1 and 0.75 < means.std() / n < 1.25:
            return f"For n = {n} that is the sum of the scores, not their mean."
        if not 0.75 < means.std() < 1.25:
            return f"For n = {n} the means have size {means.std() / np.sqrt(n):.3f}; 1/√n is {n**-0.5:.3f}."
    if all(close(average(3, 1, seed), average(3, 100, seed), 1e-12) for seed in range(5)):
        return "Distances 1 and 100 give the same means: turn q or k by the distance before they meet."
    return True
