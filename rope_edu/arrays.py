"""The types of arrays: whatever array_api_compat knows, and what can be made into one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable


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
    def mT(self) -> Any: ...  # noqa: N802  (the array API's name of a transpose)

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
