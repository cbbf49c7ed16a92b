"""Checks with teeth: plain functions of a scheme, that ours must pass and that each wrong one must fail.

A scheme is how one rotates q and how one rotates k. The table WRONG records which checks catch which mistake:
the properties miss −θ, a wrong base and a wrong layout used throughout; only the reference catches them all.
"""

import cmath
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from rope_edu import apply_rope, inv_freq, rope_angles

WIDTH, BASE, LENGTH = 8, 10_000.0, 5
Rotate = Callable[[np.ndarray, np.ndarray], np.ndarray]  # x (seq, WIDTH), positions (seq,) -> (seq, WIDTH)


class Scheme(NamedTuple):
    q: Rotate
    k: Rotate


def close(a, b) -> None:
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-9)


def scores(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a * b).sum(-1)


# The checks. `where` are positions (seq,), `shift` is a number of tokens.


def same_offset_same_score(scheme, q, k, where, shift):
    """⟨R_m q, R_n k⟩ depends on m − n alone."""
    near = scores(scheme.q(q, where), scheme.k(k, where + 3))
    far = scores(scheme.q(q, where + shift), scheme.k(k, where + 3 + shift))
    close(near, far)


def norm_is_kept(scheme, q, k, where, shift):
    for rotate, x in ((scheme.q, q), (scheme.k, k)):
        close(np.linalg.norm(rotate(x, where), axis=-1), np.linalg.norm(x, axis=-1))


def position_zero_changes_nothing(scheme, q, k, where, shift):
    for rotate, x in ((scheme.q, q), (scheme.k, k)):
        close(rotate(x, 0 * where), x)


def turns_add_up(scheme, q, k, where, shift):
    for rotate, x in ((scheme.q, q), (scheme.k, k)):
        close(rotate(rotate(x, where), 0 * where + shift), rotate(x, where + shift))


def turning_back_undoes(scheme, q, k, where, shift):
    for rotate, x in ((scheme.q, q), (scheme.k, k)):
        close(rotate(rotate(x, where), -where), x)


PROPERTIES = (
    same_offset_same_score,
    norm_is_kept,
    position_zero_changes_nothing,
    turns_add_up,
    turning_back_undoes,
)

INTERLEAVED = tuple((2 * i, 2 * i + 1) for i in range(WIDTH // 2))  # written out again, on purpose:
HALF_SPLIT = tuple((i, i + WIDTH // 2) for i in range(WIDTH // 2))  # nothing here comes from the library


def by_hand(pairs, base=BASE, sign=1) -> Rotate:
    """Build a rotation from Python's complex numbers and plain loops."""

    def rotate(x, positions):
        rows = [list(map(float, row)) for row in x]
        for row, position in zip(rows, positions, strict=True):
            for i, (a, b) in enumerate(pairs):
                angle = sign * float(position) * math.pow(base, -2 * i / WIDTH)
                z = complex(row[a], row[b]) * cmath.exp(1j * angle)
                row[a], row[b] = z.real, z.imag
        return np.array(rows)

    return rotate


def matches_reference(pairs):
    def equals_complex_reference(scheme, q, k, where, shift):
        reference = by_hand(pairs)
        close(scheme.q(q, where), reference(q, where))
        close(scheme.k(k, where), reference(k, where))

    return equals_complex_reference


PAIRS = {"interleaved": INTERLEAVED, "half_split": HALF_SPLIT}


def checks_for(layout):
    return (*PROPERTIES, matches_reference(PAIRS[layout]))


def vectors(seed):
    return np.random.default_rng(seed).normal(size=(2, LENGTH, WIDTH))


def ours(layout, kind) -> Scheme:
    def rotate(x, positions):
        if kind == "numpy":
            return apply_rope(x, rope_angles(positions, inv_freq(WIDTH)), layout=layout)
        angles = rope_angles(torch.tensor(positions), inv_freq(WIDTH))
        return apply_rope(torch.tensor(x), angles, layout=layout).numpy()

    return Scheme(rotate, rotate)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["numpy", "torch"])
@pytest.mark.parametrize("layout", ["interleaved", "half_split"])
@given(
    seed=st.integers(0, 2**32 - 1),
    where=st.lists(st.integers(-5_000, 200_000), min_size=LENGTH, max_size=LENGTH),
    shift=st.integers(-5_000, 200_000),
)
def test_our_rotation_passes_every_check(layout, kind, seed, where, shift):
    q, k = vectors(seed)
    for check in checks_for(layout):
        check(ours(layout, kind), q, k, np.array(where), shift)


def roll_by_one(x, positions):
    """Mix each feature with its neighbour instead of turning pairs."""
    angles = np.repeat(positions[:, None] * BASE ** -(np.arange(0, WIDTH, 2) / WIDTH), 2, axis=-1)
    return x * np.cos(angles) + np.roll(x, 1, axis=-1) * np.sin(angles)


def evens_and_odds_apart(x, positions):
    """Pair even features with even ones and odd with odd: (0, 2), (4, 6), (1, 3), (5, 7)."""
    return by_hand(((0, 2), (4, 6), (1, 3), (5, 7)))(x, positions)


def forgets_position_zero(x, positions):
    """Count positions from 1."""
    return by_hand(INTERLEAVED)(x, positions + 1)


def both(rotate) -> Scheme:
    return Scheme(rotate, rotate)


REFERENCE = "equals_complex_reference"
MISPAIRED = {"same_offset_same_score", REFERENCE}
NO_ROTATION = {"same_offset_same_score", "norm_is_kept", "turns_add_up", "turning_back_undoes", REFERENCE}
OFF_BY_ONE = {"position_zero_changes_nothing", "turns_add_up", "turning_back_undoes", REFERENCE}

WRONG = {  # name: (scheme, the checks that catch it), for a claim of "interleaved"
    "wrong layout throughout": (both(by_hand(HALF_SPLIT)), {REFERENCE}),
    "minus theta": (both(by_hand(INTERLEAVED, sign=-1)), {REFERENCE}),
    "wrong base": (both(by_hand(INTERLEAVED, base=500_000.0)), {REFERENCE}),
    "evens and odds apart": (both(evens_and_odds_apart), {REFERENCE}),
    "q interleaved, k half_split": (Scheme(by_hand(INTERLEAVED), by_hand(HALF_SPLIT)), MISPAIRED),
    "q forward, k backward": (Scheme(by_hand(INTERLEAVED), by_hand(INTERLEAVED, sign=-1)), MISPAIRED),
    "roll by one": (both(roll_by_one), NO_ROTATION),
    "positions from 1": (both(forgets_position_zero), OFF_BY_ONE),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_each_mistake_is_caught_by_exactly_the_checks_on_record(mistake):
    scheme, on_record = WRONG[mistake]
    q, k = vectors(seed=0)
    caught = set()
    for check in checks_for("interleaved"):
        try:
            check(scheme, q, k, np.array([1, 2, 5, 40, 900]), 7)
        except AssertionError:
            caught.add(check.__name__)
    assert caught == on_record


def test_every_check_catches_some_mistake():
    caught = set().union(*(on_record for _, on_record in WRONG.values()))
    assert caught == {check.__name__ for check in checks_for("interleaved")}
