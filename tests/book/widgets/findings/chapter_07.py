"""Chapter 7: the cells of R."""

import numpy as np

from rope_edu import apply_rope, inv_freq, rope_angles
from rope_edu.encodings import rotation_matrix
from rope_edu.plain.rotary import quarter_turn


def _matrix(position, layout="interleaved"):
    return rotation_matrix(rope_angles([position], inv_freq(8))[0], layout=layout)


def cells():
    return int(np.count_nonzero(_matrix(20)))


def start():
    r = _matrix(0)
    return {
        "Ones on the diagonal": np.array_equal(r, np.eye(8)),
        "All zeros": not r.any(),
        "Ones in all cells": r[0, 1] == 1,
    }


def layout():
    partner = [column for column in np.flatnonzero(_matrix(20, "half_split")[0]) if column != 0]
    return {f"row 0, column {column}": partner == [column] for column in (1, 2, 4, 7)}


def zeros():
    x, angles = np.arange(1.0, 9), rope_angles([20], inv_freq(8))[0]
    cos, sin = (np.repeat(f(angles), 2) for f in (np.cos, np.sin))
    exact = np.allclose(x * cos + quarter_turn(x) * sin, apply_rope(x[None], angles)[0], atol=1e-12)
    stored = cos.size + sin.size
    return {
        "nobody stores or multiplies": exact and stored == np.count_nonzero(_matrix(20)),
        "stored in the columns": exact and stored == _matrix(20).size,
        "an approximation": not exact,
    }
