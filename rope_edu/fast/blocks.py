r"""Rotate arrays block by block, without the kernel, so that temporary arrays stay small."""

import math
from typing import Any

from array_api_compat import array_namespace, is_numpy_array

from rope_edu.encodings.rotary import must_not_write, rotate_by_cos_sin, rotated_copy

BLOCK_SIZE = 2**18  # numbers rotated at a time, few enough for temporary arrays to stay in the cache
GPU_FACTOR = 64  # a GPU is more efficient with larger blocks


def rotate_in_blocks(x: Any, cos: Any, sin: Any, layout: str, out: Any | None = None) -> Any:
    r"""Rotate x `(…, seq, head_dim)` by precomputed cosines and sines `(…, seq, pairs)`, into `out` if given.

    cos and sin have the array type and device of x, and its compute dtype; `out` may be x.

    >>> import numpy as np
    >>> rotate_in_blocks(np.array([3.0, 4.0]), np.array([0.0]), np.array([1.0]), "interleaved").tolist()
    [-4.0, 3.0]
    """
    if out is None and math.prod(x.shape) <= BLOCK_SIZE:
        return rotate_by_cos_sin(x, cos, sin, layout)
    if must_not_write(x, cos):
        rotated = rotate_by_cos_sin(x, cos, sin, layout)
        if out is None:
            return rotated
        out[...] = rotated
        return out
    out = array_namespace(x).empty_like(x) if out is None else out
    on_cpu = is_numpy_array(x) or x.is_cpu
    _rotate_blocks(x, cos, sin, layout, out, BLOCK_SIZE if on_cpu else GPU_FACTOR * BLOCK_SIZE)
    return out


def _rotate_blocks(x: Any, cos: Any, sin: Any, layout: str, out: Any, max_elements: int) -> None:
    """Rotate x into `out`, at most `max_elements` numbers at a time, splitting the leading axes."""
    size = math.prod(x.shape)
    if size <= max_elements or x.ndim == 1:
        out[...] = rotated_copy(x, cos, sin, layout)  # rounds to the dtype of `out`
        return
    count = max_elements // (size // len(x))  # first-axis entries per block, 0 if even one is too big
    for start in range(0, len(x), max(1, count)):
        rows = slice(start, start + count) if count else start
        part = cos, sin
        if cos.ndim == x.ndim:
            cos_sin_rows = rows if len(cos) > 1 else slice(None) if count else 0
            part = cos[cos_sin_rows], sin[cos_sin_rows]
        _rotate_blocks(x[rows], *part, layout, out[rows], max_elements)
