r"""Deliberately broken rotations for the tests, the debugging chapter and its game.

A maker takes the correct RopeSpec and returns a function `(x, positions) -> rotated x` in the form that `diagnose`
calls, with NumPy arrays `(seq, head_dim)` and `(seq,)`. Two mistakes appear only with heads or a batch. Their
functions take `(batch, heads, seq, head_dim)` and `(batch, seq)`, and are correct if x has two axes. `MISTAKES`
describes each mistake.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from rope_doctor.precision import round_to
from rope_edu.encodings import RopeSpec, apply_rope, pair_slices, rope_angles

Rotation = Callable[[np.ndarray, np.ndarray], np.ndarray]
Maker = Callable[[RopeSpec], Rotation]
TrigFunction = Callable[[np.ndarray], np.ndarray]  # np.cos, np.sin or a stand-in
TABLE_ROWS = 600
UNWANTED_FACTOR = 0.1 * np.log(16) + 1  # YaRN's attention factor for a 16-fold stretch


def right(spec: RopeSpec) -> Rotation:
    r"""Return the rotation described by a spec, as a function `(x, positions) -> rotated x`.

    x is `(seq, head_dim)` with positions `(seq,)`, or `(batch, heads, seq, head_dim)` with positions `(seq,)` or
    `(batch, seq)`.

    >>> from rope_edu import plain_rope
    >>> right(plain_rope(2))(np.array([[1.0, 0.0]]), np.array([0])).tolist()
    [[1.0, 0.0]]

    Chapter 22.
    """

    def rotate(x: np.ndarray, positions: np.ndarray) -> np.ndarray:
        angles = rope_angles(positions, spec.inv_freq)
        if positions.ndim > 1:  # all heads of a batch row share its positions
            angles = angles[:, None]
        return np.asarray(apply_rope(x, angles, layout=spec.layout, attention_factor=spec.attention_factor))

    return rotate


# Mistakes that rotate correctly, but by the wrong spec


def _changed(change: Callable[[RopeSpec], RopeSpec]) -> Maker:
    return lambda spec: right(change(spec))


def _by_frequencies(change: Callable[[np.ndarray], np.ndarray]) -> Maker:
    return _changed(lambda spec: spec.replace(inv_freq=change(spec.inv_freq)))


def _other_layout(spec: RopeSpec) -> RopeSpec:
    return spec.replace(layout="half_split" if spec.layout == "interleaved" else "interleaved")


def _of_the_whole_head(spec: RopeSpec) -> RopeSpec:
    """Return a spec that rotates part of the head, but with θ_i = base^(−2i/head_dim)."""
    return spec.replace(inv_freq=spec.inv_freq ** (spec.rotary_dim / spec.head_dim))


def _whole_head(spec: RopeSpec) -> RopeSpec:
    """Return a spec that rotates all features, with the same base."""
    width = spec.head_dim
    base = spec.base or float((spec.inv_freq[0] / spec.inv_freq[1]) ** (spec.rotary_dim / 2))
    return spec.replace(inv_freq=base ** (-np.arange(0, width, 2) / width))


def _memory(expected: np.ndarray) -> np.ndarray:
    """Return the leftover contents of a frequency buffer that was allocated but never filled."""
    rng = np.random.default_rng(45902)
    leftovers = np.where(rng.random(len(expected)) < 0.3, 6.9e-18, rng.random(len(expected)))
    leftovers[0], leftovers[-2:] = 0.5, (0.1, 0.7)  # non-monotonic at any width
    return leftovers


# Mistakes that rotate by positions other than those passed in


def _by_positions(change: Callable[[np.ndarray], np.ndarray]) -> Maker:
    return lambda spec: lambda x, positions: right(spec)(x, change(positions))


# Mistakes of the form x · cos + partner · sin


def _swapped(x: np.ndarray, layout: str, sign: float = -1.0) -> np.ndarray:
    """Return each feature's partner, so that a pair (first, second) becomes (−second, first)."""
    first, second = pair_slices(x.shape[-1], layout)
    swapped = np.empty_like(x)
    swapped[..., first], swapped[..., second] = sign * x[..., second], x[..., first]
    return swapped


