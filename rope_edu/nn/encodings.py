r"""Position encodings as torch modules, with trainable parameters and cached constants.

The modules are also `PositionEncoding`s, so `multi_head_attention(…, encoding=make_encoding("t5", …))` works.
Positions are a tensor, or a `range`, for which constants are cached. Constants are neither parameters nor buffers,
so `module.to(torch.bfloat16)` cannot round them; cosines and sines are computed in float64 and rounded once.
`make_encoding` creates any of these modules by name.
"""

import inspect
import math
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding

from rope_edu.arrays import Array, ArrayLike
from rope_edu.attention.encoding import DynamicRotary, NoPosition, PositionEncoding, Rotary, XPos
from rope_edu.encodings import (
    RopeSpec,
    alibi_bias,
    dynamic_ntk,
    learned_table,
    p_rope,
    partial_rope,
    plain_rope,
    relative_positions,
    rope_parts,
    shaw_index,
    sinusoidal,
    t5_bucket,
)
from rope_edu.encodings.spec import check_width
from rope_edu.encodings.validation import check_positive_int

Positions = range | Tensor


class Encoding(PositionEncoding, nn.Module):
    r"""Base class for a `PositionEncoding` that is also a torch module; NoPE by default.

    A subclass with parameters overrides the methods that it needs. `shared` is True if all layers share one module,
    and False if every layer needs a separate one.

    >>> x = torch.ones(1, 3, 4)
    >>> Encoding().embed(x, range(3)) is x
    True

    Source: Kazemnejad 2023, arXiv 2305.19466 (NoPE). Chapters 10 and 13.
    """

    shared: ClassVar[bool] = True

    def __init__(self, doors: PositionEncoding | None = None) -> None:
        super().__init__()
        self.doors: PositionEncoding = NoPosition()
        if doors is not None:
            self.doors, self.cache_problem = doors, doors.cache_problem
        self._constants: dict[Any, Tensor] = {}

    def embed(self, x: Tensor, positions: Positions) -> Tensor:
        return self.doors.embed(x, positions)

    def rotate_q(self, q: Tensor, positions: Positions) -> Tensor:
        return self.doors.rotate_q(q, positions)

    def rotate_k(self, k: Tensor, positions: Positions) -> Tensor:
        return self.doors.rotate_k(k, positions)

    def bias(self, q: Tensor, k_len: int) -> Tensor | None:
        return cast(Tensor | None, self.doors.bias(q, k_len))

    def extra_repr(self) -> str:
        return "" if isinstance(self.doors, NoPosition) else repr(self.doors)

    def _constant(self, like: Tensor, function: Callable[..., Any], *numbers: Any) -> Tensor:
        """Return `function(*numbers)` as a tensor like `like`, cached except under torch.compile."""
        if isinstance(numbers[0], Tensor) or torch.compiler.is_compiling():
            return _tensor_like(like, function(*numbers))
        key = function, numbers, like.device, like.dtype
        if key not in self._constants:
            if len(self._constants) >= 64:  # decoding adds a constant for every token
                self._constants.pop(next(iter(self._constants)))
            with torch.inference_mode(False):  # so that autograd can use the tensor later
                self._constants[key] = _tensor_like(like, function(*numbers))
        return self._constants[key]


def _tensor_like(like: Tensor, numbers: Any) -> Tensor:
    """Return `numbers` as a tensor on the device of `like`; floats also get its dtype."""
    tensor = torch.as_tensor(numbers).to(like.device)
    return tensor.to(like.dtype) if tensor.is_floating_point() else tensor


class RotaryModule(Encoding):
    r"""A module that rotates queries and keys by a RopeSpec, like `Rotary`.

    `RotaryEmbedding` does the same in one self-contained class. `rope` is a RopeSpec made by any rule; or
    frequencies in radians per token, `(pairs,)`, whose layout is `layout` ("interleaved" by default). The attribute
    `rope` is the spec. ValueError if the frequencies require a gradient (use "learned-rotary" to learn them), if
    `layout` contradicts the spec, or as for `RopeSpec`.

    >>> RotaryModule([math.pi / 2]).rotate_k(torch.tensor([[1.0, 0.0]]), range(1, 2)).round(decimals=3).tolist()
    [[0.0, 1.0]]

    Source: RoFormer, arXiv 2104.09864, eq. 16. Chapters 10 and 13.
    """

    def __init__(self, rope: RopeSpec | ArrayLike, layout: str | None = None) -> None:
        inv_freq, layout, _ = rope_parts(rope, layout)  # raises if the layout contradicts the spec
        spec = rope if isinstance(rope, RopeSpec) else RopeSpec(inv_freq, layout=layout)
        super().__init__(Rotary(spec))
        self.rope = spec

    def extra_repr(self) -> str:
        return repr(self.rope)


