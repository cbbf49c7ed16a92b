r"""Multi-head attention with any position encoding and an optional cache."""

from typing import Any

import numpy as np
from array_api_compat import array_namespace, device

from rope_edu.arrays import Array, ArrayLike
from rope_edu.attention.cache import KVCache
from rope_edu.attention.dot_product import attend
from rope_edu.attention.encoding import NoPosition, PositionEncoding
from rope_edu.encodings.validation import check_floats, check_positive_int

_NO_POSITION = NoPosition()


def split_heads(x: Array, n_heads: int) -> Any:
    r"""Split features into heads, `(…, seq, n·d)` -> `(…, n, seq, d)`; the result is a view if possible.

    ValueError if `x` has fewer than 2 axes, or if its width is not a multiple of `n_heads`.

    >>> split_heads(np.array([[1, 2, 3, 4]]), 2).tolist()  # one token, two heads
    [[[1, 2]], [[3, 4]]]

    Source: Vaswani 2017, arXiv 1706.03762, §3.2.2. Chapter 10. Plain form: `plain.split_heads`.
    """
    n_heads = check_positive_int("n_heads", n_heads)
    if x.ndim < 2 or x.shape[-1] % n_heads:
        raise ValueError(f"x must be (…, seq, {n_heads} heads · head_dim), got shape {tuple(x.shape)}")
    return _split(x, n_heads)


