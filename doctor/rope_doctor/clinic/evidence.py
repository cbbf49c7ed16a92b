r"""Evidence for a mistake: a sentence with the numbers found and wanted, and the first place where they differ."""

import numpy as np

from rope_doctor.clinic import reading
from rope_doctor.clinic.broken import right
from rope_doctor.clinic.probe import SMALL, Probe
from rope_edu.encodings.spec import RopeSpec


def of_matrix(probe: Probe, pairs: reading.Pairs, mistake: str, against: RopeSpec | None) -> str:
    """Evidence that matrices are none of a rotation, by the wanted one if it is known, else by their own form."""
    if mistake == "one_table_scaled":
        cosines, sines = reading.table_factors(probe, pairs) or (np.nan, np.nan)
        wanted = "one factor" if against is None else f"{against.attention_factor:.6g} for both"
        return f"Found cosines times {cosines:.6g} and sines times {sines:.6g}, wanted {wanted}."
    if against is not None:
        return _first_entry(probe, against)
    if not len(pairs.members):
        return _first_entry_of_form(probe)
    if mistake == "length_by_position":
        far = reading.positions_of(probe)[-1]
        near, later = np.linalg.norm(reading.blocks(probe, pairs, (1, far)), axis=-1)[:, 0, 0]
        return f"Found lengths of pair 0 of {near:.6g} at position 1 and {later:.6g} at {far}, wanted one."
    block = reading.blocks(probe, pairs, [1])[0]
    worst = _worst(block)
    (a, b), (c, d) = block[worst].tolist()
    first, second = pairs.members[worst].tolist()
    return (
        f"Found [[{a:.4g}, {b:.4g}], [{c:.4g}, {d:.4g}]] at position 1 for features {first} and {second}, "
        f"wanted [[cos, −sin], [sin, cos]] of one angle."
    )


def _worst(block: np.ndarray) -> int:
    """The pair whose block is farthest from a turn of length 1."""
    (a, b), (c, d) = np.moveaxis(block, (-2, -1), (0, 1))
    off = np.abs(a - d) + np.abs(b + c) + np.abs(np.hypot(a, c) - 1)
    return int(off.argmax())


def _first_entry(probe: Probe, against: RopeSpec) -> str:
    """The first position and entry at which a matrix is not the wanted one."""
    rotate = right(against)
    for position in (0, *SMALL):
        wanted = rotate(np.eye(probe.head_dim), np.full(probe.head_dim, position)).T
        found = probe.matrix_of(position)
        off = np.abs(found - wanted) > 0.01
        if off.any():
            to, source = min(np.argwhere(off).tolist(), key=lambda entry: _pair(entry[1], against))
            return (
                f"Found {found[to, source]:.4g} of feature {source} in feature {to} at position {position}, "
                f"wanted {wanted[to, source]:.4g} (pair {_pair(source, against)})."
            )
    return "Found no entry of the matrices at positions 0 to 7 that is off by more than 0.01."


def _pair(feature: int, against: RopeSpec) -> int:
    """Number of the pair of a feature; the tail counts on."""
    halves = against.layout == "half_split" and feature < against.rotary_dim
    return feature % (against.rotary_dim // 2) if halves else feature // 2


def _first_entry_of_form(probe: Probe) -> str:
    """How many features each feature reaches at position 1, where no pairs can be told."""
    matrix = probe.matrix_of(1)
    if np.allclose(matrix, np.diag(np.diag(matrix))):
        return f"Found feature 0 times {matrix[0, 0]:.4g} at position 1, wanted cos in it and sin in its partner."
    reached = np.count_nonzero(matrix, axis=0)
    if reached.max() == 2:
        to = int(np.flatnonzero(matrix[:, 0])[-1])
        return f"Found feature 0 in feature {to} at position 1 and {to} not in 0, wanted both, with opposite signs."
    return f"Found feature {int(reached.argmax())} in {int(reached.max())} features at position 1, wanted 2."


def of_pairs(pairs: reading.Pairs) -> str:
    """Evidence that pairs are neither neighbours nor halves."""
    first, second = pairs.members[0].tolist()
    return f"Found feature {first} paired with {second}, wanted 0 with 1, or 0 with {len(pairs.members)}."


def of_layout(pairs: reading.Pairs, against: RopeSpec) -> str:
    """Evidence of another layout: the partner of the first feature."""
    first, second = pairs.members[0].tolist()
    partner = 1 if against.layout == "interleaved" else against.rotary_dim // 2
    found = f"Found {pairs.layout} (feature {first} with {second})"
    return f"{found}, wanted {against.layout} (0 with {partner})."


def of_exponent(signed: np.ndarray, wanted: np.ndarray | None) -> str:
    """Evidence of an exponent without its minus, in pair 1."""
    if len(signed) < 2:
        return ""
    asked = "a number below 1" if wanted is None or len(wanted) < 2 else f"{wanted[1]:.6g}"
    return f"Found {signed[1]:.6g} radians per token in pair 1 (whole turns do not show), wanted {asked}."


def of_senses(speed: np.ndarray) -> str:
    """Evidence of pairs that turn against the first: how many, and the first of them."""
    odd = np.flatnonzero(np.sign(speed) != np.sign(speed[0]))
    if not len(odd):
        return ""
    pair = int(odd[0])
    return (
        f"Found {len(odd)} of {len(speed)} pairs turning against pair 0: {speed[pair]:.6g} radians per token in "
        f"pair {pair}, wanted {-speed[pair]:.6g}."
    )


def of_order(order: np.ndarray, comes_out: str) -> str:
    """Evidence of another order or sign of the features that come out, in the first one that differs."""
    source, sign = np.abs(order).argmax(axis=1), order.sum(axis=1)
    place = int(np.flatnonzero((source != np.arange(len(source))) | (sign < 0))[0])
    found = f"{'−' if sign[place] < 0 else ''}{source[place]}"
    return f"Found feature {found} in place {place}, wanted {place}: features come out {comes_out}."
