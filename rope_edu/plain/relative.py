"""Relative encodings: scores get a term that depends on distance. Queries are the last q_len of the k_len tokens.

A …_bias, b, (n_heads, q_len, k_len), is added to q kᵀ/√d; …_scores are complete scores, not yet divided by √d.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy import ndarray

from rope_edu.plain.absolute import sinusoidal


def relative_positions(q_len: int, k_len: int) -> ndarray:
    """Δ_ij = j − i, key minus query, so negative to the left (Shaw 2018, §3.1)."""
    keys = np.arange(k_len)
    return keys - keys[k_len - q_len :, None]  # (q_len, k_len)


def shaw_scores(q: ndarray, k: ndarray, table: ndarray) -> ndarray:
    """s_ij = q_i · (k_j + a_clip(j−i, −K, K)), with learned vectors a (Shaw 2018, eq. 4)."""
    reach = len(table) // 2  # K
    rows = np.clip(relative_positions(q.shape[-2], k.shape[-2]), -reach, reach) + reach
    return q @ k.mT + (table[rows] @ q[..., None])[..., 0]


def transformer_xl_scores(q: ndarray, k: ndarray, w_position: ndarray, u: ndarray, v: ndarray) -> ndarray:
    """s_ij = (q_i + u) · k_j + (q_i + v) · W R_{i−j}, R_p = PE(p), with learned u, v and W (Dai 2019, §3.3)."""
    distance = -relative_positions(len(q), len(k))  # i − j
    keys = sinusoidal(distance, w_position.shape[1]) @ w_position.T  # (q_len, k_len, head_dim)
    return (q + u) @ k.T + (keys @ (q + v)[..., None])[..., 0]


def t5_bucket(
    relative: ndarray, bidirectional: bool, num_buckets: int = 32, max_distance: int = 128
) -> ndarray:
    """r if r < E = ⌊B/2⌋, else min(B − 1, E + ⌊(B − E) ln(r/E)/ln(D/E)⌋); plus B if j > i, two-sided (T5, §2.1)."""
    side = num_buckets // 2 if bidirectional else num_buckets  # B
    distance = np.abs(relative) if bidirectional else np.maximum(-relative, 0)  # r
    exact = side // 2  # E; D is max_distance
    way = np.log(np.maximum(distance, exact) / exact) / math.log(max_distance / exact)  # 0 at E, 1 at D
    far = np.minimum(exact + (way * (side - exact)).astype(int), side - 1)
    bucket = np.where(distance < exact, distance, far)
    return bucket + side * (relative > 0) if bidirectional else bucket


def t5_bias(table: ndarray, q_len: int, k_len: int, bidirectional: bool) -> ndarray:
    """b_hij = table[bucket(j − i), h], with a learned table (Raffel 2020, §2.1)."""
    bucket = t5_bucket(relative_positions(q_len, k_len), bidirectional, num_buckets=len(table))
    return np.moveaxis(table[bucket], -1, 0)


def alibi_slopes(n_heads: int) -> ndarray:
    """μ_h = 2^(−8h/H), h = 1 … H, if H is a power of 2; else those for P < H, then odd ones for 2P (ALiBi, §3)."""
    power = 2 ** int(math.log2(n_heads))  # P, the largest power of two up to H
    own = 2.0 ** (-8 * np.arange(1, power + 1) / power)  # the slopes for P heads
    borrowed = 2.0 ** (-8 * np.arange(1, 2 * power, 2) / (2 * power))  # every other slope of 2P heads
    return np.concatenate([own, borrowed])[:n_heads]


def alibi_bias(n_heads: int, q_len: int, k_len: int) -> ndarray:
    """b_hij = −μ_h |i − j| (ALiBi, Press 2022, §3)."""
    return -alibi_slopes(n_heads)[:, None, None] * np.abs(relative_positions(q_len, k_len))


def kerple_log_bias(r1: ndarray, r2: ndarray, q_len: int, k_len: int) -> ndarray:
    """b_hij = −r1_h ln(1 + r2_h |i − j|), with learned r1 and r2 (KERPLE, Chi 2022)."""
    distance = np.abs(relative_positions(q_len, k_len))
    return -r1[:, None, None] * np.log1p(r2[:, None, None] * distance)


def fire_bias(
    mlp: Callable[[ndarray], ndarray], q_len: int, k_len: int, c: float = 0.1, threshold: float = 512.0
) -> ndarray:
    """b_hij = f_h(ψ(|i − j|) / ψ(max(L, i))), ψ(x) = ln(1 + cx) (FIRE, Li 2024)."""
    distance = np.abs(relative_positions(q_len, k_len))
    query = np.arange(k_len - q_len, k_len)[:, None]  # i
    x = np.log1p(c * distance) / np.log1p(c * np.maximum(query, threshold))  # from 0 to 1; L is threshold
    return np.moveaxis(mlp(x[..., None]), -1, 0)  # mlp returns f_h for all heads h
