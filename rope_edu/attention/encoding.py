r"""The four doors through which position enters attention, and the encodings, which open one or two of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from array_api_compat import array_namespace, device, is_array_api_obj

from rope_edu.arrays import Array, ArrayLike, as_kind_of, tensors_for_autograd, torch_transform_active
from rope_edu.encodings.frequencies import rope_angles
from rope_edu.encodings.rotary import check_rotatable, cos_and_sin, rotate_by_cos_sin
from rope_edu.encodings.spec import RopeSpec, check_width, pair_positions, rope_parts
from rope_edu.encodings.validation import as_positions, check_floats, dtype_name
from rope_edu.encodings.xpos import xpos_scale


class RotatesByTable(Protocol):
    """A table that caches cosines and sines and rotates with them, such as `fast.RotaryTable`."""

    @property
    def spec(self) -> RopeSpec: ...

    def rotate(self, q: Any, k: Any = None, **options: Any) -> Any: ...


class PositionEncoding:
    r"""Base class with four doors for position, all closed; encodings open one or two by overriding methods.

        embed:               x_m + p_m                        once, at the model's input
        rotate_q, rotate_k:  R_m q_m and R_n k_n
        bias:                score_{mn} + b_{m−n}             after scaling, before the softmax

    The values have no door: position determines how much of a value is mixed in, not the value itself.
    `cache_problem` is the reason why keys cannot be cached, or None if they can.

    >>> x = np.ones((3, 4))
    >>> PositionEncoding().rotate_k(x, range(3)) is x
    True

    Chapters 10 and 11. Plain form: `plain.attention_head`.
    """

    cache_problem: str | None = None

    def embed(self, x: Array, positions: ArrayLike) -> Any:
        """Return x, `(…, seq, d_model)`, plus the vectors for `positions`, `(seq,)`."""
        return x

    def rotate_q(self, q: Array, positions: ArrayLike) -> Any:
        """Return q, `(…, heads, seq, head_dim)`, rotated by `positions`, `(seq,)`."""
        return q

    def rotate_k(self, k: Array, positions: ArrayLike) -> Any:
        """Return k, `(…, heads, seq, head_dim)`, rotated by `positions`, `(seq,)`; a cache stores the result."""
        return k

    def bias(self, q: Array, k_len: int) -> Array | None:
        """Return the last q_len tokens' score bias, `(…, heads, q_len, k_len)`, or None if nothing is added."""
        return None


@dataclass(frozen=True, eq=False)
class NoPosition(PositionEncoding):
    r"""No position encoding (NoPE): all doors stay closed, and only the causal mask distinguishes positions.

    >>> NoPosition().bias(np.ones((1, 3, 4)), 3) is None
    True

    Source: Kazemnejad 2023, arXiv 2305.19466. Chapters 10 and 19.
    """


@dataclass(frozen=True, eq=False)
class Additive(PositionEncoding):
    r"""One vector per position, added to the model's input: x′_m = x_m + encode(m).

    `encode` maps positions, `(seq,)`, to vectors, `(seq, d_model)`: `sinusoidal`, or a table lookup.

    >>> from rope_edu import sinusoidal
    >>> Additive(lambda positions: sinusoidal(positions, 2)).embed(np.zeros((1, 2)), [0]).tolist()
    [[0.0, 1.0]]

    Source: Vaswani 2017, arXiv 1706.03762, §3.5. Chapters 2 and 10.
    """

    encode: Callable[[Any], Any]

    def embed(self, x: Array, positions: ArrayLike) -> Any:
        added = as_kind_of(self.encode(positions), like=x)
        return x + array_namespace(x).astype(added, x.dtype, copy=False)


@dataclass(frozen=True, eq=False)
class ScoreBias(PositionEncoding):
    r"""A bias for each query and key, added to the scaled scores.

        score_{mn} = ⟨q_m, k_n⟩ / √head_dim + bias_{mn}

    `bias` maps q and k_len to an array that broadcasts to the scores. ALiBi and T5 need only the lengths. Shaw's
    term also depends on the query, and must be scaled like the score:
    `lambda q, k_len: shaw_scores(q, zeros (k_len, head_dim), table) / √head_dim`.

    >>> from rope_edu import alibi_bias
    >>> alibi = ScoreBias(lambda q, k_len: alibi_bias(q.shape[-3], q.shape[-2], k_len))
    >>> (256 * alibi.bias(np.ones((1, 1, 4)), 3)).tolist()  # one head, one query at position 2
    [[[-2.0, -1.0, 0.0]]]

    Source: Press 2022, arXiv 2108.12409; Raffel 2020, arXiv 1910.10683; Shaw 2018, arXiv 1803.02155.
    Chapters 3 and 10.
    """

    bias: Callable[[Array, int], Any]  # type: ignore[assignment]  # the field overrides the method


