"""torch.compile of a caller: one graph, in which array operations rotate."""

import warnings

import numpy as np
import pytest
import torch

from rope_edu import apply_rope, inv_freq, rope_angles
from rope_edu.encodings import LAYOUTS
from rope_edu.fast import RotaryTable, rotate

pytestmark = pytest.mark.long

layouts = pytest.mark.parametrize("layout", LAYOUTS)


@pytest.fixture(autouse=True)
def _quietly_afresh():
    torch._dynamo.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # dynamo warns of lru_cache inside array_api_compat
        yield


def example(*shape, seed=0):
    return torch.tensor(np.random.default_rng(seed).normal(size=shape))


@pytest.mark.sampled
@layouts
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_table_inside_a_compiled_function_is_one_graph_for_every_offset(dtype, layout):
    table, angles = RotaryTable(inv_freq(6), layout=layout), rope_angles(range(20), inv_freq(6))
    q, k = example(2, 3, 5, 8).to(dtype), example(2, 1, 5, 8, seed=1).to(dtype)

    @torch.compile(fullgraph=True, backend="aot_eager")
    def turned(q, k, offset):
        return rotate(q, k, table=table, offset=offset)

    for offset in (0, 3, 15):
        for x, y in zip((q, k), turned(q, k, offset), strict=True):
            expected = apply_rope(x, angles[offset : offset + 5], layout=layout)
            assert y.dtype == dtype
            torch.testing.assert_close(y, expected, rtol=0.01 if dtype == torch.bfloat16 else 0, atol=1e-6)
    assert "nothing" in repr(table)


@layouts
def test_a_compiled_function_keeps_to_the_answer_when_the_table_has_grown_in_between(layout):
    table, x = RotaryTable(inv_freq(8), layout=layout), example(5, 8)
    compiled = torch.compile(lambda x: rotate(x, table=table, offset=2), fullgraph=True, backend="aot_eager")
    first = compiled(x)
    rotate(x, table=table, offset=5000)
    assert torch.equal(compiled(x), first)
    torch.testing.assert_close(first, rotate(x, table=table, offset=2), rtol=0, atol=1e-12)


@layouts
def test_held_rows_and_gradients_pass_through_a_compiled_function(layout):
    cos_sin = RotaryTable(inv_freq(8), layout=layout).cos_sin(3, 5, like=example(1))
    x = example(2, 5, 8).requires_grad_()
    compiled = torch.compile(lambda x: rotate(x, table=cos_sin), fullgraph=True, backend="aot_eager")
    compiled(x).square().sum().backward()
    torch.testing.assert_close(x.grad, 2 * x.detach(), rtol=0, atol=1e-12)  # turning keeps the length


def test_positions_given_as_a_tensor_compile():
    table, x = RotaryTable(inv_freq(8), layout="half_split"), example(2, 3, 5, 8)
    positions = torch.tensor([[0, 1, 2, 3, 4], [9, 8, 7, 6, 5]])
    compiled = torch.compile(
        lambda x, p: rotate(x, table=table, positions=p), fullgraph=True, backend="aot_eager"
    )
    expected = rotate(x, table=table, positions=positions)
    torch.testing.assert_close(compiled(x, positions), expected, rtol=0, atol=1e-12)
