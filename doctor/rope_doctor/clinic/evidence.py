r"""Evidence for mistakes: sentences that give the actual and the expected number where they first differ."""

import numpy as np

from rope_doctor.clinic import matrices
from rope_doctor.clinic.broken import right
from rope_doctor.clinic.probe import SMALL, Probe
from rope_edu.encodings.spec import RopeSpec


def of_matrix(probe: Probe, pairs: matrices.Pairs, mistake: str, against: RopeSpec | None) -> str:
    """Return evidence that the matrices are not rotations, or that they differ from the expected rotation."""
    if mistake == "one_table_scaled":
        cosines, sines = matrices.table_factors(probe, pairs) or (np.nan, np.nan)
        expected = "one factor" if against is None else f"{against.attention_factor:.6g} for both"
        return f"Found cosines times {cosines:.6g} and sines times {sines:.6g}, expected {expected}."
    if against is not None:
        return _first_entry(probe, against)
    if not len(pairs.members):
        return _first_entry_of_form(probe)
    if mistake == "length_by_position":
        far = matrices.positions_of(probe)[-1]
        near, later = np.linalg.norm(matrices.blocks(probe, pairs, (1, far)), axis=-1)[:, 0, 0]
        return f"Found lengths of pair 0 of {near:.6g} at position 1 and {later:.6g} at {far}, expected no change."
    block = matrices.blocks(probe, pairs, [1])[0]
    worst = _worst(block)
    (a, b), (c, d) = block[worst].tolist()
    first, second = pairs.members[worst].tolist()
    return (
        f"Found [[{a:.4g}, {b:.4g}], [{c:.4g}, {d:.4g}]] at position 1 for features {first} and {second}, "
        f"expected [[cos, −sin], [sin, cos]] of one angle."
    )


def _worst(block: np.ndarray) -> int:
    """Return the pair whose block is farthest from an unscaled rotation."""
    (a, b), (c, d) = np.moveaxis(block, (-2, -1), (0, 1))
    off = np.abs(a - d) + np.abs(b + c) + np.abs(np.hypot(a, c) - 1)
    return int(off.argmax())


def _first_entry(probe: Probe, against: RopeSpec) -> str:
    """Describe the first position and matrix entry that differ from the expected rotation."""
    rotate = right(against)
    for position in (0, *SMALL):
        expected = rotate(np.eye(probe.head_dim), np.full(probe.head_dim, position)).T
        actual = probe.matrix_of(position)
        off = np.abs(actual - expected) > 0.01
        if off.any():
            to, source = min(np.argwhere(off).tolist(), key=lambda entry: _pair(entry[1], against))
            return (
                f"Found {actual[to, source]:.4g} of feature {source} in feature {to} at position {position}, "
                f"expected {expected[to, source]:.4g} (pair {_pair(source, against)})."
            )
    return "Found all entries of the matrices at positions 0 to 7 within 0.01 of the expected ones."


def _pair(feature: int, against: RopeSpec) -> int:
    """Return the index of a feature's pair, treating the tail as further pairs."""
    halves = against.layout == "half_split" and feature < against.rotary_dim
    return feature % (against.rotary_dim // 2) if halves else feature // 2


def _first_entry_of_form(probe: Probe) -> str:
    """Return evidence from the matrix at position 1 if no pairs can be recognised."""
    matrix = probe.matrix_of(1)
    if np.allclose(matrix, np.diag(np.diag(matrix))):
        return f"Found feature 0 times {matrix[0, 0]:.4g} at position 1, expected cos there and sin in its partner."
    reached = np.count_nonzero(matrix, axis=0)
    if reached.max() == 2:
        to = int(np.flatnonzero(matrix[:, 0])[-1])
        return f"Found feature 0 in feature {to} at position 1, but not {to} in 0; expected both, of opposite sign."
    return f"Found feature {int(reached.argmax())} in {int(reached.max())} features at position 1, expected in 2."


def of_pairs(pairs: matrices.Pairs) -> str:
    """Return evidence that the pairing is neither interleaved nor half_split."""
    first, second = pairs.members[0].tolist()
    return f"Found feature {first} paired with {second}, expected 0 with 1, or 0 with {len(pairs.members)}."


def of_layout(pairs: matrices.Pairs, against: RopeSpec) -> str:
    """Return the first feature's partner as evidence that the layout differs."""
    first, second = pairs.members[0].tolist()
    partner = 1 if against.layout == "interleaved" else against.rotary_dim // 2
    actual = f"Found {pairs.layout} (feature {first} with {second})"
    return f"{actual}, expected {against.layout} (0 with {partner})."


def of_exponent(signed: np.ndarray, expected: np.ndarray | None) -> str:
    """Return evidence from pair 1 that the exponent lacks its minus sign."""
    if len(signed) < 2:
        return ""
    asked = "a number below 1" if expected is None or len(expected) < 2 else f"{expected[1]:.6g}"
    return f"Found {signed[1]:.6g} radians per token in pair 1 (modulo 2π), expected {asked}."


def of_senses(speed: np.ndarray) -> str:
    """Return evidence that pairs rotate in the opposite direction to pair 0: how many do, and the first of them."""
    odd = np.flatnonzero(np.sign(speed) != np.sign(speed[0]))
    if not len(odd):
        return ""
    pair = int(odd[0])
    return (
        f"Found {len(odd)} of {len(speed)} pairs rotating against pair 0: {speed[pair]:.6g} radians per token in "
        f"pair {pair}, expected {-speed[pair]:.6g}."
    )


def of_order(order: np.ndarray, comes_out: str) -> str:
    """Return the first feature that differs as evidence that output features are reordered or negated."""
    source, sign = np.abs(order).argmax(axis=1), order.sum(axis=1)
    place = int(np.flatnonzero((source != np.arange(len(source))) | (sign < 0))[0])
    feature = f"{'−' if sign[place] < 0 else ''}{source[place]}"
    return f"Found feature {feature} in place {place}, expected {place}: features come out {comes_out}."
