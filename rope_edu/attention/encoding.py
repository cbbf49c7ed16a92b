r"""Where position enters attention: four doors, and the encodings that open one or two of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from array_api_compat import array_namespace, device, is_array_api_obj

from rope_edu.arrays import Array, ArrayLike
from rope_edu.encodings.cos_sin import (
    cos_and_sin,
    rotate_by_cos_sin,
    tensors_for_autograd,
    torch_transform_active,
)
from rope_edu.encodings.frequencies import rope_angles
from rope_edu.encodings.rotary import check_rotatable
from rope_edu.encodings.spec import RopeSpec, check_width, rope_parts, spec_angles
from rope_edu.encodings.validation import as_finite, as_kind_of, check_floats, compute_dtype, dtype_name
from rope_edu.encodings.xpos import xpos_scale


class RotatesByTable(Protocol):
    """Table that keeps cosines and sines and rotates by them, such as `fast.RotaryTable`."""

    @property
    def spec(self) -> RopeSpec: ...

    def rotate(self, q: Any, k: Any = None, **where: Any) -> Any: ...


class PositionEncoding:
    r"""Leave all four doors closed; an encoding opens one or two of them.

        embed:               x_m + p_m                        at the model's input, once
        rotate_q, rotate_k:  q_m and k_n, each turned by its own position
        bias:                score_{mn} + b_{m−n}             after scaling, before the softmax

    There is no door at the values: position decides how much of each value is mixed in, not the values themselves.

    Attributes:
        cache_problem: a sentence that says why keys cannot be stored for later queries, or None if they can.

    >>> import numpy as np
    >>> x = np.ones((3, 4))
    >>> PositionEncoding().rotate_k(x, range(3)) is x
    True

    Chapters 10 and 11.
    Plain form: `rope_edu.plain.attention_head`.
    """

    cache_problem: str | None = None

    def embed(self, x: Array, positions: ArrayLike) -> Any:
        """Return x `(…, seq, d_model)` with the vectors of `positions` `(seq,)` added."""
        return x

    def rotate_q(self, q: Array, positions: ArrayLike) -> Any:
        """Return q `(…, heads, seq, head_dim)` turned by `positions` `(seq,)`."""
        return q

    def rotate_k(self, k: Array, positions: ArrayLike) -> Any:
        """Return k `(…, heads, seq, head_dim)` turned by `positions` `(seq,)`: the keys that a cache stores."""
        return k

    def bias(self, q: Array, k_len: int) -> Array | None:
        """Bias to add to the scaled scores `(…, heads, q_len, k_len)`, or None.

        The queries are the last q_len of the k_len positions.
        """
        return None


@dataclass(frozen=True, eq=False)
class NoPosition(PositionEncoding):
    r"""Encode nothing (NoPE): all doors closed, only a causal mask tells positions apart.

    >>> import numpy as np
    >>> NoPosition().bias(np.ones((1, 3, 4)), 3) is None
    True

    Source: Kazemnejad 2023, arXiv 2305.19466. Chapters 10 and 19.
    """


@dataclass(frozen=True, eq=False)
class Additive(PositionEncoding):
    r"""Add a vector for each position to the model's input.

        x′_m = x_m + encode(m)

    Args:
        encode: positions `(seq,)` -> `(seq, d_model)`: `sinusoidal`, or a learned table with `look_up`.

    >>> import numpy as np
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
    r"""Add a number for each query and key to the scaled scores.

        score_{mn} = ⟨q_m, k_n⟩ / √head_dim + bias_{mn}

    ALiBi and T5 need the lengths only; Shaw's term reads the query too, and is scaled as the score is:
    `lambda q, k_len: shaw_scores(q, zeros (k_len, head_dim), table) / √head_dim`.

    Args:
        bias: (q `(…, heads, q_len, head_dim)`, k_len) -> array that broadcasts to
            `(…, heads, q_len, k_len)`; the queries are the last q_len of the k_len positions.

    >>> import numpy as np
    >>> from rope_edu import alibi_bias
    >>> alibi = ScoreBias(lambda q, k_len: alibi_bias(q.shape[-3], q.shape[-2], k_len))
    >>> (256 * alibi.bias(np.ones((1, 1, 4)), 3)).tolist()  # one head, one query at position 2
    [[[-2.0, -1.0, 0.0]]]

    Source: Press 2022, arXiv 2108.12409; Raffel 2020, arXiv 1910.10683; Shaw 2018, arXiv 1803.02155.
    Chapters 3 and 10.
    """

    bias: Callable[[Array, int], Any]  # type: ignore[assignment]  # a function given is the door


