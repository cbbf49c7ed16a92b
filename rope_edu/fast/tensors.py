r"""Kernels for torch: eager, in blocks that stay in the cache; compiled where the caller says so; differentiable.

This module imports torch; `rope_edu.fast.rotate` imports it once a tensor has come in.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator

import torch

from rope_edu.fast import native
from rope_edu.fast.turns import SHARED, Turns

SCRATCH = 2**17  # numbers in a block that needs scratch
ON_A_GPU = 128  # times as much: it wants long work
NO_GRADIENT = "out cannot be followed by a gradient: leave it out, or use torch.no_grad()"
REAL = {torch.complex64: torch.float32, torch.complex128: torch.float64}


def rotate(
    x: torch.Tensor, turns: Turns, seq_axis: int, out: torch.Tensor | None, compiled: bool = False
) -> torch.Tensor:
    r"""Rotate a tensor that fits its turns; see `rope_edu.fast.rotate`.

        z′ = turn · z, or with cos and sin block by block

    Raises:
        ValueError: `out` is given where a gradient is wanted, or `compiled` where it cannot be.

    >>> i = Turns("interleaved", (torch.tensor([[1j]]),), ())
    >>> rotate(torch.tensor([[1.0, 0.0]]), i, -2, None).tolist()
    [[0.0, 1.0]]
    """
    if torch.compiler.is_compiling():
        turned = in_graph(x, turns)
        return turned if out is None else out.copy_(turned)
    kernel = _compiled if compiled else _rotated
    if x.requires_grad and torch.is_grad_enabled():
        if out is not None:
            raise ValueError(NO_GRADIENT)
        return _Rotation.apply(x, turns, seq_axis, kernel, False)
    return kernel(x, turns, seq_axis, out, False)


class _Rotation(torch.autograd.Function):
    """The kernel forward; backward the same kernel with −θ. Nothing is kept in between but the turns."""

    @staticmethod
    def forward(x, turns, seq_axis, kernel, back):
        return kernel(x, turns, seq_axis, None, back)

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, ctx.turns, ctx.seq_axis, ctx.kernel, ctx.back = inputs

    @staticmethod
    def backward(ctx, grad):
        if ctx.kernel is _compiled and grad.stride(-1) != 1:  # the gradient of a sum is one broadcast number
            grad = grad.contiguous()
        turned_back = _Rotation.apply(grad, ctx.turns, ctx.seq_axis, ctx.kernel, not ctx.back)
        return turned_back, None, None, None, None


def _rotated(
    x: torch.Tensor, turns: Turns, seq_axis: int, out: torch.Tensor | None, back: bool
) -> torch.Tensor:
    """Return x turned by +θ, or with `back` by −θ, in `out` if given; 16 bits are widened and rounded."""
    rotary_dim = 2 * turns.parts[0].shape[-1]
    tail = x.shape[-1] - rotary_dim
    if tail:
        out = torch.empty_like(x) if out is None else out
        head, whole_x, whole_out = x.narrow(-1, 0, rotary_dim), x, out
        x, out = head, head if out is x else out.narrow(-1, 0, rotary_dim)
    if turns.layout == "interleaved":
        turned = _interleaved(x, turns.parts[0], seq_axis, out, back)
    else:
        turned = _half_split(x, turns, seq_axis, out, back)
    if not tail:
        return turned
    if whole_out is not whole_x:
        whole_out.narrow(-1, rotary_dim, tail).copy_(whole_x.narrow(-1, rotary_dim, tail))
    return whole_out


def _interleaved(
    x: torch.Tensor, turn: torch.Tensor, seq_axis: int, out: torch.Tensor | None, back: bool
) -> torch.Tensor:
    """Multiply pairs, read as complex numbers: one pass, or by way of scratch where they cannot be read so."""
    z = _as_complex(x, turn.dtype)
    few = turn.numel() <= SHARED and not back
    if z is not None and few and out is None:
        return (z * turn).view(x.dtype)
    if z is not None and few and out is x:
        z.mul_(turn)
        return x
    out = torch.empty_like(x) if out is None else out
    z_out = None if z is None else _as_complex(out, turn.dtype)
    if z_out is not None:
        for here, out_here, turn_here in blocks(SHARED, seq_axis, turn, z, z_out, turn):
            torch.mul(here, turn_here.conj() if back else turn_here, out=out_here)
        return out
    for here, out_here, turn_here in blocks(SCRATCH, seq_axis, x, x, out, turn):
        wide = here.to(REAL[turn.dtype], copy=True, memory_format=torch.contiguous_format)
        wide.view(turn.dtype).mul_(turn_here.conj() if back else turn_here)
        out_here.copy_(wide)  # rounds
    return out


def _as_complex(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor | None:
    """Read pairs as complex numbers without a copy; None where their members do not lie side by side."""
    if x.dtype != REAL[dtype]:
        return None
    try:
        return x.view(dtype)
    except RuntimeError:  # a stride or an offset is odd
        return None


def _half_split(
    x: torch.Tensor, turns: Turns, seq_axis: int, out: torch.Tensor | None, back: bool
) -> torch.Tensor:
    """Rotate halves, cos · half ∓ sin · other half, a block that the cache holds at a time."""
    half, wide = turns.parts[0].shape[-1], turns.parts[0].dtype
    same = x.dtype == wide
    if x.numel() <= SCRATCH:  # a few tokens: fewest calls
        both_cos, signed_sin = _doubled(turns, back)
        swapped = x.roll(half, -1)
        turned = torch.mul(x, both_cos, out=out if same else None).addcmul_(swapped, signed_sin)
        if same:
            return turned
        return turned.to(x.dtype) if out is None else out.copy_(turned)
    out = torch.empty_like(x) if out is None else out
    in_place, sign = out.data_ptr() == x.data_ptr(), 1 if back else -1
    halves = [t.narrow(-1, start, half) for t in (x, out) for start in (0, half)]
    for first, second, *outs, cos, sin in blocks(SCRATCH, seq_axis, x, *halves, *turns.parts):
        if not same:
            first, second = first.to(wide), second.to(wide)
        elif in_place:
            first = first.clone()  # the second half will ask for it
        for mine, other, out_here, way in ((first, second, outs[0], sign), (second, first, outs[1], -sign)):
            turned = torch.mul(mine, cos, out=out_here if same else None).addcmul_(other, sin, value=way)
            if not same:
                out_here.copy_(turned)  # rounds
    return out


def _double(cos: torch.Tensor, sin: torch.Tensor, back: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Return (cos, cos) and (−sin, +sin), as wide as a head; with `back` those of −θ."""
    minus = sin.neg()
    return torch.cat((cos, cos), dim=-1), torch.cat((sin, minus) if back else (minus, sin), dim=-1)


