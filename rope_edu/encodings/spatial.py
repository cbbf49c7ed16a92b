r"""Rotation by several coordinates: axial, mixed and sectioned frequencies, and general rotations (LieRE).

A position is a row of coordinates, such as the height and width of a patch, and in a video also its time. A pair's
angle is a sum of coordinates weighted by frequencies, `(axes, pairs)`; the schemes differ only in the frequencies.
"""

import math

import numpy as np
from array_api_compat import array_namespace

from rope_edu.arrays import Array, ArrayLike, as_one_kind
from rope_edu.encodings.frequencies import as_pairs, inv_freq
from rope_edu.encodings.layouts import pair_slices
from rope_edu.encodings.rotary import rotation_matrix
from rope_edu.encodings.validation import as_finite, check_finite_number, check_one_of, check_positive_int

__all__ = [
    "axial_frequencies",
    "commutator_size",
    "grid_coordinates",
    "lie_rotation",
    "mixed_frequencies",
    "pair_generators",
    "section_axes",
    "section_frequencies",
    "spatial_angles",
]

ORDERS = ("contiguous", "interleaved")


def spatial_angles(coordinates: ArrayLike, frequencies: ArrayLike) -> Array:
    r"""Return the angle of each pair at each point, in radians: float64 `(…, seq, pairs)`.

        angle(x, i) = Σ_k x_k · F_{ki}

    With one axis, this is `rope_angles`. Pass the result to `apply_rope`: scores then depend only on differences of
    coordinates, whatever F is, because rotations of one pair commute. The result is a torch tensor if either
    argument is. Coordinates, `(…, seq, axes)`, are in units such as patches, frames or tokens, and F is in radians
    per unit, `(axes, pairs)`. ValueError unless all numbers are real and finite and F has one row per coordinate.

    >>> spatial_angles([[2, 0], [0, 3]], [[1.0, 0.0], [0.0, 0.5]]).tolist()  # pair 0 by x, pair 1 by y
    [[2.0, 0.0], [0.0, 1.5]]

    Source: RoPE-Mixed, arXiv 2403.13298, §3.2 (the others are special cases). Chapter 20.
    Plain form: `plain.spatial_angles`.
    """
    coordinates, frequencies = _as_matching(coordinates, _as_frequencies(frequencies), "row of frequencies")
    return coordinates @ frequencies


