r"""Rotate queries and keys with turns: check, then one kernel for each kind and layout."""

from __future__ import annotations

import functools
from types import ModuleType

import numpy as np

from rope_edu.encodings._checks import Array, check_broadcast, check_float_array, check_out, dtype_name
from rope_edu.fast import arrays
from rope_edu.fast.table import RotaryTable, tracing
from rope_edu.fast.turns import Turns

_FLOATS: set = set()  # dtypes that were found to be floats


def rotate(
    q: Array,
    k: Array | None = None,
    *,
    table: RotaryTable | Turns,
    offset: int | None = None,
    positions: list | range | Array | None = None,
    seq_axis: int = -2,
    out: Array | tuple[Array, Array] | None = None,
    compiled: bool = False,
) -> Array | tuple[Array, Array]:
    r"""Rotate queries, or queries and keys, at the cost of copying them.

        interleaved: z′ = turn · z       half_split: first′ = cos · first − sin · second,
                                                     second′ = cos · second + sin · first

    Equals `apply_rope(x, rope_angles(positions, inv_freq), …)` to rounding. Tensors of 16 bits are turned in
    float32, which once in some thousand numbers gives the other neighbour of a near tie; with `compiled` they are
    the exact value rounded once, as NumPy's are. Nothing of the size of q is made but the result: with `out`
    nothing, save two megabytes of scratch at most where numbers change their width or their place, and with
    `compiled` none at all. The backward pass is the same kernel with −θ and keeps nothing but turns.

    Args:
        q: floats `(…, seq, head_dim)`, NumPy or torch; 2 · pairs ≤ head_dim, the tail passes unchanged.
        k: like q; its own number of heads is fine.
        table: a RotaryTable; or Turns that one has given, `(…, seq, pairs)`, where a view is to be held.
        offset: the position of the first token, ≥ 0. Default: 0.
        positions: instead of `offset`, `(seq,)` or `(batch, seq)`, also fractions.
        seq_axis: −2 for `(…, heads, seq, head_dim)`, −3 for `(…, seq, heads, head_dim)`.
        out: where to write, of the kind, device, dtype and shape of q; a pair of them with k. `out=q` or
            `out=(q, k)` rotates in place.
        compiled: let a C++ compiler make the kernel for this processor: some seconds, once in a process. It
            needs no scratch, reads and writes each number once, and uses as many threads as torch does (for
            NumPy one). The features must lie side by side. On an accelerator torch.compile makes it, for
            half_split pairs, not in place nor into an `out` with gaps.

    Returns:
        q rotated by +θ, or the pair; `out` itself if given.

    Raises:
        ValueError: q or k is not of floats, has another kind, device or length than the turns or too few
            features; `out` does not match or overlaps in part; both `offset` and `positions` are given, or
            either with Turns; `out` is given where a gradient is wanted; `compiled` where it cannot be.

    >>> import math
    >>> table = RotaryTable([math.pi / 2])
    >>> rotate(np.array([[1.0, 0.0, 7.0], [1.0, 0.0, 7.0]]), table=table, offset=1).round(3).tolist()
    [[0.0, 1.0, 7.0], [-1.0, 0.0, 7.0]]

    Source: RoFormer, arXiv 2104.09864, eq. 12 and 34. Chapter 7.
    """
    turns = _turns_for(q, table, offset, positions, seq_axis, compiled or isinstance(q, np.ndarray))
    if out is not None and seq_axis == -2 and not tracing() and _at_once(q, k, turns, out, compiled):
        return q if k is None else (q, k)
    if k is None:
        named = (("q", q, out),)
    elif out is None:
        named = ("q", q, None), ("k", k, None)
    elif isinstance(out, (tuple, list)) and len(out) == 2:
        named = ("q", q, out[0]), ("k", k, out[1])
    else:
        raise ValueError(f"out must be a pair (for q, for k), got {type(out).__name__}")
    for name, x, out_x in named:
        _check(name, x, turns, seq_axis, out_x)
    kernel = arrays.rotate if isinstance(turns.parts[0], np.ndarray) else _tensors().rotate
    turned = [kernel(x, turns, seq_axis, out_x, compiled) for _, x, out_x in named]
    return turned[0] if k is None else tuple(turned)


