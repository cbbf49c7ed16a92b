"""Exercises of chapter 12: carry a sum instead of a cache."""

from collections.abc import Callable
from typing import Any

import numpy as np

from rope_edu.attention import elu_plus_one, linear_attention
from rope_edu.check.exercise import Exercise, Verdict, close
from rope_edu.encodings import apply_rope, inv_freq, rope_angles

NOT_A_FUNCTION = "The answer is a function: give check the name, without parentheses."
WIDTHS = ((64, 64), (128, 128), (16, 4), (4, 16), (1, 1), (3, 5))


def _steps(step: Callable[..., Any]) -> Verdict:
    """Judge exercise 12.1: a walk through a text equals linear attention at once."""
    if not callable(step):
        return NOT_A_FUNCTION
    rng = np.random.default_rng(4)
    q, k = rng.normal(size=(2, 20, 8))
    v, angles = rng.normal(size=(20, 3)), rope_angles(range(20), inv_freq(8))
    kv, norm, outputs = np.zeros((8, 3)), np.zeros(8), []
    for m in range(20):
        found = step(kv.copy(), norm.copy(), q[m], k[m], v[m], angles[m])
        if found is ...:
            return ...
        output, kv, norm = found
        kv, norm = np.asarray(kv, dtype=float), np.asarray(norm, dtype=float)
        if kv.shape != (8, 3) or norm.shape != (8,):
            return f"kv must stay (8, 3) and norm (8,), got {kv.shape} and {norm.shape}."
        outputs.append(np.asarray(output, dtype=float))
    if close(outputs, linear_attention(q, k, v, angles=angles)):
        return True
    if close(outputs, linear_attention(q, k, v)):
        return "It is linear attention without any position: the features in the numerator are to be turned."
    if close(outputs, linear_attention(apply_rope(q, angles), apply_rope(k, angles), v)):
        return "φ comes first: turn the features, not q and k."
    turned = (apply_rope(elu_plus_one(x), angles) for x in (q, k))
    if close(outputs, linear_attention(*turned, v, feature_map=lambda features: features)):
        return "The denominator is turned as well; it takes the features as they are."
    return "The first token is right, but not the later ones." if close(outputs[0], v[0]) else False


def _smaller_from(smaller_from: Callable[[int, int], Any]) -> Verdict:
    """Judge exercise 12.2 on square and other widths."""
    if not callable(smaller_from):
        return NOT_A_FUNCTION
    for d, d_v in WIDTHS:
        found = smaller_from(d, d_v)
        if found is ...:
            return ...
        state = d * d_v + d
        expected = state // (d + d_v) + 1
        if close(found, expected):
            continue
        if close(found, d * d_v // (d + d_v) + 1):
            return "The state has the vector of the denominator as well."
        if close(found, state / (d + d_v)) or close(found, -(-state // (d + d_v))):
            return "Whole tokens, and smaller, not as large as."
        return f"For d = {d} and d_v = {d_v} it is not {found}."
    return True


def _example(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features of keys `(n, 8)`, values `(n, 3)` and angles `(n, 4)`."""
    rng = np.random.default_rng(12)
    k, v = rng.normal(size=(n, 8)), rng.normal(size=(n, 3))
    return elu_plus_one(k), v, rope_angles(range(n), inv_freq(8))


def _state(features: np.ndarray, v: np.ndarray, angles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the state of a text: the turned sum `(8, 3)` and the plain one `(8,)`."""
    return apply_rope(features, angles).T @ v, features.sum(axis=0)


def _forgets(forget: Callable[..., Any]) -> Verdict:
    """Judge exercise 12.3: what was added can be taken away."""
    if not callable(forget):
        return NOT_A_FUNCTION
    features, v, angles = _example(9)
    k = np.where(features > 1, features - 1, np.log(features))
    whole = _state(features, v, angles)
    for place in (0, 4):
        others = [n for n in range(9) if n != place]
        rest = _state(features[others], v[others], angles[others])
        found = forget(whole[0].copy(), whole[1].copy(), k[place], v[place], angles[place])
        if found is ...:
            return ...
        kv, norm = found
        if close(kv, rest[0]) and close(norm, rest[1]):
            continue
        if close(kv, whole[0] - np.outer(features[place], v[place])) and place:
            return "What was added was turned: take away what was added."
        if close(norm, whole[1] - apply_rope(features[place], angles[place])) and place:
            return "The norm was not turned when it was added."
        return False
    return True


def _moves_the_state(moved: Callable[..., Any]) -> Verdict:
    """Judge exercise 12.4: the state of a text that stands elsewhere."""
    if not callable(moved):
        return NOT_A_FUNCTION
    features, v, _ = _example(9)
    theta = inv_freq(8)
    for by in (3, -2, 1000):
        at = [rope_angles(np.arange(9) + start, theta) for start in (0, by, -by)]
        (here, norm), (there, _), (back, _) = (_state(features, v, angles) for angles in at)
        found = moved(here.copy(), norm.copy(), by, theta)
        if found is ...:
            return ...
        kv, found_norm = found
        if close(kv, there) and close(found_norm, norm):
            continue
        if close(kv, back):
            return "It moved the other way."
        if close(kv, there):
            return "The norm knows nothing of positions: it stays."
        return False
    return True


EXERCISES = (
    Exercise(
        "12.1",
        _steps,
        hints=(
            "Take φ of q and k first. Then the numerator uses turned features, the denominator plain ones.",
            "kv gains np.outer(turned φ(k), v); norm gains φ(k).",
            "The output is (turned φ(q)) @ kv / (φ(q) @ norm), with the state that already has this token.",
        ),
        shows="The state is (d, d_v) and (d,) numbers, however long the text; only kv is turned.",
    ),
    Exercise(
        "12.2",
        _smaller_from,
        hints=(
            "How many numbers has the state, and how many does a cache gain with each token?",
            "The state has d · d_v + d numbers, the cache d + d_v for each token.",
            "(d * d_v + d) // (d + d_v) + 1",
        ),
        shows="For d = d_v that is about d/2 tokens: a few dozen.",
    ),
    Exercise(
        "12.3",
        _forgets,
        hints=(
            "A sum forgets by subtraction. What exactly was added for this token?",
            "kv got np.outer(turned φ(k), v), norm got φ(k).",
            "kv - np.outer(apply_rope(elu_plus_one(k), angles), v), norm - elu_plus_one(k)",
        ),
        shows="A sum can forget a token, but only if you still have its key and value: a cache again.",
    ),
    Exercise(
        "12.4",
        _moves_the_state,
        hints=(
            "Every key in the sum would be turned by the same angle more.",
            "Rows of kv are features of the keys: turn each column as if it were a key.",
            "apply_rope(kv.T, rope_angles(by, inv_freq)).T, and norm as it is.",
        ),
        shows="Turns add up, and a turn of a sum is the sum of turns: the whole text moves at once.",
    ),
)
