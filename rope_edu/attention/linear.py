r"""Linear attention with RoPE: running sums replace the softmax, so the cost is linear in the length."""

from collections.abc import Callable
from typing import Any, NamedTuple

from array_api_compat import array_namespace, device

from rope_edu.arrays import Array
from rope_edu.attention.dot_product import check_fit
from rope_edu.encodings.layouts import check_layout
from rope_edu.encodings.rotary import apply_rope
from rope_edu.encodings.validation import check_floats, compute_dtype

CHUNK = 64  # tokens processed at a time; affects the speed, not the result


class LinearState(NamedTuple):
    r"""The running sums of linear attention, whose size does not depend on the length of the text.

        kv = Σ_n (R_n φ(k_n)) v_nᵀ,   norm = Σ_n φ(k_n)

    `kv`, `(…, d, d_v)`, is the sum of rotated key features times values; `norm`, `(…, d)`, is the sum of
    *unrotated* features, for the denominator.

    >>> import numpy as np
    >>> LinearState(np.zeros((2, 3)), np.zeros(2)).kv.shape
    (2, 3)

    Source: Katharopoulos 2020, arXiv 2006.16236, eq. 18–20; RoFormer, arXiv 2104.09864, eq. 19. Chapter A2.
    """

    kv: Array
    norm: Array


def elu_plus_one(x: Any) -> Any:
    r"""Map x to positive features, whose products can serve as weights; keep its shape, dtype and array type.

        φ(x) = elu(x) + 1 = x + 1 for x > 0,  e^x otherwise

    ValueError unless `x` is a float array.

    >>> import numpy as np
    >>> elu_plus_one(np.array([-1.0, 0.0, 2.0])).round(4).tolist()
    [0.3679, 1.0, 3.0]

    Source: Katharopoulos 2020, arXiv 2006.16236, eq. 7. Chapter A2. Plain form: `plain.elu_plus_one`.
    """
    xp = check_floats("x", x)
    positive = x > 0
    return xp.where(positive, x + 1, xp.exp(xp.where(positive, 0.0, x)))


def linear_attention(
    q: Array,
    k: Array,
    v: Array,
    *,
    angles: Array | None = None,
    layout: str = "interleaved",
    feature_map: Callable[[Array], Array] = elu_plus_one,
    causal: bool = True,
    return_state: bool = False,
) -> Array | tuple[Array, LinearState]:
    r"""Return values weighted by products of features instead of a softmax, in time linear in the length.

                    Σ_n ⟨R_m φ(q_m), R_n φ(k_n)⟩ v_n
        output_m = ----------------------------------,   n ≤ m if causal
                         Σ_n ⟨φ(q_m), φ(k_n)⟩

    Only the numerator is rotated. Rotated features can be negative, so a rotated denominator could become 0. The
    price is that the weights of the values do not sum to 1.

    Args:
        q, k, v: floats `(…, q_len, d)`, `(…, k_len, d)` and `(…, k_len, d_v)`, not rotated.
        angles: radians `(seq, pairs)` or broadcastable, for both q and k; None for no position encoding.
        feature_map: φ, which maps floats of any shape to floats ≥ 0 before rotation; may resize the last axis.
        causal: whether a token sees only itself and earlier tokens.
        return_state: whether to also return the state after the last key, so that `linear_attention_step` can
            continue token by token after a prompt.

    Returns `(…, q_len, d_v)` with the dtype and array type of `q` (16-bit floats are computed in float32), and
    zeros where a denominator is 0. With return_state, also returns a LinearState, which is float32 for 16-bit
    floats. ValueError if shapes do not match, or `layout` is neither "interleaved" nor "half_split".

    >>> import numpy as np
    >>> q, k, v = np.zeros((2, 2)), np.zeros((2, 2)), np.array([[1.0], [3.0]])
    >>> linear_attention(q, k, v).tolist()  # equal features: the first attends to itself, the last to both
    [[1.0], [2.0]]
    >>> linear_attention(q, k, v, angles=[[0.0], [np.pi]]).round(3).tolist()  # (−1 + 3)/2
    [[1.0], [1.0]]

    Source: RoFormer, arXiv 2104.09864, eq. 19; Katharopoulos 2020, arXiv 2006.16236. Chapter A2.
    Plain form: `plain.linear_attention`.
    """
    check_fit("(…, seq, width)", q=q, k=k, v=v)
    equal_lengths = causal or angles is not None
    if k.shape[-2] != v.shape[-2] or (equal_lengths and q.shape[-2] != k.shape[-2]):
        raise ValueError(
            "q, k and v must have equally many tokens (q may differ if not causal and without angles), "
            f"got {q.shape[-2]}, {k.shape[-2]} and {v.shape[-2]}"
        )
    features = _features(q, k, v, angles, layout, feature_map)
    if causal:
        mixed, state = _causal(*features)
    else:
        fq, fk, rotated_fq, rotated_fk, wide_v = features
        state = _sums(fk, rotated_fk, wide_v)
        mixed = _divide(*_numerator_and_denominator(fq, rotated_fq, state))
    mixed = array_namespace(q).astype(mixed, q.dtype, copy=False)
    return (mixed, state) if return_state else mixed