def _split(x: Any, n_heads: int) -> Any:
    xp = array_namespace(x)
    heads = xp.reshape(x, (*x.shape[:-1], n_heads, x.shape[-1] // n_heads))  # (…, seq, n, d)
    return xp.moveaxis(heads, -2, -3)  # (…, n, seq, d)


def merge_heads(x: Array) -> Any:
    r"""Join heads side by side, `(…, n, seq, d)` -> `(…, seq, n·d)`: the inverse of `split_heads`.

    ValueError if `x` has fewer than 3 axes.

    >>> merge_heads(np.array([[[1, 2]], [[3, 4]]])).tolist()
    [[1, 2, 3, 4]]

    Source: Vaswani 2017, arXiv 1706.03762, §3.2.2. Chapter 11. Plain form: `plain.merge_heads`.
    """
    if x.ndim < 3:
        raise ValueError(f"x must be (…, n_heads, seq, head_dim), got shape {tuple(x.shape)}")
    xp = array_namespace(x)
    tokens = xp.moveaxis(x, -3, -2)  # (…, seq, n, d)
    return xp.reshape(tokens, (*tokens.shape[:-2], tokens.shape[-2] * tokens.shape[-1]))


def multi_head_attention(
    x: Array,
    w_q: Array,
    w_k: Array,
    w_v: Array,
    w_o: Array,
    *,
    n_heads: int,
    n_kv_heads: int | None = None,
    encoding: PositionEncoding = _NO_POSITION,
    positions: ArrayLike | None = None,
    causal: bool = True,
    cache: KVCache | None = None,
) -> tuple[Any, Any]:
    r"""Return multi-head attention, causal by default, with a position encoding and an optional cache.

        q, k, v = x W_qᵀ, x W_kᵀ, x W_vᵀ in heads;   q, k rotated;   softmax(q kᵀ/√head_dim + bias) v,   then W_oᵀ

    This function does not call the encoding's `embed`, which belongs at the input of the model. Returns
    `(output, weights)`: `(…, seq, d_out)` and `(…, n_heads, seq, k_len)`.

    Args:
        x: floats `(…, seq, d_model)`.
        w_q, w_k: `(n_heads · head_dim, d_model)` and `(n_kv_heads · head_dim, d_model)`, with a row per output, as
            in torch's Linear.
        w_v, w_o: `(n_kv_heads · v_dim, d_model)` and `(d_out, n_heads · v_dim)`.
        n_kv_heads: number of key and value heads, a divisor of `n_heads`; neighbouring query heads share one
            (grouped queries). Default: `n_heads`.
        encoding: the position encoding. Default: `NoPosition()`.
        positions: token positions for rotations, `(seq,)`, or `(seq, n_axes)` for a spec with axes. Default: 0, 1,
            2 …, or, with a cache, the positions that follow the tokens seen. Bias and mask depend only on token
            order.
        causal: whether a token sees only itself and earlier tokens.
        cache: the KV cache of this layer, to which the new keys and values are appended.

    ValueError if shapes do not match, or if a cache is used without the causal mask or with an encoding that
    changes old keys.

    >>> x, w = np.array([[1.0, 0.0], [0.0, 1.0]]), np.eye(2)
    >>> output, weights = multi_head_attention(x, 0 * w, w, w, w, n_heads=1)
    >>> output.tolist()  # with q = 0, a token averages itself and all earlier tokens
    [[1.0, 0.0], [0.5, 0.5]]

    Source: Vaswani 2017, arXiv 1706.03762, §3.2.2; grouped queries: Ainslie 2023, arXiv 2305.13245. Chapters
    10 and 11. Plain form: `plain.multi_head_attention`.
    """
    n_heads = check_positive_int("n_heads", n_heads)
    n_kv_heads = n_heads if n_kv_heads is None else check_positive_int("n_kv_heads", n_kv_heads)
    _check_cache(cache, encoding, causal)
    _check_shapes(x, w_q, w_k, w_v, w_o, n_heads, n_kv_heads)
    positions = _positions(x, positions, cache)
    q = encoding.rotate_q(_split(x @ w_q.mT, n_heads), positions)  # (…, n_heads, seq, head_dim)
    k = encoding.rotate_k(_split(x @ w_k.mT, n_kv_heads), positions)
    v = _split(x @ w_v.mT, n_kv_heads)  # not rotated, because values are averaged rather than compared
    if cache is not None:
        k, v = cache.append(k, v)
    k_len = k.shape[-2]
    k, v = (_repeat_heads(y, n_heads // n_kv_heads) for y in (k, v))
    mask = _causal_mask(q, k_len) if causal else None
    mixed, weights = attend(q, k, v, encoding.bias(q, k_len), mask)
    return merge_heads(mixed) @ w_o.mT, weights


def _repeat_heads(x: Array, n: int) -> Any:
    """Repeat each head `n` times, for the query heads that share it: (…, kv, seq, d) -> (…, kv · n, seq, d)."""
    if n == 1:
        return x
    xp, (*leading, heads, seq, width) = array_namespace(x), x.shape
    return xp.reshape(xp.stack([x] * n, axis=-3), (*leading, heads * n, seq, width))


def _causal_mask(q: Array, k_len: int) -> Any:
    """Return `causal_mask` in the array type of `q` and on its device, built so that torch.compile can trace it."""
    keys = array_namespace(q).arange(k_len, device=device(q))
    return keys <= keys[k_len - q.shape[-2] :, None]  # (q_len, k_len)


def _positions(x: Array, positions: ArrayLike | None, cache: KVCache | None) -> ArrayLike:
    """Return a position for each token of `x`: `positions` if given, otherwise those after the tokens seen."""
    seq = x.shape[-2]
    if positions is None:
        start = 0 if cache is None else cache.seen
        return range(start, start + seq)
    shape = tuple(getattr(positions, "shape", None) or np.shape(positions))
    if len(shape) not in (1, 2) or shape[0] != seq:
        raise ValueError(f"positions must have one entry per token, ({seq},), got shape {shape}")
    return positions


def _check_cache(cache: KVCache | None, encoding: PositionEncoding, causal: bool) -> None:
    if cache is not None and not causal:
        raise ValueError(
            "a cache needs causal=True: without the mask, the outputs of earlier tokens would depend on the "
            "new ones too"
        )
    if cache is not None and encoding.cache_problem is not None:
        raise ValueError(f"{type(encoding).__name__} cannot use a cache: {encoding.cache_problem}")


def _check_shapes(
    x: Array, w_q: Array, w_k: Array, w_v: Array, w_o: Array, n_heads: int, n_kv_heads: int
) -> None:
    """Reject weights whose shapes do not match `x` and the numbers of heads."""
    check_floats("x", x)
    if x.ndim < 2:
        raise ValueError(f"x must be (…, seq, d_model), got shape {tuple(x.shape)}")
    if n_heads % n_kv_heads:
        raise ValueError(f"n_kv_heads must divide n_heads = {n_heads}, got {n_kv_heads}")
    weights = (("w_q", w_q, n_heads), ("w_k", w_k, n_kv_heads), ("w_v", w_v, n_kv_heads))
    for name, w, heads in weights:
        check_floats(name, w)
        if w.ndim != 2 or w.shape[1] != x.shape[-1] or w.shape[0] % heads:
            raise ValueError(
                f"{name} must be ({heads} heads · width, d_model = {x.shape[-1]}), got {tuple(w.shape)}"
            )
    q_dim, k_dim, v_dim = (w.shape[0] // heads for _, w, heads in weights)
    if q_dim != k_dim:
        raise ValueError(f"heads of w_q and w_k must be equally wide, got {q_dim} and {k_dim}")
    check_floats("w_o", w_o)
    if w_o.ndim != 2 or w_o.shape[1] != n_heads * v_dim:
        raise ValueError(f"w_o must be (d_out, n_heads · v_dim = {n_heads * v_dim}), got {tuple(w_o.shape)}")
