r"""Check and convert inputs, with error messages that give the allowed values.

Functions named `check_…` raise a ValueError that gives the value received and the allowed values; functions named
`as_…` return an array. `@checked` checks the arguments whose types declare a range, as in `factor: AtLeastOne`.
"""

import functools
import inspect
import math
from collections.abc import Callable
from numbers import Integral, Real
from typing import Annotated, Any, ParamSpec, TypeAlias, TypeVar, get_args, get_type_hints

import numpy as np
from array_api_compat import array_namespace, is_array_api_obj, is_torch_array

from rope_edu.arrays import Array, values_known

FLOAT_DTYPES = ("float16", "bfloat16", "float32", "float64")
POSITION_LIMIT = 2**52  # beyond this, a float64 angle at 1 radian per token is off by up to half a radian
Number = TypeVar("Number", int, float)
P = ParamSpec("P")
R = TypeVar("R")
Check: TypeAlias = Callable[[str, object], Number]  # (argument name, its value) -> the checked value


def _number_check(number_type: type[Number], allowed: str, fits: Callable[[Any], bool]) -> Check[Number]:
    """Return a check for finite numbers that satisfy `fits`; it rejects bools and, if ints are required, floats."""

    numbers: Any = Integral if number_type is int else Real

    def check(name: str, value: Any) -> Number:
        try:
            finite = isinstance(value, numbers) and not isinstance(value, bool) and math.isfinite(value)
            if finite and fits(value):
                return number_type(value)
        except OverflowError:
            value = float("inf" if value > 0 else "-inf")  # an error should not print hundreds of digits
        raise ValueError(f"{name} must be {allowed}, got {value!r}")

    return check


check_positive_int = _number_check(int, "a whole number of at least 1", lambda n: n >= 1)
check_whole_number = _number_check(int, "a whole number of at least 0", lambda n: n >= 0)
check_position = _number_check(int, "a whole number from 0 to 2**52 − 1", lambda n: 0 <= n < POSITION_LIMIT)
check_even_dim = _number_check(int, "an even whole number of at least 2", lambda n: n >= 2 and n % 2 == 0)
check_finite_number = _number_check(float, "a finite number", lambda x: True)
check_positive_number = _number_check(float, "a finite number above 0", lambda x: x > 0)
check_at_least_zero = _number_check(float, "a finite number of at least 0", lambda x: x >= 0)
check_at_least_one = _number_check(float, "a finite number of at least 1", lambda x: x >= 1)
check_share = _number_check(float, "a number from 0 to 1", lambda x: 0 <= x <= 1)
check_base = _number_check(float, "a finite number above 1", lambda x: x > 1)

Count = Annotated[int, check_positive_int]
EvenDim = Annotated[int, check_even_dim]
Positive = Annotated[float, check_positive_number]
AtLeastZero = Annotated[float, check_at_least_zero]
AtLeastOne = Annotated[float, check_at_least_one]
Base = Annotated[float, check_base]


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function to check the arguments whose types declare a range; None passes if the type allows it."""
    signature = inspect.signature(function)
    hints = get_type_hints(function, include_extras=True).items()
    checks = {name: check for name, hint in hints if (check := _check_of(hint)) is not None}
    optional = {name for name, hint in hints if type(None) in get_args(hint)}
    function.__annotations__ = get_type_hints(function)  # help() should show int without the check

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:
            return function(*args, **kwargs)  # raises a TypeError with the function's name
        for name, value in bound.arguments.items():
            if name in checks and not (value is None and name in optional):
                bound.arguments[name] = checks[name](name, value)
        return function(*bound.args, **bound.kwargs)

    return call


def _check_of(hint: Any) -> Check[Any] | None:
    """Return the check declared by an annotated type or by its optional form, `… | None`; None if there is none."""
    parts = (part for part in (hint, *get_args(hint)) if hasattr(part, "__metadata__"))
    return next((part.__metadata__[0] for part in parts), None)


def check_rotary_dim(rotary_dim: object, head_dim: object) -> int:
    """Return `rotary_dim` if it is even and from 2 to `head_dim`, which must be a whole number."""
    width = check_even_dim("rotary_dim", rotary_dim)
    if width > check_positive_int("head_dim", head_dim):
        raise ValueError(f"rotary_dim must be at most head_dim = {head_dim}, got {rotary_dim}")
    return width


def check_ordered(low_name: str, low: float, high_name: str, high: float) -> tuple[float, float]:
    """Return the two ends of a ramp if the first is at most the second; a ramp with equal ends is a step."""
    if low > high:
        raise ValueError(f"{low_name} must be at most {high_name} = {high:g}, got {low:g}")
    return low, high


def check_one_of(name: str, value: object, allowed: tuple[str, ...]) -> str:
    """Return `value` if it is one of the `allowed` names."""
    if not isinstance(value, str) or value not in allowed:
        choices = " or ".join(repr(choice) for choice in allowed)
        raise ValueError(f"{name} must be {choices}, got {value!r}")
    return value


def dtype_name(x: Any) -> str:
    """Return the dtype's name, the same in every library: "float32" for np.float32 and torch.float32."""
    return str(x.dtype).removeprefix("torch.")


