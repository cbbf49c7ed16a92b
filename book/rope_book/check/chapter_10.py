"""Chapter 10 exercises: put RoPE in attention."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rope_book.check.answers import Answer, array, native, numbers, of_function, row, truth
from rope_book.check.exercise import Verdict, against, judges
from rope_book.check.rows import judge_row
from rope_edu.attention import attention, causal_mask
from rope_edu.encodings import apply_rope, inv_freq, rope_angles, sinusoidal

Layer = Callable[[np.ndarray, np.ndarray], np.ndarray]


@judges("10.1")
@of_function
def _is_a_head(rotary_head: Answer) -> Verdict:
    """Judge exercise 10.1 with three sizes and start positions."""
    rng = np.random.default_rng(101)
    for words, d_model, head_dim, start in [(4, 6, 8, 0), (5, 8, 8, 17), (3, 12, 4, 5000)]:
        x, w = rng.normal(size=(words, d_model)), rng.normal(size=(3, head_dim, d_model)) / 2
        ask = f"For {words} words and a head of {head_dim} it must return ({words}, {head_dim}) numbers."
        result = rotary_head(x.copy(), *w.copy(), inv_freq(head_dim), start)
        if (verdict := _against_a_head(array(result, (words, head_dim), ask), x, w, start)) is not True:
            return verdict
    return True


def _against_a_head(result: np.ndarray, x: np.ndarray, w: np.ndarray, start: int) -> Verdict:
    """Compare a result with the causal head in exercise 10.1 and with known mistakes; `w` is (W_q, W_k, W_v)."""
    q, k, v = (x @ matrix.T for matrix in w)
    angles = rope_angles(np.arange(start, start + len(x)), inv_freq(q.shape[1]))

    def head(turned: Sequence[Any] = (), values: Any = v, **options: Any) -> Any:
        turned = turned or [apply_rope(part, angles) for part in (q, k)]
        return attention(*turned, values, **{"mask": causal_mask(len(x), len(x)), **options})[0]

    halves = [apply_rope(part, angles, layout="half_split") for part in (q, k)]
    slips = {
        "That is a head without the causal mask.": head(mask=None),
        "That is a head without rotation.": head((q, k)),
        "The scores are not divided by √head_dim.": head(scale=1.0),
        "The scores are divided by √d_model; the width of the head counts.": head(scale=x.shape[1] ** -0.5),
        "The values are turned as well.": head(values=apply_rope(v, angles)),
        "That is the layout half_split; the pairs of apply_rope are side by side.": head(halves),
    }
    unknown = "The shape is right, the numbers are not: scores, mask, softmax over the keys, then the values."
    return against(result, head(), slips, unknown)


@judges("10.2")
def _tears_pairs(answers: object) -> Verdict:
    """Judge exercise 10.2: whether interleaved and half_split each keep every pair within one head."""
    answers = row(answers, 2, "The answer is two truth values, one for interleaved and one for half_split.")
    return judge_row("10.2", *(truth(answer, "Answer with True or False, twice.") for answer in answers))


@judges("10.3")
def _by_hand(pairs: object) -> Verdict:
    """Judge exercise 10.3, which asks for two pairs rotated by hand."""
    ask = "The answer is two pairs of numbers."
    return judge_row("10.3", *(part for pair in row(pairs, 2, ask) for part in _pair(pair, ask)))


def _pair(pair: Any, ask: str) -> list[float]:
    """Return a pair (x, y), which may be given as the complex number x + iy."""
    pair = native(pair)
    return [pair.real, pair.imag] if isinstance(pair, complex) else numbers(pair, 2, ask)


def _layers() -> list[tuple[str, Layer, bool]]:
    """Return the layers for exercise 10.4, as (description, layer, whether the layer is translation-invariant)."""
    w = np.random.default_rng(7).normal(size=(3, 8, 4)) / 2
    frequencies = inv_freq(8)

    def rotary(x: np.ndarray, places: np.ndarray, *, values: str = "plain") -> np.ndarray:
        angles = rope_angles(places, frequencies)
        q, k, v = (x @ matrix.T for matrix in w)
        v = v if values == "plain" else apply_rope(v, angles)
        mixed = attention(apply_rope(q, angles), apply_rope(k, angles), v)[0]
        return apply_rope(mixed, -angles) if values == "back" else mixed

    def added(x: np.ndarray, places: np.ndarray) -> np.ndarray:
        q, k, v = ((x + sinusoidal(places, 4)) @ matrix.T for matrix in w)
        return attention(q, k, v)[0]

    def clock(turns: int) -> Layer:
        return lambda x, places: rotary(x, places) + (places[:, None] % turns) / turns

    def far(x: np.ndarray, places: np.ndarray) -> np.ndarray:
        return rotary(x, np.minimum(places, 500))

    return [
        ("a head with RoPE", rotary, True),
        ("a head with sinusoidal vectors added", added, False),
        ("a head without position", lambda x, places: rotary(x, 0 * places), True),
        ("a head that turns its values too", lambda x, places: rotary(x, places, values="turned"), False),
        (
            "a head that turns its values, and its output back",
            lambda x, places: rotary(x, places, values="back"),
            True,
        ),
        ("a head with RoPE whose positions stop at 500", far, False),
        ("a head whose outputs repeat every 10 positions", clock(10), False),
        ("a head whose outputs repeat every 2 positions", clock(2), False),
        ("one that returns only zeros", lambda x, places: np.zeros_like(x), True),
    ]


@judges("10.4")
@of_function
def _finds_shifts(is_translation_invariant: Answer) -> Verdict:
    """Judge exercise 10.4 on nine layers with 3 to 5 rows, and on one whose period divides all shifts tried."""
    rng = np.random.default_rng(12)
    layers, moves = _layers(), set()
    layers[0] = (layers[0][0], _recording(layers[0][1], moves), True)
    for what, layer, invariant in layers:
        for rows in (3, 4, 5):
            x = rng.normal(size=(rows, 4))
            if truth(is_translation_invariant(layer, x.copy()), "It must return True or False.") != invariant:
                return f"It calls this {'not ' if invariant else ''}translation-invariant: {what}."
    turns = math.gcd(*moves)
    if turns > 1 and truth(
        is_translation_invariant(lambda x, places: x + (places[:, None] % turns) / turns, x)
    ):
        return f"It moves by {_listed(moves)} only: a head that repeats every {turns} positions passes it."
    return True


def _recording(layer: Layer, moves: set[int]) -> Layer:
    """Wrap a layer to record in `moves` how far the given positions are shifted from 0, 1, 2, …"""

    def recorded(x: np.ndarray, places: np.ndarray) -> np.ndarray:
        by = np.asarray(places) - np.arange(len(x))
        if (by == by[0]).all():
            moves.add(int(abs(by[0])))
        return layer(x, np.asarray(places))

    return recorded


def _listed(moves: set[int]) -> str:
    """List up to three of the shifts."""
    some = sorted(moves - {0})[:3]
    return ", ".join(map(str, some)) + ("" if len(some) == len(moves - {0}) else ", …")