def rotate_(x: Array, turns: Turns, *, compiled: bool = False) -> Array:
    r"""Rotate in place with turns that are held: the short way, for a loop over single tokens.

        z ← turn · z

    Pack the queries and keys of a token, as one projection gives them, and both turn at once.

    Args:
        x: floats `(…, heads, seq, head_dim)`; no gradient can be wanted.
        turns: `(seq, pairs)` from `RotaryTable.turns`.
        compiled: as for `rotate`. Turns keep what the compiled kernel is told, so that a second x of a shape
            goes to it straight away.

    Returns:
        x, rotated by +θ.

    Raises:
        ValueError: `turns` are not Turns; else as for `rotate`.

    >>> x = np.array([[3.0, 4.0]])
    >>> rotate_(x, RotaryTable([np.pi / 2]).turns(1, 1, like=x)).round(3).tolist()
    [[-4.0, 3.0]]

    Chapter 7.
    """
    if not isinstance(turns, Turns):
        raise ValueError(f"turns must be Turns, as RotaryTable.turns gives, got {type(turns).__name__}")
    if compiled:
        if turns.calls and getattr(x, "is_cpu", False) and _tensors().rotated_again(x, turns):
            return x
    elif (pairs := _pairs_in_place(x, turns)) is not None:
        pairs *= turns.parts[0]
        return x
    return rotate(x, table=turns, out=x, compiled=compiled)


def _at_once(
    q: Array, k: Array | None, turns: Turns, out: Array | tuple[Array, Array], compiled: bool
) -> bool:
    """Rotate in place, if it takes no more than one product or one call each, as in decoding; else do nothing."""
    if k is not None and not (isinstance(out, (tuple, list)) and len(out) == 2):
        return False
    out_q, out_k = (out, None) if k is None else out
    if out_q is not q or out_k is not k:
        return False
    step = _step(q, turns, compiled)
    step_k = None if k is None or step is None else _step(k, turns, compiled)
    if step is None or (step_k is None and k is not None):
        return False
    _do(step, q, turns, compiled)
    if k is not None:
        _do(step_k, k, turns, compiled)
    return True


def _step(x: Array, turns: Turns, compiled: bool) -> Array | tuple | None:
    """Return what it takes to rotate x in place: its pairs or, compiled, a call that was kept; None if more."""
    if not compiled:
        return _pairs_in_place(x, turns)
    return _tensors().kept_call(x, turns) if turns.calls and getattr(x, "is_cpu", False) else None


def _do(step: Array | tuple, x: Array, turns: Turns, compiled: bool) -> None:
    if compiled:
        _tensors().call_again(x, turns, step)
    else:
        step *= turns.parts[0]


def _pairs_in_place(x: Array, turns: Turns) -> Array | None:
    """Return x read as complex numbers if one product with the turns is all that it takes, else None."""
    if (
        getattr(x, "dtype", None) is turns.dtypes[0]
        and x.shape[-2:] == turns.pairs_of
        and not getattr(x, "requires_grad", False)
    ):
        try:
            return x.view(turns.parts[0].dtype)
        except (RuntimeError, ValueError):  # their members do not lie side by side
            return None
    return None


def _turns_for(
    q: Array, table: RotaryTable | Turns, offset: int | None, positions: object, seq_axis: int, exact: bool
) -> Turns:
    """Return the turns of q's tokens, with an axis of one head where q has its heads."""
    if seq_axis not in (-2, -3):
        raise ValueError(f"seq_axis must be -2 or -3 (heads after the sequence), got {seq_axis!r}")
    if isinstance(table, Turns):
        if offset is not None or positions is not None:
            raise ValueError("Turns have their positions already: give neither offset nor positions")
        turns = table
    elif not isinstance(table, RotaryTable):
        raise ValueError(f"table must be a RotaryTable or Turns, got {type(table).__name__}")
    elif positions is None:
        turns = table.turns(offset or 0, _length("q", q, seq_axis), like=q, exact=exact)
    elif offset is not None:
        raise ValueError("give offset or positions, not both")
    else:
        turns = table.turns_at(positions, like=q, exact=exact)
    return turns if seq_axis == -2 and turns.parts[0].ndim == 2 else _beside_heads(q, turns, seq_axis)


