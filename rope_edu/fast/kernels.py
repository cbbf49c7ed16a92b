r"""The kernel: rows of pairs turned by numba, every number read once and written once.

This module needs numba; `launch` imports it at the first call. What it compiles, a few seconds for each number
format, numba keeps on disk where it finds a folder that can be written.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import carray, njit, types
from numba.extending import intrinsic, overload

LINE = 64  # bytes that memory moves at once
AHEAD = 8  # rows between the one that is turned and the one that memory is asked for


def kept_on_disk(function):
    """Compile a function at its first call, and keep it on disk where there is a place for it."""
    try:
        return njit(cache=True, nogil=True)(function)
    except RuntimeError:  # numba finds no folder that can be written
        return njit(nogil=True)(function)


@intrinsic
def _at(typing_context, address, like):
    """Read an address as a pointer to numbers of the type of the array `like`."""

    def code(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return types.CPointer(like.dtype)(types.int64, like), code


@intrinsic
def _ask_for(typing_context, address):
    """Ask memory for the line at an address; any address will do."""

    def code(context, builder, signature, arguments):
        place, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), (place, number, number, number))
        ask = builder.module.declare_intrinsic("llvm.prefetch", (place,), kind)
        read, keep, data = (ir.Constant(number, n) for n in (0, 3, 1))
        builder.call(ask, (builder.inttoptr(arguments[0], place), read, keep, data))
        return context.get_dummy_value()

    return types.void(types.int64), code


@intrinsic
def _write_past_cache(typing_context, source, target):
    """Copy a line to an address that LINE divides, without fetching first what is overwritten."""

    def code(context, builder, signature, arguments):
        line = ir.VectorType(ir.IntType(32), LINE // 4).as_pointer()
        numbers = builder.load(builder.inttoptr(arguments[0], line), align=1)
        store = builder.store(numbers, builder.inttoptr(arguments[1], line), align=LINE)
        once = builder.module.add_metadata([ir.Constant(ir.IntType(32), 1)])
        store.set_metadata("nontemporal", once)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), code


# Number formats. Neither 16-bit one is known to numba: bfloat16 goes as uint16, float16 as int16.


def widen(number):
    """Return a stored number as the float that it is calculated in."""


def narrow(wide, like):
    """Round a float to the format of the array `like`: to the nearest, ties to even."""


@overload(widen)
def _widen(number):
    if number == types.uint16:
        return lambda number: np.uint32(np.uint32(number) << np.uint32(16)).view(np.float32)
    if number == types.int16:
        return _float16_to_float32
    return lambda number: number


@overload(narrow)
def _narrow(wide, like):
    if like.dtype == types.uint16:
        return _float32_to_bfloat16
    if like.dtype == types.int16:
        return _float32_to_float16
    return lambda wide, like: wide


def _float16_to_float32(number):
    bits = np.uint32(np.uint16(number))
    # Exponents of float16 are read with the bias of float32, hence the factor; the largest means infinity or NaN.
    small = np.uint32((bits & np.uint32(0x7FFF)) << np.uint32(13)).view(np.float32)
    scaled = np.float32(small * np.float32(2.0**112)).view(np.uint32)
    no_number = (bits & np.uint32(0x7C00)) == np.uint32(0x7C00)
    exponent = np.uint32(0x7F800000) if no_number else np.uint32(0)
    sign = np.uint32((bits & np.uint32(0x8000)) << np.uint32(16))
    return np.uint32(scaled | exponent | sign).view(np.float32)


def _float32_to_bfloat16(wide, like):
    # Add just under half of the last bit kept, and cut. A NaN that comes from bfloat16 ends in zeros and stays one.
    bits = np.float32(wide).view(np.uint32)
    odd = np.uint32(bits >> np.uint32(16)) & np.uint32(1)
    return np.uint16(np.uint32(bits + np.uint32(0x7FFF) + odd) >> np.uint32(16))


def _float32_to_float16(wide, like):
    bits = np.float32(wide).view(np.uint32)
    size = np.uint32(bits & np.uint32(0x7FFFFFFF))
    odd = np.uint32(size >> np.uint32(13)) & np.uint32(1)
    rounded = np.uint32(np.uint32(size + np.uint32(0xC8000FFF) + odd) >> np.uint32(13))
    # Below 2⁻¹⁴ steps are 2⁻²⁴: those of float32 just above one half.
    tiny = np.float32(size.view(np.float32) + np.float32(0.5)).view(np.uint32) - np.uint32(0x3F000000)
    rounded = np.uint32(tiny) if size < np.uint32(0x38800000) else rounded
    rounded = np.uint32(0x7C00) if size >= np.uint32(0x477FF000) else rounded  # 65,520 and more: infinite
    rounded = np.uint32(0x7E00) if size > np.uint32(0x7F800000) else rounded  # NaN
    sign = np.uint32(bits >> np.uint32(16)) & np.uint32(0x8000)
    return np.int16(np.uint16(rounded | sign))


# One row: the features of one head at one position.


@njit(forceinline=True)
def _turn_halves(first, second, turned_first, turned_second, cos, sin, sign):
    for i in range(cos.size):
        a, b, c, s = widen(first[i]), widen(second[i]), cos[i], sign * sin[i]
        turned_first[i] = narrow(c * a - s * b, turned_first)
        turned_second[i] = narrow(c * b + s * a, turned_second)


@njit(forceinline=True)
def _turn_neighbours(x, turned, cos, sin, sign):
    for i in range(cos.size):
        a, b, c, s = widen(x[2 * i]), widen(x[2 * i + 1]), cos[i], sign * sin[i]
        turned[2 * i] = narrow(c * a - s * b, turned)
        turned[2 * i + 1] = narrow(c * b + s * a, turned)


@kept_on_disk
def rotate_rows(plan, like, wide, x_at, out_at, turns_at, start, stop):
    """Rotate the runs of rows from `start` to `stop` of what a plan describes; see `launch`.

    A row is turned into scratch that the first cache holds, and written from there, so that `out` may be x.
    """
    rows, head_dim, pairs, half_split, block = plan[0], plan[1], plan[2], plan[3], plan[4]
    others, sign, large, stream = plan[5], wide.dtype.type(plan[6]), plan[7], plan[8]
    x_row, out_row, turn_row = plan[9], plan[10], plan[11]
    size, turned = like.itemsize, np.empty(head_dim, like.dtype)
    turned_second, turned_at = turned[pairs:], turned.ctypes.data
    for run in range(start, stop):
        first_row = run // others * block
        last_row = min(first_row + block, rows) - 1
        from_x, to_out, by = x_at, out_at, turns_at
        other = run % others
        for axis in range(plan.size - 4, 11, -4):  # the last axis runs fastest
            index = other % plan[axis]
            other //= plan[axis]
            from_x += index * plan[axis + 1]
            to_out += index * plan[axis + 2]
            by += index * plan[axis + 3]
        for row in range(first_row, last_row + 1):
            here, there, turn = from_x + row * x_row, to_out + row * out_row, by + row * turn_row
            if large:
                later = from_x + min(row + AHEAD, last_row) * x_row
                for line in range(0, head_dim * size, LINE):
                    _ask_for(later + line)
            x = carray(_at(here, like), (head_dim,))
            cos = carray(_at(turn, wide), (pairs,))
            sin = carray(_at(turn + pairs * wide.itemsize, wide), (pairs,))
            if half_split:
                second = carray(_at(here + pairs * size, like), (pairs,))
                _turn_halves(x, second, turned, turned_second, cos, sin, sign)
            else:
                _turn_neighbours(x, turned, cos, sin, sign)
            for i in range(2 * pairs, head_dim):
                turned[i] = x[i]
            if stream:
                for line in range(0, head_dim * size, LINE):
                    _write_past_cache(turned_at + line, there + line)
            else:
                out = carray(_at(there, like), (head_dim,))
                for i in range(head_dim):
                    out[i] = turned[i]
