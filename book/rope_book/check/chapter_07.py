"""Chapter 7 exercises: turn the matrix into code."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from rope_book.check.answers import Answer, array, number, of_function
from rope_book.check.exercise import Verdict, close, judges
from rope_edu.encodings import apply_rope, inv_freq, rope_angles

Rotation = Callable[[np.ndarray, np.ndarray, np.ndarray], Any]

RNG = np.random.default_rng(34)
SEQUENCE = RNG.normal(size=(2, 3, 5, 8))  # (batch, heads, seq, head_dim)
ANGLES = rope_angles([0, 1, 2, 9, 400], inv_freq(8))  # (seq, pairs)


def _judge_rotation(rotate: Rotation, layout: str) -> Verdict:
    """Compare a reader's rotate(x, cos, sin) with `apply_rope` on one vector and on a batch of sequences."""
    cos, sin = np.cos(ANGLES), np.sin(ANGLES)
    vector = SEQUENCE[0, 0, 3]
    given = vector.copy()
    result = array(
        rotate(given, cos[3], sin[3]), vector.shape, "For an x of shape (8,) it must return that shape."
    )
    if not np.array_equal(given, vector):
        return "It changes the x that it is given: return a new array."
    expected = apply_rope(vector, ANGLES[3], layout=layout)
    if close(result, apply_rope(vector, -ANGLES[3], layout=layout)):
        return "It turns by −angle: (1, 0) should become (cos, sin)."
    other = "half_split" if layout == "interleaved" else "interleaved"
    if close(result, apply_rope(vector, ANGLES[3], layout=other)):
        return f"That is the layout {other}; this x is {layout}."
    if layout == "interleaved" and close(result, np.concatenate([expected[0::2], expected[1::2]])):
        return "These are all the first members, then all the second ones: the right numbers, in the wrong order."
    if not close(np.linalg.norm(result), np.linalg.norm(expected)):
        return "It changes the length of a vector, so it is not a rotation."
    if close(result, vector):
        return "It leaves x as it is."
    if not close(result, expected):
        return "The length is right, the direction is not: (1, 0) should become (cos, sin)."
    if not close(rotate(SEQUENCE.copy(), cos, sin), apply_rope(SEQUENCE, ANGLES, layout=layout)):
        return "Right for one vector, wrong for x of shape (2, 3, 5, 8): only the last axis holds features."
    return True


@judges("7.1")
@of_function
def _rotates_interleaved(rotate: Rotation) -> Verdict:
    """Judge exercise 7.1: rotate interleaved pairs."""
    return _judge_rotation(rotate, "interleaved")


@judges("7.2")
@of_function
def _counts(nonzeros: Answer) -> Verdict:
    """Judge exercise 7.2: each rotated row has two nonzero entries, and each row of the tail has one."""
    cases = [(8, 8), (2, 2), (8, 4), (64, 16), (128, 126)]
    results = [number(nonzeros(d, r), "It must return one number.") for d, r in cases]
    slips = {
        "Those are all entries; most of them are zero.": [d * d for d, _ in cases],
        "A tail that passes through is not multiplied by zero.": [2 * r for _, r in cases],
        "A row of the tail has a single 1; only rotated rows have two entries.": [2 * d for d, _ in cases],
        "The rotated part is not a full matrix: each of its rows has one cosine and one sine.": [
            r * r + d - r for d, r in cases
        ],
    }
    if known := [why for why, slip in slips.items() if close(results, slip)]:
        return known[0]
    if not close(results[0], 16):
        return f"With no tail, a head of width 8 has 16, not {results[0]}."
    wrong = [case for case, seen in zip(cases, results, strict=True) if not close(seen, sum(case))]
    return not wrong or f"For head_dim {wrong[0][0]} and rotary_dim {wrong[0][1]} it is {sum(wrong[0])}."


@judges("7.3")
@of_function
def _fits(fit_angles: Answer) -> Verdict:
    """Judge exercise 7.3 on shapes whose batch, sequence and head counts are equal or different."""
    for batch, seq, heads in [(2, 5, 3), (4, 4, 4), (1, 3, 3), (3, 3, 2)]:
        positions = np.arange(seq) + 10 * np.arange(batch)[:, None]  # (batch, seq), different in each row
        angles = rope_angles(positions, inv_freq(8))
        x = RNG.normal(size=(batch, seq, heads, 8))
        shaped = array(fit_angles(angles), None, "It must return the angles, in a different shape.")
        if shaped.shape == angles.shape:
            return "The angles have the same shape as before: the heads need an axis, in the right place."
        target = (batch, seq, heads, 4)
        if shaped.shape[-1:] != (4,) or not _stretches(shaped.shape, target):
            return f"Shape {shaped.shape} does not stretch to (batch, seq, heads, pairs), here {target}."
        turned = apply_rope(x, shaped)
        one_by_one = [apply_rope(x[b, :, h], angles[b]) for b in range(batch) for h in range(heads)]
        expected = np.stack(one_by_one).reshape(batch, heads, seq, 8).swapaxes(1, 2)
        if not close(turned, expected):
            sizes = f"batch {batch}, seq {seq}, heads {heads}"
            return f"No error, but wrong numbers for {sizes}: one axis took the place of another."
    return True


def _stretches(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """Return whether NumPy would broadcast `shape` to `target`."""
    fits = all(a in (1, b) for a, b in zip(reversed(shape), reversed(target), strict=False))
    return fits and len(shape) <= len(target)


@judges("7.4")
@of_function
def _is_mended(rotate: Rotation) -> Verdict:
    """Judge exercise 7.4; reply with a specific sentence if (1, −1) is still stretched at 45 degrees."""
    eighth = np.array([math.cos(math.pi / 4)])
    ask = "For an x of shape (2,) it must return that shape."
    stretched = array(rotate(np.array([1.0, -1.0]), eighth, eighth), (2,), ask)
    if close(np.linalg.norm(stretched), 2.0):
        return "At 45° it still makes (1, −1) 1.41 times as long, and (1, 1) vanishes."
    return _judge_rotation(rotate, "half_split")