def _beside_heads(q: Array, turns: Turns, seq_axis: int) -> Turns:
    """Insert axes of length 1 for q's heads: (batch, seq, pairs) -> (batch, 1, seq, pairs)."""
    lead = len(turns.shape) - 2
    missing = max(0, q.ndim - 2 - lead)
    if seq_axis == -2:
        index = (slice(None),) * lead + (None,) * missing
    else:  # one axis after the sequence, the others before it
        index = (slice(None),) * lead + (None,) * (missing - 1) + (slice(None),) + (None,) * min(missing, 1)
    return Turns(turns.layout, tuple(part[index] for part in turns.parts), turns.dtypes)


def _check(name: str, x: Array, turns: Turns, seq_axis: int, out: Array | None) -> None:
    """Refuse an x that the turns are not for, and an out that is not for x."""
    part = turns.parts[0]
    if (
        getattr(x, "dtype", None) not in turns.dtypes
        or isinstance(x, np.ndarray) != isinstance(part, np.ndarray)
        or x.device != part.device
    ):
        _refuse_kind(name, x, turns)
    _check_shape(name, x, part.shape, seq_axis)
    if out is not None and out is not x and not tracing():
        check_out(out, x)


@functools.cache
def _tensors() -> ModuleType:
    """Import the kernels for torch once a tensor has come in, so that torch is there."""
    from rope_edu.fast import tensors

    return tensors


def _check_shape(name: str, x: Array, turned: tuple[int, ...], seq_axis: int) -> None:
    """Refuse x whose tokens, batch or features do not fit the turns `(…, seq, [heads,] pairs)`."""
    shape = x.shape
    if 2 * turned[-1] > shape[-1]:
        raise ValueError(f"2 · pairs must be at most head_dim = {shape[-1]}, got {turned[-1]} pairs")
    if len(shape) < -seq_axis or shape[seq_axis] != turned[seq_axis]:
        raise ValueError(
            f"{name} has {_length(name, x, seq_axis)} tokens on axis {seq_axis}, the turns {turned[seq_axis]}; "
            "heads after the sequence are seq_axis=-3"
        )
    if len(turned) > 2:
        hint = f"{name} is {tuple(shape)} with its sequence on axis {seq_axis}"
        check_broadcast("the leading axes of the turns", turned[:-1], shape[:-1], hint)


def _length(name: str, x: Array, seq_axis: int) -> int:
    if getattr(x, "dtype", None) not in _FLOATS:
        check_float_array(name, x)
        _FLOATS.add(x.dtype)
    shape = x.shape
    if len(shape) < -seq_axis:
        axes = "(…, seq, head_dim)" if seq_axis == -2 else "(…, seq, heads, head_dim)"
        raise ValueError(f"{name} must be {axes}, got shape {tuple(shape)}")
    return shape[seq_axis]


def _refuse_kind(name: str, x: Array, turns: Turns) -> None:
    """Raise the sentence that fits an x of another kind, dtype or device than the turns are for."""
    check_float_array(name, x)
    part = turns.parts[0]
    if isinstance(part, np.ndarray) != isinstance(x, np.ndarray):
        raise ValueError(f"{name} must be {type(part).__name__} as the turns are, got {type(x).__name__}")
    if x.dtype not in turns.dtypes:
        allowed = " or ".join(str(dtype).removeprefix("torch.") for dtype in turns.dtypes)
        raise ValueError(f"{name} must hold {allowed} for these turns, got {dtype_name(x)}")
    raise ValueError(f"{name} must be on the device of the turns, {part.device}, got {x.device}")
