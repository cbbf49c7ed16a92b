"""Known mistakes, and more right answers, of chapter 10."""

import math

import numpy as np

from rope_edu import apply_rope, causal_mask, rope_angles, softmax


def rotary_head(
    x, w_q, w_k, w_v, frequencies, start, *, mask=True, scale=None, turned="qk", layout="interleaved", axis=1
):
    angles = rope_angles(np.arange(start, start + len(x)), frequencies)
    q, k, v = (x @ w.T for w in (w_q, w_k, w_v))
    q, k = (apply_rope(part, angles, layout=layout) if "q" in turned else part for part in (q, k))
    v = apply_rope(v, angles) if "v" in turned else v
    scores = q @ k.T / (scale or math.sqrt(len(w_q)))
    scores = np.where(causal_mask(len(x), len(x)), scores, -np.inf) if mask else scores
    return (softmax(scores) if axis == 1 else softmax(scores.T).T) @ v


def moved_by(*shifts):
    def is_translation_invariant(layer, x):
        places = np.arange(len(x))
        home = layer(x, places)
        return all(np.allclose(layer(x, places + k), home, atol=1e-6) for k in shifts)

    return is_translation_invariant


def compares_rows(layer, x):
    places = np.arange(len(x))
    return np.isclose(layer(x, places), layer(x, places + 1)).all(axis=1)


is_translation_invariant = moved_by(1, 1000)


def needs_positions(layer, x):
    places = np.arange(len(x))
    return is_translation_invariant(layer, x) and not np.allclose(layer(x, places), layer(x, 0 * places))


def by_lengths(layer, x):
    lengths = [np.linalg.norm(layer(x, np.arange(len(x)) + k), axis=1) for k in (0, 1, 1000)]
    return np.allclose(lengths, lengths[0])


def equal_words_too(layer, x):
    """Wants equal outputs of equal words in one text, too."""
    outputs = layer(np.ones_like(x), np.arange(len(x)))
    return is_translation_invariant(layer, x) and np.allclose(outputs, outputs[0])


def not_zero(layer, x):
    return is_translation_invariant(layer, x) and layer(x, np.arange(len(x))).any()


BACK = (2 * math.cos(0.3 * math.pi), -2 * math.sin(0.3 * math.pi))
ALSO_RIGHT = {
    "10.1": [lambda x, q, k, v, f, start: rotary_head(x, q, k, v, f, 0)],
    "10.2": [(np.True_, np.False_)],
    "10.3": [(2j, complex(*BACK)), ((0, 2), (1.18, -1.62))],
    "10.4": [moved_by(*range(1, 40), 100, 1000, 12_345, 100_000), moved_by(1, 1000)],
}
WRONG = {
    "10.1": [
        (lambda *a: rotary_head(*a, mask=False), "without the causal mask"),
        (lambda *a: rotary_head(*a, turned=""), "without rotation"),
        (lambda *a: rotary_head(*a, scale=1), "not divided by √head_dim"),
        (lambda *a: rotary_head(*a, scale=math.sqrt(a[0].shape[1])), "divided by √d_model"),
        (lambda *a: rotary_head(*a, turned="qkv"), "The values are turned as well."),
        (
            lambda *a: rotary_head(*a).T,
            "For 4 words and a head of 8 it must return (4, 8) numbers. Its shape is (8, 4)",
        ),
        (lambda *a: rotary_head(*a, layout="half_split"), "That is the layout half_split"),
        (lambda *a: rotary_head(*a, axis=0), "The shape is right, the numbers are not"),
        (lambda *a: rotary_head(*a, scale=math.sqrt(8)), "The shape is right, the numbers are not"),
    ],
    "10.2": [
        ((False, False), "which head do the two members of a pair land in?"),
        ((True, True), "features 1 and 5 are a pair"),
        ((False, True), "The other way round"),
        (("yes", "no"), "Answer with True or False, twice."),
        (True, "The answer is two truth values"),
    ],
    "10.3": [
        (((0, 2), (0, 2)), "turn (2, 0) back by the word's position, 3"),
        (((0, 2), (2, 0)), "not by the sentence's"),
        (((0, -2), BACK), "The first turns the other way"),
        (((0, 2), (BACK[0], -BACK[1])), "Back means clockwise."),
        (((0, 2), (1.18, 1.62)), "Back means clockwise."),
        (((0, 2), (1.2, -1.6)), "give two decimals"),
        (((0, 2), (BACK[0] / 2, BACK[1] / 2)), "as long as before"),
        ((0, 2), "The answer is two pairs of numbers."),
    ],
    "10.4": [
        (moved_by(1001), "It moves by 1001 only: a head that repeats every 1001 positions passes it."),
        (moved_by(1), "It calls this translation-invariant: a head with RoPE whose positions stop at 500"),
        (
            moved_by(10, 1000),
            "It calls this translation-invariant: a head whose outputs repeat every 10 positions",
        ),
        (moved_by(0), "It calls this translation-invariant: a head with sinusoidal vectors added"),
        (compares_rows, "It must return True or False."),
        (
            moved_by(2, 1000),
            "It calls this translation-invariant: a head whose outputs repeat every 2 positions",
        ),
        (needs_positions, "It calls this not translation-invariant: a head without position"),
        (by_lengths, "It calls this translation-invariant: a head that turns its values too"),
        (
            equal_words_too,
            "It calls this not translation-invariant: a head that turns its values, and its output",
        ),
        (not_zero, "It calls this not translation-invariant: one that returns only zeros"),
    ],
}
