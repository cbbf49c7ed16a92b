"""Array types, and functions that query torch's state without importing torch."""

import contextlib
import sys
from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array, to_device


@runtime_checkable
class Array(Protocol):
    """A NumPy array, a torch tensor, or any other array that array_api_compat supports."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> Any: ...
    @property
    def ndim(self) -> int: ...
    @property
    def mT(self) -> Any: ...  # noqa: N802  (the array API's name for a transpose)
    @property
    def T(self) -> Any: ...  # noqa: N802
    @property
    def device(self) -> Any: ...
    def tolist(self) -> Any: ...
    def __eq__(self, other: Any, /) -> Any: ...  # elementwise
    def __lt__(self, other: Any, /) -> Any: ...
    def __ge__(self, other: Any, /) -> Any: ...
    def __gt__(self, other: Any, /) -> Any: ...
    def __len__(self) -> int: ...
    def __getitem__(self, key: Any, /) -> Any: ...
    def __setitem__(self, key: Any, value: Any, /) -> None: ...
    def __neg__(self) -> Any: ...
    def __add__(self, other: Any, /) -> Any: ...
    def __radd__(self, other: Any, /) -> Any: ...
    def __sub__(self, other: Any, /) -> Any: ...
    def __rsub__(self, other: Any, /) -> Any: ...
    def __mul__(self, other: Any, /) -> Any: ...
    def __rmul__(self, other: Any, /) -> Any: ...
    def __truediv__(self, other: Any, /) -> Any: ...
    def __matmul__(self, other: Any, /) -> Any: ...


ArrayLike: TypeAlias = Array | Sequence[float] | Sequence[Sequence[float]] | float
"""An array, or numbers that are converted to a NumPy array: a list, a tuple, a range or a single number."""


def is_compiling() -> bool:
    """Return True if torch.compile is tracing this call, so that results must not be cached."""
    torch = sys.modules.get("torch")
    return torch is not None and torch.compiler.is_compiling()


def torch_transform_active() -> bool:
    """Return True if torch.compile, torch.func or forward-mode differentiation is tracing this call."""
    torch = sys.modules.get("torch")
    return torch is not None and (
        torch.compiler.is_compiling()
        or torch._C._are_functorch_transforms_active()
        or torch.autograd.forward_ad._current_level >= 0
    )


def tensors_for_autograd() -> contextlib.AbstractContextManager[object]:
    """Return a context manager that leaves torch's inference mode, so that autograd can use tensors made inside."""
    torch = sys.modules.get("torch")
    return contextlib.nullcontext() if torch is None else torch.inference_mode(False)


def values_known(array: Any) -> bool:
    """Return True if an array's values can be read: it is not a meta tensor, and torch is not compiling."""
    return is_numpy_array(array) or (str(device(array)) != "meta" and not is_compiling())


def as_kind_of(array: Any, like: Any) -> Any:
    """Convert `array` to the array type and device of `like`; torch gradients still flow."""
    if is_numpy_array(like):
        return np.asarray(array)
    if is_numpy_array(array):  # copied, because torch would share the memory or reject the strides
        return array_namespace(like).asarray(np.array(array), device=device(like))
    return to_device(array, device(like))


def as_one_kind(first: Any, second: Any) -> tuple[Any, Any]:
    """Return both arrays as tensors if either is one, on the second's device if the second is a tensor."""
    if is_numpy_array(second):
        return first, as_kind_of(second, like=first)
    return as_kind_of(first, like=second), second


def strides_in_bytes(a: Any) -> tuple[int, ...]:
    """Return an array's strides in bytes."""
    return a.strides if isinstance(a, np.ndarray) else tuple(a.itemsize * step for step in a.stride())
