"""Known mistakes, and more right answers, of chapter 11."""

import numpy as np
from solutions import answers_of

from rope_edu import apply_rope, rope_angles, softmax

SOLUTION = answers_of("chapter_11")


tokens_that_fit = SOLUTION["11.1"]


def step(q, k, v, keys, values, theta, *, at_q=None, at_k=None, scale=None, again=False):
    n = len(keys)
    at_q, at_k = (n if at is None else at(n) for at in (at_q, at_k))
    if again:
        keys = apply_rope(keys, rope_angles(np.full(n, 2), theta))
    keys = np.concatenate([keys, apply_rope(k, rope_angles(at_k, theta))[None]])
    values = np.concatenate([values, v[None]])
    scores = keys @ apply_rope(q, rope_angles(at_q, theta)) * (scale or len(q) ** -0.5)
    return softmax(scores) @ values, keys, values


def nowhere(n):
    return 0


dot_products = SOLUTION["11.3"]


def as_a_row(*given):
    output, keys, values = step(*given)
    return output[None], keys, values


ALSO_RIGHT = {
    "11.2": [step],
    "11.3": [
        lambda p, n, cached: (
            sum(t if cached else t * (t + 1) // 2 for t in range(p, p + n)) + cached * p * (p - 1) // 2
        )
    ],
}
WRONG = {
    "11.1": [
        (lambda *a: 2 * tokens_that_fit(*a), "There is a value beside every key."),
        (lambda free, n, h, kv, d, each: free // (2 * n * d * each), "Only key heads are stored"),
        (lambda free, n, h, kv, d, each: tokens_that_fit(free, n, h, kv, d, 1), "Count bytes, not numbers."),
        (
            lambda free, n, h, kv, d, each: tokens_that_fit(free, 1, h, kv, d, each),
            "Every layer has its own keys",
        ),
        (lambda *a: tokens_that_fit(*a) + 0.5, "Whole tokens only"),
        (lambda *a: tokens_that_fit(*a) + 1, "bytes, 32 layers and 8 key heads 36,864 fit, not 36,865."),
    ],
    "11.2": [
        (lambda *a: step(*a, at_q=nowhere, at_k=nowhere), "It ignores positions"),
        (lambda *a: step(*a, at_q=nowhere), "The key is turned, the query is not."),
        (lambda *a: step(*a, at_k=nowhere), "The query is turned, the key is not."),
        (lambda *a: step(*a, at_q=lambda n: n + 1), "The query is one position ahead of its own key."),
        (lambda *a: step(*a, scale=1.0), "not divided by the root of the width"),
        (lambda *a: step(*a, again=True), "turned once, each by its own position"),
        (lambda *a: step(*a)[:2], "It must return three things"),
        (lambda q, k, v, *a: (v, *a[:2]), "one more than before"),
        (
            lambda *a: step(*a, scale=1 / 8),
            "Step by step it does not give what the whole text gives at once.",
        ),
        (lambda *a: (*step(*a)[:2], a[4]), "After token 0 the values are (1, 3)."),
        (as_a_row, "The output of one token has the width of v"),
    ],
    "11.3": [
        (lambda p, n, cached: dot_products(p, n + 1, cached), "The last token that is written is never read"),
        (
            lambda p, n, cached: p * p + sum(range(p + 1, p + n)) if cached else dot_products(p, n, cached),
            "Under a causal mask",
        ),
        (lambda p, n, cached: sum(range(p + 1, p + n)), "The prompt must be read too."),
        (lambda p, n, cached: dot_products(p, n, not cached), "look at `cached`"),
        (lambda p, n, cached: 7, "a prompt of 8 tokens and 1 written with a cache"),
        (lambda p, n, cached: dot_products(p, n + (not cached), cached), "is never read"),
        (
            lambda p, n, cached: dot_products(p, n, True) if cached else sum(t * t for t in range(p, p + n)),
            "Under a causal mask",
        ),
        (
            lambda p, n, cached: dot_products(p, n, cached) - (not cached) * p * (p + 1) // 2,
            "The prompt must be read too.",
        ),
    ],
}
