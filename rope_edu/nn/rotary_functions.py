r"""A drop-in rotary position embedding for NumPy and JAX: two functions to copy, since this package imports torch.

NumPy computes cosines and sines in float64, which JAX lacks by default, and JAX rounds them once, when it receives
them. Under `jax.jit` they are constants, which a traced position can index: `jnp.asarray(cos)[position]`.
"""

from typing import Any

import numpy as np


def rotary_cos_sin(
    positions: Any, inv_freq: Any, attention_factor: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    r"""Return the cosines and sines for positions (…, seq): two float64 arrays, (…, seq, pairs).

    Args:
        positions: token indices.
        inv_freq: radians per token, (pairs,): `10_000.0 ** (-np.arange(0, d, 2) / d)`, or the result of any rule.
        attention_factor: multiplies both (YaRN, LongRoPE).

    >>> cos, sin = rotary_cos_sin([0, 1], [np.pi / 2])
    >>> cos.round(3).tolist(), sin.round(3).tolist()
    ([[1.0], [0.0]], [[0.0], [1.0]])

    Chapter 7.
    """
    angles = np.asarray(positions)[..., None] * np.asarray(inv_freq, np.float64)
    return attention_factor * np.cos(angles), attention_factor * np.sin(angles)


def rotate_heads(x: Any, cos: Any, sin: Any, layout: str = "interleaved") -> Any:
    r"""Rotate x, (…, seq, head_dim), by cosines and sines (…, seq, pairs), keeping its dtype.

    Args:
        x: queries or keys, NumPy or JAX; features beyond 2 · pairs are unchanged.
        cos, sin: from `rotary_cos_sin`; for positions (batch, seq) and x (batch, heads, seq, head_dim) pass
            `cos[:, None]`, `sin[:, None]`.
        layout: "interleaved" or "half_split".

    Raises:
        ValueError: if the layout is misspelt.

    >>> rotate_heads(np.array([[3.0, 4.0, 5.0]]), *rotary_cos_sin([1], [np.pi / 2])).round(3).tolist()
    [[-4.0, 3.0, 5.0]]

    Source: RoFormer, arXiv 2104.09864, eq. 34. Chapter 7.
    """
    if layout not in ("interleaved", "half_split"):
        raise ValueError(f"{layout=} is neither interleaved nor half_split")
    xp, pairs = x.__array_namespace__(), cos.shape[-1]
    shape, axis = ((2, pairs), -2) if layout == "half_split" else ((pairs, 2), -1)
    head = x[..., : 2 * pairs].reshape(*x.shape[:-1], *shape)
    x1, x2 = xp.moveaxis(head, axis, 0)  # both (…, seq, pairs)
    turned = xp.stack((x1 * cos - x2 * sin, x1 * sin + x2 * cos), axis=axis)
    turned = turned.reshape(*x.shape[:-1], 2 * pairs).astype(x.dtype)
    return xp.concat((turned, x[..., 2 * pairs :]), axis=-1)
