r"""Rotate by cosines and sines that are there: in few passes, and with no array of the size of x but the result.

`rotary.apply_rope` takes them of angles and ends here; `fast` has them in a table and comes here without numba.
"""

import contextlib
import math
import sys
from typing import Any

import numpy as np
from array_api_compat import array_namespace

from rope_edu.encodings.layouts import pair_slices

BLOCK = 2**18  # numbers that are rotated at a time: what is made on the way stays in the cache
ON_A_GPU = 64  # times as many: it wants long work


def cos_and_sin(angles: Any, x: Any, factor: float = 1.0) -> tuple[Any, Any]:
    r"""Return a cos θ and a sin θ of float64 angles, to rotate x of their kind: float32 unless x is float64.

    >>> [part.tolist() for part in cos_and_sin(np.array([0.0, math.pi]), np.ones(2), factor=2.0)]
    [[2.0, -2.0], [0.0, 2.4492935982947064e-16]]
    """
    is_array = isinstance(angles, np.ndarray)
    cos: Any
    sin: Any
    if is_array:
        cos, sin = np.cos(angles), np.sin(angles)
    else:
        cos, sin = angles.cos(), angles.sin()
    if factor != 1:
        cos, sin = factor * cos, factor * sin
    if x.dtype == angles.dtype:
        return cos, sin
    if is_array:
        return cos.astype(np.float32), sin.astype(np.float32)
    return cos.float(), sin.float()


def rotate_by_cos_sin(x: Any, cos: Any, sin: Any, layout: str, out: Any | None = None) -> Any:
    r"""x, which fits, rotated by +angle, by cosines and sines that are there: in the dtype of x, or `out` if given.

    x holds floats, `(…, seq, head_dim)`; cos and sin, `(…, seq, pairs)`, are in the dtype to calculate in, of the
    kind and on the device of x; `out` may be x. A large x goes block by block, so that what is made on the way
    stays in the cache, unless a gradient or a compiler follows.

    >>> rotate_by_cos_sin(np.array([3.0, 4.0]), np.array([0.0]), np.array([1.0]), "interleaved").tolist()
    [-4.0, 3.0]
    """
    followed = autograd_tracks(x, cos)
    if followed or math.prod(x.shape) <= BLOCK:
        turned = (_turned if followed else _turned_in_place)(x, cos, sin, layout)
        if out is None:
            return _cast(turned, x.dtype)
        out[...] = turned  # rounds
        return out
    out = array_namespace(x).empty_like(x) if out is None else out
    on_cpu = isinstance(x, np.ndarray) or x.is_cpu
    _rotate_blocks(x, cos, sin, layout, out, BLOCK if on_cpu else ON_A_GPU * BLOCK)
    return out


def autograd_tracks(x: Any, cos: Any) -> bool:
    """Tell whether torch keeps track of both arrays: a gradient, torch.func or a compiler follows them."""
    if isinstance(x, np.ndarray):
        return False
    wants_gradient = x.requires_grad or cos.requires_grad
    return (wants_gradient and sys.modules["torch"].is_grad_enabled()) or torch_transform_active()


def is_compiling() -> bool:
    """Tell whether torch.compile is reading this: a graph keeps nothing."""
    torch = sys.modules.get("torch")  # only looked up if the caller has it
    return torch is not None and torch.compiler.is_compiling()


def torch_transform_active() -> bool:
    """Tell whether a compiler, torch.func or forward differentiation follows what torch does now."""
    torch = sys.modules.get("torch")
    return torch is not None and (
        torch.compiler.is_compiling()
        or torch._C._are_functorch_transforms_active()
        or torch.autograd.forward_ad._current_level >= 0
    )


def tensors_for_autograd() -> contextlib.AbstractContextManager[object]:
    """Leave torch's inference mode, so that tensors made now may be used later where a gradient is wanted."""
    torch = sys.modules.get("torch")
    return contextlib.nullcontext() if torch is None else torch.inference_mode(False)


