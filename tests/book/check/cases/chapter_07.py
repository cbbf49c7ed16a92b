"""Known mistakes, and more right answers, of chapter 7."""

import numpy as np
from solutions import answers_of

SOLUTION = answers_of("chapter_07")


rotate_all = SOLUTION["7.1"]


def parts_apart(x, cos, sin):
    even, odd = x[..., 0::2], x[..., 1::2]
    return np.concatenate([even * cos - odd * sin, even * sin + odd * cos], axis=-1)


def one_vector(x, cos, sin):
    """Slices the first axis, which holds features only if x is one vector."""
    return rotate_all(x, cos, sin) if x.ndim == 1 else x


def in_place(x, cos, sin):
    x[...] = rotate_all(x, cos, sin)
    return x


half_split = SOLUTION["7.4"]


def suspect(x, cos, sin):
    first, second = np.split(x, 2, axis=-1)
    return np.concatenate([first * cos - second * sin, second * cos - first * sin], axis=-1)


ALSO_RIGHT = {
    "7.2": [lambda head_dim, rotary_dim: head_dim + rotary_dim],
    "7.3": [lambda angles: angles[:, :, None, :]],
}
WRONG = {
    "7.1": [
        (lambda x, cos, sin: rotate_all(x, cos, -sin), "It turns by −angle"),
        (half_split, "That is the layout half_split; this x is interleaved."),
        (parts_apart, "all the first members, then all the second ones"),
        (in_place, "It changes the x that it is given"),
        (one_vector, "Right for one vector, wrong for x of shape (2, 3, 5, 8)"),
        (lambda x, cos, sin: 2 * x, "It changes the length of a vector"),
        (lambda x, cos, sin: x[..., 0::2], "Its shape is (4,)"),
        (lambda x, cos, sin: x, "It leaves x as it is."),
        (lambda x, cos, sin: rotate_all(x, sin, cos), "The length is right, the direction is not"),
    ],
    "7.2": [
        (lambda d, r: 2 * r, "A tail that passes through is not multiplied by zero."),
        (lambda d, r: d * d, "Those are all entries"),
        (lambda d, r: 2 * d, "A row of the tail has a single 1"),
        (lambda d, r: r * r + d - r, "The rotated part is not a full matrix"),
        (lambda d, r: 16, "For head_dim 2 and rotary_dim 2 it is 4."),
        (lambda d, r: d, "With no tail, a head of width 8 has 16, not 8."),
        (lambda d, r: (2 * r, d - r), "It must return one number."),
    ],
    "7.3": [
        (lambda angles: angles, "The angles have the same shape as before"),
        (lambda angles: angles[:, None], "does not stretch to (batch, seq, heads, pairs)"),
        (lambda angles: angles[:1, :, None, :], "No error, but wrong numbers"),
        (lambda angles: angles[:, :, None, :2], "does not stretch"),
        (lambda angles: angles.reshape, "It must return the angles, in a different shape."),
    ],
    "7.4": [
        (suspect, "At 45° it still makes (1, −1) 1.41 times as long"),
        (lambda x, cos, sin: half_split(x, cos, -sin), "It turns by −angle"),
        (rotate_all, "That is the layout interleaved; this x is half_split."),
        (lambda x, cos, sin: x, "It leaves x as it is."),
        (lambda x, cos, sin: half_split(x, cos, sin)[..., : x.shape[-1] // 2], "For an x of shape (2,)"),
    ],
}
