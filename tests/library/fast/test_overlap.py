"""Memory that two arrays share, or one array twice: rotated right, or refused with a sentence."""

import os
import threading
import time

import numpy as np
import pytest
import torch

from rope_edu import apply_rope, inv_freq, rope_angles
from rope_edu.encodings import LAYOUTS
from rope_edu.fast import RotaryTable, rotate
from rope_edu.fast import table as table_module

TABLE, ANGLES = RotaryTable(inv_freq(8)), rope_angles(range(5), inv_freq(8))
both_ways = pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
kinds = pytest.mark.parametrize("make", [np.asarray, torch.asarray], ids=["numpy", "torch"])
dtypes = pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])


def example(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


@kinds
@both_ways
@pytest.mark.parametrize(
    "outs",
    [
        lambda q, k: (k, q),
        lambda q, k: (k, 0 * k),
        lambda q, k: (k[...], 0 * k),  # another object at the same place
        lambda q, k: 2 * (0 * q,),
    ],
    ids=["swapped", "q into k", "q into a view of k", "both into one"],
)
def test_q_is_not_written_over_what_is_read_or_written_later(make, outs, compiled):
    q, k = make(example(5, 8)), make(example(5, 8, seed=1))
    before = q + 0, k + 0
    with pytest.raises(ValueError, match=r"out of q shares memory with .*give them separate memory"):
        rotate(q, k, table=TABLE, out=outs(q, k), compiled=compiled)
    assert (q == before[0]).all()
    assert (k == before[1]).all()  # refused before anything was written


@kinds
@both_ways
def test_one_array_as_q_and_k_is_not_rotated_twice_in_place(make, compiled):
    q = make(example(5, 8))
    with pytest.raises(ValueError, match="out of q shares memory with k"):
        rotate(q, q, table=TABLE, out=(q, q), compiled=compiled)


@kinds
@both_ways
def test_k_may_be_written_where_q_was_read(make, compiled):
    q, k, other = (make(example(5, 8, seed=seed)) for seed in range(3))
    expected = apply_rope(q, ANGLES), apply_rope(k, ANGLES)
    rotate(q, k, table=TABLE, out=(other, q), compiled=compiled)
    np.testing.assert_allclose(other, expected[0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(q, expected[1], rtol=0, atol=1e-12)


@kinds
@both_ways
def test_q_and_k_of_one_projection_turn_in_place_though_their_rows_interleave(make, compiled):
    qkv = make(example(2, 5, 3, 8))  # (batch, seq, q or k or v, head_dim)
    q, k = qkv[:, :, 0], qkv[:, :, 1]
    expected, values = (apply_rope(q, ANGLES), apply_rope(k, ANGLES)), qkv[:, :, 2] + 0
    for _ in range(2):  # the second time by a plan that is known
        rotate(q, k, table=TABLE, out=(q, k), compiled=compiled)
    twice = [apply_rope(x, ANGLES) for x in expected]
    np.testing.assert_allclose(q, twice[0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(k, twice[1], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(qkv[:, :, 2], values)


@both_ways
def test_a_view_that_holds_a_number_twice_is_not_rotated_in_place(compiled):
    row = np.arange(40.0)
    arrays = (
        np.lib.stride_tricks.as_strided(row, (5, 8), (32, 8)),
        torch.as_strided(torch.arange(40.0, dtype=torch.float64), (5, 8), (4, 1)),
    )
    for x in arrays:
        with pytest.raises(ValueError, match="out must have separate memory for each number"):
            rotate(x, table=TABLE, out=x, compiled=compiled)
        np.testing.assert_allclose(
            rotate(x, table=TABLE, compiled=compiled), apply_rope(x, ANGLES), rtol=0, atol=1e-12
        )


@kinds
@both_ways
def test_one_token_of_one_head_is_turned_once_in_place(make, compiled):
    x = make(example(1, 8))
    expected = apply_rope(x, ANGLES[3:4])
    rotate(x, table=TABLE, offset=3, out=x, compiled=compiled)
    np.testing.assert_allclose(x, expected, rtol=0, atol=1e-12)


@kinds
@both_ways
@pytest.mark.parametrize("backwards", [False, True])
def test_one_shared_number_is_refused_and_a_neighbour_is_not(make, compiled, backwards):
    buffer = make(example(200))

    def placed(start):
        rows = buffer[start : start + 40].reshape(5, 8)
        return rows[::-1] if backwards and isinstance(rows, np.ndarray) else rows

    x, other = placed(80), make(example(5, 8, seed=1))
    for shift in (40, -40, 39, -39, 40, -40):
        place = placed(80 + shift)
        if abs(shift) == 40:
            rotate(x, table=TABLE, out=place, compiled=compiled)
            rotate(other, x, table=TABLE, out=(place, other), compiled=compiled)
            continue
        with pytest.raises(ValueError, match="share no memory"):
            rotate(x, table=TABLE, out=place, compiled=compiled)
        for out_k in (None, other):
            with pytest.raises(ValueError, match="out of q shares memory with k"):
                rotate(0 * other, x, table=TABLE, out=(place, out_k), compiled=compiled)


@both_ways
def test_reversed_views_that_overlap_are_refused_at_every_call(compiled):
    buffer = example(40, 8)
    apart = buffer[4::-1], buffer[24:19:-1]
    rotate(apart[0], table=TABLE, out=apart[1], compiled=compiled)
    for shift in (1, 4, 0):  # the same strides as those that lay apart
        x, out = buffer[9:4:-1], buffer[9 + shift : 4 + shift : -1]
        if shift:
            with pytest.raises(ValueError, match="share no memory"):
                rotate(x, table=TABLE, out=out, compiled=compiled)
        else:
            rotate(x, table=TABLE, out=out, compiled=compiled)
    rotate(buffer[9:4:-1], table=TABLE, out=buffer[14:9:-1], compiled=compiled)  # next to it: apart


@kinds
def test_sharing_one_number_is_refused_and_lying_next_to_it_is_not(make):
    buffer = make(example(80))

    def rows(first):
        return buffer[first : first + 40].reshape(5, 8)

    rotate(rows(0), table=TABLE, out=rows(40), compiled=True)
    for first, second in ((0, 39), (39, 0)):
        with pytest.raises(ValueError, match="share no memory"):
            rotate(rows(first), table=TABLE, out=rows(second), compiled=True)


@dtypes
@both_ways
@pytest.mark.parametrize("layout", LAYOUTS)
def test_frequencies_and_their_negatives_turn_opposite_ways_in_16_bits(dtype, layout, compiled):
    """A mutant that reverses the frequencies, or the sense, in 16 bits alone must not live."""
    frequencies = np.array([1.0, 0.1, 0.3])
    x = torch.zeros(2, 6, dtype=dtype)
    first = [0, 2, 4] if layout == "interleaved" else [0, 1, 2]
    second = [1, 3, 5] if layout == "interleaved" else [3, 4, 5]
    x[:, first] = 1
    rotated = rotate(x, table=RotaryTable(frequencies, layout=layout), offset=1, compiled=compiled).double()
    angles = np.arange(1, 3)[:, None] * frequencies
    step = torch.finfo(dtype).eps
    np.testing.assert_allclose(rotated[:, first], np.cos(angles), rtol=step, atol=0)
    np.testing.assert_allclose(rotated[:, second], np.sin(angles), rtol=step, atol=0)


def test_numbers_at_odd_addresses_are_left_to_array_operations():
    x = np.frombuffer(bytearray(5 * 8 * 8 + 1), np.float64, offset=1).reshape(5, 8)
    x[:] = example(5, 8)
    expected = apply_rope(np.array(x), ANGLES)
    np.testing.assert_allclose(rotate(x, table=TABLE), expected, rtol=0, atol=1e-12)
    with pytest.raises(
        ValueError, match="compiled=True needs x and out aligned to the size of their numbers"
    ):
        rotate(x, table=TABLE, compiled=True)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
# from Python 3.12 on a fork beside a thread warns: that is what is tested here
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_a_child_forked_while_a_thread_grows_the_table_can_use_it(monkeypatch):
    table, growing, forked = RotaryTable(inv_freq(8)), threading.Event(), threading.Event()
    build = table_module.RotaryTable._build_rows

    def slowly(self, *args):
        growing.set()
        if threading.current_thread() is not threading.main_thread():
            forked.wait()
        return build(self, *args)

    monkeypatch.setattr(table_module.RotaryTable, "_build_rows", slowly)
    thread = threading.Thread(target=table.cos_sin, args=(0, 10_000))
    thread.start()
    growing.wait()
    child = os.fork()
    if child == 0:
        table.cos_sin(0, 500)
        os._exit(0)
    forked.set()
    thread.join()
    stop = time.monotonic() + 60
    while time.monotonic() < stop:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert os.waitstatus_to_exitcode(status) == 0
            return
        time.sleep(0.05)
    os.kill(child, 9)
    os.waitpid(child, 0)
    pytest.fail("the child waits for a lock that no thread of its own holds")