def _doubled(turns: Turns, back: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the same for turns of a few positions, which keep it: all layers of a model ask for it."""
    if back:
        return _double(*turns.parts, back)
    if turns.doubled is None:
        with torch.inference_mode(False):
            turns.doubled = _double(*turns.parts, back)
    return turns.doubled


def blocks(
    room: int, seq_axis: int, of: torch.Tensor, *others: torch.Tensor
) -> Iterator[tuple[torch.Tensor, ...]]:
    """Yield the same rows of the sequence of all others, as many as make `room` numbers in the tensor `of`."""
    length = others[0].shape[seq_axis]
    room = room if of.device.type == "cpu" else ON_A_GPU * room
    step = max(1, room * length // max(1, of.numel()))
    if step >= length:
        yield others
        return
    for start in range(0, length, step):
        yield tuple(t.narrow(seq_axis, start, min(step, length - start)) for t in others)


def _compiled(
    x: torch.Tensor, turns: Turns, seq_axis: int, out: torch.Tensor | None, back: bool
) -> torch.Tensor:
    """Rotate by native.cpp in main memory, elsewhere by what torch.compile makes."""
    if x.device.type != "cpu":
        return by_inductor(x, turns, seq_axis, out, back)
    if out is not None and out.is_neg():
        raise ValueError("compiled=True cannot write into a view that negates, such as x.conj().imag")
    x = x.resolve_neg()
    turned = native.rotate(x, _unwrapped(turns), seq_axis, out, back)
    if out is not None:
        _tell_autograd(out)
    return turned


def kept_call(x: torch.Tensor, turns: Turns) -> tuple | None:
    """Return the call that turns have kept for an x like this, in main memory, to be rotated in place."""
    kept = None if torch.compiler.is_compiling() else turns.calls.get(x.shape)
    if kept is None or x.dtype is not kept[0] or not x.is_contiguous() or x.is_neg():
        return None
    return None if x.requires_grad and torch.is_grad_enabled() else kept  # `rotate` refuses a gradient


def call_again(x: torch.Tensor, turns: Turns, kept: tuple) -> None:
    """Rotate x in place."""
    _, kernel, plan = kept
    if turns.addresses is None:
        turns.addresses = native.addresses(turns)
    at, (cosines, sines) = x.data_ptr(), turns.addresses
    kernel(plan, at, cosines, sines, at)
    _tell_autograd(x)


def rotated_again(x: torch.Tensor, turns: Turns) -> bool:
    """Rotate x in place by a call that turns have kept; tell whether there was one."""
    kept = kept_call(x, turns)
    if kept is not None:
        call_again(x, turns, kept)
    return kept is not None


def _tell_autograd(written: torch.Tensor) -> None:
    """Count a write that autograd has not seen."""
    if not written.is_inference():
        torch.autograd.graph.increment_version(written)


def _unwrapped(turns: Turns) -> Turns:
    """Return turns whose parts torch.func has not wrapped: they are constants, and a kernel needs their address."""
    is_wrapped, unwrapped = torch._C._functorch.is_functorch_wrapped_tensor, torch._C._functorch.get_unwrapped
    parts = turns.parts
    while any(is_wrapped(part) for part in parts):
        parts = tuple(unwrapped(part) if is_wrapped(part) else part for part in parts)
    return turns if parts is turns.parts else Turns(turns.layout, parts, turns.dtypes)


def by_inductor(
    x: torch.Tensor, turns: Turns, seq_axis: int, out: torch.Tensor | None, back: bool
) -> torch.Tensor:
    r"""Rotate half_split pairs with a kernel made by torch.compile; interleaved ones are one product already.

        (first, second)′ = (first, second) · cos + (second, first) · (−sin, +sin)

    Raises:
        ValueError: `out` is x or has gaps.
    """
    if turns.layout == "interleaved":
        return _rotated(x, turns, seq_axis, out, back)
    if out is not None and out.data_ptr() == x.data_ptr():
        raise ValueError(
            "compiled=True cannot rotate half_split pairs in place here: give another out, or none"
        )
    if out is not None and not torch.ops.aten.is_non_overlapping_and_dense(out):
        raise ValueError("compiled=True needs an out without gaps in its memory: give another, or none")
    out = torch.empty_like(x) if out is None else out
    cos, sin = turns.parts
    rotary_dim = 2 * cos.shape[-1]
    heads = [t.narrow(-1, 0, rotary_dim) if t.shape[-1] > rotary_dim else t for t in (x, out)]
    _inductor_kernel(cos.shape[-1])(cos, sin, _signs(cos.dtype, cos.device, back), *heads)
    out[..., rotary_dim:] = x[..., rotary_dim:]
    return out


def _by_swapping(
    halves: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, signs: torch.Tensor
) -> torch.Tensor:
    """Rotate halves `(…, 2, pairs)` in one expression, for compilers."""
    wide = halves.to(cos.dtype)
    return wide * cos.unsqueeze(-2) + wide.flip(-2) * (signs * sin.unsqueeze(-2))


class _Swap(torch.nn.Module):
    """The kernel that is compiled. A module, as its numbers are constants to the compiler, which so uses SIMD."""

    def __init__(self, pairs: int) -> None:
        super().__init__()
        self.pairs = pairs

    def forward(self, cos, sin, signs, x, out):
        x, out = (t.unflatten(-1, (2, self.pairs)) for t in (x, out))  # (…, 2, pairs)
        out.copy_(_by_swapping(x, cos, sin, signs))  # rounds


@functools.cache
def _inductor_kernel(pairs: int) -> torch.nn.Module:
    """Make the kernel at the first call; one compilation serves all sizes of a dtype and number of axes."""
    room = {"recompile_limit": 64} if "recompile_limit" in inspect.signature(torch.compile).parameters else {}
    return torch.compile(_Swap(pairs), fullgraph=True, dynamic=True, **room)


@functools.cache
def _signs(dtype: torch.dtype, device: torch.device, back: bool) -> torch.Tensor:
    with torch.inference_mode(False):
        return torch.tensor([[1.0], [-1.0]] if back else [[-1.0], [1.0]], dtype=dtype, device=device)


def in_graph(x: torch.Tensor, turns: Turns) -> torch.Tensor:
    r"""Rotate in plain operations, for a graph that the caller's own torch.compile traces.

    >>> in_graph(torch.tensor([[1.0, 0.0]]), Turns("interleaved", (torch.tensor([[1j]]),), ())).tolist()
    [[0.0, 1.0]]
    """
    rotary_dim = 2 * turns.parts[0].shape[-1]
    head, tail = x[..., :rotary_dim], x[..., rotary_dim:]
    if turns.layout == "half_split":
        cos, sin = turns.parts
        signs = torch.tensor([[-1.0], [1.0]], dtype=cos.dtype, device=x.device)
        turned = _by_swapping(head.unflatten(-1, (2, cos.shape[-1])), cos, sin, signs).flatten(-2)
    else:
        (turn,) = turns.parts
        pairs = head.to(REAL[turn.dtype]).unflatten(-1, (-1, 2)).contiguous()
        turned = torch.view_as_real(torch.view_as_complex(pairs) * turn).flatten(-2)
    turned = turned.to(x.dtype)
    return torch.cat((turned, tail), dim=-1) if tail.shape[-1] else turned
