"""Right answers and known mistakes of chapter 11."""

import numpy as np

from rope_edu import apply_rope, elu_plus_one, rope_angles


def tokens_that_fit(free, layers, n_heads, n_kv_heads, d_model, each):
    return free // (2 * layers * n_kv_heads * (d_model // n_heads) * each)


def moved(keys, by, frequencies):
    return apply_rope(keys, rope_angles(by, frequencies))


def each_by_its_own(keys, by, frequencies):
    return apply_rope(keys, rope_angles(np.arange(len(keys)) + by, frequencies))


def scores_now(q, keys, rule, *, query=True, scale=True):
    n, d = keys.shape
    angles = rope_angles(range(n), rule(n))
    turned_q = apply_rope(q[None], angles[-1:])[0] if query else q
    return apply_rope(keys, angles) @ turned_q / (np.sqrt(d) if scale else 1)


def stale(q, keys, rule):
    turned = np.stack([apply_rope(k, rope_angles(i, rule(i + 1))) for i, k in enumerate(keys)])
    n, d = keys.shape
    return turned @ apply_rope(q, rope_angles(n - 1, rule(n))) / np.sqrt(d)


def step(kv, norm, q, k, v, angles, *, numerator=True, denominator=False):
    fq, fk = elu_plus_one(q), elu_plus_one(k)
    turned_q, turned_k = (apply_rope(x, angles) if numerator else x for x in (fq, fk))
    down_q, down_k = (turned_q, turned_k) if denominator else (fq, fk)
    kv, norm = kv + np.outer(turned_k, v), norm + down_k
    return turned_q @ kv / (down_q @ norm), kv, norm


def turned_first(kv, norm, q, k, v, angles):
    fq, fk = (elu_plus_one(apply_rope(x, angles)) for x in (q, k))
    kv, norm = kv + np.outer(fk, v), norm + fk
    return fq @ kv / (fq @ norm), kv, norm


def forgetful(kv, norm, q, k, v, angles):
    return step(0 * kv, 0 * norm, q, k, v, angles)


RIGHT = {"11.1": [tokens_that_fit], "11.2": [moved], "11.3": [scores_now], "11.4": [step]}
WRONG = {
    "11.1": [
        (lambda *a: 2 * tokens_that_fit(*a), "There is a value beside every key."),
        (lambda free, n, h, kv, d, each: free // (2 * n * d * each), "Only key heads are stored"),
        (lambda free, n, h, kv, d, each: tokens_that_fit(free, n, h, kv, d, 1), "Count bytes, not numbers."),
        (lambda free, n, h, kv, d, each: tokens_that_fit(free, 1, h, kv, d, each), "Every layer has keys"),
        (lambda *a: tokens_that_fit(*a) + 0.5, "Whole tokens only"),
    ],
    "11.2": [
        (lambda k, by, f: moved(k, -by, f), "They moved the other way."),
        (each_by_its_own, "You turned each key by another angle"),
        (lambda k, by, f: k, "They stand where they stood."),
        (
            lambda k, by, f: apply_rope(k, rope_angles(by, f), layout="half_split"),
            "That is the layout half_split",
        ),
        (lambda k, by, f: k[0], "The keys keep their shape"),
    ],
    "11.3": [
        (lambda q, keys, rule: scores_now(q, keys, rule, scale=False), "Almost: divide by √d."),
        (stale, "These are the stale keys"),
        (lambda q, keys, rule: scores_now(q, keys, rule, query=False), "is turned as well"),
        (lambda q, keys, rule: keys @ q / np.sqrt(8), "Neither the keys nor the query are turned."),
        (lambda q, keys, rule: keys, "For 1 key it must return 1 numbers."),
    ],
    "11.4": [
        (lambda *a: step(*a, numerator=False), "without any position"),
        (turned_first, "φ comes first"),
        (lambda *a: step(*a, denominator=True), "The denominator is turned as well"),
        (forgetful, "The first token is right, but not the later ones."),
        (lambda *a: step(*a)[:2], "It must return three things"),
    ],
}
