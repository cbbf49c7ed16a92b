"""Memory: nothing of the size of the input is made but the result."""

import tracemalloc

import numpy as np
import pytest
import torch

from makers.rotation import peak_of_tensors
from rope_edu import inv_freq
from rope_edu.encodings import LAYOUTS
from rope_edu.fast import RotaryTable, rotate

layouts = pytest.mark.parametrize("layout", LAYOUTS)
SHAPE = 1, 16, 4096, 64
SCRATCH = 3 * 2**20  # bytes: six times a block of 2¹⁷ numbers in float32, whatever the size of the input
LITTLE = 2**13  # bytes: what a call makes in Python
ways = pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])


def peak_of_arrays(call):
    """Return the least of three peaks: other threads of the process, such as those of a test runner, add to one."""
    call()
    return min(traced(call) for _ in range(3))


def traced(call):
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@layouts
@ways
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_numpy_makes_nothing_but_the_result(dtype, layout, compiled):
    x, table = np.ones(SHAPE, dtype), RotaryTable(inv_freq(64), layout=layout)
    out, allowed = np.empty_like(x), LITTLE if compiled else SCRATCH
    for place, size in ((out, 0), (x, 0), (None, x.nbytes)):
        peak = peak_of_arrays(lambda place=place: rotate(x, table=table, out=place, compiled=compiled))
        assert peak <= size + allowed


@layouts
@ways
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_torch_makes_nothing_but_the_result(dtype, layout, compiled):
    x, table = torch.ones(SHAPE, dtype=getattr(torch, dtype)), RotaryTable(inv_freq(64), layout=layout)
    out, allowed = torch.empty_like(x), 0 if compiled else SCRATCH
    for place, size in ((out, 0), (x, 0), (None, x.nbytes)):
        peak = peak_of_tensors(lambda place=place: rotate(x, table=table, out=place, compiled=compiled))
        assert size <= peak <= size + allowed


@layouts
def test_forward_and_backward_make_the_output_and_the_gradient(layout):
    x, table = torch.ones(SHAPE, requires_grad=True), RotaryTable(inv_freq(64), layout=layout)
    upstream = torch.ones(SHAPE)

    def both():
        return torch.autograd.grad(rotate(x, table=table, compiled=True), x, upstream)

    assert 2 * x.nbytes <= peak_of_tensors(both) <= 2 * x.nbytes + LITTLE
