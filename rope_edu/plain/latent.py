"""MLA: content in keys that are never rotated, position in one narrow key that all heads share."""

import math

from numpy import ndarray


def decoupled_scores(q: ndarray, k: ndarray, q_turned: ndarray, k_turned: ndarray) -> ndarray:
    """(⟨q_m, k_n⟩ + ⟨R_m q′_m, R_n k′_n⟩)/√(d + d′) (DeepSeek-V2, eq. 14–18)."""
    content = q @ k.mT  # (heads, q_len, k_len)
    position = q_turned @ k_turned.mT  # (d′, k_len): one key for all heads
    return (content + position) / math.sqrt(q.shape[-1] + q_turned.shape[-1])
