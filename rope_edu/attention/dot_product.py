r"""Scores, mask, softmax and attention. The caller encodes position by rotating q and k or passing a bias."""

import math
from typing import Any

import numpy as np
from array_api_compat import array_namespace

from rope_edu.arrays import Array, as_kind_of
from rope_edu.encodings.relative import relative_positions
from rope_edu.encodings.validation import (
    as_real,
    check_broadcast,
    check_finite_number,
    check_floats,
    compute_dtype,
)


def attention_scores(q: Array, k: Array, *, scale: float | None = None) -> Any:
    r"""Return attention scores, which measure how well queries match keys: `(…, q_len, k_len)`.

        scores_{mn} = scale · ⟨q_m, k_n⟩,   scale = 1/√head_dim unless given

    `q` and `k` are floats `(…, q_len, head_dim)` and `(…, k_len, head_dim)`, already rotated if RoPE is used.
    Models that rescale logits (YaRN, DeepSeek) pass `scale`. ValueError if `q` or `k` is not a float array, has
    fewer than 2 axes or does not match the other, or if `scale` is not finite.

    >>> q, k = np.array([[2.0, 0.0, 0.0, 0.0]]), np.eye(4)[:2]
    >>> attention_scores(q, k).tolist()  # 2/√4 and 0/√4
    [[1.0, 0.0]]

    Source: Vaswani 2017, arXiv 1706.03762, eq. 1. Chapters 1 and 10.
    """
    check_fit("(…, seq, width)", q=q, k=k)
    return _scores(q, k, scale)


def causal_mask(q_len: int, k_len: int) -> np.ndarray:
    r"""Return the causal mask, True where a query may attend to a key: NumPy bool `(q_len, k_len)`.

        mask_{mn} is True   ⇔   n ≤ m + (k_len − q_len)

    The queries are the last `q_len` of the `k_len` positions; with a KV cache, these are the new tokens. Raises the
    same errors as `relative_positions`.

    >>> causal_mask(2, 4).astype(int).tolist()  # positions 2 and 3 look back
    [[1, 1, 1, 0], [1, 1, 1, 1]]

    Source: Vaswani 2017, arXiv 1706.03762, §3.2.3. Chapters 1 and 11. Plain form: `plain.causal_mask`.
    """
    return relative_positions(q_len, k_len) <= 0


def softmax(x: Array) -> Any:
    r"""Return weights that sum to 1, with the shape, dtype and array type of `x`, computed at least in float32.

        softmax(x)_j = e^{x_j − max x} / Σ_k e^{x_k − max x}

    The sum is over the last axis. If all entries of a row are −∞ (masked), its weights are 0, not NaN. ValueError
    unless `x` is a float array.

    >>> softmax(np.array([0.0, math.log(3.0), -math.inf])).round(3).tolist()  # 1 : 3 : 0
    [0.25, 0.75, 0.0]

    Source: Vaswani 2017, arXiv 1706.03762, eq. 1; subtracting the maximum keeps e^x finite. Chapter 1.
    Plain form: `plain.softmax`.
    """
    check_floats("x", x)
    return _softmax(x)


def _softmax(x: Any) -> Any:
    xp = array_namespace(x)
    wide = xp.astype(x, compute_dtype(x), copy=False)
    peak = xp.max(wide, axis=-1, keepdims=True)
    weights = xp.exp(wide - xp.where(peak == -xp.inf, 0.0, peak))
    total = xp.sum(weights, axis=-1, keepdims=True)
    return xp.astype(weights / xp.where(total == 0, 1.0, total), x.dtype, copy=False)


def attention(
    q: Array,
    k: Array,
    v: Array,
    *,
    bias: Array | None = None,
    mask: Array | None = None,
    scale: float | None = None,
) -> tuple[Any, Any]:
    r"""Return the average of the values, weighted by how well keys match queries, and the weights.

        weights = softmax(scale · q kᵀ + bias, masked with −∞),   output = weights · v

    Args:
        q, k, scale: as for `attention_scores`.
        v: floats `(…, k_len, v_dim)`.
        bias: added to the scaled scores, broadcast to `(…, q_len, k_len)`; may be NumPy for a torch q.
        mask: bool, True where a query may attend, broadcast in the same way (see `causal_mask`).

    Returns `(output, weights)`, `(…, q_len, v_dim)` and `(…, q_len, k_len)`; both are zero for a query whose keys
    are all masked. ValueError as for `attention_scores`, or if `v` and `k` differ in length, `bias` or `mask` does
    not broadcast to the scores, or `mask` is not bool.

    >>> q, k, v = np.zeros((2, 4)), np.zeros((2, 4)), np.array([[1.0], [3.0]])
    >>> attention(q, k, v, mask=causal_mask(2, 2))[0].tolist()  # the first attends to itself, the last to both
    [[1.0], [2.0]]

    Source: Vaswani 2017, arXiv 1706.03762, eq. 1. Chapters 1 and 10. Plain form: `plain.attention`.
    """
    check_qkv(q, k, v)
    return attend(q, k, v, bias, mask, scale)


def attend(q: Any, k: Any, v: Any, bias: Any, mask: Any, scale: float | None = None) -> tuple[Any, Any]:
    """Like `attention`, but for q, k and v that have already been checked."""
    scores = _scores(q, k, scale)
    xp = array_namespace(scores)
    if bias is not None:
        bias = as_kind_of(as_real("bias", bias), like=scores)
        check_broadcast("bias", bias.shape, scores.shape, "one entry per query and key, (…, q_len, k_len)")
        scores = scores + xp.astype(bias, scores.dtype, copy=False)
    if mask is not None:
        mask = as_kind_of(np.asarray(mask) if isinstance(mask, list | tuple) else mask, like=scores)
        if not xp.isdtype(mask.dtype, "bool"):
            raise ValueError(f"mask must be bool, True where a query may attend, got {mask.dtype}")
        check_broadcast("mask", mask.shape, scores.shape, "one entry per query and key, (…, q_len, k_len)")
        scores = xp.where(mask, scores, -xp.inf)
    weights = _softmax(scores)
    return weights @ v, weights


def _scores(q: Any, k: Any, scale: float | None) -> Any:
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else check_finite_number("scale", scale)
    return (q * scale) @ k.mT  # (…, q_len, d) @ (…, d, k_len)


def check_qkv(q: Array, k: Array, v: Array) -> None:
    """Reject q, k and v whose shapes do not match, such as more values than keys."""
    check_fit("(…, seq, width)", q=q, k=k, v=v)
    if v.shape[-2] != k.shape[-2]:
        raise ValueError(f"v must be as long as k, {k.shape[-2]} positions, got {v.shape[-2]}")


def check_fit(form: str, **arrays: Array) -> None:
    """Reject arrays that are not floats, lack an axis or do not broadcast, and a k whose width differs from q's."""
    axes = form.count(",")
    for name, x in arrays.items():
        check_floats(name, x)
        if x.ndim < axes:
            raise ValueError(f"{name} must be {form}, got shape {tuple(x.shape)}")
    leading = {name: tuple(x.shape[:-axes]) for name, x in arrays.items()}
    try:
        np.broadcast_shapes(*leading.values())
    except ValueError:
        raise ValueError(f"the leading axes must broadcast, got {leading}") from None
    q_width, k_width = arrays["q"].shape[-1], arrays["k"].shape[-1]
    if q_width != k_width:
        raise ValueError(f"q and k must be equally wide, got {q_width} and {k_width}")
