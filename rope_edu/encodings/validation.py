r"""Check and convert inputs: one place for the sentences that tell a reader what is allowed.

Every `check_…` raises ValueError with the value seen and the values allowed; every `as_…` returns an array.
"""

import functools
import math
import sys
from collections.abc import Callable
from numbers import Integral, Real
from types import SimpleNamespace
from typing import Any, TypeAlias, TypeVar

import numpy as np
from array_api_compat import array_namespace, device, is_array_api_obj, is_numpy_array, to_device

from rope_edu.arrays import Array

FLOAT_DTYPES = ("float16", "bfloat16", "float32", "float64")
Number = TypeVar("Number", int, float)
Check: TypeAlias = Callable[[str, object], Number]  # (name of the argument, its value) -> the value


def _number_check(kind: type[Number], allowed: str, fits: Callable[[Any], bool]) -> Check[Number]:
    """A check that returns one finite number as its kind, if it `fits`; True is no number, 2.0 no int."""

    numbers: Any = Integral if kind is int else Real

    def check(name: str, value: Any) -> Number:
        try:
            finite = isinstance(value, numbers) and not isinstance(value, bool) and math.isfinite(value)
            if finite and fits(value):
                return kind(value)
        except OverflowError:  # an int that no float can hold
            pass
        raise ValueError(f"{name} must be {allowed}, got {value!r}")

    return check


check_positive_int = _number_check(int, "a whole number of at least 1", lambda n: n >= 1)
check_whole_number = _number_check(int, "a whole number of at least 0", lambda n: n >= 0)
check_even_dim = _number_check(int, "an even whole number of at least 2", lambda n: n >= 2 and n % 2 == 0)
check_finite_number = _number_check(float, "a finite number", lambda x: True)
check_positive_number = _number_check(float, "a finite number above 0", lambda x: x > 0)
check_at_least_zero = _number_check(float, "a finite number of at least 0", lambda x: x >= 0)
check_at_least_one = _number_check(float, "a finite number of at least 1", lambda x: x >= 1)
check_share = _number_check(float, "a number from 0 to 1", lambda x: 0 <= x <= 1)
check_base = _number_check(float, "a finite number above 1", lambda x: x > 1)


def check_rotary_dim(rotary_dim: object, head_dim: object) -> int:
    """Return `rotary_dim` if it is even, at least 2 and at most `head_dim`, a whole number."""
    width = check_even_dim("rotary_dim", rotary_dim)
    if width > check_positive_int("head_dim", head_dim):
        raise ValueError(f"rotary_dim must be at most head_dim = {head_dim}, got {rotary_dim}")
    return width


def check_one_of(name: str, value: object, allowed: tuple[str, ...]) -> str:
    """Return `value` if it is one of the `allowed` names."""
    if not isinstance(value, str) or value not in allowed:
        choices = " or ".join(repr(choice) for choice in allowed)
        raise ValueError(f"{name} must be {choices}, got {value!r}")
    return value


def dtype_name(x: Any) -> str:
    """Name the dtype alike for every library: "float32" for np.float32 and torch.float32."""
    return str(x.dtype).removeprefix("torch.")


def check_float_array(name: str, x: Any) -> Any:
    """Return the array namespace of `x` if it is an array of 16-, 32- or 64-bit floats."""
    check_floats(name, x)
    return array_namespace(x)


def check_floats(name: str, x: Any) -> None:
    """Refuse all but arrays of 16-, 32- or 64-bit floats."""
    if not is_array_api_obj(x):
        raise ValueError(f"{name} must be a NumPy array or a torch tensor, got {type(x).__name__}")
    check_unmasked(name, x)
    if dtype_name(x) not in FLOAT_DTYPES:
        raise ValueError(f"{name} must hold floats ({', '.join(FLOAT_DTYPES)}), got {dtype_name(x)}")


def check_unmasked(name: str, x: Any) -> None:
    """Refuse NumPy's masked arrays: a rotation would use what lies under the mask."""
    if isinstance(x, np.ndarray) and type(x).__name__ == "MaskedArray":
        raise ValueError(
            f"{name} must be a plain array, got MaskedArray: say what stands there, {name}.filled(0)"
        )


