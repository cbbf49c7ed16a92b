"""Known mistakes, and more right answers, of chapter 15."""

import numpy as np
from solutions import answers_of

from rope_edu import apply_rope, inv_freq, rope_angles, softmax
from rope_edu.encodings import completes_turn

SOLUTION = answers_of("chapter_15")


ntk_base = SOLUTION["15.1"]


reach_of = SOLUTION["15.4"]


def reach_as_seen(now, then, length):
    """The same, token by token."""
    slow = ~completes_turn(then, length)
    return next(r for r in range(10**6) if (r * now[slow] > length * then[slow]).any()) - 0.5


factor_for = SOLUTION["15.2"]


def upside_down(length, trained, head_dim, base):
    slow = int(completes_turn(inv_freq(head_dim, base), trained).sum())
    return (length / trained) ** (slow / (head_dim / 2 - 1))


def as_if_ntk(now, then, length):
    """Right for NTK-aware scaling alone: the factor of the last pair, to the power of the first slow pair."""
    first, last = int(completes_turn(then, length).sum()), len(then) - 1
    return length * (then[-1] / now[-1]) ** (first / last)


def scores_now(q, keys, rule, *, query=True, scale=True, at=0):
    n, d = keys.shape
    angles = rope_angles(range(n), rule(n))
    turned_q = apply_rope(q[None], rope_angles([n - 1 + at], rule(n)))[0] if query else q
    return apply_rope(keys, angles) @ turned_q / (np.sqrt(d) if scale else 1)


def stale(q, keys, rule):
    n, d = keys.shape
    turned = np.stack([apply_rope(k[None], rope_angles([i], rule(i + 1)))[0] for i, k in enumerate(keys)])
    return turned @ apply_rope(q[None], rope_angles([n - 1], rule(n)))[0] / np.sqrt(d)


def from_last_fast_pair(length, trained, head_dim, base):
    fast = np.flatnonzero(trained * inv_freq(head_dim, base) >= 2 * np.pi)
    return (length / trained) ** ((head_dim / 2 - 1) / fast[-1])


ALSO_RIGHT = {
    "15.3": [[1, 2.78, 8]],
    "15.4": [reach_as_seen],
}
WRONG = {
    "15.1": [
        (lambda b, s, d: b * s, "with b · s the last pair is slowed down by less"),
        (lambda b, s, d: b * s ** ((d - 2) / d), "The exponent is upside down."),
        (lambda b, s, d: b * s ** (d / (d - 1)), "The last pair is number d/2 − 1"),
        (lambda b, s, d: b + s, "the last pair is not slowed down by 8"),
        (lambda b, s, d: b * s**d, "as often as there are features"),
    ],
    "15.2": [
        (lambda n, t, d, b: n / t, "enough for the last pair alone"),
        (upside_down, "Upside down"),
        (lambda *a: ntk_base(a[3], factor_for(*a), a[2]), "That is the new base"),
        (lambda *a: 8, "it is not 8.0"),
        (lambda n, t, d, b: factor_for(n, t, d, b) ** (d / (d - 2)), "The last pair is number d/2 − 1"),
        (from_last_fast_pair, "You took the last fast pair"),
        (lambda n, t, d, b: n / t * inv_freq(d, b), "It must return one number."),
    ],
    "15.3": [
        ((8, 8, 8), "That is PI"),
        ((8, 2.78, 1), "The other way round"),
        ((1, 4.5, 8), "by the same ratio"),
        ((1, 8 ** (31 / 64), 8), "Of 64 pairs the last is 63"),
        ((1, 0.359, 0.125), "the question asks what divides them"),
        ((2, 3, 4), "The first pair and the last"),
    ],
    "15.4": [
        (lambda now, then, n: (n * then / now).min(), "they have seen the whole circle"),
        (
            lambda now, then, n: (n * now / then)[~completes_turn(then, n)].min(),
            "a pair that is slowed down gets farther",
        ),
        (lambda now, then, n: reach_of(now, then, n) / n, "times L it is a distance"),
        (lambda now, then, n: (n * then / now)[-1], "where the last slow pair leaves"),
        (lambda now, then, n: (n * then / now)[~completes_turn(now, n)].min(), "decided in training"),
        (
            lambda now, then, n: (n * then / now)[~completes_turn(then, n)].mean(),
            "Under NTK-aware, s = 8 the first new angle does not come at",
        ),
        (as_if_ntk, "Under PI, s = 4 the first new angle does not come at"),
        (lambda now, then, n: n * then / now, "It must return one number of tokens."),
    ],
    "15.5": [
        (lambda q, keys, rule: scores_now(q, keys, rule, scale=False), "Almost: divide by √d."),
        (stale, "These are stale keys"),
        (lambda q, keys, rule: scores_now(q, keys, rule, query=False), "is turned as well"),
        (lambda q, keys, rule: scores_now(q, keys, rule, at=1), "its position is n − 1"),
        (lambda q, keys, rule: keys, "For 1 key it must return 1 numbers."),
        (lambda q, keys, rule: keys @ q / np.sqrt(len(q)), "Neither the keys nor the query are turned."),
        (lambda q, keys, rule: softmax(scores_now(q, keys, rule)), "With 1 key the scores differ"),
    ],
}
