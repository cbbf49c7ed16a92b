r"""Stretch the context: frequencies for texts longer than the model was trained on."""

from __future__ import annotations

import numpy as np

from rope_edu.encodings._checks import check_base, check_even_dim, check_positive_int, check_positive_number
from rope_edu.encodings.frequencies import inv_freq


def dynamic_ntk_inv_freq(
    head_dim: int, length: int, trained_length: int, *, factor: float = 1.0, base: float = 10_000.0
) -> np.ndarray:
    r"""Compute frequencies that slow down as the text grows beyond the trained length.

        θ_i = b′^(−2i/d),   b′ = base · (f·l/L − (f − 1))^(d/(d−2)),   l = max(length, L)

    Up to the trained length L nothing changes. Beyond it *every* pair but the first has another frequency at
    every length, so a key that was rotated and stored at one length no longer fits at the next.

    Args:
        head_dim: d, the rotated features of a head, even and at least 4.
        length: tokens of the text now.
        trained_length: L, tokens.
        factor: f; 1 stretches by just l/L, more stretches sooner.
        base: a number above 1.

    Returns:
        NumPy float64 `(head_dim // 2,)`, radians per token. A function of its arguments alone: it does
        not remember longer texts that it has seen.

    Raises:
        ValueError: `head_dim` is not an even whole number ≥ 4, a length is not a whole number ≥ 1, `factor`
            is not above 0, or `base` is not above 1.

    >>> dynamic_ntk_inv_freq(4, 200, 100).tolist()  # twice the length: the last pair at half its 0.01
    [1.0, 0.005]

    Source: transformers' rope type "dynamic"; YaRN, arXiv 2309.00071, §3.3. Chapters 11 and 15.
    """
    head_dim = check_even_dim("head_dim", head_dim)
    if head_dim < 4:
        raise ValueError(f"head_dim must be at least 4: the rule raises to d/(d − 2); got {head_dim}")
    length = check_positive_int("length", length)
    trained_length = check_positive_int("trained_length", trained_length)
    factor, base = check_positive_number("factor", factor), check_base(base)
    stretch = factor * max(length, trained_length) / trained_length - (factor - 1)
    return inv_freq(head_dim, base * stretch ** (head_dim / (head_dim - 2)))
