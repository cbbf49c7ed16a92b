"""Two rotations for `rope-doctor diagnose` and `rope-doctor vectors`, one right and one wrong."""

from __future__ import annotations

from typing import Any

import numpy as np


def right(
    x: np.ndarray,
    positions: np.ndarray,
    *,
    layout: str = "half_split",
    rotary_dim: int | None = None,
    base: float = 10_000.0,
    attention_factor: float = 1.0,
) -> np.ndarray:
    """Rotate pairs of features on the last axis of x, by angles that grow with the position."""
    width = x.shape[-1] if rotary_dim is None else rotary_dim
    angles = np.multiply.outer(positions, base ** (-np.arange(0, width, 2) / width))
    cos, sin = attention_factor * np.cos(angles), attention_factor * np.sin(angles)
    rotated = np.array(x)
    one, two = slice(0, width, 2), slice(1, width, 2)
    if layout == "half_split":
        one, two = slice(0, width // 2), slice(width // 2, width)
    rotated[..., one] = x[..., one] * cos - x[..., two] * sin
    rotated[..., two] = x[..., two] * cos + x[..., one] * sin
    return rotated


def wrong(x: np.ndarray, positions: np.ndarray, *, layout: str = "half_split", **options: Any) -> np.ndarray:
    """Pair neighbouring features, regardless of the layout."""
    return right(x, positions, layout="interleaved", **options)
