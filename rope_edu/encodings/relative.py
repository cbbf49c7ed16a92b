"""Relative encodings: a bias on the attention score, or a vector added to the key, that depends on the distance.

Relative positions are j − i, key minus query, so they are negative for keys to the left. `q_len` and `k_len` are
numbers of tokens: the queries are the *last* `q_len` of the `k_len` positions, so in decoding (`q_len=1`) the
single query is at position `k_len − 1`. A bias is added to the scaled scores before the softmax and has the same
unit.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_array_api_obj

from rope_edu import plain
from rope_edu.arrays import Array, ArrayLike, as_kind_of, values_known
from rope_edu.encodings.absolute import sinusoidal
from rope_edu.encodings.validation import Count, as_integers, checked

__all__ = [
    "alibi_bias",
    "alibi_slopes",
    "fire_bias",
    "kerple_log_bias",
    "relative_positions",
    "shaw_index",
    "shaw_scores",
    "t5_bias",
    "t5_bucket",
    "transformer_xl_scores",
]


@checked
def relative_positions(q_len: Count, k_len: Count) -> np.ndarray:
    r"""Return the position of each key relative to each query, in tokens: NumPy int64 `(q_len, k_len)`.

        Δ_ij = j − i,   i = k_len − q_len … k_len − 1,   j = 0 … k_len − 1

    The queries are the last tokens of the text, and the keys are all of its tokens. ValueError if a length is not a
    whole number ≥ 1, or if `q_len` exceeds `k_len`; all functions in this file that take both lengths check them in
    the same way.

    >>> relative_positions(2, 3).tolist()
    [[-1, 0, 1], [-2, -1, 0]]

    Source: Shaw 2018, arXiv 1803.02155, §3.1. Chapter 3. Plain form: `plain.relative_positions`.
    """
    if q_len > k_len:
        raise ValueError(f"q_len must be at most k_len = {k_len}: every query is also a key; got {q_len}")
    return plain.relative_positions(q_len, k_len)


@checked
def t5_bucket(
    relative_position: ArrayLike, *, bidirectional: bool, num_buckets: Count = 32, max_distance: Count = 128
) -> Array:
    r"""Return T5's int64 bucket for each relative position: exact at short distances, logarithmic at longer ones.

        bucket(n) = n                                                   if n < E
                    min(B − 1, E + ⌊(B − E) · ln(n/E) / ln(D/E)⌋)       otherwise

    n is the distance, B is the number of buckets per side, E = ⌊B/2⌋ of which hold one distance each, and D is
    `max_distance`. The logarithm is computed in float32, as in T5's code. ValueError if an argument is out of
    range.

    Args:
        relative_position: j − i, key minus query, in tokens: integers of any shape; the result has the same shape.
        bidirectional: True (encoder) gives each side half of the buckets, with the upper half for keys to the
            right. False (decoder) uses n = max(i − j, 0), so keys to the right share bucket 0.
        num_buckets: total for both sides, at least 4; at least 2 if not bidirectional.
        max_distance: in tokens, more than E; longer distances, and some shorter ones, share the last bucket.

    >>> t5_bucket([0, -7, -16, -128, 3], bidirectional=False).tolist()
    [0, 7, 16, 31, 0]

    Source: Raffel 2020, arXiv 1910.10683, §2.1, and its released code. Chapter 3. Plain form: `plain.t5_bucket`.
    """
    relative_position = as_integers("relative_position", relative_position)
    per_side = num_buckets // 2 if bidirectional else num_buckets
    exact = per_side // 2
    if exact == 0:
        least = 4 if bidirectional else 2
        raise ValueError(f"num_buckets must be at least {least} with {bidirectional=}, got {num_buckets}")
    if max_distance <= exact:
        raise ValueError(
            f"max_distance must exceed the {exact} distances with exact buckets, got {max_distance}"
        )

    xp = array_namespace(relative_position)
    distance = xp.abs(relative_position) if bidirectional else xp.clip(-relative_position, 0, None)
    # clip distances below `exact`, which do not use the logarithm, to avoid ln 0
    ratio = xp.astype(xp.clip(distance, exact, None), xp.float32) / exact
    share = xp.log(ratio) / math.log(max_distance / exact)  # 0 at `exact`, 1 at `max_distance`
    far = exact + xp.astype(share * (per_side - exact), xp.int64)
    bucket = xp.where(distance < exact, distance, xp.clip(far, None, per_side - 1))
    return bucket + per_side * xp.astype(relative_position > 0, xp.int64) if bidirectional else bucket


def t5_bias(table: Array, q_len: int, k_len: int, *, bidirectional: bool, max_distance: int = 128) -> Array:
    r"""Return T5's bias, learned for each head and bucket: `(n_heads, q_len, k_len)`, an array like `table`.

        bias[h, i, j] = table[bucket(j − i), h]

    T5 does not divide its scores by √head_dim. All its layers share one table, `(num_buckets, n_heads)`, which
    receives gradients. ValueError if the table does not have two axes, or as for `t5_bucket`.

    >>> t5_bias(np.array([[0.5], [-1.0]]), 2, 2, bidirectional=False).tolist()
    [[[0.5, 0.5], [-1.0, 0.5]]]

    Source: Raffel 2020, arXiv 1910.10683, §2.1. Chapter 3. Plain form: `plain.t5_bias`.
    """
    if table.ndim != 2:
        raise ValueError(f"table must have shape (num_buckets, n_heads), got {tuple(table.shape)}")
    bucket = t5_bucket(
        relative_positions(q_len, k_len),
        bidirectional=bidirectional,
        num_buckets=table.shape[0],
        max_distance=max_distance,
    )
    xp = array_namespace(table)
    bias = table[as_kind_of(bucket, table)]  # (q_len, k_len, n_heads)
    return xp.permute_dims(bias, (2, 0, 1))


@checked
def alibi_slopes(n_heads: Count) -> np.ndarray:
    r"""Return ALiBi's slopes, one per head, in units of score per token: NumPy float64 `(n_heads,)`.

        μ_h = 2^(−8h / H),   h = 1 … H,   for H = `n_heads` a power of two

    For other H, the published rule takes the slopes for P, the largest power of two below H, and adds the slopes
    for 2P with odd h, the first of which exceeds all of P's, until there are H slopes. For such H, the slopes do
    not decrease steadily. ValueError if `n_heads` is not a whole number ≥ 1.

    >>> alibi_slopes(4).tolist()
    [0.25, 0.0625, 0.015625, 0.00390625]
    >>> alibi_slopes(3).tolist()  # both of P = 2, then the first of 2P = 4
    [0.0625, 0.00390625, 0.25]

    Source: Press 2022, arXiv 2108.12409, §3, and its released code. Chapter 3. Plain form: `plain.alibi_slopes`.
    """
    return plain.alibi_slopes(n_heads)


def alibi_bias(n_heads: int, q_len: int, k_len: int) -> np.ndarray:
    r"""Return ALiBi's bias, a penalty proportional to distance: NumPy float64 `(n_heads, q_len, k_len)`.

        bias[h, i, j] = −μ_h · |i − j|

    ALiBi has no learned parameters. With a causal mask, only j ≤ i remains, as in the paper. Some libraries add
    +μ_h·j instead; the difference is constant in each row, so the softmax ignores it. Errors are as for
    `alibi_slopes` and `relative_positions`.

    >>> (256 * alibi_bias(1, 2, 3)).tolist()  # one head has the slope 1/256
    [[[-1.0, 0.0, -1.0], [-2.0, -1.0, 0.0]]]

    Source: Press 2022, arXiv 2108.12409, §3. Chapter 3. Plain form: `plain.alibi_bias`.
    """
    return alibi_slopes(n_heads)[:, None, None] * -np.abs(relative_positions(q_len, k_len))


@checked
def shaw_index(q_len: int, k_len: int, max_distance: Count) -> np.ndarray:
    r"""Return the row of Shaw's table, 0 … 2K, for each query and key: NumPy int64 `(q_len, k_len)`.

        row_ij = clip(j − i, −K, K) + K

    Row K is for the token itself and row 0 for the far left. All distances of at least K = `max_distance` tokens
    share one row on each side. ValueError if K is not a whole number ≥ 1, or as for `relative_positions`.

    >>> shaw_index(1, 4, max_distance=2).tolist()
    [[0, 0, 1, 2]]

    Source: Shaw 2018, arXiv 1803.02155, §3.2. Chapter 3.
    """
    return np.clip(relative_positions(q_len, k_len), -max_distance, max_distance) + max_distance


def shaw_scores(q: Array, k: Array, table: Array) -> Array:
    r"""Return scores with learned vectors, one per distance, added to the keys: `(…, q_len, k_len)`.

        s_ij = q_i · (k_j + a_{clip(j − i, −K, K)})

    Scores are unscaled; eq. 4 of the paper divides by √head_dim. Queries, `(…, q_len, head_dim)`, belong to the
    last tokens, and keys, `(…, k_len, head_dim)`, to all tokens. The rows of the table, `(2K + 1, head_dim)`, are
    the vectors a for distances −K to K; all heads share them. ValueError unless the number of rows is odd and at
    least 3 and all widths agree.

    >>> q, k = np.array([[1.0, 0.0]]), np.array([[2.0, 5.0], [3.0, 5.0]])  # one query, at position 1
    >>> a = np.array([[10.0, 0.0], [20.0, 0.0], [30.0, 0.0]])  # distances −1, 0, 1
    >>> shaw_scores(q, k, a).tolist()  # 2 + 10 and 3 + 20
    [[12.0, 23.0]]

    Source: Shaw 2018, arXiv 1803.02155, §3.1–3.2, eq. 4. Chapter 3. Plain form: `plain.shaw_scores`.
    """
    _check_widths(q=q, k=k, table=table)
    if table.ndim != 2 or table.shape[0] < 3 or table.shape[0] % 2 == 0:
        raise ValueError(
            f"table must be (2K + 1, head_dim) with K ≥ 1, rows −K … K; got {tuple(table.shape)}"
        )
    rows = shaw_index(q.shape[-2], k.shape[-2], max_distance=table.shape[0] // 2)
    offsets = table[as_kind_of(rows, table)]  # (q_len, k_len, head_dim)
    return q @ k.mT + (offsets @ q[..., None])[..., 0]  # (…, q_len, k_len)


def transformer_xl_scores(
    q: Array, k: Array, w_position: Array, u: Array, v: Array, base: float = 10_000.0
) -> Array:
    r"""Return Transformer-XL's scores, which compare content and distance separately: `(…, q_len, k_len)`.

        s_ij = (q_i + u) · k_j + (q_i + v) · W R_{i−j}

    The formula combines the paper's four terms. R is the sinusoidal encoding of i − j, *query minus key*, the
    opposite of j − i elsewhere in this file. Scores are unscaled; the paper's model divides by √head_dim.
    ValueError if widths differ, if d_model is odd, or as for `relative_positions`.

    Args:
        q, k: as for `shaw_scores`.
        w_position: W, the paper's W_{k,R}: `(head_dim, d_model)`, or `(n_heads, head_dim, d_model)`. Its columns
            follow our interleaved sines and cosines; the released code puts all sines first, which only permutes
            them.
        u, v: `(head_dim,)`, or `(n_heads, 1, head_dim)`.
        base: base of the sinusoids, above 1.

    >>> one, none = np.array([[2.0, 3.0]]), np.zeros(2)  # at distance 0, R = (sin 0, cos 0) = (0, 1)
    >>> transformer_xl_scores(one, one, np.eye(2), none, none).tolist()  # 2·2 + 3·3 + 3·1
    [[16.0]]

    Source: Dai 2019, arXiv 1901.02860, §3.3. Chapter 3. Plain form: `plain.transformer_xl_scores`.
    """
    _check_widths(q=q, k=k, u=u, v=v)
    if w_position.shape[-2] != q.shape[-1]:
        raise ValueError(f"w_position must have head_dim = {q.shape[-1]} rows, got {tuple(w_position.shape)}")
    xp = array_namespace(q, k, w_position, u, v)
    q_len, k_len = q.shape[-2], k.shape[-2]
    distances = -relative_positions(q_len, k_len)  # i − j, from −(q_len − 1) to k_len − 1
    encoding = sinusoidal(np.arange(1 - q_len, k_len), w_position.shape[-1], base)  # one row per distance
    encoding = xp.astype(as_kind_of(encoding, w_position), w_position.dtype)
    rows = as_kind_of(distances + (q_len - 1), q)  # (q_len, k_len)
    keys = (encoding @ w_position.mT)[..., rows, :]  # (…, q_len, k_len, head_dim)
    return (q + u) @ k.mT + (keys @ (q + v)[..., None])[..., 0]  # (…, q_len, k_len)


def kerple_log_bias(r1: Array, r2: Array, q_len: int, k_len: int) -> Array:
    r"""Return KERPLE's bias, a logarithmic penalty with two learned numbers per head: `(n_heads, q_len, k_len)`.

        bias[h, i, j] = −r1_h · ln(1 + r2_h · |i − j|),   r1, r2 > 0

    r1 has the unit of attention scores, and r2 is per token. Both are `(n_heads,)` and receive gradients; the bias
    has the dtype and array type of r1. ValueError if their shapes differ, or if a number is not above 0.

    >>> kerple_log_bias(np.array([2.0]), np.array([1.0]), 1, 3).round(4)[..., :2].tolist()  # −2 ln 3 and −2 ln 2
    [[[-2.1972, -1.3863]]]

    Source: Chi 2022 (KERPLE), arXiv 2205.09921, its logarithmic variant. Chapter 3.
    Plain form: `plain.kerple_log_bias`.
    """
    r1, r2 = _as_positive(r1=r1, r2=r2)
    xp = array_namespace(r1, r2)
    for name, value in (("r1", r1), ("r2", r2)):
        if value.ndim != 1 or value.shape != r1.shape:
            raise ValueError(f"{name} must have shape (n_heads,), the same as r1, got {tuple(value.shape)}")
    distance = _distances(q_len, k_len, r1)
    return -r1[:, None, None] * xp.log1p(r2[:, None, None] * distance)


def fire_bias(
    mlp: Callable[[Array], Array],
    q_len: int,
    k_len: int,
    *,
    c: Array | float = 0.1,
    threshold: Array | float = 512.0,
) -> Array:
    r"""Return FIRE's bias, computed by a small network from the normalised distance: `(n_heads, q_len, k_len)`.

        bias[h, i, j] = f_h(ψ(|i − j|) / ψ(max(L, i))),   ψ(n) = ln(1 + c·n)

    For keys up to the query, the input of f runs from 0 (the token itself) to at most 1, however long the text is.
    Positions start at 0. The paper's formula is causal, with i − j; its listing uses the absolute value, which also
    allows keys to the right, and adds 1e−6 to the denominator, which is unnecessary because L > 0. ValueError if
    `c` or L is not above 0, if `mlp` returns the wrong shape, or as for `relative_positions`.

    Args:
        mlp: f, which maps `(q_len, k_len, 1)` to `(q_len, k_len, n_heads)`, in the unit of the attention scores;
            the paper uses one hidden layer of 32 ReLU units. The bias has the result's dtype and array type.
        c, threshold: c (per token) and L (in tokens), as numbers, or 0-d arrays of the type that `mlp` takes; the
            paper learns them, starting from these defaults.

    >>> fire_bias(lambda x: x, 1, 4, c=1.0, threshold=3.0).round(4).tolist()  # ln 4, ln 3, ln 2, ln 1, each / ln 4
    [[[1.0, 0.7925, 0.5, 0.0]]]

    Source: Li 2024 (FIRE), arXiv 2310.04418, §3, and the listing in its appendix. Chapter 3.
    Plain form: `plain.fire_bias`.
    """
    c, threshold = _as_positive(c=c, threshold=threshold)
    xp = array_namespace(c, threshold)
    distance = _distances(q_len, k_len, c)
    query = xp.arange(k_len - q_len, k_len, dtype=c.dtype, device=device(c))[:, None]
    share = xp.log1p(c * distance) / xp.log1p(c * xp.maximum(query, threshold))  # (q_len, k_len)
    bias = mlp(share[..., None])
    if bias.ndim != 3 or tuple(bias.shape[:2]) != (q_len, k_len):
        raise ValueError(f"mlp must return shape ({q_len}, {k_len}, n_heads), got {tuple(bias.shape)}")
    return array_namespace(bias).permute_dims(bias, (2, 0, 1))


def _distances(q_len: int, k_len: int, like: Array) -> Array:
    """Return |i − j| in tokens, `(q_len, k_len)`, with the dtype and array type of `like`."""
    distances = as_kind_of(np.abs(relative_positions(q_len, k_len)), like)
    return array_namespace(like).astype(distances, like.dtype)


def _as_positive(**values: Any) -> list[Array]:
    """Return positive numbers as float arrays with the type, dtype and device of the first array among them."""
    like = next((value for value in values.values() if is_array_api_obj(value)), np.asarray(0.0))
    xp = array_namespace(like)
    dtype = like.dtype if xp.isdtype(like.dtype, "real floating") else xp.float64
    floats = []
    for name, value in values.items():
        array = as_kind_of(value if is_array_api_obj(value) else np.asarray(value), like)
        array = xp.astype(array, dtype)
        if values_known(array) and not bool(xp.all(array > 0)):
            raise ValueError(f"{name} must be positive, got {array.tolist()}")
        floats.append(array)
    return floats


def _check_widths(q: Array, **others: Array) -> None:
    """Reject an array whose last axis differs in length from the queries' last axis."""
    for name, array in others.items():
        if array.shape[-1] != q.shape[-1]:
            raise ValueError(
                f"{name} must have width head_dim = {q.shape[-1]}, like q; got {array.shape[-1]}"
            )
