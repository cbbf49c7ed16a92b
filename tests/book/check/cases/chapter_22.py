"""Known mistakes, and more right answers, of chapter 22."""

import numpy as np
from solutions import answers_of

SOLUTION = answers_of("chapter_22")


def row_by_row(rotate):
    q, k = np.random.default_rng(1).normal(size=(2, 8))
    scores = [float(rotate(q[None], [m + 5])[0] @ rotate(k[None], [m])[0]) for m in (0, 3, 100, 650)]
    return all(abs(score - scores[0]) < 1e-9 for score in scores)


def near_starts_only(rotate):
    q, k = np.random.default_rng(0).normal(size=(2, 8))
    scores = [rotate(q[None], [m + 3])[0] @ rotate(k[None], [m])[0] for m in (0, 1, 2, 3)]
    return bool(np.ptp(scores) < 1e-6)


def exactly_equal(rotate):
    q, k = np.random.default_rng(0).normal(size=(2, 8))
    scores = {float(rotate(q[None], [m + 3])[0] @ rotate(k[None], [m])[0]) for m in range(0, 701, 7)}
    return len(scores) == 1


base_of = SOLUTION["22.2"]


def from_the_last_pair(rotate):
    x = rotate(np.eye(8)[6:7], [1])[0]
    return np.abs(np.arctan2(x[7], x[6])) ** (-8 / 6)


name_it = SOLUTION["22.3"]


def by_lengths(rotate):
    return "right" if np.isclose(np.linalg.norm(rotate(np.eye(8)[:1], [1])), 1) else "sine_missing"


slide = SOLUTION["22.4"]


def in_place(keys, dropped, inv_freq):
    keys[:] = slide(keys, dropped, inv_freq)
    return keys


def from_a_positive_angle(rotate):
    x = rotate(np.eye(8)[2:3], [1])[0]
    return (np.arctan2(x[3], x[2]) % (2 * np.pi)) ** (-8 / 2)


ALSO_RIGHT = {
    "22.1": [row_by_row],
    "22.2": [from_the_last_pair],
    "22.4": [
        lambda keys, dropped, inv_freq: [slide(key[None], dropped, inv_freq)[0].tolist() for key in keys]
    ],
}
WRONG = {
    "22.1": [
        (lambda rotate: True, "It called table_of_other_layout relative"),
        (lambda rotate: False, "It called right not relative"),
        (near_starts_only, "It called a rotation relative whose table ends at 600 tokens"),
        (exactly_equal, "Equal up to rounding counts as equal."),
        (lambda rotate: "yes", "It must return True or False."),
    ],
    "22.2": [
        (lambda rotate: base_of(rotate) ** -0.25, "That is θ_1, the angle of pair 1"),
        (lambda rotate: base_of(rotate) ** 0.5, "The exponent of pair 1 is −2/8."),
        (lambda rotate: 1.0, "Pair 0 turns by 1 radian whatever the base"),
        (lambda rotate: 10_000, "For base 500,000 it returned 10,000."),
        (lambda rotate: "10000", "It must return one number, the base."),
        (from_a_positive_angle, "For base 10,000, turning clockwise it returned"),
    ],
    "22.3": [
        (lambda rotate: "right", "It took sine_missing (base 10000) for right."),
        (by_lengths, "It took minus_sign_missing (base 10000) for right. What is the sign"),
        (lambda rotate: "wrong", "It must return one of right, sine_missing"),
        (
            lambda rotate: "right" if name_it(rotate) == "cos_and_sin_swapped" else name_it(rotate),
            "That turns too: is the entry on the diagonal the cosine",
        ),
        (
            lambda rotate: "right" if name_it(rotate) == "table_of_other_layout" else name_it(rotate),
            "Are the two entries on the diagonal of a block equal?",
        ),
    ],
    "22.4": [
        (lambda keys, dropped, inv_freq: slide(keys, -dropped, inv_freq), "That turns them on"),
        (lambda keys, dropped, inv_freq: keys, "They are unchanged."),
        (lambda keys, dropped, inv_freq: keys - dropped, "a key at 300 must come out as one at 260"),
        (lambda keys, dropped, inv_freq: keys[0], "The keys keep their shape"),
        (in_place, "It changes the keys that it was given"),
        (
            lambda keys, dropped, inv_freq: slide(keys, 40, inv_freq),
            "a key at 300 must come out as one at 293",
        ),
    ],
}
