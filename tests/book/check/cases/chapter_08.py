"""Known mistakes, and more right answers, of chapter 8."""

import numpy as np
from solutions import answers_of

from rope_edu.encodings import convert_projection, layout_permutation

SOLUTION = answers_of("chapter_08")


way_back = SOLUTION["8.1"]


to_interleaved = SOLUTION["8.2"]


def in_place(weight, n_heads, rotary_dim):
    weight[:] = to_interleaved(weight, n_heads, rotary_dim)
    return weight


layout_of = SOLUTION["8.3"]


def by_the_sign(rope):
    return "interleaved" if rope(np.eye(8)[0], 1)[1] > 0 else "half_split"


def asked_twice(rope):
    rope(np.ones(8), 0)
    return layout_of(rope)


def heads_apart(weight, n_heads, rotary_dim):
    back = to_interleaved(weight, n_heads, rotary_dim)
    return back.reshape(n_heads, len(weight) // n_heads, *weight.shape[1:])


ALSO_RIGHT = {
    "8.1": [lambda d: np.arange(d).reshape(2, -1).T.ravel()],
    "8.3": [lambda rope: np.array([layout_of(rope)])[0]],
    "8.4": [(9, 3), (np.int64(25), 5)],
}
WRONG = {
    "8.1": [
        (lambda d: layout_permutation(d), "you want the way back"),
        (lambda d: range(d), "That leaves every feature where it is."),
        (lambda d: [i + 1 for i in way_back(d)], "Features are counted from 0."),
        (lambda d: [0] * d, "each feature from 0 to 7 must come once"),
        (lambda d: way_back(d)[: d // 2], "For d = 8 it must return 8 features"),
        (lambda d: way_back(d)[::-1], "Seat 0 takes feature 0, seat 1 its partner"),
    ],
    "8.2": [
        (
            lambda w, n, r: convert_projection(w, n, to="half_split", rotary_dim=r),
            "That is the way there",
        ),
        (lambda w, n, r: to_interleaved(w, 1, len(w)), "The rows of all heads were mixed"),
        (lambda w, n, r: to_interleaved(w, n, len(w) // n), "The tail of each head stays"),
        (lambda w, n, r: to_interleaved(w, 1, r), "Only the first head was converted."),
        (lambda w, n, r: w, "It is unchanged."),
        (in_place, "It changes the weight that it was given"),
        (heads_apart, "The shape must stay as it is."),
    ],
    "8.3": [
        (asked_twice, "It called rope 2 times; once is allowed"),
        (
            lambda rope: rope(np.eye(8)[0], 1) is None,
            "It must return 'interleaved' or 'half_split', and returned False.",
        ),
        (by_the_sign, "It took interleaved (base 10000, − sign) for half_split."),
        (lambda rope: "half_split", "It called rope 0 times"),
        (lambda rope: rope(np.eye(8), 1), "x must be one vector of 8 numbers, got shape (8, 8)"),
    ],
    "8.4": [
        ((32, 4), "The converter would use 8 key heads, and there are 4."),
        ((64, 8), "That is Llama-2-70B again"),
        ((4, 16), "There must be fewer key heads than heads."),
        ((16, 3), "16 heads cannot share 3 key heads evenly."),
        ((16, 4.5), "Both are whole numbers, 1 or more."),
        (16, "The answer is two numbers"),
    ],
}
