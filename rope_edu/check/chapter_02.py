"""Exercises of chapter 2: add a position."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from rope_edu.check.exercise import Exercise, Verdict, close

TERMS = {"word-word", "word-place", "place-word", "place-place"}
MOVING = {"word-place", "place-word"}  # what still changes when place · W · place sees the distance alone


def _encoding(position: float, d_model: int, base: float) -> np.ndarray:
    """Encode one position, sine first, by the formula of Vaswani et al."""
    angles = [position * base ** (-2 * i / d_model) for i in range(d_model // 2)]
    return np.array([part for angle in angles for part in (math.sin(angle), math.cos(angle))])


def _encodes(encode: Callable[[int, int, float], Any]) -> Verdict:
    """Judge exercise 2.1 on small and large positions, widths and bases."""
    if not callable(encode):
        return "The answer is a function: give check the name, without parentheses."
    for position, d_model, base in [(0, 4, 100.0), (1, 4, 10_000.0), (7, 8, 10_000.0), (5000, 64, 500_000.0)]:
        found = encode(position, d_model, base)
        if found is ...:
            return ...
        expected = _encoding(position, d_model, base)
        if close(found, expected):
            continue
        if np.shape(found) != expected.shape:
            return f"For d = {d_model} the answer is {d_model} numbers, got shape {np.shape(found)}."
        if close(found, np.concatenate([expected[0::2], expected[1::2]])):
            return "These are all sines, then all cosines: right numbers, another order. Here pairs stand together."
        if close(found, np.stack([expected[1::2], expected[0::2]], axis=1).ravel()):
            return "Each pair is the wrong way round: the sine comes first."
        return f"Position {position}, d = {d_model}, base {base:g} comes out wrong."
    return True


def _finds_the_pair(first_slow_pair: Callable[[int, float, float], Any]) -> Verdict:
    """Judge exercise 2.2: the first pair of which a full turn takes more than `tokens`."""
    if not callable(first_slow_pair):
        return "The answer is a function: give check the name, without parentheses."
    cases = [(64, 10_000.0, 1000), (128, 10_000.0, 4096), (64, 500_000.0, 1000), (16, 100.0, 5)]
    for d_model, base, tokens in cases:
        found = first_slow_pair(d_model, base, tokens)
        if found is ...:
            return ...
        turns = [2 * math.pi * base ** (2 * i / d_model) for i in range(d_model // 2)]
        expected = next(i for i, turn in enumerate(turns) if turn > tokens)
        if isinstance(found, bool) or found != expected:
            hint = " That is a feature, not a pair." if found in (2 * expected, 2 * expected + 1) else ""
            return f"For d = {d_model}, base {base:g} and {tokens} tokens it says {found}.{hint}"
    return True


def _pairs(frequency: float, moved_by: float) -> np.ndarray:
    """Return the pair (sine, cosine) of a few positions, each moved by so many tokens, as columns."""
    angles = (np.array([0.0, 1.0, 5.0, 77.0]) + moved_by) * frequency
    return np.stack([np.sin(angles), np.cos(angles)])


def _moves(move: Callable[[float, float], Any]) -> Verdict:
    """Judge exercise 2.3: a 2 × 2 matrix that carries (sin pθ, cos pθ) to (sin (p+k)θ, cos (p+k)θ) for every p."""
    if not callable(move):
        return "The answer is a function: give check the name, without parentheses."
    for k, frequency in [(1, 1.0), (12, 0.1), (-3, 0.7), (1000, 0.01)]:
        found = move(k, frequency)
        if found is ...:
            return ...
        if np.shape(found) != (2, 2):
            return f"The answer is a 2 × 2 matrix, got shape {np.shape(found)}."
        matrix = np.array(found, dtype=float)
        start, end, back = (_pairs(frequency, by) for by in (0, k, -k))
        if not close(matrix @ start, end):
            if close(matrix @ start, back):
                return "It moves by k tokens back. A pair here is (sine, cosine): the first axis is the sine."
            return f"With k = {k} and θ = {frequency} it does not carry the pair of p to the pair of p + k."
    return True


def _looks_back(matrix: object) -> Verdict:
    """Judge exercise 2.4: PE(m) · W PE(n) is greatest at n = m − 1 for every m from 1 to 199."""
    if np.shape(matrix) != (64, 64):
        return f"W is a 64 × 64 matrix, got shape {np.shape(matrix)}."
    table = np.stack([_encoding(p, 64, 10_000.0) for p in range(200)])
    best = (table @ np.array(matrix, dtype=float) @ table.T).argmax(axis=1)[1:]
    offsets = best - np.arange(1, 200)
    if np.all(offsets == -1):
        return True
    if np.all(offsets[:-1] == 1):
        return "This head looks one token ahead."
    hits = int(np.sum(offsets == -1))
    return f"{hits} of 199 positions score their predecessor highest."


def _names_terms(terms: object) -> Verdict:
    """Judge exercise 2.5: the terms that still change with the place of the sentence."""
    if isinstance(terms, str) or not isinstance(terms, set | list | tuple):
        return 'The answer is a set of names, such as {"word-word"}.'
    if unknown := set(terms) - TERMS:
        return f"Names are {', '.join(sorted(TERMS))}; got {', '.join(sorted(map(str, unknown)))}."
    return set(terms) == MOVING


EXERCISES = (
    Exercise(
        "2.1",
        _encodes,
        hints=(
            "First the d/2 angles, then a sine and a cosine of each.",
            "The angle of pair i is position · base^(−2i/d); np.arange(0, d_model, 2) is all 2i at once.",
            "np.stack([np.sin(angles), np.cos(angles)], axis=1).ravel() puts each pair side by side.",
        ),
        shows="d/2 angles, and the point of each on its circle.",
    ),
    Exercise(
        "2.2",
        _finds_the_pair,
        hints=(
            "A full turn is 2π radians, and pair i turns θ_i radians a token.",
            "Pair i needs 2π/θ_i tokens for a turn, with θ_i = base^(−2i/d).",
            "Count i up from 0 until 2π · base^(2i/d) is more than `tokens`.",
        ),
        shows="At d = 64, 14 of 32 pairs do not complete one turn in 1000 tokens.",
    ),
    Exercise(
        "2.3",
        _moves,
        hints=(
            "Write sin(pθ + kθ) and cos(pθ + kθ) with the addition formulas.",
            "sin(a + b) = cos b · sin a + sin b · cos a: that is the first row.",
            "[[cos kθ, sin kθ], [−sin kθ, cos kθ]]",
        ),
        shows="A step of k tokens is a turn by kθ: clockwise here, because the sine is the first axis.",
    ),
    Exercise(
        "2.4",
        _looks_back,
        hints=(
            "Which row of the field is most like PE(m)? Only PE(m) itself. Make W PE(m − 1) equal to it.",
            "W must carry every position one token forward.",
            "shift_matrix carries PE(n) to PE(n + offset).",
        ),
        shows="A trained W can make place against place see the distance: that is what Vaswani et al. hoped for.",
    ),
    Exercise(
        "2.5",
        _names_terms,
        hints=(
            "Run the four-term cell again with W_back in place of `mixed`.",
            "PE(m) · M PE(n) = PE(m) · PE(n + 1) knows m − n only. And the terms with one place in them?",
            "Two of the four hold one word and one place.",
        ),
        shows="A word against a place has nothing to be relative to. No W can repair these two.",
    ),
)
