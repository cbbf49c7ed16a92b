"""Absolute encodings: one vector per position, added to the token's embedding."""

import numpy as np
from array_api_compat import array_namespace

from rope_edu.arrays import Array, ArrayLike
from rope_edu.encodings.frequencies import inv_freq, rope_angles
from rope_edu.encodings.rotary import rotation_matrix
from rope_edu.encodings.validation import Count, Positive, check_even_dim, check_finite_number, checked

__all__ = ["learned_table", "shift_matrix", "sinusoidal"]


@checked
def learned_table(n_positions: Count, d_model: Count, *, scale: Positive = 0.02, seed: int = 0) -> np.ndarray:
    r"""Return an untrained table of random position vectors: NumPy float64 `(n_positions, d_model)`.

        table[p, i] ~ N(0, scale²)

    `n_positions` is the length of the longest text in tokens, and `d_model` the width of a token's embedding. The
    default standard deviation is BERT's `initializer_range`. No rule can extend a learned table, so its length is a
    hard limit. ValueError if a count is below 1 or `scale` is not above 0.

    >>> table = learned_table(512, 64)
    >>> table.shape, round(float(table.std()), 3)
    ((512, 64), 0.02)

    Source: Gehring 2017, arXiv 1705.03122, §3.1; Vaswani 2017, arXiv 1706.03762, §3.5. Chapter 2.
    """
    return scale * np.random.default_rng(seed).standard_normal((n_positions, d_model))


def sinusoidal(positions: ArrayLike, d_model: int, base: float = 10_000.0) -> Array:
    r"""Return the sinusoidal encoding of each position, at d_model/2 frequencies: `(…, seq, d_model)`.

        PE(p, 2i) = sin(p·θ_i),   PE(p, 2i + 1) = cos(p·θ_i),   θ_i = base^(−2i / d_model)

    The result is float64 and has the array type of `positions`; pairs are interleaved, sine first, and the norm of
    a row is √(d_model/2). Positions and their errors are as for `rope_angles`; `d_model` and `base` are as for
    `inv_freq`.

    >>> sinusoidal([0, 1], 4).round(4).tolist()  # pair 0 turns 1 radian per token, pair 1 0.01
    [[0.0, 1.0, 0.0, 1.0], [0.8415, 0.5403, 0.01, 1.0]]

    Source: Vaswani 2017, arXiv 1706.03762, §3.5. Chapter 2. Plain form: `plain.sinusoidal`.
    """
    angles = rope_angles(positions, inv_freq(d_model, base))  # (…, seq, pairs)
    xp = array_namespace(angles)
    pairs = xp.stack((xp.sin(angles), xp.cos(angles)), axis=-1)  # (…, seq, pairs, 2)
    return xp.reshape(pairs, (*angles.shape[:-1], d_model))  # (…, seq, d_model), interleaved


def shift_matrix(offset: float, d_model: int, base: float = 10_000.0) -> np.ndarray:
    r"""Return the matrix that maps the encoding of any position to the encoding `offset` tokens later.

        PE(p + k) = M_k · PE(p),   M_k = block diagonal of  [ cos kθ_i   sin kθ_i]
                                                            [−sin kθ_i   cos kθ_i]

    The matrix, NumPy float64 `(d_model, d_model)`, is orthogonal and multiplies column vectors; for rows, write
    `pe @ M.T`. Here a pair is (sin, cos), so the blocks rotate *clockwise*, by −kθ_i. With the cosine first, the
    same step would be counter-clockwise, as in RoPE. ValueError if `offset` is not finite, or as for `sinusoidal`.

    >>> m = shift_matrix(np.pi / 2, 2)  # maps (sin 0, cos 0) to (sin π/2, cos π/2)
    >>> (m @ [0.0, 1.0]).round(4).tolist()
    [1.0, 0.0]

    Source: Vaswani 2017, arXiv 1706.03762, §3.5 (on PE(pos + k)). Chapters 2 and 4.
    """
    offset = check_finite_number("offset", offset)
    return rotation_matrix(-offset * inv_freq(check_even_dim("d_model", d_model), base))
