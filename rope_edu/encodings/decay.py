r"""Scores as a function of distance: the curve for a given q and k, its average over pairs, and two upper bounds.

The distance is always r = m − n, query position minus key position, so it is positive for an earlier key.
"""

from typing import Any

from array_api_compat import array_namespace

from rope_edu.arrays import Array, ArrayLike, as_kind_of
from rope_edu.encodings.frequencies import rope_angles
from rope_edu.encodings.validation import as_real

__all__ = ["mean_cosine", "roformer_bound", "score_curve", "trivial_bound"]


def score_curve(q: ArrayLike, k: ArrayLike, inv_freq: ArrayLike, distances: ArrayLike) -> Array:
    r"""Return the score of a rotated query and key at each distance: float64 `(…, n)`, in the array type of `q`.

        s(r) = ⟨R_m q, R_n k⟩ = Re Σ_i h_i e^{i r θ_i},   h_i = q_i · conj(k_i),   r = m − n

    Scores are unscaled: divide them by √head_dim for attention. `q` and `k` are unrotated and interleaved,
    `(…, 2 · pairs)`, and their leading axes broadcast. θ is `(pairs,)`; distances, `(n,)`, are in tokens and may be
    negative. ValueError if the widths differ, if distances are not 1-D, or as for `rope_angles`.

    >>> from math import pi
    >>> score_curve([1.0, 0.0], [1.0, 0.0], [pi / 4], [0, 2, 4]).round(3).tolist()  # cos 0, cos π/2, cos π
    [1.0, 0.0, -1.0]

    Source: RoFormer, arXiv 2104.09864, eq. 35. Chapter 9. Plain form: `plain.score_curve`.
    """
    h = _pair_products(q, k)  # (…, pairs)
    return array_namespace(h).real(h @ _phases(inv_freq, distances, h).T)


def mean_cosine(inv_freq: ArrayLike, distances: ArrayLike) -> Array:
    r"""Return cos(r θ_i) averaged over all pairs, for each distance r: float64 `(n,)`.

        c(r) = (1/pairs) Σ_i cos(r θ_i)

    This is the score curve for q = k with equal energy in all pairs, relative to the score at distance 0. The array
    type and errors are as for `rope_angles`.

    >>> from math import pi
    >>> mean_cosine([0.0, pi], [0, 1]).tolist()  # at 1: cos 0 and cos π cancel
    [1.0, 0.0]

    Source: RoFormer, arXiv 2104.09864, eq. 35 with equal h_i; its decay figure plots something else, the mean of
    |S_j| (see `roformer_bound`). Chapter 9. Plain form: `plain.mean_cosine`.
    """
    angles = rope_angles(distances, inv_freq)
    xp = array_namespace(angles)
    return xp.mean(xp.cos(angles), axis=-1)


def roformer_bound(q: ArrayLike, k: ArrayLike, inv_freq: ArrayLike, distances: ArrayLike) -> Array:
    r"""Return RoFormer's bound on |score| at each distance, derived by Abel summation: `(…, n)`.

        |s(r)| ≤ max_i |h_{i+1} − h_i| · Σ_{j=1…pairs} |S_j|,   S_j = Σ_{i<j} e^{i r θ_i},   h_pairs = 0

    The paper concludes from Σ|S_j| that scores decay; compare this bound with `trivial_bound` before accepting
    that. Arguments, array type and errors are as for `score_curve`.

    >>> ones = [1.0, 1.0, 1.0, 1.0]  # h = (2, 2), so the largest step is 2, and at r = 0 Σ|S_j| = 1 + 2
    >>> roformer_bound(ones, ones, [1.0, 0.1], [0]).tolist()
    [6.0]

    Source: RoFormer, arXiv 2104.09864, §3.4.3, eq. 36–37. Chapter 9.
    """
    h = _pair_products(q, k)
    phases = _phases(inv_freq, distances, h)
    xp = array_namespace(h)
    steps = xp.abs(xp.concat((h[..., 1:] - h[..., :-1], h[..., -1:]), axis=-1))  # h is 0 after the last pair
    partial_sums = xp.sum(xp.abs(xp.cumulative_sum(phases, axis=-1)), axis=-1)  # (n,)
    return xp.max(steps, axis=-1)[..., None] * partial_sums


def trivial_bound(q: ArrayLike, k: ArrayLike) -> Array:
    r"""Return a bound on |score| that holds at any distance, `(…)`: the sum of |q_i| |k_i| over the pairs.

        |s(r)| ≤ Σ_i |h_i| = Σ_i |q_i| |k_i|   for all r

    Arguments, array type and errors are as for `score_curve`.

    >>> float(trivial_bound([3.0, 4.0], [0.0, 2.0]))  # 5 · 2
    10.0

    Source: the triangle inequality. Chapter 9.
    """
    h = _pair_products(q, k)
    xp = array_namespace(h)
    return xp.sum(xp.abs(h), axis=-1)


def _pair_products(q: Any, k: Any) -> Array:
    """Return h_i = q_i · conj(k_i), where pairs are complex numbers: `(…, pairs)`."""
    q = as_real("q", q)
    k = as_kind_of(as_real("k", k), like=q)
    for name, vector in (("q", q), ("k", k)):
        if vector.ndim == 0 or vector.shape[-1] % 2 or vector.shape[-1] != q.shape[-1]:
            raise ValueError(f"{name} must be (…, 2 · pairs), q and k alike, got shape {tuple(vector.shape)}")
    return (q[..., 0::2] + 1j * q[..., 1::2]) * (k[..., 0::2] - 1j * k[..., 1::2])


def _phases(inv_freq: ArrayLike, distances: ArrayLike, h: Array) -> Array:
    """Return e^{i r θ_i}, `(n, pairs)`, with the array type of `h`."""
    angles = as_kind_of(rope_angles(distances, inv_freq), like=h)
    if angles.ndim != 2:
        raise ValueError(f"distances must have one axis, got shape {tuple(angles.shape[:-1])}")
    if angles.shape[-1] != h.shape[-1]:
        raise ValueError(f"inv_freq must have one entry per pair, {h.shape[-1]}, got {angles.shape[-1]}")
    return array_namespace(h).exp(1j * angles)
