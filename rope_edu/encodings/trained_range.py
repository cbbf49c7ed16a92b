r"""The trained range: the angles each pair reached in training, and the longest distance without a new angle."""

import math

import numpy as np

from rope_edu.arrays import ArrayLike
from rope_edu.encodings.frequencies import as_pairs
from rope_edu.encodings.validation import as_finite, check_positive_int

__all__ = ["completes_turn", "meets_new_angle", "reach"]

_TOLERANCE = 1 + 1e-12  # so that rounding does not make an angle at the edge of the range count as new


def completes_turn(inv_freq: ArrayLike, trained_length: int) -> np.ndarray:
    r"""Return True for pairs that complete a turn in training, and so reach all angles: NumPy bool `(pairs,)`.

        L θ_i ≥ 2π,   that is, λ_i ≤ L

    Twice the number of these pairs is the critical dimension. θ is in radians per token, `(pairs,)`, and L in
    tokens. ValueError if a frequency is negative, if L is not a whole number ≥ 1, or as under `rope_angles`.

    >>> from rope_edu import inv_freq
    >>> int(completes_turn(inv_freq(128), 4096).sum())  # Llama 2: critical dimension 92
    46

    Source: Liu 2023, arXiv 2310.05209, definition 1. Chapter 14.
    """
    return check_positive_int("trained_length", trained_length) * _not_negative(inv_freq) >= 2 * math.pi


def meets_new_angle(
    distances: ArrayLike, inv_freq: ArrayLike, trained_length: int, trained_inv_freq: ArrayLike | None = None
) -> np.ndarray:
    r"""Return True where a pair has an angle that it did not reach in training: NumPy bool `(n, pairs)`.

        r θ′_i mod 2π > L θ_i,   θ: frequencies in training, θ′: frequencies now

    A pair that completes a turn in training has no new angles. Other pairs have new angles beyond L (if θ′ = θ),
    except for a while after each full turn, when they repeat angles of much shorter distances. Training covered
    distances from 0 to L tokens; the distances r, `(n,)`, are also in tokens. θ is θ′ unless `trained_inv_freq` is
    given. ValueError for a negative distance, for different numbers of pairs, or as for `completes_turn`.

    >>> meets_new_angle([100, 101, 700], [1.0, 0.01], 100).tolist()  # the second: 1 rad, 1.01, 7 (0.7)
    [[False, False], [False, True], [False, False]]

    Source: Liu 2023, arXiv 2310.05209, §4. Chapter 14.
    """
    distances, (now, trained) = np.array(as_finite("distances", distances)), _both(inv_freq, trained_inv_freq)
    if distances.size and distances.min() < 0:
        raise ValueError(f"distances must not be negative, got {distances.min():g}")
    largest_known = check_positive_int("trained_length", trained_length) * trained * _TOLERANCE
    return np.mod(distances[:, None] * now, 2 * math.pi) > largest_known


def reach(inv_freq: ArrayLike, trained_length: int, trained_inv_freq: ArrayLike | None = None) -> float:
    r"""Return the longest distance, in tokens, at which all pairs still have angles that they reached in training.

        min { L θ_i / θ′_i : L θ_i < 2π },   ∞ if all pairs complete a turn in training

    The reach is L for plain RoPE, s · L for PI, and less than s · L for NTK-aware scaling. Arguments and errors are
    as for `meets_new_angle`.

    >>> from rope_edu.encodings import inv_freq, ntk_aware, position_interpolation
    >>> trained = inv_freq(128)
    >>> round(reach(position_interpolation(128, 8).inv_freq, 4096, trained))
    32768
    >>> round(reach(ntk_aware(128, 8).inv_freq, 4096, trained))  # pair 46 is divided by 8^(46/63) only
    18696

    Source: YaRN, arXiv 2309.00071, §3.1, on why NTK-aware scaling falls short of its factor. Chapter 15.
    """
    now, trained = _both(inv_freq, trained_inv_freq)
    slow = ~completes_turn(trained, trained_length) & (now > 0)
    return float(np.min(trained_length * trained[slow] / now[slow], initial=math.inf))


def _both(inv_freq: ArrayLike, trained_inv_freq: ArrayLike | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the current and the trained frequencies, which must have the same length."""
    now = _not_negative(inv_freq)
    trained = now if trained_inv_freq is None else _not_negative(trained_inv_freq, "trained_inv_freq")
    if now.shape != trained.shape:
        raise ValueError(
            f"inv_freq and trained_inv_freq must have as many pairs, got {len(now)} and {len(trained)}"
        )
    return now, trained


def _not_negative(frequencies: ArrayLike, name: str = "inv_freq") -> np.ndarray:
    """Return frequencies as NumPy float64; ValueError if any is negative."""
    numbers = np.array(as_pairs(frequencies).tolist(), dtype=np.float64)
    if (numbers < 0).any():
        raise ValueError(f"{name} must not be negative, got {numbers.min():g}")
    return numbers
