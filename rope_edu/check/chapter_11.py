"""Exercises of chapter 11: decode with a cache."""

from collections.abc import Callable
from typing import Any

import numpy as np

from rope_edu.attention import elu_plus_one, linear_attention
from rope_edu.check.exercise import Exercise, Verdict, close
from rope_edu.encodings import apply_rope, dynamic_ntk, inv_freq, rope_angles

NOT_A_FUNCTION = "The answer is a function: give check the name, without parentheses."
MODELS = ((9 * 2**30, 32, 32, 8, 4096, 4), (2**30, 32, 32, 32, 4096, 2), (10**9 + 7, 126, 128, 8, 16_384, 1))


def _counts_tokens(tokens_that_fit: Callable[..., Any]) -> Verdict:
    """Judge exercise 11.1 on three models."""
    if not callable(tokens_that_fit):
        return NOT_A_FUNCTION
    for free, layers, n_heads, n_kv_heads, d_model, each in MODELS:
        found = tokens_that_fit(free, layers, n_heads, n_kv_heads, d_model, each)
        if found is ...:
            return ...
        numbers = layers * n_kv_heads * (d_model // n_heads)  # keys of one token
        expected = free // (2 * numbers * each)
        if close(found, expected):
            continue
        slips = {
            free // (numbers * each): "There is a value beside every key.",
            free
            // (2 * layers * d_model * each): "Only key heads are stored, not a key for every query head.",
            free // (2 * numbers): "Count bytes, not numbers.",
            free // (2 * numbers // layers * each): "Every layer has keys and values of its own.",
        }
        if not close(np.floor(found), found):
            return "Whole tokens only: round down."
        return next((why for slip, why in slips.items() if close(found, slip)), False)
    return True


def _moves(moved: Callable[[np.ndarray, int, np.ndarray], Any]) -> Verdict:
    """Judge exercise 11.2: turns of stored keys add up."""
    if not callable(moved):
        return NOT_A_FUNCTION
    keys = np.random.default_rng(11).normal(size=(9, 16))
    positions = np.array([0, 3, 4, 50, 51, 52, 400, 4000, 4001])
    for by, theta in ((3, inv_freq(16)), (-7, inv_freq(16, 500.0)), (0, inv_freq(16))):
        stored = apply_rope(keys, rope_angles(positions, theta))
        found = moved(stored.copy(), by, theta)
        if found is ...:
            return ...
        if close(found, apply_rope(keys, rope_angles(positions - by, theta))) and by:
            return "They moved the other way."
        if close(found, apply_rope(stored, rope_angles(np.arange(9) + by, theta))):
            return "You turned each key by another angle; they are rotated already, and all move by the same."
        if not close(found, apply_rope(keys, rope_angles(positions + by, theta))):
            return False
    return True


def _scores_by_the_rule(scores_now: Callable[..., Any]) -> Verdict:
    """Judge exercise 11.3 below and beyond the trained length."""
    if not callable(scores_now):
        return NOT_A_FUNCTION
    rng = np.random.default_rng(3)

    def rule(length: int) -> np.ndarray:
        return dynamic_ntk(8, length, 10, factor=3.0).inv_freq

    for n in (1, 10, 25):
        q, keys = rng.normal(size=8), rng.normal(size=(n, 8))
        found = scores_now(q.copy(), keys.copy(), rule)
        if found is ...:
            return ...
        angles = rope_angles(range(n), rule(n))
        expected = apply_rope(keys, angles) @ apply_rope(q, angles[-1])
        if close(found, expected):
            return "Almost: divide by √d."
        stale = np.stack([apply_rope(key, rope_angles(i, rule(i + 1))) for i, key in enumerate(keys)])
        if n > 10 and close(found, stale @ apply_rope(q, angles[-1]) / np.sqrt(8)):
            return "These are the stale keys: each was turned by the rule of its own time, not of now."
        if not close(found, expected / np.sqrt(8)):
            return f"With {n} {'key' if n == 1 else 'keys'} the scores differ from those of the whole text."
    return True


def _steps(step: Callable[..., Any]) -> Verdict:
    """Judge exercise 11.4: a walk through a text equals linear attention at once."""
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


EXERCISES = (
    Exercise(
        "11.1",
        _counts_tokens,
        hints=(
            "How many numbers does one token leave in the cache of one layer?",
            "A key and a value for each key head: 2 · n_kv_heads · d_model/n_heads numbers, in every layer.",
            "free_bytes // (2 * layers * n_kv_heads * (d_model // n_heads) * bytes_each)",
        ),
        shows="With key heads shared by four query heads, four times as many tokens fit.",
    ),
    Exercise(
        "11.2",
        _moves,
        hints=(
            "You need not know where a key stands: turns add up.",
            "R at n + by is R at by, applied to what R at n has turned.",
            "apply_rope(keys, rope_angles(by, inv_freq)): one angle a pair, for all keys.",
        ),
        shows="Rotated keys can be moved together. Only in the first layer are they those of the longer text.",
    ),
    Exercise(
        "11.3",
        _scores_by_the_rule,
        hints=(
            "The text is len(keys) tokens long now, and the query stands at its last position.",
            "All angles, of every key and of the query, come from rule(len(keys)).",
            "angles = rope_angles(range(n), rule(n)); the keys take all of them, the query angles[-1].",
        ),
        shows="Keys stored before the turn follow any rule, at the price of turning all of them at every step.",
    ),
    Exercise(
        "11.4",
        _steps,
        hints=(
            "Take φ of q and k first. Then the numerator uses turned features, the denominator plain ones.",
            "kv gains np.outer(turned φ(k), v); norm gains φ(k).",
            "The output is (turned φ(q)) @ kv / (φ(q) @ norm), with the state that already has this token.",
        ),
        shows="The state is (d, d_v) and (d,) numbers, however long the text; only kv is turned.",
    ),
)