class Rotary(PositionEncoding):
    r"""Rotary position embedding (RoPE), which rotates queries and keys by position and leaves values unchanged.

        ⟨R_m q, R_n k⟩ = ⟨q, R_{n−m} k⟩,   times a² if the spec has an attention factor a

    Cosines and sines are computed once for q and k, and again only when the positions change, so layers can share
    an encoding. A RotaryTable caches them for all positions, and rotates with its own kernel.

    Args:
        rope: a RopeSpec made by any rule; a `fast.RotaryTable` made from one; or bare frequencies `(pairs,)` in
            radians per token: a list, an array, or a torch parameter to learn them. A spec with `axes`
            takes positions `(…, seq, n_axes)`.
        layout, attention_factor: for bare frequencies, "interleaved" and 1 by default; a spec already has both.

    ValueError if an argument is out of range or contradicts the spec, or, on rotation, if a head's width differs
    from the spec's.

    >>> import math
    >>> Rotary([math.pi / 2]).rotate_k(np.array([[[1.0, 0.0]]]), [1]).round(3).tolist()
    [[[0.0, 1.0]]]

    Source: RoFormer, arXiv 2104.09864, eq. 16. Chapter 10.
    """

    def __init__(self, rope: Any, layout: str | None = None, attention_factor: float | None = None) -> None:
        self._table: RotatesByTable | None = rope if hasattr(rope, "cos_sin_at") else None
        self._rope: RopeSpec | ArrayLike = rope if self._table is None else self._table.spec
        self._parts = rope_parts(self._rope, layout, attention_factor)
        self._inv_freq = self._rope.inv_freq.tolist() if isinstance(self._rope, RopeSpec) else []
        self._last: tuple[Any, Any] = None, None  # cache key of the last positions; their cosines and sines

    rope = property(lambda self: self._rope, doc="The spec, or the bare frequencies.")
    table = property(lambda self: self._table, doc="The `RotaryTable` given, or None.")
    inv_freq = property(lambda self: self._parts[0], doc="Frequencies `(pairs,)`, radians per token.")
    layout = property(lambda self: self._parts[1], doc='"interleaved" or "half_split".')
    attention_factor = property(lambda self: self._parts[2], doc="Factor on the cosines and sines.")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.rope!r})"

    def rotate_q(self, q: Array, positions: ArrayLike) -> Any:
        check_floats("x", q)
        check_width(self.rope, q)
        if self.table is None:
            cos, sin = self._cos_sin(q, positions)
            check_rotatable(q, cos.shape)
            return rotate_by_cos_sin(q, cos, sin, self.layout)
        if isinstance(positions, range) and positions.step == 1 and positions.start >= 0:
            return self.table.rotate(q, offset=positions.start)
        return self.table.rotate(q, positions=positions)

    def rotate_k(self, k: Array, positions: ArrayLike) -> Any:
        return self.rotate_q(k, positions)

    def _cos_sin(self, x: Array, positions: ArrayLike) -> tuple[Any, Any]:
        """Return cosines and sines `(…, seq, pairs)` for x, reusing the last ones for the same positions."""
        if (
            torch_transform_active()
            or getattr(self.inv_freq, "requires_grad", False)
            or getattr(positions, "requires_grad", False)
        ):
            return self._compute_cos_sin(x, positions)
        key = _cache_key(positions), type(x), dtype_name(x) == "float64", device(x)
        last_key, cos_sin = self._last
        if key[0] is None or key != last_key:
            with tensors_for_autograd():
                cos_sin = self._compute_cos_sin(x, positions)
            self._last = key, cos_sin
        return cos_sin

    def _compute_cos_sin(self, x: Array, positions: ArrayLike) -> tuple[Any, Any]:
        positions = _as_array(positions, x)
        if isinstance(self.rope, RopeSpec):
            coordinates: Any = pair_positions(self.rope, positions)
            xp = array_namespace(coordinates)  # under torch.compile, Python numbers become constants
            angles = coordinates * xp.asarray(self._inv_freq, dtype=xp.float64, device=device(coordinates))
        else:
            angles = rope_angles(positions, self.inv_freq)
        return cos_and_sin(as_kind_of(angles, like=x), x, self.attention_factor)


