r"""The kernel: rows of pairs turned by numba, every number read once and written once, a line at a time.

Left to itself numba asks at every row whether arrays overlap, which takes half as long as the row; so the steps on
vectors of pairs are spelt out for LLVM, which turns them into what the processor has. This module needs numba;
`launch` imports it at the first call. What it compiles, in seconds, numba keeps on disk where it finds a folder.
"""

from __future__ import annotations

from llvmlite import ir
from numba import njit, types
from numba.core.cgutils import raw_memmove
from numba.extending import intrinsic

from rope_edu.fast.launch import LINE

BYTE, WORD, BFLOAT16 = ir.IntType(8), ir.IntType(32), ir.IntType(16)
STORED = {types.float32: ir.FloatType(), types.float64: ir.DoubleType()}
STORED |= {types.uint16: BFLOAT16, types.int16: ir.HalfType()}  # numba knows no floats of 16 bits


def kept_on_disk(function):
    """Compile a function at its first call, and keep it on disk where there is a place for it."""
    try:
        return njit(cache=True, nogil=True)(function)
    except RuntimeError:  # numba finds no folder that can be written
        return njit(nogil=True)(function)


def _vector(number, like):
    return ir.VectorType(number, like.type.count)


def _all(kind, number):
    return ir.Constant(kind, [number] * kind.count)


def _pick(builder, one, other, places):
    """Return some members of two vectors, counted through both."""
    return builder.shuffle_vector(one, other, ir.Constant(ir.VectorType(WORD, len(places)), list(places)))


def _widen(builder, x, wide):
    """Return stored numbers as the floats that they are calculated in."""
    if x.type.element == BFLOAT16:
        bits = builder.zext(x, _vector(WORD, x))
        return builder.bitcast(builder.shl(bits, _all(bits.type, 16)), _vector(wide, x))
    return x if x.type.element == wide else builder.fpext(x, _vector(wide, x))


def _narrow(builder, x, stored):
    """Round floats to the format that is stored: to the nearest, ties to even."""
    if stored == BFLOAT16:
        bits = _rounded(builder, x)
        return builder.trunc(builder.lshr(bits, _all(bits.type, 16)), _vector(stored, x))
    return x if x.type.element == stored else builder.fptrunc(x, _vector(stored, x))


def _rounded(builder, x):
    """Add just under half of the last bit of bfloat16, the upper half of float32; a NaN from bfloat16 stays one."""
    bits = builder.bitcast(x, _vector(WORD, x))
    odd = builder.and_(builder.lshr(bits, _all(bits.type, 16)), _all(bits.type, 1))
    return builder.add(builder.add(bits, _all(bits.type, 0x7FFF)), odd)


def _part(builder, x, wide):
    """Return the first and the second members of neighbours, as floats."""
    members = [_pick(builder, x, x, range(member, x.type.count, 2)) for member in (0, 1)]
    return [_widen(builder, member, wide) for member in members]


def _join(builder, first, second, stored):
    """Return first and second members as neighbours, rounded."""
    count = first.type.count
    if stored == BFLOAT16:
        low, high = _rounded(builder, first), _rounded(builder, second)
        low, high = builder.lshr(low, _all(low.type, 16)), builder.and_(high, _all(high.type, 0xFFFF0000))
        return builder.bitcast(builder.or_(low, high), ir.VectorType(stored, 2 * count))
    return _narrow(
        builder, _pick(builder, first, second, [n + m for n in range(count) for m in (0, count)]), stored
    )


def _turning(half_split, many, past_cache=False, halves=(0, 1)):
    """Make the instruction that turns a line of pairs, or one; second halves are `apart` bytes from the first."""

    @intrinsic
    def turn(typing_context, x_at, out_at, apart, cos_at, sin_at, sign, like):
        def code(context, builder, signature, arguments):
            x_at, out_at, apart, cos_at, sin_at, sign, _ = arguments
            stored = STORED[like.dtype]
            wide = stored if stored == ir.DoubleType() else ir.FloatType()
            count = 8 * LINE // like.dtype.bitwidth if many else 1

            def load(at, number, count):
                return builder.load(builder.inttoptr(at, ir.VectorType(number, count).as_pointer()), align=1)

            def store(x, at):
                done = builder.store(x, builder.inttoptr(at, x.type.as_pointer()), LINE if past_cache else 1)
                if past_cache:
                    done.set_metadata("nontemporal", builder.module.add_metadata([WORD(1)]))

            if half_split:
                places = x_at, builder.add(x_at, apart)
                a, b = (_widen(builder, load(at, stored, count), wide) for at in places)
            else:
                a, b = _part(builder, load(x_at, stored, 2 * count), wide)
            cos, sin = load(cos_at, wide, count), load(sin_at, wide, count)
            sign = builder.insert_element(_all(cos.type, 1.0), builder.sitofp(sign, wide), WORD(0))
            sin = builder.fmul(sin, _pick(builder, sign, sign, [0] * count))
            first = builder.fsub(builder.fmul(cos, a), builder.fmul(sin, b))
            second = builder.fadd(builder.fmul(cos, b), builder.fmul(sin, a))
            if half_split:
                for half in halves:
                    at = (out_at, builder.add(out_at, apart))[half]
                    store(_narrow(builder, (first, second)[half], stored), at)
            else:
                store(_join(builder, first, second, stored), out_at)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 6, like), code

    return turn


