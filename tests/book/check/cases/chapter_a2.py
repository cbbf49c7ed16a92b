"""Known mistakes, and more right answers, of appendix A2."""

import numpy as np
from solutions import answers_of

from rope_edu import apply_rope, rope_angles
from rope_edu.attention import elu_plus_one

SOLUTION = answers_of("chapter_a2")


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


def forget(kv, norm, k, v, angles, *, features=elu_plus_one, turn=apply_rope):
    return kv - np.outer(turn(features(k), angles), v), norm - elu_plus_one(k)


moved_state = SOLUTION["A2.4"]


def altered(function, place, change):
    """The same function with one of its results changed."""

    def answer(*given):
        results = list(function(*given))
        results[place] = change(results[place])
        return results

    return answer


def as_column(vector):
    return vector[:, None]


def undivided(kv, norm, q, k, v, angles):
    _, kv, norm = step(kv, norm, q, k, v, angles)
    return apply_rope(elu_plus_one(q), angles) @ kv, kv, norm


WRONG = {
    "A2.1": [
        (lambda *a: step(*a, numerator=False), "without any position"),
        (turned_first, "φ comes first"),
        (lambda *a: step(*a, denominator=True), "The denominator is turned as well"),
        (forgetful, "The first token is right, but not the later ones."),
        (lambda *a: step(*a)[:2], "It must return three things"),
        (undivided, "One token alone must give its own v."),
        (altered(step, 0, as_column), "The output of one token has the width of v"),
        (altered(step, 1, np.transpose), "kv must stay (8, 3). Its shape is (3, 8)"),
        (altered(step, 2, as_column), "norm must stay (8,). Its shape is (8, 1)"),
    ],
    "A2.2": [
        (lambda d, d_v: d * d_v // (d + d_v) + 1, "The state has the vector of the denominator as well."),
        (lambda d, d_v: (d * d_v + d) / (d + d_v), "Whole tokens, and smaller"),
        (lambda d, d_v: -(-(d * d_v + d) // (d + d_v)), "Whole tokens, and smaller"),
        (lambda d, d_v: d * d_v, "For d = 64 and d_v = 64 it is 33, not 4096."),
        (lambda d, d_v: (d * d_v + d, d + d_v), "It must return one number."),
    ],
    "A2.3": [
        (lambda *a: forget(*a, turn=lambda x, angles: x), "What was added was turned"),
        (lambda *a: forget(*a, features=lambda k: k), "What was added were features"),
        (lambda kv, norm, *a: (forget(kv, norm, *a)[0], norm), "kv is right, norm is not"),
        (lambda kv, *a: kv, "It must return two things"),
        (
            lambda kv, norm, k, v, angles: (
                forget(kv, norm, k, v, angles)[0],
                norm - apply_rope(elu_plus_one(k), angles),
            ),
            "The norm was not turned when it was added.",
        ),
        (lambda kv, norm, *a: (2 * kv - forget(kv, norm, *a)[0], norm), "not the state of the other tokens"),
        (altered(forget, 0, np.transpose), "kv must stay (8, 3). Its shape is (3, 8)"),
        (altered(forget, 1, as_column), "norm must stay (8,). Its shape is (8, 1)"),
    ],
    "A2.4": [
        (lambda kv, norm, by, f: moved_state(kv, norm, -by, f), "It moved the other way."),
        (lambda kv, norm, by, f: (kv, norm), "It has not moved."),
        (
            lambda kv, norm, by, f: (moved_state(kv, norm, by, f)[0], apply_rope(norm, rope_angles(by, f))),
            "The norm does not depend on positions, so it does not change.",
        ),
        (
            lambda kv, norm, by, f: (apply_rope(kv.T, rope_angles(by, f), layout="half_split").T, norm),
            "Moved by 3, it is not the state of the text there.",
        ),
    ],
}
