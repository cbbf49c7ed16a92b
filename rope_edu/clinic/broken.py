r"""Rotations that are wrong on purpose, each once: for the tests' teeth, the chapter on debugging and its game.

Each is made from the RopeSpec of what was wanted, and takes `(x, positions)` as `diagnose` gives them: NumPy,
`(seq, head_dim)` and `(seq,)`. Their names are the names of the mistakes in `MISTAKES`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rope_edu.encodings import RopeSpec, apply_rope, pair_slices, rope_angles
from rope_edu.encodings.precision import Pipeline, pipeline_turns, round_to

Rotation = Callable[[np.ndarray, np.ndarray], np.ndarray]
TABLE_ROWS = 600


def right(spec: RopeSpec) -> Rotation:
    r"""Return the rotation that a spec describes, as a plain function.

    Args:
        spec: what to rotate by.

    Returns:
        x `(seq, head_dim)`, positions `(seq,)` -> x rotated.

    >>> from rope_edu import plain_rope
    >>> right(plain_rope(2))(np.array([[1.0, 0.0]]), np.array([0])).tolist()
    [[1.0, 0.0]]

    Chapter 22.
    """

    def rotate(x: np.ndarray, positions: np.ndarray) -> np.ndarray:
        angles = rope_angles(positions, spec.inv_freq)
        return apply_rope(x, angles, layout=spec.layout, attention_factor=spec.attention_factor)

    return rotate


def _changed(change: Callable[[RopeSpec], RopeSpec]) -> Callable[[RopeSpec], Rotation]:
    """Make mistakes that are right rotations by a wrong spec."""
    return lambda spec: right(change(spec))


def _other_layout(spec: RopeSpec) -> RopeSpec:
    return spec.replace(layout="half_split" if spec.layout == "interleaved" else "interleaved")


def _scaled(power: float = 1.0, times: float = 1.0) -> Callable[[RopeSpec], RopeSpec]:
    return lambda spec: spec.replace(inv_freq=times * spec.inv_freq**power)


def _of_the_whole_head(spec: RopeSpec) -> RopeSpec:
    """θ_i = base^(−2i/head_dim) on a part of the head."""
    return spec.replace(inv_freq=spec.inv_freq ** (spec.rotary_dim / spec.head_dim))


def _whole_head(spec: RopeSpec) -> RopeSpec:
    """Turn all features, by the same base."""
    pairs = np.arange(spec.head_dim // 2)
    base = _base(spec)
    return spec.replace(inv_freq=base ** (-2 * pairs / spec.head_dim))


def _base(spec: RopeSpec) -> float:
    return float((spec.inv_freq[0] / spec.inv_freq[1]) ** (spec.rotary_dim / 2))


def _table(angles: np.ndarray, layout: str) -> np.ndarray:
    """Lay angles of pairs out over features: neighbours alike, or halves alike."""
    return np.repeat(angles, 2, axis=-1) if layout == "interleaved" else np.tile(angles, 2)


def _swapped(x: np.ndarray, layout: str, sign: float = -1.0) -> np.ndarray:
    """Return what stands beside the sine: (−second, first) of every pair."""
    first, second = pair_slices(x.shape[-1], layout)
    swapped = np.empty_like(x)
    swapped[..., first], swapped[..., second] = sign * x[..., second], x[..., first]
    return swapped


def _by_tables(cos: Callable, sin: Callable, table: str = "own", sign: float = -1.0) -> Callable:
    """Make mistakes of the form x · cos + swapped(x) · sin, with tables for the own or the other layout."""

    def make(spec: RopeSpec) -> Rotation:
        layout = spec.layout if table == "own" else _other_layout(spec).layout

        def rotate(x: np.ndarray, positions: np.ndarray) -> np.ndarray:
            angles = _table(rope_angles(positions, spec.inv_freq), layout)
            head, tail = x[..., : spec.rotary_dim], x[..., spec.rotary_dim :]
            turned = head * cos(angles) + _swapped(head, spec.layout, sign) * sin(angles)
            return np.concatenate((spec.attention_factor * turned, tail), axis=-1)

        return rotate

    return make


def _rolls_features(spec: RopeSpec) -> Rotation:
    def rotate(x: np.ndarray, positions: np.ndarray) -> np.ndarray:
        angles = _table(rope_angles(positions, spec.inv_freq), spec.layout)
        head, tail = x[..., : spec.rotary_dim], x[..., spec.rotary_dim :]
        return np.concatenate((head * np.cos(angles) + np.roll(head, 1, -1) * np.sin(angles), tail), axis=-1)

    return rotate


def _rolls_tokens(spec: RopeSpec) -> Rotation:
    def rotate(x: np.ndarray, positions: np.ndarray) -> np.ndarray:
        return right(spec)(x + 0.5 * np.roll(x, 1, axis=0), positions)

    return rotate


def _wrong_pairs(spec: RopeSpec) -> Rotation:
    """Pair even features with even ones, odd with odd."""
    width = spec.rotary_dim
    order = np.concatenate((np.arange(0, width, 2), np.arange(1, width, 2)))
    order = np.concatenate((order, np.arange(width, spec.head_dim)))
    return lambda x, positions: right(spec.replace(layout="interleaved"))(x[:, order], positions)[
        :, np.argsort(order)
    ]


def _adds(spec: RopeSpec) -> Rotation:
    """Add cos(i · j · 0.01) to feature j at position i, then multiply by one matrix for all positions."""
    places = np.arange(spec.head_dim)
    matrix = np.cos(0.01 * np.outer(places, places))
    return lambda x, positions: (x + np.cos(0.01 * positions[:, None] * places)) @ matrix


def _counts_from_one(spec: RopeSpec) -> Rotation:
    return lambda x, positions: right(spec)(x, positions + 1)


def _ignores_positions(spec: RopeSpec) -> Rotation:
    return lambda x, positions: right(spec)(x, np.arange(len(x)))


def _table_ends(spec: RopeSpec) -> Rotation:
    return lambda x, positions: right(spec)(x, np.minimum(positions, TABLE_ROWS - 1))


def _gain(spec: RopeSpec) -> Rotation:
    gain = np.linspace(0.5, 1.5, spec.head_dim)
    return lambda x, positions: right(spec)(x, positions) * gain.astype(x.dtype)


def _changes_input(spec: RopeSpec) -> Rotation:
    def rotate(x: np.ndarray, positions: np.ndarray) -> np.ndarray:
        x[:] = right(spec)(x, positions)
        return x

    return rotate


def _remembers(spec: RopeSpec) -> Rotation:
    """Stretch the base by the longest text seen, as dynamic NTK does, and keep it."""
    longest = 1024

    def rotate(x: np.ndarray, positions: np.ndarray) -> np.ndarray:
        nonlocal longest
        longest = max(longest, int(positions.max()) + 1)
        return right(_stretched(spec, longest / 1024))(x, positions)

    return rotate


def _depends_on_longest(spec: RopeSpec) -> Rotation:
    """Stretch the base by the longest row of the batch."""
    return lambda x, positions: right(_stretched(spec, max(1, (positions.max() + 1) / 1024)))(x, positions)


def _stretched(spec: RopeSpec, factor: float) -> RopeSpec:
    pairs = np.arange(len(spec.inv_freq))
    return spec.replace(inv_freq=spec.inv_freq * factor ** (-pairs / max(1, len(pairs) - 1)))


def _in_few_bits(pipeline: Pipeline) -> Callable[[RopeSpec], Rotation]:
    """Make mistakes of precision from what A1 calls a pipeline."""

    def make(spec: RopeSpec) -> Rotation:
        first, second = pair_slices(spec.rotary_dim, spec.layout)

        def rotate(x: np.ndarray, positions: np.ndarray) -> np.ndarray:
            turns = spec.attention_factor * pipeline_turns(positions, spec.inv_freq, pipeline)
            out = x.astype(np.float64)
            a, b = out[:, first].copy(), out[:, second].copy()
            out[:, first] = a * turns.real - b * turns.imag
            out[:, second] = a * turns.imag + b * turns.real
            return out.astype(x.dtype)

        return rotate

    return make


def _rounded(spec: RopeSpec) -> Rotation:
    """Give a bfloat16 result for a wider input."""
    return lambda x, positions: round_to(right(spec)(x, positions), "bfloat16").astype(x.dtype)


EXACT = ("float64",) * 4
BROKEN: dict[str, Callable[[RopeSpec], Rotation]] = {
    "other_layout": _changed(_other_layout),
    "turns_backwards": _changed(_scaled(times=-1.0)),
    "minus_sign_missing": _by_tables(np.cos, np.sin, sign=1.0),
    "table_of_other_layout": _by_tables(np.cos, np.sin, table="other"),
    "cos_and_sin_swapped": _by_tables(np.sin, np.cos),
    "sine_missing": _by_tables(np.cos, np.zeros_like),
    "rolls_features": _rolls_features,
    "wrong_pairs": _wrong_pairs,
    "adds_instead_of_turning": _adds,
    "mixes_tokens": _rolls_tokens,
    "uneven_gain": _gain,
    "one_clock": _changed(lambda spec: spec.replace(inv_freq=np.ones(len(spec.inv_freq)))),
    "frequencies_reversed": _changed(lambda spec: spec.replace(inv_freq=spec.inv_freq[::-1])),
    "exponent_doubled": _changed(_scaled(power=2.0)),
    "exponent_halved": _changed(_scaled(power=0.5)),
    "frequencies_scaled": _changed(_scaled(times=np.pi / 180)),
    "other_base": _changed(_scaled(power=0.8)),
    "other_denominator": _changed(_of_the_whole_head),
    "other_width": _changed(_whole_head),
    "attention_factor_missing": _changed(lambda spec: spec.replace(attention_factor=1.0)),
    "attention_factor_twice": _changed(lambda spec: spec.replace(attention_factor=spec.attention_factor**2)),
    "counts_from_one": _counts_from_one,
    "ignores_positions": _ignores_positions,
    "table_ends": _table_ends,
    "positions_in_bfloat16": _in_few_bits(Pipeline("float64", "bfloat16", "float64", "float64")),
    "positions_in_float16": _in_few_bits(Pipeline("float64", "float16", "float64", "float64")),
    "frequencies_in_bfloat16": _in_few_bits(Pipeline("bfloat16", "float64", "float64", "float64")),
    "angles_in_bfloat16": _in_few_bits(Pipeline("float64", "float64", "bfloat16", "float64")),
    "result_in_bfloat16": _rounded,
    "remembers_earlier_calls": _remembers,
    "depends_on_longest_row": _depends_on_longest,
    "changes_its_input": _changes_input,
}