@dataclass(frozen=True, eq=False)
class Rotary(PositionEncoding):
    r"""Rotate queries and keys by their positions (RoPE); values stay.

        ⟨R_m q, R_n k⟩ = ⟨q, R_{n−m} k⟩,   times a² where the spec has an attention factor a

    Cosines and sines are computed once for positions that repeat: for q and k, and for all layers that share the
    encoding. A RotaryTable keeps them for all positions, and its kernel rotates.

    Args:
        rope: a RopeSpec of any rule; a `fast.RotaryTable` of one; or bare frequencies, radians per token
            `(pairs,)`: a list, an array, or a torch parameter for learned ones. A spec with `axes` takes
            positions `(…, seq, n_axes)`.
        layout: for bare frequencies, "interleaved" or "half_split"; a spec has its own.
        attention_factor: for bare frequencies, above 0; a spec has its own.

    Raises:
        ValueError: the spec and an argument contradict each other, or an argument is out of range; when it
            rotates, a head is not as wide as the spec's.

    >>> import math
    >>> import numpy as np
    >>> Rotary([math.pi / 2]).rotate_k(np.array([[[1.0, 0.0]]]), [1]).round(3).tolist()
    [[[0.0, 1.0]]]

    Source: RoFormer, arXiv 2104.09864, eq. 16. Chapter 10.
    """

    rope: RopeSpec | ArrayLike | RotatesByTable
    layout: Any = None  # str | None is given, str is kept
    attention_factor: Any = None  # likewise a float
    inv_freq: Any = field(init=False, repr=False)
    table: RotatesByTable | None = field(init=False, repr=False, default=None)
    _last: list[Any] = field(init=False, repr=False, default_factory=lambda: [None, None])

    def __post_init__(self) -> None:
        if hasattr(self.rope, "spec"):  # dynamo cannot ask whether it is a RotatesByTable
            object.__setattr__(self, "table", self.rope)
            object.__setattr__(self, "rope", self.rope.spec)
        parts = rope_parts(self.rope, self.layout, self.attention_factor)
        for name, value in zip(("inv_freq", "layout", "attention_factor"), parts, strict=True):
            object.__setattr__(self, name, value)  # the one moment at which a frozen value is written

    def rotate_q(self, q: Array, positions: ArrayLike) -> Any:
        check_floats("x", q)
        check_width(self.rope, q)
        if self.table is not None:
            if isinstance(positions, range) and positions.step == 1 and positions.start >= 0:
                return self.table.rotate(q, offset=positions.start)
            return self.table.rotate(q, positions=positions)
        cos, sin = self._cos_sin(q, positions)
        check_rotatable(q, cos.shape)
        return rotate_by_cos_sin(q, cos, sin, self.layout)

    def rotate_k(self, k: Array, positions: ArrayLike) -> Any:
        return self.rotate_q(k, positions)

    def _cos_sin(self, x: Array, positions: ArrayLike) -> tuple[Any, Any]:
        """Cosines and sines for x, `(…, seq, pairs)`: the last ones again where the positions are the same."""
        learned = getattr(self.inv_freq, "requires_grad", False) or getattr(positions, "requires_grad", False)
        if learned or torch_transform_active():
            return self._take_cos_sin(x, positions)
        key = _value_of(positions), type(x), dtype_name(x) == "float64", device(x)
        if key[0] is None or key != self._last[0]:
            with tensors_for_autograd():
                self._last[:] = key, self._take_cos_sin(x, positions)
        return self._last[1]

    def _take_cos_sin(self, x: Array, positions: ArrayLike) -> tuple[Any, Any]:
        positions = _as_array(positions, x)
        if isinstance(self.rope, RopeSpec):
            angles = spec_angles(self.rope, positions)
        else:
            angles = rope_angles(positions, self.inv_freq)
        return cos_and_sin(as_kind_of(angles, like=x), x, self.attention_factor)


