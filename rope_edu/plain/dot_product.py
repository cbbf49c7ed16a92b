"""Softmax attention and its four doors for position: embeddings, queries, keys and scores."""

import math
from collections.abc import Callable

import numpy as np
from numpy import ndarray

from rope_edu.plain.frequencies import rope_angles
from rope_edu.plain.relative import relative_positions
from rope_edu.plain.rotary import apply_rope

Door = Callable[[ndarray], ndarray]  # e.g. lambda q: apply_rope(q, angles)


def softmax(scores: ndarray) -> ndarray:
    """w_n = e^{s_n} / Σ e^{s_n}; subtracting the largest score first prevents overflow."""
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def causal_mask(q_len: int, k_len: int) -> ndarray:
    """True where n ≤ m; the queries are the last q_len of the k_len tokens."""
    return relative_positions(q_len, k_len) <= 0


def attention(
    q: ndarray, k: ndarray, v: ndarray, bias: ndarray | float = 0.0, mask: ndarray | bool = True
) -> tuple[ndarray, ndarray]:
    """softmax(q kᵀ/√d + b) v, and the weights; masked scores become −∞ (Vaswani 2017, eq. 1)."""
    scores = q @ k.mT / math.sqrt(q.shape[-1]) + bias  # (…, q_len, k_len)
    weights = softmax(np.where(mask, scores, -np.inf))
    return weights @ v, weights


def unchanged(x: ndarray) -> ndarray:
    """x itself: a closed door, through which no position enters."""
    return x


def attention_head(
    x: ndarray,
    w_q: ndarray,
    w_k: ndarray,
    w_v: ndarray,
    embed: Door = unchanged,
    rotate_q: Door = unchanged,
    rotate_k: Door = unchanged,
    bias: ndarray | float = 0.0,
) -> tuple[ndarray, ndarray]:
    """One causal head with four doors; with all of them closed, it is NoPE (Kazemnejad 2023)."""
    x = embed(x)  # door 1: the embeddings, (seq, d_model), as in learned tables
    q = rotate_q(x @ w_q.T)  # door 2: the queries, (seq, head_dim), as in RoPE
    k = rotate_k(x @ w_k.T)  # door 3: the keys, as in RoPE
    v = x @ w_v.T  # the values have no door: they are averaged, not compared
    return attention(q, k, v, bias=bias, mask=causal_mask(len(x), len(x)))  # door 4: the scores, as in T5


def split_heads(x: ndarray, n_heads: int) -> ndarray:
    """(seq, heads · head_dim) → (heads, seq, head_dim) (Vaswani 2017, §3.2.2)."""
    return np.moveaxis(x.reshape(len(x), n_heads, -1), 1, 0)


def merge_heads(x: ndarray) -> ndarray:
    """(heads, seq, head_dim) → (seq, heads · head_dim)."""
    return np.moveaxis(x, 0, 1).reshape(x.shape[1], -1)


def multi_head_attention(
    x: ndarray, w_q: ndarray, w_k: ndarray, w_v: ndarray, w_o: ndarray, n_heads: int, rotate: Door = unchanged
) -> ndarray:
    """Attention in parallel heads; several query heads may share one key head (Ainslie 2023)."""
    n_kv_heads = n_heads * len(w_k) // len(w_q)
    q = rotate(split_heads(x @ w_q.T, n_heads))  # (n_heads, seq, head_dim)
    k = rotate(split_heads(x @ w_k.T, n_kv_heads))
    v = split_heads(x @ w_v.T, n_kv_heads)
    k, v = (np.repeat(y, n_heads // n_kv_heads, axis=0) for y in (k, v))
    mixed, _ = attention(q, k, v, mask=causal_mask(len(x), len(x)))
    return merge_heads(mixed) @ w_o.T  # (seq, d_model)


def decode_with_cache(
    x: ndarray, w_q: ndarray, w_k: ndarray, w_v: ndarray, cache: tuple[ndarray, ndarray], inv_freq: ndarray
) -> tuple[ndarray, tuple[ndarray, ndarray]]:
    """Attention of new tokens to all tokens so far; the cached keys are already rotated and never change."""
    keys, values = cache  # both (seen, head_dim), with seen = 0 at the start
    angles = rope_angles(len(keys) + np.arange(len(x)), inv_freq)
    q, k = apply_rope(x @ w_q.T, angles), apply_rope(x @ w_k.T, angles)
    keys, values = np.concatenate([keys, k]), np.concatenate([values, x @ w_v.T])
    return attention(q, keys, values, mask=causal_mask(len(q), len(keys)))[0], (keys, values)
