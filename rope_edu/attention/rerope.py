r"""ReRoPE: attention that caps the distance at a window, so that angles stay within the trained range."""

import math
from typing import Any

from array_api_compat import array_namespace, device

from rope_edu.arrays import Array, as_kind_of
from rope_edu.attention.dot_product import attention_scores, causal_mask, check_qkv, softmax
from rope_edu.attention.encoding import Rotary
from rope_edu.encodings.spec import RopeSpec
from rope_edu.encodings.validation import check_at_least_one, check_positive_int


def rerope_attention(
    q: Array,
    k: Array,
    v: Array,
    rope: RopeSpec | Array,
    *,
    window: int,
    leak: float = math.inf,
    scale: float | None = None,
) -> tuple[Any, Any]:
    r"""Return causal attention whose distances are capped at a window (ReRoPE) or shrink beyond it (Leaky ReRoPE).

        score_{mn} = ⟨R_ρ q_m, k_n⟩ / √head_dim,   ρ = r for r < w,   w + (r − w)/leak for r ≥ w,   r = m − n

    leak = ∞ is ReRoPE, ρ = min(r, w): all keys beyond the window look equally far away. The function computes two
    sets of scores, which doubles the cost, and a key is rotated differently once it leaves the window, so a cache
    must store keys unrotated. Arrays and results are as for `attention`, but q and k are *not* rotated; the queries
    are the last q_len of the k_len positions. `rope` is a RopeSpec, or frequencies `(pairs,)`.

    Args:
        window: w in tokens, at least 1; texts of up to w + 1 tokens get plain RoPE.
        leak: divisor for distances beyond the window, at least 1; 1 gives plain RoPE.
        scale: as for `attention`. The released code also multiplies q_m by max(1, ln(m + 1) / ln L); to do the
            same, scale `q`.

    ValueError if there are more queries than keys, if `window` or `leak` is out of range, or as for `attention`.

    >>> import numpy as np
    >>> q = k = np.array([[1.0, 0.0]] * 4)  # equal tokens, a quarter turn apart
    >>> output, weights = rerope_attention(q, k, k, [math.pi / 2], window=1)
    >>> bool(np.ptp(weights[3, :3]) < 1e-12)  # distances 3, 2 and 1 look alike
    True

    Source: Su 2023, kexue.fm/archives/9708, and its code, github.com/bojone/rerope. Chapter 14.
    Plain form: `plain.rerope_attention`.
    """
    window = check_positive_int("window", window)
    leak = math.inf if leak == math.inf else check_at_least_one("leak", leak)
    check_qkv(q, k, v)
    xp = array_namespace(q)
    q_len, k_len = q.shape[-2], k.shape[-2]
    allowed = as_kind_of(causal_mask(q_len, k_len), like=q)
    keys = xp.arange(k_len, dtype=xp.float64, device=device(q))
    queries = keys[k_len - q_len :]
    rotary = Rotary(rope)
    near = attention_scores(rotary.rotate_q(q, queries), rotary.rotate_k(k, keys), scale=scale)
    far_q = rotary.rotate_q(q, queries / leak + window * (1 - 1 / leak))  # position w if leak = ∞
    far_k = rotary.rotate_k(k, keys / leak)  # position 0 if leak = ∞
    far = attention_scores(far_q, far_k, scale=scale)
    scores = xp.where(queries[:, None] - keys < window, near, far)  # (…, q_len, k_len)
    weights = softmax(xp.where(allowed, scores, -xp.inf))
    return weights @ v, weights
