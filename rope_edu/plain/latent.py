"""MLA (multi-head latent attention): an unrotated q · k plus a rotated q′ · k′, with k′ shared by all heads."""

import math

from numpy import ndarray


def decoupled_scores(q: ndarray, k: ndarray, q_turned: ndarray, k_turned: ndarray) -> ndarray:
    """(⟨q_m, k_n⟩ + ⟨R_m q′_m, R_n k′_n⟩)/√(d + d′) (DeepSeek-V2, eq. 14–18)."""
    scores = q @ k.mT + q_turned @ k_turned.mT  # all heads share k_turned, (k_len, d′)
    return scores / math.sqrt(q.shape[-1] + q_turned.shape[-1])