def _by_tables(
    cos: TrigFunction = np.cos,
    sin: TrigFunction = np.sin,
    partner: Callable[[np.ndarray, str], np.ndarray] = _swapped,
    laid_out_for: Callable[[RopeSpec], RopeSpec] = lambda spec: spec,
    angles_of: Callable[..., Any] = rope_angles,
) -> Maker:
    """Return a maker that rotates the first rotary_dim features with tables, any part of which can be replaced."""

    def make(spec: RopeSpec) -> Rotation:
        neighbours = laid_out_for(spec).layout == "interleaved"

        def rotate(x: np.ndarray, positions: np.ndarray) -> np.ndarray:
            head, tail = np.split(x, [spec.rotary_dim], axis=-1)
            angles = angles_of(positions, spec.inv_freq)
            by_pair = cos(angles), sin(angles)
            c, s = (np.repeat(table, 2, axis=-1) if neighbours else np.tile(table, 2) for table in by_pair)
            rotated = spec.attention_factor * (head * c + partner(head, spec.layout) * s)
            return np.concatenate((rotated, tail), axis=-1, dtype=x.dtype)

        return rotate

    return make


def _late_sines(angles: np.ndarray) -> np.ndarray:
    """Return sines shifted by a third of the pairs, as if the rows of a cosine and sine table were too wide."""
    late = -(-angles.shape[-1] // 3)
    return np.pad(np.sin(angles)[:, late:], ((0, 0), (0, late)))


def _of_float16_positions(positions: np.ndarray, inv_freq: np.ndarray) -> np.ndarray:
    """Return the angles of positions rounded to float16; NaN above the largest float16 number."""
    rounded = round_to(positions, "float16")
    return np.where(np.isfinite(rounded), rounded, np.nan)[..., None] * inv_freq


# Other mistakes


def _wrong_pairs(spec: RopeSpec) -> Rotation:
    """Pair even features with even features, and odd with odd."""
    head, tail = np.split(np.arange(spec.head_dim), [spec.rotary_dim])
    order = np.concatenate((head[::2], head[1::2], tail))
    rotate = right(spec.replace(layout="interleaved"))
    return lambda x, positions: rotate(x[:, order], positions)[:, np.argsort(order)]


def _adds(spec: RopeSpec) -> Rotation:
    """Add cos(i · j · 0.01) to feature j at position i, then multiply all positions by the same matrix."""
    places = np.arange(spec.head_dim)
    matrix = np.cos(0.01 * np.outer(places, places))
    return lambda x, positions: (x + np.cos(0.01 * positions[:, None] * places)) @ matrix


def _cached_by_length(spec: RopeSpec) -> Rotation:
    """Cache the positions of the first call with a given number of rows, and use them in later calls."""
    cache: dict[int, np.ndarray] = {}
    return lambda x, positions: right(spec)(x, cache.setdefault(len(x), positions.copy()))


def _along_heads(spec: RopeSpec) -> Rotation:
    """Mistake the head axis, the second of four, for the token axis."""

    def rotate(x: np.ndarray, positions: np.ndarray) -> np.ndarray:
        if x.ndim == 2:
            return right(spec)(x, positions)
        return right(spec)(x.swapaxes(1, 2), np.arange(x.shape[1])).swapaxes(1, 2)

    return rotate


def _changes_input(spec: RopeSpec) -> Rotation:
    def rotate(x: np.ndarray, positions: np.ndarray) -> np.ndarray:
        x[:] = right(spec)(x, positions)
        return x

    return rotate


def _stretched(spec: RopeSpec, length: int) -> Rotation:
    """Multiply the base by length / 1024 if that exceeds 1."""
    pairs = np.arange(len(spec.inv_freq))
    slower = max(1.0, length / 1024) ** (-pairs / max(1, len(pairs) - 1))
    return right(spec.replace(inv_freq=spec.inv_freq * slower))


def _remembers(spec: RopeSpec) -> Rotation:
    """Enlarge the base for the longest text so far, as in dynamic NTK, and never reduce it again."""
    longest = 1024

    def rotate(x: np.ndarray, positions: np.ndarray) -> np.ndarray:
        nonlocal longest
        longest = max(longest, int(positions.max()) + 1)
        return _stretched(spec, longest)(x, positions)

    return rotate


BROKEN: dict[str, Maker] = {
    "other_layout": _changed(_other_layout),
    "turns_backwards": _by_frequencies(lambda expected: -expected),
    "minus_sign_missing": _by_tables(partner=lambda head, layout: _swapped(head, layout, sign=1.0)),
    "table_of_other_layout": _by_tables(laid_out_for=_other_layout),
    "cos_and_sin_swapped": _by_tables(np.sin, np.cos),
    "one_table_scaled": _by_tables(cos=lambda angles: UNWANTED_FACTOR * np.cos(angles)),
    "sines_of_other_pairs": _by_tables(sin=_late_sines),
    "sine_missing": _by_tables(sin=np.zeros_like),
    "rolls_features": _by_tables(partner=lambda head, layout: np.roll(head, 1, axis=-1)),
    "wrong_pairs": _wrong_pairs,
    "adds_instead_of_turning": _adds,
    "mixes_tokens": lambda spec: lambda x, p: right(spec)(x + 0.5 * np.roll(x, 1, axis=0), p),
    "uneven_gain": lambda spec: (
        lambda x, p: right(spec)(x, p) * np.linspace(0.5, 1.5, spec.head_dim, dtype=x.dtype)
    ),
    "one_clock": _by_frequencies(np.ones_like),
    "frequencies_reversed": _by_frequencies(np.flip),
    "exponent_doubled": _by_frequencies(lambda expected: expected**2.0),
    "exponent_halved": _by_frequencies(np.sqrt),
    "exponent_sign": _by_frequencies(lambda expected: expected**-1.0),
    "frequencies_scaled": _by_frequencies(np.radians),
    "other_base": _by_frequencies(lambda expected: expected**0.8),
    "other_denominator": _changed(_of_the_whole_head),
    "other_width": _changed(_whole_head),
    "zeros_dropped": _by_frequencies(lambda expected: expected[expected > 0]),
    "frequencies_uninitialised": _by_frequencies(_memory),
    "no_position": _by_frequencies(np.zeros_like),
    "attention_factor_missing": _changed(lambda spec: spec.replace(attention_factor=1.0)),
    "attention_factor_twice": _changed(lambda spec: spec.replace(attention_factor=spec.attention_factor**2)),
    "attention_factor_unwanted": _changed(lambda spec: spec.replace(attention_factor=UNWANTED_FACTOR)),
    "counts_from_one": _by_positions(lambda positions: positions + 1),
    "ignores_positions": _by_positions(lambda positions: np.arange(len(positions))),
    "counts_from_the_first": _by_positions(lambda positions: positions - positions[0]),
    "takes_first_for_all": _by_positions(lambda positions: positions[0] + 0 * positions),
    "fills_gaps": _by_positions(lambda positions: positions[0] + np.arange(len(positions))),
    "adds_row_number": _by_positions(lambda positions: positions + np.arange(len(positions))),
    "table_ends": _by_positions(lambda positions: np.minimum(positions, TABLE_ROWS - 1)),
    "positions_in_bfloat16": _by_positions(lambda positions: round_to(positions, "bfloat16")),
    "positions_in_float16": _by_tables(angles_of=_of_float16_positions),
    "frequencies_in_bfloat16": _by_frequencies(lambda expected: round_to(expected, "bfloat16")),
    "angles_in_bfloat16": _by_tables(
        angles_of=lambda positions, inv_freq: round_to(rope_angles(positions, inv_freq), "bfloat16")
    ),
    "result_in_bfloat16": lambda spec: lambda x, p: round_to(right(spec)(x, p), "bfloat16").astype(x.dtype),
    "remembers_earlier_calls": _remembers,
    "keeps_first_positions": _cached_by_length,
    "depends_on_longest_row": lambda spec: lambda x, p: _stretched(spec, int(p.max()) + 1)(x, p),
    "depends_on_length": lambda spec: lambda x, p: _stretched(spec, len(x))(x, p),
    "turns_along_heads": _along_heads,
    "mixes_batch": _by_positions(lambda positions: positions if positions.ndim == 1 else positions[0]),
    "changes_its_input": _changes_input,
}
