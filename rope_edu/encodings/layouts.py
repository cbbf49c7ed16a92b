r"""Two layouts of one rotation: which features form a pair, and how to go from one to the other.

interleaved: pairs (2i, 2i + 1), as in GPT-J and Meta's Llama.
half_split: pairs (i, i + rotary_dim / 2), as in GPT-NeoX and transformers' Llama.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_array_api_obj

from rope_edu.arrays import Array
from rope_edu.encodings.validation import check_even_dim, check_one_of, check_positive_int

LAYOUTS = ("interleaved", "half_split")


def check_layout(layout: str, name: str = "layout") -> str:
    r"""`layout` itself, if it is one of LAYOUTS; a ValueError that names the two for any other value.

    >>> check_layout("half_split")
    'half_split'

    Chapter 8.
    """
    return check_one_of(name, layout, LAYOUTS)


def pair_slices(rotary_dim: int, layout: str = "interleaved") -> tuple[slice, slice]:
    r"""Slices of the feature axis with the first and the second members of all pairs.

        interleaved: 0, 2, 4, …  and  1, 3, 5, …        half_split: 0 … r/2 − 1  and  r/2 … r − 1

    Args:
        rotary_dim: r, the number of rotated features, even (0: no pair at all).
        layout: "interleaved" or "half_split"; any other is a ValueError.

    >>> first, second = pair_slices(6, "interleaved")
    >>> list(range(8))[first], list(range(8))[second]
    ([0, 2, 4], [1, 3, 5])

    Source: RoFormer, arXiv 2104.09864, eq. 15 (interleaved); GPT-NeoX, arXiv 2204.06745. Chapter 8.
    """
    if check_layout(layout) == "interleaved":
        return slice(0, rotary_dim, 2), slice(1, rotary_dim, 2)
    return slice(0, rotary_dim // 2), slice(rotary_dim // 2, rotary_dim)


def layout_permutation(rotary_dim: int, head_dim: int | None = None) -> np.ndarray:
    r"""For each half_split feature, the interleaved feature that belongs there: NumPy ints `(head_dim,)`.

        x_half_split = x_interleaved[perm],   perm = 0, 2, 4, …, 1, 3, 5, …, then the tail in place

    `numpy.argsort` of it goes the other way.

    Args:
        rotary_dim: number of rotated features, even.
        head_dim: width of the head; features from `rotary_dim` on stay where they are. Default: no tail.

    Raises:
        ValueError: `rotary_dim` is odd or not positive, or `head_dim` is narrower.

    >>> layout_permutation(4, head_dim=6).tolist()
    [0, 2, 1, 3, 4, 5]

    Source: transformers' conversion script for Llama permutes weights so. Chapter 8.
    Plain form: `rope_edu.plain.layout_permutation`.
    """
    rotary_dim = check_even_dim("rotary_dim", rotary_dim)
    head_dim = rotary_dim if head_dim is None else check_positive_int("head_dim", head_dim)
    if rotary_dim > head_dim:
        raise ValueError(f"rotary_dim must be at most head_dim = {head_dim}, got {rotary_dim}")
    features = np.arange(head_dim)
    first, second = pair_slices(rotary_dim, "interleaved")
    return np.concatenate((features[first], features[second], features[rotary_dim:]))


def interleaved_to_half_split(x: Array, rotary_dim: int | None = None) -> Any:
    r"""Copy of x with features in half-split pairs (i, i + rotary_dim/2) instead of interleaved ones (2i, 2i + 1).

        half_split(P·x) = P·interleaved(x):  reorder, then rotate half_split  =  rotate, then reorder

    Args:
        x: `(…, head_dim)`, any dtype, NumPy or torch.
        rotary_dim: how many leading features are rotated; the tail stays. Default: all of them.

    Raises:
        ValueError: `rotary_dim` is odd, not positive or above `head_dim`.

    >>> interleaved_to_half_split(np.array([0, 1, 2, 3, 4, 5])).tolist()
    [0, 2, 4, 1, 3, 5]

    Chapter 8.
    Plain form: `rope_edu.plain.interleaved_to_half_split`.
    """
    return _take(x, _permutation_for(x, rotary_dim), axis=-1)


def half_split_to_interleaved(x: Array, rotary_dim: int | None = None) -> Any:
    r"""Reorder features from half-split pairs (i, i + rotary_dim/2) to interleaved pairs (2i, 2i+1).

    The inverse of `interleaved_to_half_split`, with the same arguments, result and errors.

    >>> half_split_to_interleaved(np.array([0, 2, 4, 1, 3, 5])).tolist()
    [0, 1, 2, 3, 4, 5]

    Chapter 8.
    Plain form: `rope_edu.plain.half_split_to_interleaved`.
    """
    return _take(x, np.argsort(_permutation_for(x, rotary_dim)), axis=-1)


def convert_projection(weight: Array, n_heads: int, *, to: str, rotary_dim: int | None = None) -> Any:
    r"""Copy of the weight or bias that makes q (or k), for use with the other layout.

        W′ = (I_heads ⊗ P) W:   each head's rows move as its features do, so q′ = P q and scores stay

    Convert q's and k's projections alike, and neither v's nor the output's.

    Args:
        weight: `(n_heads · head_dim, d_model)`, rows are output features as in torch's Linear;
            or a bias `(n_heads · head_dim,)`.
        n_heads: heads in this weight (for k with grouped queries: the number of key heads).
        to: the layout wanted; the source is the other one.
        rotary_dim: rotated features a head. Default: the whole head.

    Raises:
        ValueError: `to` is misspelt, `weight` has other than 1 or 2 axes, its rows do not split into
            `n_heads` heads, or `rotary_dim` does not fit the head.

    >>> convert_projection(np.array([0, 1, 2, 3, 10, 11, 12, 13]), 2, to="half_split").tolist()
    [0, 2, 1, 3, 10, 12, 11, 13]

    Source: transformers' conversion script for Llama. Chapter 8.
    Plain form: `rope_edu.plain.convert_projection`.
    """
    check_layout(to, name="to")
    n_heads = check_positive_int("n_heads", n_heads)
    shape = _shape("weight", weight)
    if len(shape) not in (1, 2) or shape[0] % n_heads:
        raise ValueError(f"weight must be ({n_heads} heads · head_dim, d_model) or a bias, got shape {shape}")
    heads = array_namespace(weight).reshape(
        weight, (n_heads, shape[0] // n_heads, *shape[1:])
    )  # (n_heads, head_dim, d_model)
    head_dim = heads.shape[1]
    perm = layout_permutation(head_dim if rotary_dim is None else rotary_dim, head_dim)
    return _take(heads, perm if to == "half_split" else np.argsort(perm), axis=1).reshape(shape)


def _permutation_for(x: Array, rotary_dim: int | None) -> np.ndarray:
    shape = _shape("x", x)
    if not shape:
        raise ValueError("x must have a feature axis, (…, head_dim), got a single number")
    return layout_permutation(shape[-1] if rotary_dim is None else rotary_dim, shape[-1])


def _take(x: Any, index: np.ndarray, axis: int) -> Any:
    xp = array_namespace(x)
    return xp.take(x, xp.asarray(index, device=device(x)), axis=axis)


def _shape(name: str, x: Any) -> tuple[int, ...]:
    if not is_array_api_obj(x):
        raise ValueError(f"{name} must be a NumPy array or a torch tensor, got {type(x).__name__}")
    return tuple(x.shape)