class XPos(Rotary):
    r"""RoPE that also scales queries and keys by position, so that distant keys score lower.

        q′_m = ζ^(m/s) R_m q,   k′_n = ζ^(−n/s) R_n k;   pair i of the score is multiplied by ζ_i^((m−n)/s)

    Arguments and errors are as for `Rotary`; `scale_base` is s in tokens, as for `xpos_scale`.

    >>> encoding = XPos([0.0])  # no rotation, only ζ = 0.4/1.4
    >>> encoding.rotate_q(np.array([[[1.0, 0.0]]]), [512]).round(4).tolist()
    [[[0.2857, 0.0]]]
    >>> encoding.rotate_k(np.array([[[1.0, 0.0]]]), [512]).round(4).tolist()
    [[[3.5, 0.0]]]

    Source: Sun 2022, arXiv 2212.10554, eq. 10, with its released code's scale_base. Chapters 10 and 19.
    Plain form: `plain.apply_xpos`.
    """

    def __init__(self, rope: Any, *, scale_base: float = 512.0, **options: Any) -> None:
        super().__init__(rope, **options)
        self.scale_base = scale_base

    def rotate_q(self, q: Array, positions: ArrayLike) -> Any:
        return self._rotate_and_scale(q, positions, 1)

    def rotate_k(self, k: Array, positions: ArrayLike) -> Any:
        return self._rotate_and_scale(k, positions, -1)

    def _rotate_and_scale(self, x: Array, positions: ArrayLike, sign: int) -> Any:
        check_floats("x", x)
        check_width(self.rope, x)
        cos, sin = self._cos_sin(x, positions)
        check_rotatable(x, cos.shape)
        exponents = sign * as_positions(_as_array(positions, x))  # ζ^(−n/s) = 1 / ζ^(n/s)
        scale: Any = as_kind_of(xpos_scale(exponents, 2 * len(self.inv_freq), self.scale_base), like=x)
        scale = array_namespace(x).astype(scale, cos.dtype, copy=False)  # (seq, pairs)
        return rotate_by_cos_sin(x, scale * cos, scale * sin, self.layout)


@dataclass(frozen=True, eq=False)
class DynamicRotary(PositionEncoding):
    r"""A rotation whose frequencies depend on the current length of the text, so keys cannot be cached.

    `rule` maps the length (the last position + 1) to a RopeSpec, or to frequencies `(pairs,)` used with `layout`.

    >>> from rope_edu.encodings import dynamic_ntk
    >>> encoding = DynamicRotary(lambda length: dynamic_ntk(8, 4, length=length))
    >>> key = np.ones((1, 1, 8))
    >>> early, late = encoding.rotate_k(key, [3]), encoding.rotate_k(np.ones((1, 9, 8)), range(9))[:, 3:4]
    >>> bool((early == late).all())  # the same key and position, in a short and a long text
    False

    Source: transformers' rope types "dynamic" and "longrope". Chapters 15 and 16.
    """

    rule: Callable[[int], RopeSpec | Array]
    layout: str | None = None
    cache_problem = (
        "its frequencies change with the length of the text, so keys stored at one length were rotated by "
        "frequencies that the next length no longer uses; fix the length, Rotary(rule(longest)), or do without "
        "the cache"
    )

    def rotate_q(self, q: Array, positions: ArrayLike) -> Any:
        numbers: Any = as_positions(positions)
        return Rotary(self.rule(int(numbers.max()) + 1), self.layout).rotate_q(q, positions)

    def rotate_k(self, k: Array, positions: ArrayLike) -> Any:
        return self.rotate_q(k, positions)


def _as_array(positions: ArrayLike, x: Array) -> Any:
    """Return positions; a range is converted to an integer array like x, which torch.compile can trace."""
    if not isinstance(positions, range):
        return positions
    return array_namespace(x).arange(positions.start, positions.stop, positions.step, device=device(x))


def _cache_key(positions: ArrayLike) -> object:
    """Return a cache key for the positions, or None for tensors, because reading them could stall a GPU."""
    if isinstance(positions, range):
        return positions
    if is_array_api_obj(positions) and not isinstance(positions, np.ndarray):
        return None
    numbers = np.asarray(positions)
    return numbers.tobytes(), numbers.dtype, numbers.shape