def check_broadcast(name: str, shape: tuple[int, ...], target: tuple[int, ...], hint: str) -> None:
    """Refuse a `shape` that does not broadcast to `target`, or that would enlarge it."""
    padded = (1,) * (len(target) - len(shape)) + tuple(shape)
    if len(padded) != len(target) or any(n not in (1, t) for n, t in zip(padded, target, strict=True)):
        raise ValueError(f"{name} {tuple(shape)} must broadcast to {tuple(target)}: {hint}")


def check_kind(name: str, x: Array, turns: Any) -> None:
    """Refuse an x of another kind or device than turns, or whose dtype is not calculated in theirs."""
    check_floats(name, x)
    kind = "ndarray" if isinstance(turns.dtype, np.dtype) else "Tensor"
    if (kind == "ndarray") != isinstance(x, np.ndarray):
        raise ValueError(f"{name} must be {kind} as the cosines and sines are, got {type(x).__name__}")
    if x.device != turns.device:
        raise ValueError(
            f"{name} must be on the device of the cosines and sines, {turns.device}, got {x.device}"
        )
    if compute_dtype(x) != turns.dtype:
        allowed = "float64" if dtype_name(turns) == "float64" else "float32 or 16 bits"
        raise ValueError(f"{name} must hold {allowed} for these cosines and sines, got {dtype_name(x)}")


def check_tokens(name: str, shape: tuple[int, ...], turned: tuple[int, ...], seq_axis: int) -> None:
    """Refuse a shape whose tokens, batch or features do not fit turns `(…, seq, [heads,] pairs)`."""
    if not shape or 2 * turned[-1] > shape[-1]:
        head_dim = shape[-1] if shape else "none"
        raise ValueError(f"2 · pairs must be at most head_dim = {head_dim}, got {turned[-1]} pairs")
    if len(shape) < -seq_axis or shape[seq_axis] != turned[seq_axis]:
        tokens = shape[seq_axis] if len(shape) >= -seq_axis else "no"
        raise ValueError(
            f"{name} has {tokens} tokens on axis {seq_axis}, the cosines and sines {turned[seq_axis]}; "
            "heads after the sequence are seq_axis=-3"
        )
    if len(turned) > 2:
        hint = f"{name} is {tuple(shape)} with its sequence on axis {seq_axis}"
        check_broadcast("the leading axes of the cosines and sines", turned[:-1], shape[:-1], hint)


def values_known(array: Array) -> bool:
    """Tell whether the numbers can be read now: not on torch's meta device, nor while it compiles."""
    if is_numpy_array(array):
        return True
    torch = sys.modules.get("torch")  # never imported here: only looked up if the caller has it
    return str(device(array)) != "meta" and not (torch is not None and torch.compiler.is_compiling())


def compute_dtype(x: Any) -> Any:
    """Return the dtype to calculate in: float64 for float64, float32 for all that is narrower."""
    xp = array_namespace(x)
    return xp.float64 if dtype_name(x) == "float64" else xp.float32


@functools.cache
def wide_dtype(dtype: Any) -> Any:
    """Return the dtype to calculate in for numbers of a dtype, of the same library; None for what is no float."""
    name = str(dtype).removeprefix("torch.")
    if name not in FLOAT_DTYPES:
        return None
    wide = "float64" if name == "float64" else "float32"
    return np.dtype(wide) if isinstance(dtype, np.dtype) else getattr(sys.modules["torch"], wide)


def as_real(name: str, values: Any) -> Any:
    """Return `values` as a float64 array of its own kind (numbers, lists and ranges become NumPy)."""
    array: Any = values if is_array_api_obj(values) else np.asarray(values)
    check_unmasked(name, array)
    xp = array_namespace(array)
    if not xp.isdtype(array.dtype, ("integral", "real floating")):
        raise ValueError(f"{name} must be real numbers (ints or floats), got {dtype_name(array)}")
    return xp.astype(array, xp.float64, copy=False)


def as_finite(name: str, values: Any) -> Array:
    """Return `values` as `as_real` does, if all of them are finite."""
    array: Array = as_real(name, values)
    if values_known(array):  # a graph that is being traced has none yet
        xp = array_namespace(array)
        if not bool(xp.all(xp.isfinite(array))):
            raise ValueError(f"{name} must be finite, got infinity or NaN among them")
    return array


