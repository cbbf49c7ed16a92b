"""Chapter 2: the dot product of two rows of sinusoids."""

import numpy as np

from rope_book.widgets import SinusoidHeatmap
from rope_book.widgets.maths.words import random_matrix
from rope_edu.encodings import sinusoidal

OFFSETS = np.arange(-30, 31)


def _curve(position, between=None):
    row = sinusoidal([position], 64)[0]
    return sinusoidal(position + OFFSETS, 64) @ (row if between is None else between @ row)


def offset():
    figure = SinusoidHeatmap(offset=12)
    products = []
    for figure.position in (0, 5, 40, 80):
        products.append(figure.product)
    spread = np.ptp(products)
    return {
        "No: the angle between": spread < 1e-9,
        "it falls slowly": bool((np.diff(products) < -1e-9).all()),
        "up to a small wave": 1e-9 <= spread < 1,
    }


def mirror():
    curve = _curve(40)
    at_zero = curve[OFFSETS == 0][0]
    return {
        "before or after": np.allclose(curve, curve[::-1]),
        "How far away": np.allclose(curve, at_zero),
        "one and the same": np.isclose(np.delete(curve, 30).max(), at_zero),
    }


def matrix():
    curves = np.array([_curve(position, random_matrix(2, 64)) for position in (40, 60)])
    one_shape = np.linalg.matrix_rank(curves) == 1
    mirrored = np.allclose(curves, curves[:, ::-1])
    return {
        "and its two sides differ": not one_shape and not mirrored,
        "is higher at some": one_shape,
        "both of its sides stay alike": mirrored and not one_shape,
    }