def _turning_rows(half_split):
    """Make the function that turns one row: the features of one head at one position."""
    turn_many, turn_one = _turning(half_split, True), _turning(half_split, False)
    turn_first, turn_second = (_turning(half_split, True, True, (half,)) for half in (0, 1))

    @njit(forceinline=True)
    def turn_row(x, out, cos, pairs, kept, sign, past_cache, like):
        size, apart, sin = like.itemsize, pairs * like.itemsize, cos + pairs * kept
        line, step = LINE // size, size if half_split else 2 * size
        if past_cache:  # lines are best written in the order in which they lie
            for i in range(0, pairs, line):
                turn_first(x + i * step, out + i * step, apart, cos + i * kept, sin + i * kept, sign, like)
            for i in range(0, pairs * half_split, line):
                turn_second(x + i * step, out + i * step, apart, cos + i * kept, sin + i * kept, sign, like)
            return
        for i in range(0, pairs - pairs % line, line):
            turn_many(x + i * step, out + i * step, apart, cos + i * kept, sin + i * kept, sign, like)
        for i in range(pairs - pairs % line, pairs):
            turn_one(x + i * step, out + i * step, apart, cos + i * kept, sin + i * kept, sign, like)

    return turn_row


_turn_halves, _turn_neighbours = _turning_rows(True), _turning_rows(False)


@intrinsic
def _ask_for(typing_context, address):
    """Ask memory for the line at an address; any address will do."""

    def code(context, builder, signature, arguments):
        place = builder.inttoptr(arguments[0], BYTE.as_pointer())
        kind = ir.FunctionType(ir.VoidType(), (place.type, WORD, WORD, WORD))
        ask = builder.module.declare_intrinsic("llvm.prefetch", (place.type,), kind)
        builder.call(ask, (place, WORD(0), WORD(3), WORD(1)))  # to read; keep it; data
        return context.get_dummy_value()

    return types.void(types.int64), code


@intrinsic
def _copy(typing_context, source, target, size):
    """Copy so many bytes."""

    def code(context, builder, signature, arguments):
        source, target = (builder.inttoptr(at, BYTE.as_pointer()) for at in arguments[:2])
        raw_memmove(builder, target, source, arguments[2], 1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), code


@kept_on_disk
def rotate_rows(plan, like, x_at, out_at, turns_at, sign, start, stop):
    """Rotate the runs of rows from `start` to `stop` of what a plan describes; see `launch`. `out` may be x."""
    rows, row_bytes, pairs, half_split, block = plan[0], plan[1], plan[2], plan[3], plan[4]
    others, kept, ahead, x_row, out_row, turn_row = plan[5], plan[6], plan[7], plan[9], plan[10], plan[11]
    past_cache = plan[8] == 1 and x_at != out_at and out_at % LINE == 0
    turned = 2 * pairs * like.itemsize
    for run in range(start, stop):
        first_row, other = run // others * block, run % others
        from_x, to_out, by = x_at, out_at, turns_at
        for axis in range(plan.size - 4, 11, -4):  # the last axis runs fastest
            index = other % plan[axis]
            other //= plan[axis]
            from_x += index * plan[axis + 1]
            to_out += index * plan[axis + 2]
            by += index * plan[axis + 3]
        for row in range(first_row, min(first_row + block, rows)):
            here, there, turn = from_x + row * x_row, to_out + row * out_row, by + row * turn_row
            if ahead:
                for line in range(0, row_bytes, LINE):
                    _ask_for(here + ahead + line)
            if half_split:
                _turn_halves(here, there, turn, pairs, kept, sign, past_cache, like)
            else:
                _turn_neighbours(here, there, turn, pairs, kept, sign, past_cache, like)
            if row_bytes > turned:
                _copy(here + turned, there + turned, row_bytes - turned)
