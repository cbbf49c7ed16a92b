r"""The two layouts, which pair the features differently, and conversions between them.

interleaved: pairs (2i, 2i + 1), as in GPT-J and Meta's Llama.
half_split: pairs (i, i + rotary_dim / 2), as in GPT-NeoX and transformers' Llama.
"""

from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_array_api_obj

from rope_edu.arrays import Array
from rope_edu.encodings.validation import check_one_of, check_positive_int, check_rotary_dim

__all__ = [
    "LAYOUTS",
    "convert_projection",
    "half_split_to_interleaved",
    "interleaved_to_half_split",
    "layout_permutation",
    "pair_slices",
]

LAYOUTS = ("interleaved", "half_split")


def check_layout(layout: str, name: str = "layout") -> str:
    """Return `layout`; ValueError unless it is one of `LAYOUTS`."""
    return check_one_of(name, layout, LAYOUTS)


def pair_slices(rotary_dim: int, layout: str = "interleaved") -> tuple[slice, slice]:
    r"""Return two slices of the feature axis: the first members of all pairs, and the second members.

        interleaved: 0, 2, 4, …  and  1, 3, 5, …        half_split: 0 … r/2 − 1  and  r/2 … r − 1

    r = `rotary_dim`, the number of rotated features, is even and may be 0. ValueError if the layout is misspelt.

    >>> first, second = pair_slices(6, "interleaved")
    >>> list(range(8))[first], list(range(8))[second]
    ([0, 2, 4], [1, 3, 5])

    Source: RoFormer, arXiv 2104.09864, eq. 15 (interleaved); GPT-NeoX, arXiv 2204.06745. Chapter 8.
    """
    if check_layout(layout) == "interleaved":
        return slice(0, rotary_dim, 2), slice(1, rotary_dim, 2)
    return slice(0, rotary_dim // 2), slice(rotary_dim // 2, rotary_dim)


def layout_permutation(rotary_dim: int, head_dim: int | None = None) -> np.ndarray:
    r"""Return the permutation from interleaved to half_split features: NumPy ints `(head_dim,)`.

        x_half_split = x_interleaved[perm],   perm = 0, 2, 4, …, 1, 3, 5, …, then the tail

    The inverse is `numpy.argsort(perm)`. Features beyond `rotary_dim` keep their position; `head_dim` is
    `rotary_dim` by default. ValueError unless `rotary_dim` is even, at least 2 and at most `head_dim`.

    >>> layout_permutation(4, head_dim=6).tolist()
    [0, 2, 1, 3, 4, 5]

    Source: transformers' conversion script for Llama, which permutes weights this way. Chapter 8.
    Plain form: `plain.layout_permutation`.
    """
    head_dim = rotary_dim if head_dim is None else head_dim
    rotary_dim = check_rotary_dim(rotary_dim, head_dim)
    features = np.arange(head_dim)
    first, second = pair_slices(rotary_dim, "interleaved")
    return np.concatenate((features[first], features[second], features[rotary_dim:]))


def interleaved_to_half_split(x: Array, rotary_dim: int | None = None) -> Any:
    r"""Return a copy of x whose interleaved pairs (2i, 2i + 1) become half_split pairs (i, i + rotary_dim/2).

        half_split(P·x) = P·interleaved(x):  reordering first or rotating first gives the same result

    `x` is `(…, head_dim)`, NumPy or torch, of any dtype. Only the first `rotary_dim` features are reordered, by
    default all. ValueError unless `rotary_dim` is even, at least 2 and at most `head_dim`.

    >>> interleaved_to_half_split(np.array([0, 1, 2, 3, 4, 5])).tolist()
    [0, 2, 4, 1, 3, 5]

    Chapter 8. Plain form: `plain.interleaved_to_half_split`.
    """
    return _reorder(x, -1, "half_split", rotary_dim)


def half_split_to_interleaved(x: Array, rotary_dim: int | None = None) -> Any:
    r"""Return a copy of x whose half_split pairs become interleaved: the inverse of `interleaved_to_half_split`.

    >>> half_split_to_interleaved(np.array([0, 2, 4, 1, 3, 5])).tolist()
    [0, 1, 2, 3, 4, 5]

    Chapter 8. Plain form: `plain.half_split_to_interleaved`.
    """
    return _reorder(x, -1, "interleaved", rotary_dim)


def convert_projection(weight: Array, n_heads: int, *, to: str, rotary_dim: int | None = None) -> Any:
    r"""Return a copy of the weight or bias of a q or k projection, converted to the other layout.

        W′ = (I_heads ⊗ P) W:   P permutes the rows of each head, so q′ = P q, and scores do not change

    Convert the projections of both q and k, but not those of v or the output. The rows of the weight,
    `(n_heads · head_dim, d_model)`, are output features, as in torch's Linear; a bias is `(n_heads · head_dim,)`.
    With grouped queries, `n_heads` for k is the number of key heads. All features of a head rotate unless
    `rotary_dim` is given. `to` is the target layout; the source is the other one. ValueError if `to` is misspelt,
    if the rows do not divide into `n_heads` heads, or as for `layout_permutation`.

    >>> convert_projection(np.array([0, 1, 2, 3, 10, 11, 12, 13]), 2, to="half_split").tolist()
    [0, 2, 1, 3, 10, 12, 11, 13]

    Source: transformers' conversion script for Llama. Chapter 8. Plain form: `plain.convert_projection`.
    """
    check_layout(to, name="to")
    n_heads = check_positive_int("n_heads", n_heads)
    shape = _shape("weight", weight)
    if len(shape) not in (1, 2) or shape[0] % n_heads:
        raise ValueError(f"weight must be ({n_heads} heads · head_dim, d_model) or a bias, got shape {shape}")
    heads = array_namespace(weight).reshape(weight, (n_heads, shape[0] // n_heads, *shape[1:]))
    return _reorder(heads, 1, to, rotary_dim).reshape(shape)  # reorders (n_heads, head_dim, d_model)


def _reorder(x: Any, axis: int, to: str, rotary_dim: int | None) -> Any:
    """Return a copy of x with the features on one axis reordered to the layout `to`."""
    if not _shape("x", x):
        raise ValueError("x must have a feature axis, (…, head_dim), got a single number")
    head_dim = x.shape[axis]
    order = layout_permutation(head_dim if rotary_dim is None else rotary_dim, head_dim)
    xp = array_namespace(x)
    index = xp.asarray(order if to == "half_split" else np.argsort(order), device=device(x))
    return xp.take(x, index, axis=axis)


def _shape(name: str, x: Any) -> tuple[int, ...]:
    if not is_array_api_obj(x):
        raise ValueError(f"{name} must be a NumPy array or a torch tensor, got {type(x).__name__}")
    return tuple(x.shape)
