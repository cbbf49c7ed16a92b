"""Memory: nothing of the size of the input is made but the result."""

import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import torch

from rope_edu import inv_freq
from rope_edu.encodings import LAYOUTS
from rope_edu.fast import RotaryTable, rotate

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "book" / "tools"))
from bench_rotation import peak_of_tensors

layouts = pytest.mark.parametrize("layout", LAYOUTS)
SHAPE = 1, 16, 4096, 64
SCRATCH = 2 * 2**20  # bytes: a few blocks of half a megabyte, whatever the size of the input


def peak_of_arrays(call):
    call()
    tracemalloc.start()
    try:
        result = call()
        return tracemalloc.get_traced_memory()[1], result
    finally:
        tracemalloc.stop()


def scratch(layout, dtype, where):
    """Bytes allowed: none at all for float32 pairs that lie side by side."""
    if layout == "half_split" or "16" in dtype:
        return SCRATCH
    return 4096 if where == "numpy" else 0


@layouts
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_numpy_makes_nothing_but_the_result(dtype, layout):
    x, table = np.ones(SHAPE, dtype), RotaryTable(inv_freq(64), layout=layout)
    out, room = np.empty_like(x), scratch(layout, dtype, "numpy")
    assert peak_of_arrays(lambda: rotate(x, table=table, out=out))[0] <= room
    assert peak_of_arrays(lambda: rotate(x, table=table, out=x))[0] <= room
    assert peak_of_arrays(lambda: rotate(x, table=table))[0] <= x.nbytes + max(room, 4096)


@layouts
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_torch_makes_nothing_but_the_result(dtype, layout):
    x, table = torch.ones(SHAPE, dtype=getattr(torch, dtype)), RotaryTable(inv_freq(64), layout=layout)
    out, room = torch.empty_like(x), scratch(layout, dtype, "torch")
    assert peak_of_tensors(lambda: rotate(x, table=table, out=out)) <= room
    assert peak_of_tensors(lambda: rotate(x, table=table, out=x)) <= room
    assert x.nbytes <= peak_of_tensors(lambda: rotate(x, table=table)) <= x.nbytes + room


@layouts
def test_forward_and_backward_make_the_output_and_the_gradient(layout):
    x, table = torch.ones(SHAPE, requires_grad=True), RotaryTable(inv_freq(64), layout=layout)
    upstream = torch.ones(SHAPE)

    def both():
        return torch.autograd.grad(rotate(x, table=table), x, upstream)

    assert 2 * x.nbytes <= peak_of_tensors(both) <= 2 * x.nbytes + SCRATCH


@layouts
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_the_compiled_kernel_makes_nothing_at_all_but_the_result(dtype, layout):
    x, table = torch.ones(SHAPE, dtype=getattr(torch, dtype)), RotaryTable(inv_freq(64), layout=layout)
    out = torch.empty_like(x)
    for place in (out, x):
        assert peak_of_tensors(lambda place=place: rotate(x, table=table, out=place, compiled=True)) == 0
    assert peak_of_tensors(lambda: rotate(x, table=table, compiled=True)) == x.nbytes
