r"""Check that the inputs of `rotate` match the cosines and sines and do not overlap in memory."""

import functools
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_array_api_obj, is_numpy_array

from rope_edu.arrays import is_compiling, strides_in_bytes, values_known
from rope_edu.encodings.validation import FLOAT_DTYPES, check_broadcast, check_dense, check_floats, dtype_name


def check_inputs(name: str, x: Any, out: Any, cos_sin: Any, seq_axis: int) -> None:
    """Reject an x that does not match the cosines and sines, and an `out` that does not match x."""
    check_floats(name, x)
    kind = "ndarray" if isinstance(cos_sin.dtype, np.dtype) else "Tensor"
    if (kind == "ndarray") != isinstance(x, np.ndarray):
        raise ValueError(f"{name} must be {kind} as the cosines and sines are, got {type(x).__name__}")
    if x.device != cos_sin.device:
        raise ValueError(
            f"{name} must be on the device of the cosines and sines, {cos_sin.device}, got {x.device}"
        )
    if wide_dtype(x.dtype) != cos_sin.dtype:
        allowed = "float64" if dtype_name(cos_sin) == "float64" else "float32 or 16 bits"
        raise ValueError(f"{name} must hold {allowed} for these cosines and sines, got {dtype_name(x)}")
    _check_tokens(name, x.shape, cos_sin.shape, seq_axis)
    if out is not None and not is_compiling():
        if out is not x:
            check_dense("out", out)
        check_out(out, x)
        # a tensor of zeros that torch does not store has address 0
        writeable = out.flags.writeable if isinstance(out, np.ndarray) else not out.is_cpu or out.data_ptr()
        if not writeable and 0 not in out.shape:
            raise ValueError("out must be writeable, got one that is read-only")


def _check_tokens(name: str, shape: tuple[int, ...], rows: tuple[int, ...], seq_axis: int) -> None:
    """Reject a shape that does not match the rows, `(…, seq, [heads,] pairs)`."""
    if not shape or 2 * rows[-1] > shape[-1]:
        head_dim = shape[-1] if shape else "none"
        raise ValueError(f"2 · pairs must be at most head_dim = {head_dim}, got {rows[-1]} pairs")
    if len(shape) < -seq_axis or shape[seq_axis] != rows[seq_axis]:
        tokens = shape[seq_axis] if len(shape) >= -seq_axis else "no"
        raise ValueError(
            f"{name} has {tokens} tokens on axis {seq_axis}, the cosines and sines {rows[seq_axis]}; "
            "for heads after the sequence use seq_axis=-3"
        )
    if len(rows) > 2:
        hint = f"{name} is {tuple(shape)} with its sequence on axis {seq_axis}"
        check_broadcast("the leading axes of the cosines and sines", rows[:-1], shape[:-1], hint)


def check_out(out: Any, x: Any) -> None:
    """Reject an `out` that is unlike `x`, overlaps itself, or overlaps `x` but is not the same view."""
    if _clearly_fits(out, x):  # takes 1 µs in the usual case
        return
    if not is_array_api_obj(out) or array_namespace(out) is not array_namespace(x):
        raise ValueError(f"out must be of the type of x, {type(x).__name__}, got {type(out).__name__}")
    if device(out) != device(x):
        raise ValueError(f"out must be on the device of x, {device(x)}, got {device(out)}")
    if out.dtype != x.dtype:
        raise ValueError(f"out must have the dtype of x, {dtype_name(x)}, got {dtype_name(out)}")
    if out.shape != x.shape:
        raise ValueError(f"out must have the shape of x, {tuple(x.shape)}, got {tuple(out.shape)}")
    if _overlaps_itself(out):
        raise ValueError("out must have separate memory for each number, got a view that overlaps itself")
    if out is x or (address(out), strides_in_bytes(out)) == (address(x), strides_in_bytes(x)):
        return
    if shares_memory(out, x):
        raise ValueError("out must be x itself or share no memory with it, got a partly overlapping view")


def _clearly_fits(out: Any, x: Any) -> bool:
    """Return True if two tensors certainly match and do not overlap; False proves nothing."""
    if type(out) is not type(x) or is_numpy_array(x) or not hasattr(x, "data_ptr"):
        return False
    alike = out.dtype == x.dtype and out.shape == x.shape and out.device == x.device
    if not (alike and out.is_contiguous() and x.is_contiguous()):
        return False
    return abs(out.data_ptr() - x.data_ptr()) >= x.nbytes


def shares_memory(a: Any, b: Any) -> bool:
    """Return True if two arrays of the same type share a byte, or if finding out would take too long."""
    if not isinstance(a, np.ndarray):
        if a.untyped_storage().data_ptr() != b.untyped_storage().data_ptr() or not values_known(a):
            return False
        a, b = _memory_of(a), _memory_of(b)
    try:
        return np.shares_memory(a, b, max_work=100_000)  # type: ignore[arg-type]  # NumPy accepts any bound
    except np.exceptions.TooHardError:
        return True


def _memory_of(x: Any) -> np.ndarray:
    """Return an array with a tensor's address, shape and strides, for NumPy to compare but not to read."""
    interface = {
        "version": 3,
        "data": (x.data_ptr(), True),
        "typestr": f"|V{x.itemsize}",
        "shape": tuple(x.shape),
        "strides": strides_in_bytes(x),
    }
    return np.asarray(SimpleNamespace(__array_interface__=interface))


def _overlaps_itself(x: Any) -> bool:
    """Return True if numbers in a view share memory, or might do so because its axes interleave."""
    end = x.itemsize  # first byte beyond the numbers on the axes so far
    for step, n in sorted((abs(s), n) for n, s in zip(x.shape, strides_in_bytes(x), strict=True) if n > 1):
        if step < end and 0 not in x.shape:
            return True
        end += (n - 1) * step
    return False


def traits_and_address(x: Any) -> tuple[tuple[Any, ...], int]:
    """Return the properties of an array on which checks and plans depend, and its address."""
    if isinstance(x, np.ndarray):
        at = address(x)
        return (type(x), x.dtype, x.shape, x.strides, x.flags.writeable, at & 7), at
    try:
        at = x.data_ptr()
        return (type(x), x.dtype, x.shape, x.stride(), x.device, x.is_neg(), at & 7 if at else None), at
    except (AttributeError, RuntimeError):  # not an array (rejected later), or a tensor without memory
        return (object(),), 0  # a fresh object, which equals no other traits


def address(a: Any) -> int:
    """Return the address of an array's first number."""
    return a.__array_interface__["data"][0] if isinstance(a, np.ndarray) else a.data_ptr()


@functools.cache
def wide_dtype(dtype: Any) -> Any:
    """Return the dtype in which numbers of `dtype` are rotated, or None if `dtype` is not a float dtype."""
    name = str(dtype).removeprefix("torch.")
    if name not in FLOAT_DTYPES:
        return None
    wide = "float64" if name == "float64" else "float32"
    return np.dtype(wide) if isinstance(dtype, np.dtype) else getattr(sys.modules["torch"], wide)
