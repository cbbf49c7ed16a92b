"""Linear attention: without the softmax, two running sums replace all earlier keys and values."""

import numpy as np
from numpy import ndarray

from rope_edu.plain.dot_product import causal_mask
from rope_edu.plain.rotary import apply_rope


def elu_plus_one(x: ndarray) -> ndarray:
    """φ(x) = x + 1 for x > 0, else e^x; always positive (Katharopoulos 2020, eq. 7)."""
    return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))


def linear_weights(q: ndarray, k: ndarray, angles: ndarray) -> ndarray:
    """w_mn = ⟨R_m φ(q_m), R_n φ(k_n)⟩ / Σ_l ⟨φ(q_m), φ(k_l)⟩, n, l ≤ m (RoFormer, eq. 19)."""
    fq, fk = elu_plus_one(q), elu_plus_one(k)
    mask = causal_mask(len(q), len(k))
    top = apply_rope(fq, angles) @ apply_rope(fk, angles).T * mask  # the numerator, (seq, seq)
    return top / (fq @ fk.T * mask).sum(axis=-1, keepdims=True)  # not rotated


def linear_attention(q: ndarray, k: ndarray, v: ndarray, angles: ndarray) -> ndarray:
    """Σ_n w_mn v_n for n ≤ m, with the weights of linear_weights."""
    return linear_weights(q, k, angles) @ v


def linear_attention_step(
    q: ndarray, k: ndarray, v: ndarray, state: tuple[ndarray, ndarray], angles: ndarray
) -> tuple[ndarray, tuple[ndarray, ndarray]]:
    """One row of linear_attention, from one token's q, k, v and two running sums (Katharopoulos 2020, §3.4)."""
    kv, norm = state  # (head_dim, v_dim) and (head_dim,), zeros at the start
    fq, fk = elu_plus_one(q), elu_plus_one(k)
    kv = kv + np.outer(apply_rope(fk, angles), v)  # rotated
    norm = norm + fk  # not rotated
    return apply_rope(fq, angles) @ kv / (norm @ fq), (kv, norm)
