"""Chapter 11 exercises: decode with a cache."""

from typing import Any

import numpy as np

from rope_book.check.answers import Answer, array, of_function, row
from rope_book.check.exercise import Known, Verdict, close, judges, of_cases
from rope_edu.attention import attention, causal_mask
from rope_edu.encodings import apply_rope, inv_freq, rope_angles

MODELS = ((9 * 2**30, 32, 32, 8, 4096, 4), (2**30, 32, 32, 32, 4096, 2), (10**9 + 7, 126, 128, 8, 16_384, 1))

WRITTEN = ((8, 1), (8, 5), (1, 2), (100, 100))  # (prompt tokens, generated tokens)


@judges("11.1")
@of_cases(MODELS)
def _counts_tokens(
    result: float, free: int, layers: int, n_heads: int, n_kv_heads: int, d_model: int, size: int
) -> Known:
    """Judge exercise 11.1 with three models."""
    numbers = layers * n_kv_heads * (d_model // n_heads)  # numbers in one token's keys
    expected = free // (2 * numbers * size)
    if not close(np.rint(result), result):
        return expected, {}, "Whole tokens only: round down."
    slips = {
        "There is a value beside every key.": free // (numbers * size),
        "Only key heads are stored, not a key for every query head.": free // (2 * layers * d_model * size),
        "Count bytes, not numbers.": free // (2 * numbers),
        "Every layer has its own keys and values.": free // (2 * numbers // layers * size),
    }
    given = f"With {free:,} bytes, {layers} layers and {n_kv_heads} key heads"
    return expected, slips, f"{given} {expected:,} fit, not {result:,}."


@judges("11.2")
@of_function
def _decodes(decode_step: Answer) -> Verdict:
    """Judge exercise 11.2: decoding token by token must equal causal attention over the whole text."""
    rng, theta = np.random.default_rng(11), inv_freq(8)
    q, k = rng.normal(size=(2, 9, 8))
    v = rng.normal(size=(9, 3))
    whole = _attended(q, k, v, np.arange(9), np.arange(9))
    keys, values, outputs = np.zeros((0, 8)), np.zeros((0, 3)), []
    for m in range(9):
        result = decode_step(q[m], k[m], v[m], keys.copy(), values.copy(), theta.copy())
        output, keys, values = row(result, 3, "It must return three things: (output, keys, values).")
        keys = array(keys, (m + 1, 8), f"After token {m} the keys are {(m + 1, 8)}: one more than before.")
        values = array(values, (m + 1, 3), f"After token {m} the values are {(m + 1, 3)}.")
        outputs.append(array(output, (3,), "The output of one token has the width of v, here (3,)."))
    if close(outputs, whole):
        return True
    zeros, places = np.zeros(9), np.arange(9)
    slips = {
        "It ignores positions: the query and the new key must be turned.": (zeros, zeros),
        "The key is turned, the query is not.": (zeros, places),
        "The query is turned, the key is not.": (places, zeros),
        "The query is one position ahead of its own key.": (places + 1, places),
    }
    for sentence, (at_q, at_k) in slips.items():
        if close(outputs, _attended(q, k, v, at_q, at_k)):
            return sentence
    if close(outputs, _attended(q * np.sqrt(8), k, v, places, places)):
        return "The scores are not divided by the root of the width."
    if not close(keys, apply_rope(k, rope_angles(places, theta))):
        return "The keys that are stored must be turned once, each by its own position, and then left alone."
    return "Step by step it does not give what the whole text gives at once."


def _attended(q: np.ndarray, k: np.ndarray, v: np.ndarray, at_q: Any, at_k: Any) -> Any:
    """Return causal attention with queries and keys at the given positions."""
    q, k = (apply_rope(x, rope_angles(at, inv_freq(8))) for x, at in ((q, at_q), (k, at_k)))
    return attention(q, k, v, mask=causal_mask(len(q), len(k)))[0]


@judges("11.3")
@of_cases([(*written, cached) for cached in (True, False) for written in WRITTEN])
def _counts_products(result: float, prompt: int, new: int, cached: bool) -> Known:
    """Judge exercise 11.3 with and without a cache."""
    lengths = range(prompt, prompt + new)  # text length at each step that chooses a new token
    whole = [n * (n + 1) // 2 for n in lengths]
    at_last, each_time, with_last = whole[-1], sum(whole), whole[-1] + prompt + new
    read = "The last token that is written is never read: nobody asks what comes after it."
    later = "Under a causal mask a token is compared only with itself and the tokens before it."
    other = "That is the other of the two: look at `cached`."
    unread = "The prompt must be read too."
    unknown = f"For a prompt of {prompt} tokens and {new} written {{}} a cache it is not {result}."
    if cached:
        uncausal = sum(lengths) + prompt * (prompt - 1)
        slips = {read: with_last, later: uncausal, unread: sum(lengths) - prompt, other: each_time}
        return at_last, slips, unknown.format("with")
    uncausal = sum(n * n for n in lengths)
    slips = {read: each_time + with_last, later: uncausal, unread: sum(whole[1:]), other: at_last}
    return each_time, slips, unknown.format("without")