class LearnedRotary(RotaryModule):
    """A rotation with trainable frequencies θᵢ = exp(parameterᵢ) > 0, initialised from a RopeSpec."""

    def __init__(self, rope: RopeSpec) -> None:
        super().__init__(rope)
        if not (rope.inv_freq > 0).all():
            raise ValueError(f"inv_freq must be above 0 to be learned, got {rope.inv_freq.min():g}")
        self.log_inv_freq = nn.Parameter(torch.tensor(rope.inv_freq).log().float())

    def rotate_q(self, q: Tensor, positions: Positions) -> Tensor:
        check_width(self.rope, q)
        inv_freq = self.log_inv_freq.to(q.device, torch.float64).exp()
        return Rotary(inv_freq, self.rope.layout, self.rope.attention_factor).rotate_q(q, positions)

    def rotate_k(self, k: Tensor, positions: Positions) -> Tensor:
        return self.rotate_q(k, positions)


class Learned(Encoding):
    """Learned vectors, one per position, added to x; rows beyond the trained length stay random."""

    def __init__(self, max_len: int, d_model: int, seed: int) -> None:
        super().__init__()  # the table's standard deviation is 0.3, compared with 1 for token embeddings
        self.table = nn.Parameter(torch.tensor(learned_table(max_len, d_model, scale=0.3, seed=seed)).float())

    def embed(self, x: Tensor, positions: Positions) -> Tensor:
        if not isinstance(positions, range):
            return x + embedding(positions, self.table)
        rows = len(self.table)
        if positions and positions[-1] >= rows:
            raise ValueError(
                f"position {positions[-1]} is beyond the learned table: its {rows} rows serve positions 0 to "
                f"{rows - 1}; give the model a larger max_len"
            )
        return x + self.table[positions.start : positions.stop]


class Sinusoidal(Encoding):
    """Sines and cosines of the position, added to x."""

    def __init__(self, d_model: int, base: float) -> None:
        super().__init__()
        self.d_model, self.base = d_model, base

    def embed(self, x: Tensor, positions: Positions) -> Tensor:
        return x + self._constant(x, sinusoidal, positions, self.d_model, self.base)


class ALiBi(Encoding):
    """A penalty proportional to distance, with a fixed slope for each head."""

    def bias(self, q: Tensor, k_len: int) -> Tensor:
        return self._constant(q, alibi_bias, *q.shape[-3:-1], k_len)


class T5Bias(Encoding):
    """Learned biases, one per head and bucket of distance; all layers share the table.

    T5 does not scale the scores; here they are divided by √head_dim, as for all other encodings.
    """

    def __init__(self, n_heads: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.zeros(32, n_heads))

    def bias(self, q: Tensor, k_len: int) -> Tensor:
        bucket = self._constant(q, _causal_buckets, q.shape[-2], k_len)
        return embedding(bucket, self.table).permute(2, 0, 1)  # (n_heads, q_len, k_len)


def _causal_buckets(q_len: int, k_len: int) -> Array:
    return t5_bucket(relative_positions(q_len, k_len), bidirectional=False)


class Shaw(Encoding):
    r"""Learned vectors, one per distance, added to the keys; the heads of a layer share its table.

        bias_ij = q_i · a_{clip(j−i, −K, K)} / √head_dim

    The paper also adds vectors to the values, but reports (§4.3) that those on the keys suffice. A causal model
    never uses the rows for keys to the right, so this table has only K + 1 rows, for distances −K to 0.
    """

    shared = False

    def __init__(self, head_dim: int, max_distance: int) -> None:
        super().__init__()
        self.table = nn.Parameter(head_dim**-0.5 * torch.randn(max_distance + 1, head_dim))

    def bias(self, q: Tensor, k_len: int) -> Tensor:
        last = len(self.table) - 1
        rows = self._constant(q, shaw_index, q.shape[-2], k_len, last).clamp(max=last)
        by_distance = q @ self.table.mT / math.sqrt(q.shape[-1])  # (…, q_len, K + 1)
        return by_distance.gather(-1, rows.expand(*q.shape[:-1], k_len))