@dataclass(frozen=True, eq=False)
class XPos(Rotary):
    r"""Rotate as RoPE does, and scale queries and keys by their positions so that far keys count less.

        q′_m = ζ^(m/s) R_m q,   k′_n = ζ^(−n/s) R_n k,   so that pair i of the score gains ζ_i^((m−n)/s)

    Args:
        rope, layout, attention_factor: as for `Rotary`.
        scale_base: s in tokens.

    Raises:
        ValueError: as for `Rotary`, or, when it rotates, as for `xpos_scale`.

    >>> import numpy as np
    >>> encoding = XPos([0.0])  # no turn, only ζ = 0.4/1.4
    >>> encoding.rotate_q(np.array([[[1.0, 0.0]]]), [512]).round(4).tolist()
    [[[0.2857, 0.0]]]
    >>> encoding.rotate_k(np.array([[[1.0, 0.0]]]), [512]).round(4).tolist()
    [[[3.5, 0.0]]]

    Source: Sun 2022, arXiv 2212.10554, eq. 10, with its released code's scale_base. Chapters 10 and 19.
    Plain form: `rope_edu.plain.apply_xpos`.
    """

    scale_base: float = 512.0

    def rotate_q(self, q: Array, positions: ArrayLike) -> Any:
        return self._turn(q, positions, 1)

    def rotate_k(self, k: Array, positions: ArrayLike) -> Any:
        return self._turn(k, positions, -1)

    def _turn(self, x: Array, positions: ArrayLike, sign: int) -> Any:
        turned = super().rotate_q(x, positions)
        places = sign * as_finite("positions", _as_array(positions, x))  # ζ^(−n/s) = 1 / ζ^(n/s)
        scale = xpos_scale(places, 2 * len(self.inv_freq), self.scale_base)  # (seq, pairs)
        return _scale_pairs(turned, scale, self.layout)


@dataclass(frozen=True, eq=False)
class DynamicRotary(PositionEncoding):
    r"""Rotate by a rule that depends on the current length of the text; its keys cannot be cached.

        spec = rule(l),   l = last position + 1

    Args:
        rule: length in tokens -> argument of `Rotary`: a RopeSpec, or frequencies `(pairs,)`.
        layout: as for `Rotary`.

    >>> import numpy as np
    >>> from rope_edu.encodings import dynamic_ntk
    >>> encoding = DynamicRotary(lambda length: dynamic_ntk(8, length, trained_length=4))
    >>> key = np.ones((1, 1, 8))
    >>> early, late = encoding.rotate_k(key, [3]), encoding.rotate_k(np.ones((1, 9, 8)), range(9))[:, 3:4]
    >>> bool((early == late).all())  # the same key at the same position, before and after the text grew
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
        places: Any = as_finite("positions", positions)
        return Rotary(self.rule(int(places.max()) + 1), self.layout).rotate_q(q, positions)

    def rotate_k(self, k: Array, positions: ArrayLike) -> Any:
        return self.rotate_q(k, positions)


def _as_array(positions: ArrayLike, x: Array) -> Any:
    """Range as integers of the kind of x, so that torch.compile can follow; anything else as given."""
    if not isinstance(positions, range):
        return positions
    return array_namespace(x).arange(positions.start, positions.stop, positions.step, device=device(x))


def _value_of(positions: ArrayLike) -> object:
    """A key that changes with the numbers; None for tensors, whose numbers may lie on another device."""
    if isinstance(positions, range):
        return positions
    if is_array_api_obj(positions) and not isinstance(positions, np.ndarray):
        return None
    numbers = np.asarray(positions)
    return numbers.tobytes(), numbers.dtype, numbers.shape


def _scale_pairs(x: Array, scale: Array, layout: str) -> Any:
    """Multiply both members of pair i by `scale[…, i]`, and leave the tail."""
    xp, dtype = array_namespace(x), compute_dtype(x)
    scale = xp.astype(as_kind_of(scale, like=x), dtype, copy=False)  # (seq, pairs)
    both = xp.stack((scale, scale), axis=-1 if layout == "interleaved" else -2)
    both = xp.reshape(both, (*scale.shape[:-1], 2 * scale.shape[-1]))  # (seq, 2 · pairs)
    width = both.shape[-1]
    turned = xp.astype(x[..., :width] * both, x.dtype, copy=False)
    return turned if width == x.shape[-1] else xp.concat((turned, x[..., width:]), axis=-1)
