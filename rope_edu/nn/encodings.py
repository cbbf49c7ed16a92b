r"""Encodings as torch modules: the four doors of `rope_edu.attention`, with parameters and cached constants.

A module here is also an encoding of the library: `multi_head_attention(…, encoding=make_encoding("t5", …))` works.
Positions are a `range`, for which constants are cached (the transformer passes these), or a tensor. Constants are
float64 and neither parameters nor buffers, so `module.to(torch.bfloat16)` cannot round them; cosines and sines are
rounded once.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

import torch
from torch import Tensor, nn

from rope_edu.arrays import ArrayLike
from rope_edu.attention.encoding import DynamicRotary, PositionEncoding, XPos
from rope_edu.encodings import (
    RopeSpec,
    alibi_bias,
    apply_rope,
    dynamic_ntk,
    learned_table,
    p_rope,
    partial_rope,
    plain_rope,
    relative_positions,
    rope_angles,
    rope_parts,
    shaw_index,
    sinusoidal,
    t5_bucket,
)
from rope_edu.encodings.spec import check_width
from rope_edu.encodings.validation import check_positive_int

Positions = range | Tensor


class Encoding(PositionEncoding, nn.Module):
    r"""No positional encoding: all doors closed. The encodings below open one or two of them.

    Attributes:
        shared: whether all layers use one module (otherwise each layer has its own).

    >>> x = torch.ones(1, 3, 4)
    >>> Encoding().embed(x, range(3)) is x
    True

    Source: Kazemnejad 2023, arXiv 2305.19466 (NoPE). Chapters 10 and 13.
    """

    shared: ClassVar[bool] = True

    if TYPE_CHECKING:  # the doors of PositionEncoding, narrowed: tensors in, tensors out

        def embed(self, x: Tensor, positions: Positions) -> Tensor: ...

        def rotate_q(self, q: Tensor, positions: Positions) -> Tensor: ...

        def rotate_k(self, k: Tensor, positions: Positions) -> Tensor: ...

        def bias(self, q: Tensor, k_len: int) -> Tensor | None: ...

    def __init__(self) -> None:
        super().__init__()
        self._kept: dict[Hashable, Tensor] = {}

    def _keep(self, key: Hashable, device: torch.device, make: Callable[[], Tensor]) -> Tensor:
        """The constant of a key on a device, made at first use; while compiling, made always."""
        if torch.compiler.is_compiling():
            return make()
        key = (key, device)
        if key not in self._kept:
            if len(self._kept) >= 64:  # decoding asks for a new range at every token
                self._kept.pop(next(iter(self._kept)))
            self._kept[key] = make()
        return self._kept[key]


class Learned(Encoding):
    r"""Learned vectors, one for each position, added to x; rows beyond the trained length stay random.

    Args:
        max_len: rows of the table: the longest text, in training or testing.
        d_model: features.
        seed: of the initial values, whose spread is 0.3 (that of token embeddings is 1).

    >>> Learned(4, 2).embed(torch.zeros(1, 4, 2), range(4)).shape
    torch.Size([1, 4, 2])

    Source: Gehring 2017, arXiv 1705.03122, §3.1. Chapters 2 and 13.
    """

    def __init__(self, max_len: int, d_model: int, seed: int = 0) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.tensor(learned_table(max_len, d_model, scale=0.3, seed=seed)).float())

    def embed(self, x: Tensor, positions: Positions) -> Tensor:
        rows = self.table.shape[0]
        if isinstance(positions, range):
            if positions and positions[-1] >= rows:
                raise ValueError(
                    f"position {positions[-1]} is beyond the learned table: its {rows} rows serve positions 0 to "
                    f"{rows - 1}; give the model a larger max_len"
                )
            return x + self.table[positions.start : positions.stop]
        return x + nn.functional.embedding(positions, self.table)


class Sinusoidal(Encoding):
    r"""Sines and cosines of the position, added to x.

    Args:
        d_model: features, an even number.
        base: above 1.

    >>> Sinusoidal(2).embed(torch.zeros(1, 1, 2), range(1)).tolist()
    [[[0.0, 1.0]]]

    Source: Vaswani 2017, arXiv 1706.03762, §3.5. Chapters 2 and 13.
    """

    def __init__(self, d_model: int, base: float = 10_000.0) -> None:
        super().__init__()
        self.d_model, self.base = d_model, base

    def embed(self, x: Tensor, positions: Positions) -> Tensor:
        def make() -> Tensor:
            vectors = sinusoidal(_as_tensor(positions, x.device), self.d_model, self.base)
            return cast(Tensor, vectors).to(x.dtype)

        ranged = isinstance(positions, range)
        return x + (self._keep((positions, x.dtype), x.device, make) if ranged else make())


class RotaryModule(Encoding):
    r"""Rotation of queries and keys by a RopeSpec: the library's `Rotary` as a module.

    `RotaryEmbedding` is the same in one class that needs nothing else of this library.

    Attributes:
        rope: the spec, of any rule, attention factor included.

    Args:
        rope: a RopeSpec, or frequencies in radians per token, `(pairs,)`.
        layout: "interleaved" or "half_split", for bare frequencies; a spec has its own.

    Raises:
        ValueError: the frequencies require a gradient (`LearnedRotary` learns them), `layout` contradicts the
            spec, or as for `RopeSpec`.

    >>> RotaryModule([math.pi / 2]).rotate_k(torch.tensor([[1.0, 0.0]]), range(1, 2)).round(decimals=3).tolist()
    [[0.0, 1.0]]

    Source: RoFormer, arXiv 2104.09864, eq. 16. Chapters 10 and 13.
    """

    def __init__(self, rope: RopeSpec | ArrayLike, layout: str | None = None) -> None:
        super().__init__()
        self.rope = _as_spec(rope, layout)
        self._inv_freq = torch.tensor(self.rope.inv_freq)  # no buffer: .to(dtype) would cast it

    def inv_freq(self, device: torch.device) -> Tensor:
        """Frequencies in radians per token, float64 `(pairs,)`, on a device."""
        return self._inv_freq.to(device)

    def angles(self, positions: Positions, device: torch.device) -> Tensor:
        """Angles in radians, float64 `(seq, pairs)`."""

        def make() -> Tensor:
            return cast(Tensor, rope_angles(_as_tensor(positions, device), self.inv_freq(device)))

        return self._keep(positions, device, make) if isinstance(positions, range) else make()

    def rotate_q(self, q: Tensor, positions: Positions) -> Tensor:
        check_width(self.rope, q)
        angles = self.angles(positions, q.device)
        spec = self.rope
        turned = apply_rope(q, angles, layout=spec.layout, attention_factor=spec.attention_factor)
        return cast(Tensor, turned)

    def rotate_k(self, k: Tensor, positions: Positions) -> Tensor:
        return self.rotate_q(k, positions)

    def extra_repr(self) -> str:
        return repr(self.rope)


class LearnedRotary(RotaryModule):
    r"""Rotation by trained frequencies, θᵢ = exp(parameterᵢ): one set for all layers and heads.

    The logarithm keeps each above 0 and lets training change it by a ratio. Angles belong to the graph of the
    present step, so they are never cached.

    Args:
        rope: initial frequencies, above 0; layout and attention factor stay as they are.
        layout: as for `RotaryModule`.

    Raises:
        ValueError: a frequency is not above 0, or as for `RotaryModule`.

    >>> LearnedRotary([1.0, 0.25]).inv_freq("cpu").detach().numpy().round(6).tolist()
    [1.0, 0.25]

    Source: our own choice of parameter. Chapters 13 and 19.
    """

    def __init__(self, rope: RopeSpec | ArrayLike, layout: str | None = None) -> None:
        super().__init__(rope, layout)
        if not (self.rope.inv_freq > 0).all():
            raise ValueError(f"inv_freq must be above 0 to be learned, got {self.rope.inv_freq.min():g}")
        self.log_inv_freq = nn.Parameter(self._inv_freq.log().float())
        del self._inv_freq

    def inv_freq(self, device: torch.device) -> Tensor:
        return self.log_inv_freq.to(device, torch.float64).exp()

    def angles(self, positions: Positions, device: torch.device) -> Tensor:
        return cast(Tensor, rope_angles(_as_tensor(positions, device), self.inv_freq(device)))


class _LibraryRotation(Encoding):
    """A rotation of `rope_edu.attention`, without parameters or cache, as a module."""

    def __init__(self, rotation: PositionEncoding) -> None:
        super().__init__()
        self._rotation = rotation

    def rotate_q(self, q: Tensor, positions: Positions) -> Tensor:
        return cast(Tensor, self._rotation.rotate_q(q, _as_tensor(positions, q.device)))

    def rotate_k(self, k: Tensor, positions: Positions) -> Tensor:
        return cast(Tensor, self._rotation.rotate_k(k, _as_tensor(positions, k.device)))


class XPosRotary(_LibraryRotation):
    r"""RoPE with queries and keys scaled by position: the library's `XPos` as a module.

    Args:
        rope, layout: as for `RotaryModule`.

    >>> XPosRotary([0.0]).rotate_k(torch.tensor([[[1.0, 0.0]]]), torch.tensor([512])).round(decimals=4).tolist()
    [[[3.5, 0.0]]]

    Source: Sun 2022, arXiv 2212.10554, §3. Chapters 13 and 19.
    """

    def __init__(self, rope: RopeSpec | ArrayLike, layout: str | None = None) -> None:
        super().__init__(XPos(_as_spec(rope, layout)))


class DynamicNTK(_LibraryRotation):
    r"""Rotation by frequencies that follow the current length, and therefore without a cache.

    Args:
        head_dim: width of a head.
        trained_length: tokens up to which the frequencies are RoPE's.
        options: further arguments of `dynamic_ntk`: factor, base, rotary_dim, layout.

    >>> DynamicNTK(8, 4).cache_problem.split(",")[0]
    'its frequencies change with the length of the text'

    Source: transformers' rope type "dynamic". Chapter 15.
    """

    cache_problem = DynamicRotary.cache_problem

    def __init__(self, head_dim: int, trained_length: int, **options: Any) -> None:
        def rule(length: int) -> RopeSpec:
            return dynamic_ntk(head_dim, length, trained_length, **options)

        rule(1)  # refuses arguments out of range now, not at the first text
        super().__init__(DynamicRotary(rule))


class ALiBi(Encoding):
    r"""A penalty that grows with distance, at a fixed slope for each head.

    >>> (256 * ALiBi().bias(torch.ones(1, 1, 4), 3)).tolist()
    [[[-2.0, -1.0, 0.0]]]

    Source: Press 2022, arXiv 2108.12409, §3. Chapters 3 and 13.
    """

    def bias(self, q: Tensor, k_len: int) -> Tensor:
        n_heads, q_len = q.shape[-3], q.shape[-2]

        def make() -> Tensor:
            return torch.tensor(alibi_bias(n_heads, q_len, k_len)).to(q.device, q.dtype)

        return self._keep((n_heads, q_len, k_len, q.dtype), q.device, make)


class T5Bias(Encoding):
    r"""A learned number for each head and bucket of distance; all layers share the table.

    T5 itself leaves the scores unscaled; here they are divided by √head_dim as for all other encodings.

    Args:
        n_heads: heads of a layer.
        num_buckets, max_distance: as in `t5_bucket`, for a causal model.

    >>> T5Bias(2).bias(torch.ones(2, 3, 4), 3).shape
    torch.Size([2, 3, 3])

    Source: Raffel 2020, arXiv 1910.10683, §2.1. Chapters 3 and 13.
    """

    def __init__(self, n_heads: int, num_buckets: int = 32, max_distance: int = 128) -> None:
        super().__init__()
        self.max_distance = max_distance
        self.table = nn.Parameter(torch.zeros(num_buckets, n_heads))

    def bias(self, q: Tensor, k_len: int) -> Tensor:
        q_len, num_buckets = q.shape[-2], self.table.shape[0]

        def make() -> Tensor:
            bucket = t5_bucket(
                relative_positions(q_len, k_len),
                bidirectional=False,
                num_buckets=num_buckets,
                max_distance=self.max_distance,
            )
            return torch.tensor(bucket, device=q.device)

        bucket = self._keep((q_len, k_len), q.device, make)
        return nn.functional.embedding(bucket, self.table).permute(2, 0, 1)  # (n_heads, q_len, k_len)


class Shaw(Encoding):
    r"""A learned vector for each distance, added to the keys: a table for each layer, shared by its heads.

        bias_ij = q_i · a_{clip(j−i, −K, K)} / √head_dim

    The paper also adds vectors to the values and finds (its §4.3) that those to the keys suffice. A causal model
    never reads the rows for keys to the right, so the table here has K + 1 rows, distances −K to 0.

    Args:
        head_dim: width of a head.
        max_distance: K in tokens.

    >>> Shaw(4).bias(torch.ones(2, 3, 4), 3).shape
    torch.Size([2, 3, 3])

    Source: Shaw 2018, arXiv 1803.02155, §3.1–3.2. Chapters 3 and 13.
    """

    shared = False

    def __init__(self, head_dim: int, max_distance: int = 16) -> None:
        super().__init__()
        self.table = nn.Parameter(head_dim**-0.5 * torch.randn(max_distance + 1, head_dim))

    def bias(self, q: Tensor, k_len: int) -> Tensor:
        q_len, last = q.shape[-2], self.table.shape[0] - 1

        def make() -> Tensor:
            rows = shaw_index(q_len, k_len, max_distance=last).clip(max=last)
            return torch.tensor(rows, device=q.device)

        rows = self._keep((q_len, k_len, last), q.device, make)
        by_distance = q @ self.table.mT / math.sqrt(q.shape[-1])  # (…, q_len, K + 1)
        return by_distance.gather(-1, rows.expand(*q.shape[:-1], k_len))


class Sizes(NamedTuple):
    """Widths and lengths of a model, from which each encoding takes those that it needs."""

    d_model: int
    n_heads: int
    head_dim: int
    max_len: int


def _partial(
    sizes: Sizes, *, partial_factor: float = 0.25, base: float = 10_000.0, layout: str = "interleaved"
) -> Encoding:
    rotary_dim = max(2, 2 * int(partial_factor * sizes.head_dim / 2))
    return RotaryModule(partial_rope(sizes.head_dim, rotary_dim, base, layout=layout))


def _whole_head(module: Callable[[RopeSpec], Encoding]) -> Callable[..., Encoding]:
    """Maker of a module that turns all features of a head by plain frequencies."""

    def make(sizes: Sizes, *, base: float = 10_000.0, layout: str = "interleaved") -> Encoding:
        return module(plain_rope(sizes.head_dim, base, layout=layout))

    return make


def _dynamic_ntk(
    sizes: Sizes,
    *,
    trained_length: int | None = None,
    factor: float = 1.0,
    base: float = 10_000.0,
    layout: str = "interleaved",
) -> Encoding:
    length = sizes.max_len if trained_length is None else trained_length
    return DynamicNTK(sizes.head_dim, length, factor=factor, base=base, layout=layout)


_MAKERS: dict[str, Callable[..., Encoding]] = {
    "none": lambda sizes: Encoding(),
    "learned": lambda sizes: Learned(sizes.max_len, sizes.d_model, seed=int(torch.randint(2**31, ()))),
    "sinusoidal": lambda sizes, *, base=10_000.0: Sinusoidal(sizes.d_model, base),
    "shaw": lambda sizes, *, shaw_distance=16: Shaw(sizes.head_dim, shaw_distance),
    "t5": lambda sizes: T5Bias(sizes.n_heads),
    "alibi": lambda sizes: ALiBi(),
    "rotary": _whole_head(RotaryModule),
    "partial": _partial,
    "p-rope": lambda sizes, *, p=0.25, base=10_000.0, layout="interleaved": RotaryModule(
        p_rope(sizes.head_dim, p, base, layout=layout)
    ),
    "learned-rotary": _whole_head(LearnedRotary),
    "xpos": _whole_head(XPosRotary),
    "dynamic-ntk": _dynamic_ntk,
}
ENCODINGS = tuple(name for name in _MAKERS if name != "dynamic-ntk")  # those that allow a cache
OPTIONS: dict[str, dict[str, Any]] = {  # of each name: options beside the sizes, with their defaults
    name: {
        option.name: option.default
        for option in inspect.signature(maker).parameters.values()
        if option.kind is option.KEYWORD_ONLY
    }
    for name, maker in _MAKERS.items()
}


def make_encoding(
    encoding: str | RopeSpec,
    *,
    d_model: int,
    n_heads: int,
    head_dim: int | None = None,
    max_len: int = 512,
    **options: Any,
) -> Encoding:
    r"""The encoding of a name, or the rotation of a spec, as a module with the four doors.

    Args:
        encoding: one of `ENCODINGS`, or "dynamic-ntk"; or a RopeSpec of any rule.
        d_model: features of the model.
        n_heads: heads of a layer.
        head_dim: width of a head; d_model / n_heads if not given.
        max_len: rows of a learned table: the longest text, in training or testing.
        options: those of `OPTIONS[encoding]` alone: `base` of sinusoids and rotations; `layout` of
            rotations; `partial_factor` of "partial", the part of the head that rotates; `p` of "p-rope", the
            part of the pairs that rotate; `shaw_distance` of "shaw", tokens; `trained_length` (max_len if not
            given) and `factor` of "dynamic-ntk".

    Raises:
        ValueError: an unknown encoding or option, a number out of range, or a spec for heads of another width.

    >>> make_encoding("rotary", d_model=8, n_heads=2)
    RotaryModule(<RopeSpec "rope": 2 pairs, 1 … 0.01 rad/token, interleaved>)

    Chapters 10 and 13.
    """
    n_heads = check_positive_int("n_heads", n_heads)
    head_dim = d_model // n_heads if head_dim is None else check_positive_int("head_dim", head_dim)
    if isinstance(encoding, RopeSpec):
        return _from_spec(encoding, head_dim, options)
    if encoding not in _MAKERS:
        raise ValueError(f"encoding must be a RopeSpec or one of {', '.join(_MAKERS)}, got {encoding!r}")
    unknown = sorted(set(options) - set(OPTIONS[encoding]))
    if unknown:
        known = ", ".join(OPTIONS[encoding]) or "no options"
        raise ValueError(f"{encoding!r} understands {known}; got {', '.join(unknown)}")
    return _MAKERS[encoding](Sizes(d_model, n_heads, head_dim, max_len), **options)


def _from_spec(spec: RopeSpec, head_dim: int, options: dict[str, Any]) -> Encoding:
    if options:
        raise ValueError(f"a RopeSpec says everything itself; got {', '.join(sorted(options))} beside it")
    if spec.head_dim != head_dim:
        raise ValueError(f"the spec must be for heads of {head_dim} features, got head_dim = {spec.head_dim}")
    return RotaryModule(spec)


def _as_spec(rope: RopeSpec | ArrayLike, layout: str | None) -> RopeSpec:
    frequencies, layout, _ = rope_parts(rope, layout)  # refuses a layout that contradicts the spec
    return rope if isinstance(rope, RopeSpec) else RopeSpec(cast(Any, frequencies), layout=layout)


def _as_tensor(positions: Positions, device: torch.device) -> Tensor:
    """Positions as an integer tensor on a device."""
    if isinstance(positions, range):
        return torch.arange(positions.start, positions.stop, positions.step, device=device)
    return torch.as_tensor(positions, device=device)
