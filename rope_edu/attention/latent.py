r"""MLA's decoupled keys: content in a small latent vector, and position in one narrow key that all heads share."""

import math
from typing import Any

from rope_edu.arrays import Array
from rope_edu.attention.dot_product import attention_scores
from rope_edu.encodings.validation import check_finite_number, check_floats


def decoupled_scores(
    q: Array, k: Array, q_turned: Array, k_turned: Array, *, scale: float | None = None
) -> Any:
    r"""Return content scores plus position scores, whose keys all heads share: `(…, heads, q_len, k_len)`.

        score_{mn} = scale · (⟨q_m, k_n⟩ + ⟨R_m q′_m, R_n k′_n⟩),   scale = 1/√(d + d′) unless given

    An unrotated key is a matrix times the latent vector, k_n = U c_n. Since ⟨q_m, U c_n⟩ = ⟨Uᵀ q_m, c_n⟩, the query
    can absorb the matrix, so only c is stored. A rotation in between would depend on m − n and could not be
    absorbed. Position is therefore carried by a second, narrow key, which is rotated and stored once for all heads.

    `q` and `k` hold content, floats `(…, heads, q_len, d)` and `(…, heads, k_len, d)`. `q_turned` and `k_turned`
    are already rotated, `(…, heads, q_len, d′)` and `(…, k_len, d′)`, because all heads share one key. DeepSeek's
    YaRN multiplies `scale` by mscale². Raises the same errors as `attention_scores`.

    >>> import numpy as np
    >>> one = np.ones((2, 1, 3))  # two heads, one token
    >>> decoupled_scores(one, one, one[..., :1], one[0, :, :1]).tolist()  # (3 + 1) / √4
    [[[2.0]], [[2.0]]]

    Source: DeepSeek-V2, arXiv 2405.04434, §2.1.3, eq. 14–18. Chapter 19. Plain form: `plain.decoupled_scores`.
    """
    xp = check_floats("k_turned", k_turned)
    if scale is None:
        scale = 1 / math.sqrt(q.shape[-1] + q_turned.shape[-1])
    scale = check_finite_number("scale", scale)
    shared = xp.expand_dims(k_turned, axis=-3)  # (…, 1, k_len, d′)
    return attention_scores(q, k, scale=scale) + attention_scores(q_turned, shared, scale=scale)
