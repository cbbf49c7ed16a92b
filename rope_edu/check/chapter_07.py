"""Exercises of chapter 7: turn the matrix into code."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from rope_edu.check.exercise import Exercise, Verdict, close
from rope_edu.encodings import apply_rope, inv_freq, rope_angles

Rotation = Callable[[np.ndarray, np.ndarray, np.ndarray], Any]

RNG = np.random.default_rng(34)
SEQUENCE = RNG.normal(size=(2, 3, 5, 8))  # (batch, heads, seq, head_dim)
ANGLES = rope_angles([0, 1, 2, 9, 400], inv_freq(8))  # (seq, pairs)


def _judge_rotation(rotate: Rotation, layout: str) -> Verdict:
    """Compare a reader's rotate(x, cos, sin) with the library's on one vector, a sequence and a batch."""
    if not callable(rotate):
        return "The answer is a function: give check the name, without parentheses."
    cos, sin = np.cos(ANGLES), np.sin(ANGLES)
    vector = SEQUENCE[0, 0, 3]
    given = vector.copy()
    found = rotate(given, cos[3], sin[3])
    if found is ...:
        return ...
    if not np.array_equal(given, vector):
        return "It changes the x that it is given: return a new array."
    expected = apply_rope(vector, ANGLES[3], layout=layout)
    if np.shape(found) != expected.shape:
        return f"For an x of shape {expected.shape} it returns shape {np.shape(found)}."
    if close(found, apply_rope(vector, -ANGLES[3], layout=layout)):
        return "It turns by −angle: (1, 0) should become (cos, sin)."
    other = "half_split" if layout == "interleaved" else "interleaved"
    if close(found, apply_rope(vector, ANGLES[3], layout=other)):
        return f"That is the layout {other}; this x is {layout}."
    if layout == "interleaved" and close(found, np.concatenate([expected[0::2], expected[1::2]])):
        return "These are all first members, then all second ones: right numbers, another order."
    if not close(np.linalg.norm(found), np.linalg.norm(expected)):
        return "It changes the length of a vector, so it is no rotation."
    expected_all = apply_rope(SEQUENCE, ANGLES, layout=layout)
    return close(found, expected) and close(rotate(SEQUENCE.copy(), cos, sin), expected_all)


def _rotates_interleaved(rotate: Rotation) -> Verdict:
    """Judge exercise 7.1."""
    return _judge_rotation(rotate, "interleaved")


def _counts(nonzeros: Callable[[int, int], Any]) -> Verdict:
    """Judge exercise 7.2 against the matrix of the library, with a tail of ones."""
    if not callable(nonzeros):
        return "The answer is a function of head_dim and rotary_dim: give check its name."
    if nonzeros(8, 8) is ...:
        return ...
    if not close(nonzeros(8, 8), 16):
        return "With no tail, a head of width 8 has 16."
    if close(nonzeros(8, 4), 8):
        return "A tail that passes is not multiplied by zero."
    cases = [(2, 2), (8, 4), (64, 16), (128, 126)]
    return all(close(nonzeros(d, r), d + r) for d, r in cases)


def _fits(fit_angles: Callable[[np.ndarray], Any]) -> Verdict:
    """Judge exercise 7.3 with sizes that differ and with sizes that are all equal."""
    if not callable(fit_angles):
        return "The answer is a function: give check the name, without parentheses."
    for batch, seq, heads in [(2, 5, 3), (4, 4, 4), (1, 3, 3), (3, 3, 2)]:
        positions = np.arange(seq) + 10 * np.arange(batch)[:, None]  # (batch, seq), each sentence its own
        angles = rope_angles(positions, inv_freq(8))
        x = RNG.normal(size=(batch, seq, heads, 8))
        shaped = fit_angles(angles)
        if shaped is ...:
            return ...
        turned = apply_rope(x, shaped)
        one_by_one = [apply_rope(x[b, :, h], angles[b]) for b in range(batch) for h in range(heads)]
        expected = np.stack(one_by_one).reshape(batch, heads, seq, 8).swapaxes(1, 2)
        if not close(turned, expected):
            sizes = f"batch {batch}, seq {seq}, heads {heads}"
            return f"No error, but wrong numbers for {sizes}: some axis took another's place."
    return True


def _is_mended(rotate: Rotation) -> Verdict:
    """Judge exercise 7.4; what still stretches (1, −1) at 45 degrees is told so."""
    if not callable(rotate):
        return "The answer is a function: give check the name, without parentheses."
    eighth = np.array([math.cos(math.pi / 4)])
    stretched = rotate(np.array([1.0, -1.0]), eighth, eighth)
    if stretched is ...:
        return ...
    if np.shape(stretched) == (2,) and close(np.linalg.norm(stretched), 2.0):
        return "At 45° it still makes (1, −1) 1.41 times as long, and (1, 1) vanishes."
    return _judge_rotation(rotate, "half_split")


EXERCISES = (
    Exercise(
        "7.1",
        _rotates_interleaved,
        hints=(
            "Take the first members of all pairs, x[..., 0::2], and the second ones: each fits cos and sin.",
            "The new first members are first · cos − second · sin; the new second ones swap roles, with a plus.",
            "Weave them together again: np.stack([…, …], axis=-1).reshape(x.shape).",
        ),
        shows="Four products and two sums a pair, any leading axes.",
    ),
    Exercise(
        "7.2",
        _counts,
        hints=(
            "Go row by row: a rotated feature, then a feature of the tail.",
            "A rotated row has a cosine and a sine. What must stand in a row that leaves its number alone?",
            "Two for each of the rotary_dim rows, a single 1 for each other row.",
        ),
        shows="2r + (d − r) = d + r: what passes is multiplied by 1.",
    ),
    Exercise(
        "7.3",
        _fits,
        hints=(
            "Write the axes of x and of the angles below each other, aligned on the right.",
            "(batch, seq, pairs) must become (batch, seq, 1, pairs): the heads share their angles.",
            "angles[:, :, None, :]",
        ),
        shows="One axis for the heads, and in its place.",
    ),
    Exercise(
        "7.4",
        _is_mended,
        hints=(
            "Try x = (1, −1) and x = (1, 1), both of length √2, with cos = sin = √½.",
            "Write the 2 × 2 block of suspect. The columns of a rotation are (cos, sin) and (−sin, cos).",
            "Exactly one minus belongs in a block: the second member gets + first · sin.",
        ),
        shows="Two minuses stretch one diagonal and crush the other.",
    ),
)