def as_kind_of(array: Any, like: Any) -> Any:
    """Return `array` as the kind, and on the device, of `like`; gradients keep flowing in torch."""
    if is_numpy_array(like):
        return np.asarray(array)
    if is_numpy_array(array):  # np.array: a copy that torch may own, whatever the strides
        return array_namespace(like).asarray(np.array(array), device=device(like))
    return to_device(array, device(like))


def as_one_kind(first: Any, second: Any) -> tuple[Any, Any]:
    """Both arrays: where one is NumPy, as the other is; two tensors on the device of the second."""
    if is_numpy_array(second):
        return first, as_kind_of(second, like=first)
    return as_kind_of(first, like=second), second


def check_out(out: Any, x: Any) -> None:
    """Refuse an `out` that is not like `x`, overlaps itself, or overlaps `x` without being the same view."""
    if _clearly_fits(out, x):  # the usual case, in a microsecond
        return
    if not is_array_api_obj(out) or array_namespace(out) is not array_namespace(x):
        raise ValueError(f"out must be of the kind of x, {type(x).__name__}, got {type(out).__name__}")
    if device(out) != device(x):
        raise ValueError(f"out must be on the device of x, {device(x)}, got {device(out)}")
    if out.dtype != x.dtype:
        raise ValueError(f"out must have the dtype of x, {dtype_name(x)}, got {dtype_name(out)}")
    if out.shape != x.shape:
        raise ValueError(f"out must have the shape of x, {tuple(x.shape)}, got {tuple(out.shape)}")
    if _overlaps_itself(out):
        raise ValueError(
            "out must have a place of its own for each number, got a view with several at one place"
        )
    if out is x or (address(out), strides_in_bytes(out)) == (address(x), strides_in_bytes(x)):
        return
    if shares_memory(out, x):
        raise ValueError("out must be x itself or share no memory with it, got a partly overlapping view")


def _clearly_fits(out: Any, x: Any) -> bool:
    """Tell whether two tensors are alike and without gaps, and lie apart; False decides nothing."""
    if type(out) is not type(x) or is_numpy_array(x) or not hasattr(x, "data_ptr"):
        return False
    alike = out.dtype == x.dtype and out.shape == x.shape and out.device == x.device
    if not (alike and out.is_contiguous() and x.is_contiguous()):
        return False
    return abs(out.data_ptr() - x.data_ptr()) >= x.nbytes


def shares_memory(a: Any, b: Any) -> bool:
    """Whether two arrays of one kind have a byte in common; arrays that interleave without one do not."""
    if not isinstance(a, np.ndarray):
        if a.untyped_storage().data_ptr() != b.untyped_storage().data_ptr() or not values_known(a):
            return False
        a, b = _layout(a), _layout(b)
    try:
        return np.shares_memory(a, b, max_work=100_000)  # type: ignore[arg-type]  # any bound is allowed
    except np.exceptions.TooHardError:
        return True


def _layout(x: Any) -> np.ndarray:
    """The layout of a tensor's memory, for NumPy to compare: it is never read, wherever it lies."""
    interface = {
        "version": 3,
        "data": (x.data_ptr(), True),
        "typestr": f"|V{x.itemsize}",
        "shape": tuple(x.shape),
        "strides": strides_in_bytes(x),
    }
    return np.asarray(SimpleNamespace(__array_interface__=interface))


def _overlaps_itself(x: Any) -> bool:
    """Whether two numbers of a view lie at one place; in doubt, where axes are dovetailed, they do."""
    end = x.itemsize  # the place after all numbers along the axes so far
    for step, n in sorted(
        (abs(step), n) for n, step in zip(x.shape, strides_in_bytes(x), strict=True) if n > 1
    ):
        if step < end and 0 not in x.shape:
            return True
        end += (n - 1) * step
    return False


def address(a: Any) -> int:
    """Where the first number of an array lies in memory."""
    return a.__array_interface__["data"][0] if isinstance(a, np.ndarray) else a.data_ptr()


def strides_in_bytes(a: Any) -> tuple[int, ...]:
    """Bytes from one entry to the next along each axis."""
    return a.strides if isinstance(a, np.ndarray) else tuple(a.itemsize * step for step in a.stride())
