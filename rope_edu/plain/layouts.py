"""Layouts: a pair is two neighbours (interleaved: GPT-J, Meta), or two features half a head apart (half_split:
GPT-NeoX, Hugging Face's transformers). The rotation is the same, but the features are in a different order."""

import numpy as np
from numpy import ndarray


def rotate_half_split(x: ndarray, angles: ndarray) -> ndarray:
    """Rotate the pairs (x_i, x_{i + d/2}), as transformers' Llama does."""
    first, second = np.split(x, 2, axis=-1)  # both (…, seq, pairs)
    cos, sin = np.cos(angles), np.sin(angles)
    turned = first * cos - second * sin, first * sin + second * cos
    return np.concatenate(turned, axis=-1)


def layout_permutation(head_dim: int) -> ndarray:
    """P: the indices 0, 2, 4, …, 1, 3, 5, …, which put interleaved features in half_split order."""
    return np.concatenate([np.arange(0, head_dim, 2), np.arange(1, head_dim, 2)])


def interleaved_to_half_split(x: ndarray) -> ndarray:
    """P x, so that rotate_half_split(P x) = P apply_rope(x)."""
    return x[..., layout_permutation(x.shape[-1])]


def half_split_to_interleaved(x: ndarray) -> ndarray:
    """P⁻¹ x, the inverse of interleaved_to_half_split."""
    return x[..., np.argsort(layout_permutation(x.shape[-1]))]


def convert_projection(weight: ndarray, n_heads: int) -> ndarray:
    """(I ⊗ P) W: P permutes the rows of W_q or W_k within each head (transformers' script for Llama)."""
    head_dim = len(weight) // n_heads
    heads = weight.reshape(n_heads, head_dim, -1)  # each row is a feature of q or k
    return heads[:, layout_permutation(head_dim)].reshape(weight.shape)
