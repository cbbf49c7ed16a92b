"""Appendix A2 exercises: carry a sum instead of a cache."""

from typing import Any

import numpy as np

from rope_book.check.answers import Answer, array, number, of_function, row
from rope_book.check.exercise import Verdict, against, close, judges
from rope_edu.attention import elu_plus_one, linear_attention
from rope_edu.encodings import apply_rope, inv_freq, rope_angles

WIDTHS = ((64, 64), (128, 128), (16, 4), (4, 16), (1, 1), (3, 5))
ASK_STATE = "It must return two things: (kv, norm)."


@judges("A2.1")
@of_function
def _steps(step: Answer) -> Verdict:
    """Judge exercise A2.1: token-by-token steps must match linear attention over the whole text."""
    rng = np.random.default_rng(4)
    q, k = rng.normal(size=(2, 20, 8))
    v, angles = rng.normal(size=(20, 3)), rope_angles(range(20), inv_freq(8))
    kv, norm, outputs = np.zeros((8, 3)), np.zeros(8), []
    for m in range(20):
        result = step(kv.copy(), norm.copy(), q[m], k[m], v[m], angles[m])
        output, kv, norm = row(result, 3, "It must return three things: (output, kv, norm).")
        kv, norm = array(kv, (8, 3), "kv must stay (8, 3)."), array(norm, (8,), "norm must stay (8,).")
        outputs.append(array(output, (3,), "The output of one token has the width of v, here (3,)."))
    early = linear_attention(apply_rope(q, angles), apply_rope(k, angles), v)
    turned = (apply_rope(elu_plus_one(x), angles) for x in (q, k))
    below = linear_attention(*turned, v, feature_map=lambda features: features)
    unplaced = "It is linear attention without any position: turn the features in the numerator."
    slips = {
        unplaced: linear_attention(q, k, v),
        "φ comes first: turn the features, not q and k.": early,
        "The denominator is turned as well; it takes the features as they are.": below,
    }
    first = "The first token is right, but not the later ones."
    unknown = first if close(outputs[0], v[0]) else "One token alone must give its own v."
    return against(outputs, linear_attention(q, k, v, angles=angles), slips, unknown)


@judges("A2.2")
@of_function
def _smaller_from(smaller_from: Answer) -> Verdict:
    """Judge exercise A2.2 on equal and different widths of keys and values."""
    right = [(d * d_v + d) // (d + d_v) + 1 for d, d_v in WIDTHS]
    results = [number(smaller_from(d, d_v), "It must return one number.") for d, d_v in WIDTHS]
    exact = np.array([(d * d_v + d) / (d + d_v) for d, d_v in WIDTHS])
    if close(results, [d * d_v // (d + d_v) + 1 for d, d_v in WIDTHS]):
        return "The state has the vector of the denominator as well."
    if close(results, exact) or close(results, np.ceil(exact)):
        return "Whole tokens, and smaller, not as large as."
    for (d, d_v), mine, expected in zip(WIDTHS, results, right, strict=True):
        if not close(mine, expected):
            return f"For d = {d} and d_v = {d_v} it is {expected}, not {mine}."
    return True


def _example(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return keys `(n, 8)`, values `(n, 3)` and angles `(n, 4)`."""
    rng = np.random.default_rng(12)
    return rng.normal(size=(n, 8)), rng.normal(size=(n, 3)), rope_angles(range(n), inv_freq(8))


def _state(k: np.ndarray, v: np.ndarray, angles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a text's state: the rotated sum kv `(8, 3)` and the unrotated sum norm `(8,)`."""
    features = elu_plus_one(k)
    return apply_rope(features, angles).T @ v, features.sum(axis=0)


def _pair(result: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the state (kv, norm) from an answer's result."""
    kv, norm = row(result, 2, ASK_STATE)
    return array(kv, (8, 3), "kv must stay (8, 3)."), array(norm, (8,), "norm must stay (8,).")


@judges("A2.3")
@of_function
def _forgets(forget: Answer) -> Verdict:
    """Judge exercise A2.3: remove a token from the state by subtracting its contribution."""
    k, v, angles = _example(9)
    whole = _state(k, v, angles)
    for place in (4, 0):
        others = [n for n in range(9) if n != place]
        rest = _state(k[others], v[others], angles[others])
        kv, norm = _pair(forget(whole[0].copy(), whole[1].copy(), k[place], v[place], angles[place]))
        if close(kv, rest[0]) and close(norm, rest[1]):
            continue
        features = elu_plus_one(k[place])
        if close(kv, whole[0] - np.outer(features, v[place])):
            return "What was added was turned: take away what was added."
        if close(kv, whole[0] - np.outer(apply_rope(k[place], angles[place]), v[place])):
            return "What was added were features, φ(k), not k."
        if close(norm, whole[1] - apply_rope(features, angles[place])):
            return "The norm was not turned when it was added."
        if close(kv, rest[0]):
            return "kv is right, norm is not: it had gained φ(k)."
        return "It is not the state of the other tokens alone."
    return True


@judges("A2.4")
@of_function
def _moves_the_state(moved_state: Answer) -> Verdict:
    """Judge exercise A2.4: rotate a text's state into the state of the same text at different positions."""
    k, v, _ = _example(9)
    theta = inv_freq(8)
    for by in (3, -2, 1000):
        at = [rope_angles(np.arange(9) + start, theta) for start in (0, by, -by)]
        (here, total), (there, _), (back, _) = (_state(k, v, angles) for angles in at)
        kv, norm = _pair(moved_state(here.copy(), total.copy(), by, theta))
        if close(kv, there) and close(norm, total):
            continue
        if close(kv, here):
            return "It has not moved."
        if close(kv, back):
            return "It moved the other way."
        if close(kv, there):
            return "The norm does not depend on positions, so it does not change."
        return f"Moved by {by}, it is not the state of the text there."
    return True
