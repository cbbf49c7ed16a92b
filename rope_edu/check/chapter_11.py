"""Exercises of chapter 11: decode with a cache."""

from collections.abc import Callable
from typing import Any

import numpy as np

from rope_edu.attention import elu_plus_one, linear_attention
from rope_edu.check.answers import array, number, of_function, row
from rope_edu.check.exercise import Exercise, Verdict, close
from rope_edu.encodings import apply_rope, dynamic_ntk_inv_freq, inv_freq, rope_angles

MODELS = ((9 * 2**30, 32, 32, 8, 4096, 4), (2**30, 32, 32, 32, 4096, 2), (10**9 + 7, 126, 128, 8, 16_384, 1))


@of_function
def _counts_tokens(tokens_that_fit: Callable[..., Any]) -> Verdict:
    """Judge exercise 11.1 on three models."""
    for free, layers, n_heads, n_kv_heads, d_model, each in MODELS:
        found = number(
            tokens_that_fit(free, layers, n_heads, n_kv_heads, d_model, each), "It must return one number."
        )
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
        right = f"With {free:,} bytes, {layers} layers and {n_kv_heads} key heads {expected:,} fit, not {found:,}."
        return next((why for slip, why in slips.items() if close(found, slip)), right)
    return True


@of_function
def _moves(moved: Callable[[np.ndarray, int, np.ndarray], Any]) -> Verdict:
    """Judge exercise 11.2: turns of stored keys add up."""
    keys = np.random.default_rng(11).normal(size=(9, 16))
    positions = np.array([0, 3, 4, 50, 51, 52, 400, 4000, 4001])
    for by, theta in ((3, inv_freq(16)), (-7, inv_freq(16, 500.0)), (0, inv_freq(16))):
        stored = apply_rope(keys, rope_angles(positions, theta))
        found = array(
            moved(stored.copy(), by, theta), stored.shape, "The keys keep their shape, here (9, 16)."
        )
        if by and close(found, stored):
            return "They stand where they stood."
        if by and close(found, apply_rope(stored, rope_angles(by, theta), layout="half_split")):
            return "That is the layout half_split; these keys are interleaved, as apply_rope is."
        if close(found, apply_rope(keys, rope_angles(positions - by, theta))) and by:
            return "They moved the other way."
        if close(found, apply_rope(stored, rope_angles(np.arange(9) + by, theta))):
            return "You turned each key by another angle; they are rotated already, and all move by the same."
        if not close(found, apply_rope(keys, rope_angles(positions + by, theta))):
            return (
                f"Moved by {by}, they are not what the model would store there: all turn by one angle a pair."
            )
    return True


@of_function
def _scores_by_the_rule(scores_now: Callable[..., Any]) -> Verdict:
    """Judge exercise 11.3 below and beyond the trained length."""
    rng = np.random.default_rng(3)

    def rule(length: int) -> np.ndarray:
        return dynamic_ntk_inv_freq(8, length, 10, factor=3.0)

    for n in (1, 10, 25):
        q, keys = rng.normal(size=8), rng.normal(size=(n, 8))
        found = array(
            scores_now(q.copy(), keys.copy(), rule), (n,), f"For {_keys(n)} it must return {n} numbers."
        )
        angles = rope_angles(range(n), rule(n))
        expected = apply_rope(keys, angles) @ apply_rope(q, angles[-1])
        if close(found, expected):
            return "Almost: divide by √d."
        if n > 1 and close(found, apply_rope(keys, angles) @ q / np.sqrt(8)):
            return "The query stands at the last position, n − 1, and is turned as well."
        if n > 1 and close(found, keys @ q / np.sqrt(8)):
            return "Neither the keys nor the query are turned."
        stale = np.stack([apply_rope(key, rope_angles(i, rule(i + 1))) for i, key in enumerate(keys)])
        if n > 10 and close(found, stale @ apply_rope(q, angles[-1]) / np.sqrt(8)):
            return "These are the stale keys: each was turned by the rule of its own time, not of now."
        if not close(found, expected / np.sqrt(8)):
            return f"With {_keys(n)} the scores differ from those of the whole text."
    return True


def _keys(n: int) -> str:
    return f"{n} key{'s' * (n > 1)}"


@of_function
def _steps(step: Callable[..., Any]) -> Verdict:
    """Judge exercise 11.4: a walk through a text equals linear attention at once."""
    rng = np.random.default_rng(4)
    q, k = rng.normal(size=(2, 20, 8))
    v, angles = rng.normal(size=(20, 3)), rope_angles(range(20), inv_freq(8))
    kv, norm, outputs = np.zeros((8, 3)), np.zeros(8), []
    for m in range(20):
        found = step(kv.copy(), norm.copy(), q[m], k[m], v[m], angles[m])
        output, kv, norm = row(found, 3, "It must return three things: (output, kv, norm).")
        kv, norm = array(kv, (8, 3), "kv must stay (8, 3)."), array(norm, (8,), "norm must stay (8,).")
        outputs.append(array(output, (3,), "The output of one token has the width of v, here (3,)."))
    if close(outputs, linear_attention(q, k, v, angles=angles)):
        return True
    if close(outputs, linear_attention(q, k, v)):
        return "It is linear attention without any position: the features in the numerator are to be turned."
    if close(outputs, linear_attention(apply_rope(q, angles), apply_rope(k, angles), v)):
        return "φ comes first: turn the features, not q and k."
    turned = (apply_rope(elu_plus_one(x), angles) for x in (q, k))
    if close(outputs, linear_attention(*turned, v, feature_map=lambda features: features)):
        return "The denominator is turned as well; it takes the features as they are."
    first = close(outputs[0], v[0])
    return (
        "The first token is right, but not the later ones."
        if first
        else "One token alone must give its own v."
    )


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