def _rotate_blocks(x: Any, cos: Any, sin: Any, layout: str, out: Any, max_elements: int) -> None:
    """Rotate x into `out`, at most `max_elements` numbers at a time, cut along the leading axes."""
    size = math.prod(x.shape)
    if size <= max_elements or x.ndim == 1:
        out[...] = _turned_in_place(x, cos, sin, layout)
        return
    count = max_elements // (size // len(x))  # entries of the first axis in a block; 0: less than one
    for start in range(0, len(x), max(1, count)):
        rows = slice(start, start + count) if count else start
        part = cos, sin
        if cos.ndim == x.ndim:
            cos_sin_rows = rows if len(cos) > 1 else slice(None) if count else 0
            part = cos[cos_sin_rows], sin[cos_sin_rows]
        _rotate_blocks(x[rows], *part, layout, out[rows], max_elements)


def _turned_in_place(x: Any, cos: Any, sin: Any, layout: str) -> Any:
    """Return x rotated, in the dtype of cos: copied once, and turned where the copy stands."""
    if isinstance(x, np.ndarray):
        wide = x.astype(cos.dtype, order="C")
    else:
        wide = x.to(cos.dtype, copy=True, memory_format=sys.modules["torch"].contiguous_format)
    if layout == "interleaved" and x.shape[-1] % 2 == 0:
        _turn_neighbours(wide, cos, sin)
    else:
        _turn_pairs(wide, cos, sin, layout)
    return wide


def _turn_neighbours(wide: Any, cos: Any, sin: Any) -> None:
    """Turn interleaved pairs: neighbours in memory are the two parts of a complex number."""
    if isinstance(wide, np.ndarray):
        factors: Any = np.empty(cos.shape, dtype=np.result_type(cos, np.complex64))
        factors.real, factors.imag = cos, sin
        numbers = wide.view(factors.dtype)
    else:
        torch, (*leading, head_dim) = sys.modules["torch"], wide.shape
        factors = torch.complex(cos, sin)
        numbers = torch.view_as_complex(wide.view(*leading, head_dim // 2, 2))
    if numbers.shape[-1] > factors.shape[-1]:
        numbers = numbers[..., : factors.shape[-1]]
    numbers *= factors


def _turn_pairs(wide: Any, cos: Any, sin: Any, layout: str) -> None:
    """Turn pairs of any layout; torch adds a product to another in one pass."""
    pairs = cos.shape[-1]
    if layout == "half_split" and 2 * pairs == wide.shape[-1] and not isinstance(wide, np.ndarray):
        first, second = wide.chunk(2, -1)  # in half the time of two slices
    else:
        first, second = (wide[..., members] for members in pair_slices(2 * pairs, layout))
    product = first * sin
    first *= cos
    if isinstance(wide, np.ndarray):
        first -= second * sin
        second *= cos
        second += product
    else:
        first.addcmul_(second, sin, value=-1)
        sys.modules["torch"].addcmul(product, second, cos, out=second)


def _turned(x: Any, cos: Any, sin: Any, layout: str) -> Any:
    """Return a tensor rotated, in the dtype of cos: torch follows, so nothing is written over."""
    torch, pairs = sys.modules["torch"], cos.shape[-1]
    wide = x.to(cos.dtype)
    head, tail = wide[..., : 2 * pairs], wide[..., 2 * pairs :]
    if layout == "interleaved":
        numbers = torch.view_as_complex(head.reshape(*x.shape[:-1], pairs, 2).contiguous())
        parts = [torch.view_as_real(numbers * torch.complex(cos, sin)).reshape(head.shape)]
    else:
        first, second = head[..., :pairs], head[..., pairs:]
        parts = [
            torch.addcmul(first * cos, second, sin, value=-1),
            torch.addcmul(first * sin, second, cos),
        ]
    return torch.cat([*parts, tail] if tail.shape[-1] else parts, dim=-1)


def _cast(x: Any, dtype: Any) -> Any:
    """Return x in a dtype, x itself where it has it."""
    if x.dtype == dtype:
        return x
    return x.astype(dtype) if isinstance(x, np.ndarray) else x.to(dtype)
