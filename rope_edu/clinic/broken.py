r"""Rotations that are wrong on purpose, each once: for the tests' teeth, the chapter on debugging and its game.

Each is made from the RopeSpec that was wanted, and takes `(x, positions)` as `diagnose` gives them: NumPy,
`(seq, head_dim)` and `(seq,)`. Two mistakes need heads or a batch to show: they take (batch, heads, seq, head_dim)
and (batch, seq), and are right on two axes. The names are those of `MISTAKES`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rope_edu.encodings import RopeSpec, apply_rope, pair_slices, rope_angles
from rope_edu.encodings.precision import Pipeline, pipeline_cos_sin, round_to

Rotation = Callable[[np.ndarray, np.ndarray], np.ndarray]
Maker = Callable[[RopeSpec], Rotation]
Table = Callable[[np.ndarray], np.ndarray]  # np.cos or np.sin, or a mistaken one
TABLE_ROWS = 600
TOO_MUCH = 0.1 * np.log(16) + 1  # YaRN's attention factor for a stretch of 16, where none is wanted


def right(spec: RopeSpec) -> Rotation:
    r"""The rotation that a spec describes, as a plain function.

    Args:
        spec: frequencies, layout, widths and attention factor.

    Returns:
        x `(seq, head_dim)`, positions `(seq,)` -> x rotated; x `(batch, heads, seq, head_dim)` takes positions
        `(seq,)` or `(batch, seq)`.

    >>> from rope_edu import plain_rope
    >>> right(plain_rope(2))(np.array([[1.0, 0.0]]), np.array([0])).tolist()
    [[1.0, 0.0]]

    Chapter 22.
    """

    def rotate(x: np.ndarray, positions: np.ndarray) -> np.ndarray:
        angles = _angles(positions, spec)
        if positions.ndim > 1:  # one row of positions for all heads of a batch row
            angles = angles[:, None]
        return np.asarray(apply_rope(x, angles, layout=spec.layout, attention_factor=spec.attention_factor))

    return rotate


def _angles(positions: np.ndarray, spec: RopeSpec) -> np.ndarray:
    return np.asarray(rope_angles(positions, spec.inv_freq))


def _changed(change: Callable[[RopeSpec], RopeSpec]) -> Maker:
    """Mistakes that are right rotations by a wrong spec."""
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
    width = spec.head_dim
    base = float((spec.inv_freq[0] / spec.inv_freq[1]) ** (spec.rotary_dim / 2))
    return spec.replace(inv_freq=base ** (-np.arange(0, width, 2) / width))


def _table(angles: np.ndarray, layout: str) -> np.ndarray:
    """Lay angles of pairs out over features: neighbours alike, or halves alike."""
    return np.repeat(angles, 2, axis=-1) if layout == "interleaved" else np.tile(angles, 2)


def _swapped(x: np.ndarray, layout: str, sign: float = -1.0) -> np.ndarray:
    """The factor beside the sine: (−second, first) of every pair."""
    first, second = pair_slices(x.shape[-1], layout)
    swapped = np.empty_like(x)
    swapped[..., first], swapped[..., second] = sign * x[..., second], x[..., first]
    return swapped


def _turned(
    head: np.ndarray, cos: np.ndarray, sin: np.ndarray, layout: str, table: str = "", sign: float = -1.0
) -> np.ndarray:
    """x · cos + swapped(x) · sin, with cosines and sines `(seq, pairs)` laid out for this or another layout."""
    cos, sin = _table(cos, table or layout), _table(sin, table or layout)
    return head * cos + _swapped(head, layout, sign) * sin


def _by_tables(cos: Table, sin: Table, *, other_table: bool = False, sign: float = -1.0) -> Maker:
    """Mistakes of the form x · cos + swapped(x) · sin."""

    def turn(head: np.ndarray, positions: np.ndarray, spec: RopeSpec) -> np.ndarray:
        angles, table = _angles(positions, spec), _other_layout(spec).layout if other_table else spec.layout
        return spec.attention_factor * _turned(head, cos(angles), sin(angles), spec.layout, table, sign)

    return _beside_the_tail(turn)


def _beside_the_tail(turn: Callable[[np.ndarray, np.ndarray, RopeSpec], np.ndarray]) -> Maker:
    """Turn the first rotary_dim features by their positions `(seq,)`, and pass the others."""

    def make(spec: RopeSpec) -> Rotation:
        width = spec.rotary_dim
        return lambda x, positions: np.concatenate(
            (turn(x[..., :width], positions, spec), x[..., width:]), axis=-1
        )

    return make


def _rolls_features(head: np.ndarray, positions: np.ndarray, spec: RopeSpec) -> np.ndarray:
    angles = _table(_angles(positions, spec), spec.layout)
    return head * np.cos(angles) + np.roll(head, 1, -1) * np.sin(angles)


def _wrong_pairs(spec: RopeSpec) -> Rotation:
    """Pair even features with even ones, odd with odd."""
    features = np.arange(spec.head_dim)
    head, tail = np.split(features, [spec.rotary_dim])
    order = np.concatenate((head[::2], head[1::2], tail))
    rotate = right(spec.replace(layout="interleaved"))
    return lambda x, positions: rotate(x[:, order], positions)[:, np.argsort(order)]


def _adds(spec: RopeSpec) -> Rotation:
    """Add cos(i · j · 0.01) to feature j at position i, then multiply by one matrix for all positions."""
    places = np.arange(spec.head_dim)
    matrix = np.cos(0.01 * np.outer(places, places))
    return lambda x, positions: (x + np.cos(0.01 * positions[:, None] * places)) @ matrix


def _counts(taken: Callable[[np.ndarray], np.ndarray]) -> Maker:
    """Mistakes that turn by other positions, `(seq,)`, than those given."""
    return lambda spec: lambda x, positions: right(spec)(x, taken(positions))


def _cached_by_length(spec: RopeSpec) -> Rotation:
    """Keep the angles of the first call with each number of rows."""
    angles: dict[int, np.ndarray] = {}
    return lambda x, positions: right(spec)(x, angles.setdefault(len(x), positions.copy()))


def _along_heads(spec: RopeSpec) -> Rotation:
    """Take the last axis but two of four for the tokens: those are the heads."""

    def rotate(x: np.ndarray, positions: np.ndarray) -> np.ndarray:
        if x.ndim == 2:
            return right(spec)(x, positions)
        angles = rope_angles(np.arange(x.shape[1]), spec.inv_freq)[:, None]  # (heads, 1, pairs)
        return np.asarray(apply_rope(x, angles, layout=spec.layout, attention_factor=spec.attention_factor))

    return rotate


def _sines_of_other_pairs(head: np.ndarray, positions: np.ndarray, spec: RopeSpec) -> np.ndarray:
    """Read a row of cosines and sines as if it were wider: the sines begin a third of the pairs too late."""
    angles, late = _angles(positions, spec), -(-len(spec.inv_freq) // 3)
    sines = np.pad(np.sin(angles)[:, late:], ((0, 0), (0, late)))
    return spec.attention_factor * _turned(head, np.cos(angles), sines, spec.layout)


def _memory(spec: RopeSpec) -> RopeSpec:
    """Frequencies as a buffer holds them that was allocated and never filled: remains of other tensors."""
    rng = np.random.default_rng(45902)
    left = np.where(rng.random(len(spec.inv_freq)) < 0.3, 6.9e-18, rng.random(len(spec.inv_freq)))
    left[0], left[-2:] = 0.5, (0.1, 0.7)  # neither falling nor rising, at any width
    return spec.replace(inv_freq=left)


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


def _stretched(spec: RopeSpec, factor: float) -> RopeSpec:
    """Stretch the base by a factor, if it is above 1."""
    pairs = np.arange(len(spec.inv_freq))
    return spec.replace(inv_freq=spec.inv_freq * max(1.0, factor) ** (-pairs / max(1, len(pairs) - 1)))


def _in_few_bits(pipeline: Pipeline) -> Maker:
    """Mistakes of precision, from a pipeline of appendix A1."""

    def turn(head: np.ndarray, positions: np.ndarray, spec: RopeSpec) -> np.ndarray:
        turns = spec.attention_factor * pipeline_cos_sin(positions, spec.inv_freq, pipeline)
        return _turned(head, turns.real, turns.imag, spec.layout).astype(head.dtype)

    return _beside_the_tail(turn)


BROKEN: dict[str, Maker] = {
    "other_layout": _changed(_other_layout),
    "turns_backwards": _changed(_scaled(times=-1.0)),
    "minus_sign_missing": _by_tables(np.cos, np.sin, sign=1.0),
    "table_of_other_layout": _by_tables(np.cos, np.sin, other_table=True),
    "cos_and_sin_swapped": _by_tables(np.sin, np.cos),
    "one_table_scaled": _by_tables(lambda angles: TOO_MUCH * np.cos(angles), np.sin),
    "sines_of_other_pairs": _beside_the_tail(_sines_of_other_pairs),
    "sine_missing": _by_tables(np.cos, np.zeros_like),
    "rolls_features": _beside_the_tail(_rolls_features),
    "wrong_pairs": _wrong_pairs,
    "adds_instead_of_turning": _adds,
    "mixes_tokens": lambda spec: lambda x, p: right(spec)(x + 0.5 * np.roll(x, 1, axis=0), p),
    "uneven_gain": lambda spec: (
        lambda x, p: right(spec)(x, p) * np.linspace(0.5, 1.5, spec.head_dim, dtype=x.dtype)
    ),
    "one_clock": _changed(lambda spec: spec.replace(inv_freq=np.ones(len(spec.inv_freq)))),
    "frequencies_reversed": _changed(lambda spec: spec.replace(inv_freq=spec.inv_freq[::-1])),
    "exponent_doubled": _changed(_scaled(power=2.0)),
    "exponent_halved": _changed(_scaled(power=0.5)),
    "exponent_sign": _changed(_scaled(power=-1.0)),
    "frequencies_scaled": _changed(_scaled(times=np.pi / 180)),
    "other_base": _changed(_scaled(power=0.8)),
    "other_denominator": _changed(_of_the_whole_head),
    "other_width": _changed(_whole_head),
    "zeros_dropped": _changed(lambda spec: spec.replace(inv_freq=spec.inv_freq[spec.inv_freq > 0])),
    "frequencies_uninitialised": _changed(_memory),
    "no_position": _changed(_scaled(times=0.0)),
    "attention_factor_missing": _changed(lambda spec: spec.replace(attention_factor=1.0)),
    "attention_factor_twice": _changed(lambda spec: spec.replace(attention_factor=spec.attention_factor**2)),
    "attention_factor_unwanted": _changed(lambda spec: spec.replace(attention_factor=TOO_MUCH)),
    "counts_from_one": _counts(lambda positions: positions + 1),
    "ignores_positions": _counts(lambda positions: np.arange(len(positions))),
    "counts_from_the_first": _counts(lambda positions: positions - positions[0]),
    "takes_first_for_all": _counts(lambda positions: positions[0] + 0 * positions),
    "fills_gaps": _counts(lambda positions: positions[0] + np.arange(len(positions))),
    "adds_row_number": _counts(lambda positions: positions + np.arange(len(positions))),
    "table_ends": _counts(lambda positions: np.minimum(positions, TABLE_ROWS - 1)),
    "positions_in_bfloat16": _in_few_bits(Pipeline("float64", "bfloat16", "float64", "float64")),
    "positions_in_float16": _in_few_bits(Pipeline("float64", "float16", "float64", "float64")),
    "frequencies_in_bfloat16": _in_few_bits(Pipeline("bfloat16", "float64", "float64", "float64")),
    "angles_in_bfloat16": _in_few_bits(Pipeline("float64", "float64", "bfloat16", "float64")),
    "result_in_bfloat16": lambda spec: lambda x, p: round_to(right(spec)(x, p), "bfloat16").astype(x.dtype),
    "remembers_earlier_calls": _remembers,
    "keeps_first_positions": _cached_by_length,
    "depends_on_longest_row": lambda spec: lambda x, p: right(_stretched(spec, (p.max() + 1) / 1024))(x, p),
    "depends_on_length": lambda spec: lambda x, p: right(_stretched(spec, len(x) / 1024))(x, p),
    "turns_along_heads": _along_heads,
    "mixes_batch": _counts(lambda positions: positions if positions.ndim == 1 else positions[0]),
    "changes_its_input": _changes_input,
}