class Sizes(NamedTuple):
    """The model dimensions available to an encoding, which uses only some of them."""

    d_model: int
    n_heads: int
    head_dim: int
    max_len: int


def _whole_head(module: Callable[[RopeSpec], Encoding]) -> Callable[..., Encoding]:
    """Return a function that makes a module with plain RoPE on all features of a head."""

    def make(sizes: Sizes, *, base: float = 10_000.0, layout: str = "interleaved") -> Encoding:
        return module(plain_rope(sizes.head_dim, base, layout=layout))

    return make


def _partial(
    sizes: Sizes, *, partial_factor: float = 0.25, base: float = 10_000.0, layout: str = "interleaved"
) -> Encoding:
    rotary_dim = max(2, 2 * int(partial_factor * sizes.head_dim / 2))
    return RotaryModule(partial_rope(sizes.head_dim, rotary_dim, base, layout=layout))


def _dynamic_ntk(
    sizes: Sizes,
    *,
    trained_length: int | None = None,
    factor: float = 1.0,
    base: float = 10_000.0,
    layout: str = "interleaved",
) -> Encoding:
    trained = sizes.max_len if trained_length is None else trained_length
    rule = partial(_frequencies_at, sizes.head_dim, trained, factor, base)
    rule(1)  # raises an error here, not at the first text, if an argument is out of range
    return Encoding(DynamicRotary(rule, layout))


def _frequencies_at(head_dim: int, trained_length: int, factor: float, base: float, length: int) -> Any:
    return dynamic_ntk(head_dim, trained_length, length=length, factor=factor, base=base).inv_freq


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
    "xpos": _whole_head(lambda spec: Encoding(XPos(spec))),
    "dynamic-ntk": _dynamic_ntk,
}
ENCODINGS = tuple(name for name in _MAKERS if name != "dynamic-ntk")  # the encodings that work with a cache
OPTIONS: dict[str, dict[str, Any]] = {  # the options of each encoding, with their defaults
    name: inspect.getfullargspec(maker).kwonlydefaults or {} for name, maker in _MAKERS.items()
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
    r"""Return a named encoding, or the rotation of a RopeSpec, as a torch module.

    Args:
        encoding: a name in `ENCODINGS`, "dynamic-ntk", or a RopeSpec made by any rule.
        head_dim: width of a head; d_model / n_heads by default.
        max_len: number of rows in a learned table, enough for the longest text in training or testing.
        options: only those in `OPTIONS[encoding]`: `base` for sinusoids and rotations; `layout` for rotations;
            `partial_factor` for "partial", the fraction of the head that rotates; `p` for "p-rope", the fraction of
            pairs that rotate; `shaw_distance` for "shaw", in tokens; `trained_length` (`max_len` by default) and
            `factor` for "dynamic-ntk".

    ValueError for an unknown encoding or option, a number out of range, or a spec for heads of a different width.

    >>> make_encoding("rotary", d_model=8, n_heads=2)
    RotaryModule(<RopeSpec "rope": 2 pairs, 1 … 0.01 rad/token, interleaved>)

    Chapters 10 and 13.
    """
    n_heads = check_positive_int("n_heads", n_heads)
    head_dim = d_model // n_heads if head_dim is None else check_positive_int("head_dim", head_dim)
    if isinstance(encoding, RopeSpec):
        if options:
            raise ValueError(f"a RopeSpec takes no options, got {', '.join(sorted(options))}")
        if encoding.head_dim != head_dim:
            raise ValueError(f"the spec must be for heads of {head_dim} features, got {encoding.head_dim}")
        return RotaryModule(encoding)
    if encoding not in _MAKERS:
        raise ValueError(f"encoding must be a RopeSpec or one of {', '.join(_MAKERS)}, got {encoding!r}")
    known = OPTIONS[encoding]
    if unknown := sorted(options.keys() - known.keys()):
        allowed = ", ".join(known) or "no options"
        raise ValueError(f"{encoding!r} takes {allowed}; got {', '.join(unknown)}")
    return _MAKERS[encoding](Sizes(d_model, n_heads, head_dim, max_len), **options)
