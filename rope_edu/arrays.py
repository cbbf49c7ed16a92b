"""The types of arrays, and the state of torch where a caller has imported it; torch is never imported here."""

import contextlib
import sys
from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

from array_api_compat import device, is_numpy_array


@runtime_checkable
class Array(Protocol):
    """A NumPy array, a torch tensor, or another array that array_api_compat knows."""

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

    def __eq__(self, other: Any, /) -> Any: ...  # entry by entry

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
"""An array, or numbers that become a NumPy array: a list, a tuple, a range, one number."""


def is_compiling() -> bool:
    """Tell whether torch.compile is tracing this call, so that nothing may be cached."""
    torch = sys.modules.get("torch")
    return torch is not None and torch.compiler.is_compiling()


def torch_transform_active() -> bool:
    """Tell whether torch.compile, torch.func or forward-mode differentiation is tracing this call."""
    torch = sys.modules.get("torch")
    return torch is not None and (
        torch.compiler.is_compiling()
        or torch._C._are_functorch_transforms_active()
        or torch.autograd.forward_ad._current_level >= 0
    )


def tensors_for_autograd() -> contextlib.AbstractContextManager[object]:
    """Leave torch's inference mode, so that autograd can later use the tensors made here."""
    torch = sys.modules.get("torch")
    return contextlib.nullcontext() if torch is None else torch.inference_mode(False)


def values_known(array: Any) -> bool:
    """Tell whether the numbers can be read now: not on torch's meta device, nor while torch compiles."""
    return is_numpy_array(array) or (str(device(array)) != "meta" and not is_compiling())
