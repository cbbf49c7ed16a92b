"""Exercises of chapter 9: score against distance."""

from collections.abc import Callable
from typing import Any

import numpy as np

from rope_edu.check.exercise import Exercise, Verdict, close
from rope_edu.encodings import inv_freq, mean_cosine, score_curve

FREQUENCIES = inv_freq(64)
DISTANCES = np.arange(-500, 501)


def _finds_the_key(query_for: Callable[[np.ndarray, np.ndarray, int], Any]) -> Verdict:
    """Judge exercise 9.1: the score of the query and a random key is highest at p, and only there."""
    if not callable(query_for):
        return "The answer is a function: give check the name, without parentheses."
    keys = np.random.default_rng(9).normal(size=(3, 64))
    for key, p in zip(keys, (50, 3, 321), strict=True):
        query = query_for(key.copy(), FREQUENCIES, p)
        if query is ...:
            return ...
        query = np.asarray(query, dtype=float)
        if query.shape != key.shape:
            return f"The query must have the shape of the key, {key.shape}, got {query.shape}."
        scores = score_curve(query, key, FREQUENCIES, DISTANCES)
        top = int(DISTANCES[scores.argmax()])
        if top != p:
            sign = " Check the sign of your turn." if top == -p else ""
            return f"For p = {p} the score is highest at distance {top}.{sign}"
        if not close(float(np.linalg.norm(query)), float(np.linalg.norm(key))):
            return "It peaks where it should; but the query must be as long as the key."
        if not close(float(scores.max()), float(key @ key)):
            return f"For p = {p} it peaks at {p}, but not as high as it could: |k|² = {key @ key:.2f}."
    return True


def _counts_rises(rises: Callable[[int, float, int], Any]) -> Verdict:
    """Judge exercise 9.2 on three heads."""
    if not callable(rises):
        return "The answer is a function: give check the name, without parentheses."
    for head_dim, base, far in ((128, 10_000.0, 256), (64, 500_000.0, 100), (16, 100.0, 7)):
        found = rises(head_dim, base, far)
        if found is ...:
            return ...
        steps = np.diff(mean_cosine(inv_freq(head_dim, base), np.arange(far + 1)))
        if close(found, far - int((steps > 0).sum())):
            return "These are the steps on which it falls."
        if not close(found, int((steps > 0).sum())):
            case = f"rises({head_dim}, {base:,.0f}, {far})"
            return f"{case} gave {found}: how many of its {far} steps lead up?"
    return True


def _keeps_three_tenths(base: object) -> Verdict:
    """Judge exercise 9.3: mean cosine over 800 … 1200 between 0.28 and 0.32 for d = 128."""
    if isinstance(base, bool) or not isinstance(base, int | float | np.number) or not 1 < base < 1e300:
        return "The answer is one number above 1."
    found = float(mean_cosine(inv_freq(128, float(base)), np.arange(800, 1201)).mean())
    if 0.28 <= found <= 0.32:
        return True
    return f"With that base the average is {found:.3f}: {'too low' if found < 0.28 else 'too high'}."


def _averages_to_zero(average_score: Callable[[int, int, int], Any]) -> Verdict:
    """Judge exercise 9.4: means of n scores have spread 1/√n at every distance, and no drift."""
    if not callable(average_score):
        return "The answer is a function: give check the name, without parentheses."
    if average_score(1, 1, 0) is ...:
        return ...
    for n, distance in ((1, 1), (25, 100), (400, 1)):
        means = np.array([float(average_score(n, distance, seed)) for seed in range(200)]) * np.sqrt(n)
        if np.ptp(means) < 1e-9:
            return "Every seed gives the same mean: the draws must follow the seed."
        if abs(means.mean()) > 0.35 * max(1.0, means.std()):  # five standard errors of the 200
            return f"At distance {distance} the means do not lie about 0: are q and k drawn independently?"
        if not 0.75 < means.std() < 1.25:
            return f"For n = {n} the means have size {means.std() / np.sqrt(n):.3f}; 1/√n is {n**-0.5:.3f}."
    return True


EXERCISES = (
    Exercise(
        "9.1",
        _finds_the_key,
        hints=(
            "In the chapter the key was the query, turned by p. Now read that sentence from the other end.",
            "k = R^p q. Which turn undoes R^p?",
            "Turn k by −p positions: apply_rope(k[None], rope_angles([-p], inv_freq))[0].",
        ),
        shows="A key behind the query is turned forward, or the query back: one relation, two ways to say it.",
    ),
    Exercise(
        "9.2",
        _counts_rises,
        hints=(
            "The score of all ones is head_dim · mean_cosine(…): a positive factor changes no rise.",
            "You need the curve at 0, 1, …, far: far + 1 places, far steps.",
            "np.diff(curve) > 0 marks the steps that rise; sum them.",
        ),
        shows="The falling curve of the textbooks rises on nearly half of its steps.",
    ),
    Exercise(
        "9.3",
        _keeps_three_tenths,
        hints=(
            "Set the straight line 1 − (ln r + γ)/ln b to 0.3 at r = 1000.",
            "Then ln b = (ln 1000 + 0.577)/0.7.",
            "b = exp(10.69), about 44 000.",
        ),
        shows="The base sets the slope: what is left at a distance r depends on ln r / ln b.",
    ),
    Exercise(
        "9.4",
        _averages_to_zero,
        hints=(
            "Draw two arrays of shape (n, 64) from np.random.default_rng(seed).normal.",
            "score_curve(q, k, inv_freq(64), [distance]) has shape (n, 1); take the mean and divide by √64.",
            "The seed must reach default_rng, and q and k must be two different draws.",
        ),
        shows="The mean of n draws is 0 up to 1/√n, at every distance: independent vectors see no decay.",
    ),
)
