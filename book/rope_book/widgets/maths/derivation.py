"""Candidate encodings of a pair's position, tested against the six lines of the derivation.

A pair is a complex number. Each line makes a claim about f(z, m), the pair z encoded at position m, and is tested
for m from 0 to ``LAST``.
"""

from collections.abc import Callable

import numpy as np

LAST = 8
HOLDS = 1e-9  # rounding tolerance; a line holds if it is off by less than this
PLACES = range(LAST + 1)
Encoder = Callable[[complex, int], complex]

CANDIDATES: dict[str, Callable[[complex, int, float], complex]] = {
    "turn": lambda z, m, rate: z * np.exp(1j * m * rate),
    "head_start": lambda z, m, rate: z * np.exp(1j * (m * rate + 0.5)),
    "grow": lambda z, m, rate: z * (1 + 0.08 * m) * np.exp(1j * m * rate),
    "content": lambda z, m, rate: z * np.exp(1j * m * rate * abs(z)),
    "square": lambda z, m, rate: z * np.exp(1j * m**2 * rate / 8),
    "add": lambda z, m, rate: z + 0.7 * (np.exp(1j * m * rate) - 1),
    "mirror": lambda z, m, rate: np.conj(z) if m % 2 else z,
}


def encoder(candidate: str, inv_freq: float) -> Encoder:
    r"""Return a candidate's f(z, m) for θ radians per token.

    >>> abs(encoder("turn", 0.5)(1j, 3))
    1.0

    Chapter 5.
    """
    return lambda z, m: complex(CANDIDATES[candidate](z, m, inv_freq))


def steps_of(f: Encoder, z: complex) -> list[float]:
    """Return the `LAST` angles from one position to the next, in radians within (−π, π]."""
    return [float(np.angle(f(z, m + 1) * np.conj(f(z, m)))) for m in PLACES[:-1]]


def turns_of(f: Encoder, z: complex) -> list[float]:
    """Return the pair's angle relative to z at each position, in radians, with whole-turn jumps removed."""
    return [float(turn) for turn in np.cumsum([np.angle(f(z, 0) * np.conj(z)), *steps_of(f, z)])]


def slide(f: Encoder, q: complex, k: complex, distance: int) -> list[complex]:
    """Return f(q, n + distance) · conj f(k, n) at every n that keeps both positions within 0 … `LAST`."""
    first = max(0, -distance)
    return [complex(f(q, n + distance) * np.conj(f(k, n))) for n in range(first, LAST - max(0, distance) + 1)]


def breaks(f: Encoder, q: complex, k: complex) -> list[float]:
    r"""Return the worst violation of each of the six lines; if a line holds, this is only rounding error.

        1  f(q, 0) = q                              4  q and k turn equally far at equal positions
        2  f(q, m) conj f(k, n) depends on m − n    5  all steps from one position to the next are equal
        3  |f(q, m)| |f(k, m)| = |q| |k|            6  the real part of line 2 depends on m − n

    Lines 4 and 5 are in radians, or 0 if q or k is zero and so has no angle; the other lines have no unit.

    >>> [amount > 1e-9 for amount in breaks(encoder("grow", 0.5), 1 + 0j, 1j)]
    [False, True, True, False, False, True]

    Chapter 5.
    """
    at_q, at_k = (np.array([f(z, m) for m in PLACES]) for z in (q, k))
    slid = [np.array(slide(f, q, k, distance)) for distance in range(-LAST, LAST + 1)]
    turned = np.angle(at_q * np.conj(q)) - np.angle(at_k * np.conj(k))
    steps = np.array([steps_of(f, z) for z in (q, k)])
    has_angle = min(abs(q), abs(k)) >= 1e-9
    return [
        float(max(abs(at_q[0] - q), abs(at_k[0] - k))),
        float(max(np.abs(products - products[0]).max() for products in slid)),
        float(np.abs(np.abs(at_q) * np.abs(at_k) - abs(q) * abs(k)).max()),
        float(np.abs(wrapped(turned)).max()) if has_angle else 0.0,
        float(np.abs(wrapped(steps - steps[:, :1])).max()) if has_angle else 0.0,
        float(max(np.abs(products.real - products.real[0]).max() for products in slid)),
    ]


def wrapped(angles: np.ndarray) -> np.ndarray:
    """Reduce angles, in radians, modulo 2π to [−π, π]."""
    return angles - 2 * np.pi * np.round(angles / (2 * np.pi))