def check_floats(name: str, x: Any) -> Any:
    """Return the array namespace of `x`; reject anything except an array of 16-, 32- or 64-bit floats."""
    if not is_array_api_obj(x):
        raise ValueError(f"{name} must be a NumPy array or a torch tensor, got {type(x).__name__}")
    check_dense(name, x)
    if dtype_name(x) not in FLOAT_DTYPES:
        raise ValueError(f"{name} must hold floats ({', '.join(FLOAT_DTYPES)}), got {dtype_name(x)}")
    return array_namespace(x)


def check_dense(name: str, x: Any) -> None:
    """Reject masked arrays, since a rotation would use the masked numbers, and sparse, nested or packed tensors."""
    if (type_name := type(x).__name__) in ("MaskedArray", "MaskedTensor"):
        fill = "filled" if isinstance(x, np.ndarray) else "to_tensor"
        raise ValueError(f"{name} must not be a {type_name}: fill the masked entries first, {name}.{fill}(0)")
    if is_torch_array(x) and (x.is_nested or str(x.layout) != "torch.strided"):
        layout = "nested" if x.is_nested else str(x.layout).removeprefix("torch.").strip("_")
        remedy = "to_padded_tensor(0.0)" if x.is_nested else "to_dense()"
        raise ValueError(f"{name} must be a dense tensor, {name}.{remedy}, got one that is {layout}")


def check_fixed(name: str, x: Any) -> None:
    """Reject a tensor that requires a gradient, because its values will be copied or cached."""
    if getattr(x, "requires_grad", False):
        raise ValueError(f"{name} must not require a gradient here: use apply_rope, which passes it on")


def check_broadcast(name: str, shape: tuple[int, ...], target: tuple[int, ...], hint: str) -> None:
    """Reject a `shape` that does not broadcast to `target`, or that would enlarge it."""
    padded = (1,) * (len(target) - len(shape)) + tuple(shape)
    if len(padded) != len(target) or any(n not in (1, t) for n, t in zip(padded, target, strict=True)):
        raise ValueError(f"{name} {tuple(shape)} must broadcast to {tuple(target)}: {hint}")


def compute_dtype(x: Any) -> Any:
    """Return the compute dtype: float64 for float64, float32 for narrower floats."""
    xp = array_namespace(x)
    return xp.float64 if dtype_name(x) == "float64" else xp.float32


def as_real(name: str, values: Any) -> Any:
    """Return `values` as a float64 array of the same type; numbers, lists and ranges become NumPy arrays."""
    array: Any = values if is_array_api_obj(values) else np.asarray(values)
    check_dense(name, array)
    xp = array_namespace(array)
    if not xp.isdtype(array.dtype, ("integral", "real floating")):
        raise ValueError(f"{name} must be real numbers (ints or floats), got {dtype_name(array)}")
    return xp.astype(array, xp.float64, copy=False)


def as_finite(name: str, values: Any) -> Array:
    """Like `as_real`, but raise ValueError unless all values are finite."""
    array: Array = as_real(name, values)
    if values_known(array):  # an array in a traced graph has no values yet
        xp = array_namespace(array)
        if not bool(xp.all(xp.isfinite(array))):
            raise ValueError(f"{name} must be finite, got infinity or NaN among them")
    return array


def as_positions(positions: Any) -> Array:
    """Like `as_finite`, but raise ValueError unless all positions are within ±`POSITION_LIMIT`."""
    array: Any = as_finite("positions", positions)
    if values_known(array) and bool((abs(array) >= POSITION_LIMIT).any()):
        raise ValueError("positions must be within ±2**52, or their angles would be arbitrary")
    return array


def as_integers(name: str, values: Any) -> Array:
    """Return `values` as an int64 array of the same type; ValueError unless all are integers."""
    array: Any = values if is_array_api_obj(values) else np.asarray(values)
    xp = array_namespace(array)
    if not xp.isdtype(array.dtype, "integral"):
        shown = str(array.tolist())
        shown = shown if len(shown) <= 40 else shown[:40] + "…"
        raise ValueError(f"{name} must be integers (tokens), got {dtype_name(array)}: {shown}")
    integers: Array = xp.astype(array, xp.int64)
    return integers