def linear_attention_step(
    q: Array,
    k: Array,
    v: Array,
    state: LinearState | None = None,
    *,
    angles: Array | None = None,
    layout: str = "interleaved",
    feature_map: Callable[[Array], Array] = elu_plus_one,
) -> tuple[Array, LinearState]:
    r"""Add one token to the state and return its output; the cost does not depend on the length of the text.

        kv ← kv + (R_n φ(k_n)) v_nᵀ,   norm ← norm + φ(k_n),   output = kvᵀ (R_n φ(q_n)) / ⟨norm, φ(q_n)⟩

    `q`, `k` and `v` are one token's floats, `(…, d)`, `(…, d)` and `(…, d_v)`, not rotated; `angles` are its
    radians, `(pairs,)` or broadcastable; `state` comes from the previous step (None at the start). Returns the
    output, `(…, d_v)` in the dtype of `q`, and a new state, float32 for 16-bit floats; the old state is unchanged.
    Everything else is as for `linear_attention`. ValueError also if the arrays do not match the state.

    >>> import numpy as np
    >>> token, state = np.zeros(2), None
    >>> for n, value in enumerate([1.0, 3.0]):
    ...     output, state = linear_attention_step(token, token, np.array([value]), state, angles=[n * np.pi])
    >>> output.round(3).tolist(), state.norm.tolist()  # the last row in the example of linear_attention
    ([1.0], [2.0, 2.0])

    Source: RoFormer, arXiv 2104.09864, eq. 19; Katharopoulos 2020, arXiv 2006.16236, §3.4. Chapter A2.
    Plain form: `plain.linear_attention_step`.
    """
    check_fit("(…, width)", q=q, k=k, v=v)
    features = _features(q, k, v, angles, layout, feature_map)
    fq, fk, rotated_fq, rotated_fk, wide_v = (x[..., None, :] for x in features)  # a sequence of one token
    state = _sums(fk, rotated_fk, wide_v, state)
    output = _divide(*_numerator_and_denominator(fq, rotated_fq, state))[..., 0, :]
    return array_namespace(q).astype(output, q.dtype, copy=False), state


def _features(
    q: Array, k: Array, v: Array, angles: Array | None, layout: str, feature_map: Callable[[Array], Array]
) -> tuple[Array, ...]:
    """Return φ(q), φ(k), their rotated copies, and v, all in the compute dtype."""
    check_layout(layout)
    xp, dtype = array_namespace(q), compute_dtype(q)
    q, k, v = (xp.astype(x, dtype, copy=False) for x in (q, k, v))
    fq, fk = feature_map(q), feature_map(k)
    if angles is None:
        return fq, fk, fq, fk, v
    return fq, fk, apply_rope(fq, angles, layout=layout), apply_rope(fk, angles, layout=layout), v


def _causal(*features: Array) -> tuple[Any, LinearState]:
    """Attend chunk by chunk: directly within a chunk, and to earlier chunks through running sums."""
    xp, seq = array_namespace(features[0]), features[0].shape[-2]
    ones = xp.ones((min(CHUNK, seq),) * 2, dtype=features[0].dtype, device=device(features[0]))
    triangle = xp.tril(ones)  # a chunk's causal mask, as ones and zeros
    state: Any = None
    outputs = []
    for start in range(0, seq, CHUNK):
        fq, fk, rotated_fq, rotated_fk, v = (x[..., start : start + CHUNK, :] for x in features)
        past = triangle[: fq.shape[-2], : fq.shape[-2]]  # the last chunk may be shorter
        top = ((rotated_fq @ rotated_fk.mT) * past) @ v  # (…, chunk, d_v)
        bottom = xp.sum((fq @ fk.mT) * past, axis=-1)  # (…, chunk)
        if state is not None:
            earlier_top, earlier_bottom = _numerator_and_denominator(fq, rotated_fq, state)
            top, bottom = top + earlier_top, bottom + earlier_bottom
        outputs.append(_divide(top, bottom))
        state = _sums(fk, rotated_fk, v, state)
    return xp.concat(outputs, axis=-2), state


def _sums(fk: Array, rotated_fk: Array, v: Array, earlier: LinearState | None = None) -> LinearState:
    kv, norm = rotated_fk.mT @ v, array_namespace(fk).sum(fk, axis=-2)  # (…, d, d_v), (…, d)
    if earlier is None:
        return LinearState(kv, norm)
    if earlier.kv.shape != kv.shape or earlier.norm.shape != norm.shape:
        raise ValueError(
            f"state must have kv {tuple(kv.shape)} and norm {tuple(norm.shape)} as this token has, "
            f"got {tuple(earlier.kv.shape)} and {tuple(earlier.norm.shape)}"
        )
    return LinearState(earlier.kv + kv, earlier.norm + norm)


def _numerator_and_denominator(fq: Array, rotated_fq: Array, state: LinearState) -> tuple[Any, Any]:
    """Return the queries' numerators (…, q_len, d_v) and denominators (…, q_len)."""
    return rotated_fq @ state.kv, (fq @ state.norm[..., None])[..., 0]


def _divide(top: Any, bottom: Any) -> Any:
    """Divide `top`, (…, d_v), by `bottom`, (…), and return 0 where `bottom` is 0."""
    xp = array_namespace(top)
    zero = bottom == 0
    return xp.where(zero[..., None], 0.0, top / xp.where(zero, 1.0, bottom)[..., None])