def axial_frequencies(head_dim: int, axes: int = 2, base: float = 10_000.0) -> np.ndarray:
    r"""Return axial frequencies, NumPy `(axes, head_dim // 2)`: each axis has a block of pairs, like a small head.

        F_{ki} = base^(−2j / (head_dim/axes))   if pair i is the j-th of block k,   else 0

    Pixtral splits the frequencies of one head instead: even ones for height, odd ones for width. Image models use a
    base of 100 as often as 10,000, because a picture is only tens of patches wide. ValueError unless `axes` is a
    whole number ≥ 1, `head_dim` is a multiple of 2 · axes, and `base` is finite and above 1.

    >>> axial_frequencies(8).tolist()
    [[1.0, 0.01, 0.0, 0.0], [0.0, 0.0, 1.0, 0.01]]

    Source: axial RoPE as in arXiv 2403.13298, §3.2. Chapter 20. Plain form: `plain.axial_frequencies`.
    """
    head_dim, axes = check_positive_int("head_dim", head_dim), check_positive_int("axes", axes)
    if head_dim % (2 * axes):
        raise ValueError(f"head_dim must be a multiple of 2 · axes = {2 * axes}, got {head_dim}")
    return np.kron(np.eye(axes), inv_freq(head_dim // axes, base))


def section_frequencies(
    inv_freq: ArrayLike, sections: tuple[int, ...] | list[int], order: str = "contiguous"
) -> np.ndarray:
    r"""Return M-RoPE's frequencies, NumPy `(axes, pairs)`: the pairs of one head divided among several axes.

        contiguous:   the first sections[0] pairs turn by axis 0, the next sections[1] by axis 1, …
        interleaved:  pair i turns by axis i mod axes while that axis has pairs left, else by axis 0

    The coordinates of a text token are equal, so it rotates as in plain RoPE. Contiguous sections give time the
    fastest pairs and width the slowest; interleaved sections give every axis fast and slow pairs. `inv_freq` is
    `(pairs,)`, in radians per unit. Sections are the numbers of pairs per axis, at least 1: [16, 24, 24] in
    Qwen2-VL, and [24, 20, 20], interleaved, in Qwen3-VL. ValueError if they do not add up to `pairs` or cannot be
    interleaved, or if `order` is misspelt.

    >>> section_frequencies([1.0, 0.5, 0.25, 0.1], [2, 1, 1], "interleaved").tolist()
    [[1.0, 0.0, 0.0, 0.1], [0.0, 0.5, 0.0, 0.0], [0.0, 0.0, 0.25, 0.0]]

    Source: Qwen2-VL, arXiv 2409.12191, §2.1; interleaved: arXiv 2510.23095 and transformers' `modeling_qwen3_vl`.
    Chapter 20. Plain form: `plain.section_frequencies`.
    """
    row = np.array(as_pairs(inv_freq).tolist())
    axis = section_axes(len(row), sections, order)
    return np.where(axis == np.arange(len(sections))[:, None], row, 0.0)


def section_axes(pairs: int, sections: tuple[int, ...] | list[int], order: str = "contiguous") -> np.ndarray:
    r"""Return the axis of each pair, NumPy ints `(pairs,)`; arguments and errors are as for `section_frequencies`.

    >>> section_axes(6, [2, 2, 2]).tolist(), section_axes(6, [2, 2, 2], "interleaved").tolist()
    ([0, 0, 1, 1, 2, 2], [0, 1, 2, 0, 1, 2])

    Source: as for `section_frequencies`. Chapter 20. Plain form: `plain.section_axes`.
    """
    check_one_of("order", order, ORDERS)
    sections = [check_positive_int("each of sections", section) for section in sections]
    if not sections or sum(sections) != pairs:
        raise ValueError(f"sections must add up to the {pairs} pairs, got {sections}, {sum(sections)} in all")
    axes = len(sections)
    if order == "contiguous":
        return np.repeat(np.arange(axes), sections)
    deal, axis = np.divmod(np.arange(pairs), axes)
    dealt = np.where(deal < np.array(sections)[axis], axis, 0)
    counts = np.bincount(dealt, minlength=axes).tolist()
    if counts != sections:
        raise ValueError(
            f"sections {sections} cannot be interleaved: dealing {pairs} pairs in turn, and the rest to axis 0, "
            f"gives {counts}"
        )
    return dealt


def mixed_frequencies(head_dim: int, direction: float = 0.0, base: float = 10.0) -> np.ndarray:
    r"""Return RoPE-Mixed's initial frequencies, in radians per patch: half along a direction, half across it.

        F_{·i} = base^(−4j / head_dim) · (cos φ, sin φ)             for i = j < head_dim/4
        F_{·i} = base^(−4j / head_dim) · (−sin φ, cos φ)            for i = head_dim/4 + j

    F is NumPy `(2, head_dim // 2)`, and φ is the direction in radians; φ = 0 is axial. In the model, F is learned,
    and heads start from different φ. ValueError unless `head_dim` is a multiple of 4, `base` is above 1 and φ is
    finite.

    >>> mixed_frequencies(4, math.pi / 2).round(3).tolist()
    [[0.0, -1.0], [1.0, 0.0]]

    Source: RoPE-Mixed, arXiv 2403.13298, §3.2, and the initial values in its code (github.com/naver-ai/rope-vit).
    Chapter 20. Plain form: `plain.mixed_frequencies`.
    """
    if check_positive_int("head_dim", head_dim) % 4:
        raise ValueError(f"head_dim must be a multiple of 4, got {head_dim}")
    along_and_across = rotation_matrix([check_finite_number("direction", direction)])  # one column each
    return np.kron(along_and_across, inv_freq(head_dim // 2, base))


def pair_generators(frequencies: ArrayLike, *, layout: str = "interleaved") -> np.ndarray:
    r"""Return antisymmetric generators that commute, one per axis: NumPy `(axes, 2 · pairs, 2 · pairs)`.

        A_k = diag(F_{k0} J, F_{k1} J, …),   J = [[0, −1], [1, 0]]

    F and errors are as for `spatial_angles`; `layout` determines the rows and columns of each block.

    >>> pair_generators([[0.5]]).tolist()
    [[[0.0, -0.5], [0.5, 0.0]]]

    Source: arXiv 2504.06308; LieRE, arXiv 2406.10322. Chapter 20.
    """
    frequencies = np.array(_as_frequencies(frequencies).tolist())
    width = 2 * frequencies.shape[1]
    first, second = (np.arange(width)[members] for members in pair_slices(width, layout))
    generators = np.zeros((len(frequencies), width, width))
    generators[:, second, first], generators[:, first, second] = frequencies, -frequencies
    return generators


def lie_rotation(coordinates: ArrayLike, generators: ArrayLike) -> Array:
    r"""Return LieRE's rotation matrix at each point, from any generators: float64 `(…, seq, width, width)`.

        R(x) = exp(Σ_k x_k A_k),   R @ x rotates the column x

    Antisymmetric matrices A_k always generate rotations. R(x)ᵀ R(y) = R(y − x) holds for all x and y only if the
    A_k commute, and then they are `pair_generators` in another basis. R is computed from the eigenvectors of the
    Hermitian matrix iΣ, so it is exact up to rounding at any distance. It is a torch tensor if either argument is.
    Coordinates are as for `spatial_angles`; generators are in radians per unit, `(axes, width, width)`. ValueError
    if the shapes do not match, or if a generator is not antisymmetric.

    >>> quarter = [[[0.0, -math.pi / 2], [math.pi / 2, 0.0]]]
    >>> (lie_rotation([[1.0]], quarter)[0] @ [1.0, 0.0]).round(3).tolist()
    [0.0, 1.0]

    Source: LieRE, arXiv 2406.10322, §3; N-dimensional RoPE, arXiv 2504.06308. Chapter 20.
    Plain form: `plain.lie_rotation`.
    """
    coordinates, generators = _as_matching(coordinates, _as_generators(generators), "generator")
    xp, width = array_namespace(generators), generators.shape[-1]
    flat = xp.reshape(generators, (len(generators), width * width))
    total = xp.reshape(coordinates @ flat, (*coordinates.shape[:-1], width, width))  # antisymmetric
    values, vectors = xp.linalg.eigh(1j * total)
    scaled = vectors * xp.exp(-1j * values)[..., None, :]
    return xp.real(scaled @ xp.conj(vectors).mT)


def commutator_size(generators: ArrayLike) -> float:
    r"""Return the largest entry of any commutator; it is 0, up to rounding, if scores depend only on differences.

        max over k, l and all entries of |A_k A_l − A_l A_k|

    Generators and errors are as for `lie_rotation`.

    >>> commutator_size(pair_generators(axial_frequencies(8)))
    0.0

    Source: arXiv 2504.06308. Chapter 20.
    """
    generators = np.array(_as_generators(generators).tolist())
    products = np.einsum("kab,lbc->klac", generators, generators)
    return float(np.abs(products - np.swapaxes(products, 0, 1)).max())


def grid_coordinates(*sizes: int) -> np.ndarray:
    r"""Return the points of a grid in row-major order, last coordinate fastest: NumPy float64 `(points, axes)`.

    The sizes are (height, width), or (time, height, width). ValueError if no size is given, or if one is not a
    whole number ≥ 1.

    >>> grid_coordinates(2, 2).tolist()
    [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]

    Chapter 20.
    """
    if not sizes:
        raise ValueError("sizes must name at least one axis, got none")
    sizes = tuple(check_positive_int("each of sizes", size) for size in sizes)
    return np.argwhere(np.ones(sizes)).astype(np.float64)


def _as_frequencies(frequencies: ArrayLike) -> Array:
    frequencies = as_finite("frequencies", frequencies)
    if frequencies.ndim != 2 or not math.prod(frequencies.shape):
        raise ValueError(f"frequencies must be (axes, pairs), got shape {tuple(frequencies.shape)}")
    return frequencies


def _as_matching(coordinates: ArrayLike, per_axis: Array, name: str) -> tuple[Array, Array]:
    """Return coordinates `(…, seq, axes)` and `per_axis`, `(axes, …)`, as arrays of the same type."""
    coordinates = as_finite("coordinates", coordinates)
    if coordinates.ndim < 2 or coordinates.shape[-1] != len(per_axis):
        raise ValueError(
            f"coordinates must be (…, seq, {len(per_axis)}), a column for each {name}, "
            f"got shape {tuple(coordinates.shape)}"
        )
    return as_one_kind(coordinates, per_axis)


def _as_generators(generators: ArrayLike) -> Array:
    generators = as_finite("generators", generators)
    shape = generators.shape
    if len(shape) != 3 or shape[1] != shape[2] or not math.prod(shape):
        raise ValueError(f"generators must be (axes, width, width), got shape {tuple(shape)}")
    xp = array_namespace(generators)
    if float(xp.max(xp.abs(generators + generators.mT))) > 1e-12 * float(xp.max(xp.abs(generators))):
        raise ValueError("generators must be antisymmetric, A = −Aᵀ: only these make rotations")
    return generators
