"""Corners of `rotate` and `apply_rope`: gradients that `out` awaits, tensors without memory, far positions."""

import warnings

import numpy as np
import pytest
import torch

from rope_edu import Rotary, apply_rope, inv_freq, rope_angles
from rope_edu.attention import XPos
from rope_edu.encodings import rotate_as_complex, rotation_matrix
from rope_edu.fast import RotaryTable, rotate, rotate_

TABLE = RotaryTable(inv_freq(8))
ANGLES = rope_angles(range(3), inv_freq(8))
ways = pytest.mark.parametrize("compiled", [None, False], ids=["kernel", "operations"])


def tensor(*shape):
    return torch.tensor(np.random.default_rng(0).normal(size=shape or (3, 8)))


# An out that awaits a gradient


@ways
def test_an_out_whose_gradient_would_be_wrong_is_refused_and_not_written(compiled):
    source = tensor().requires_grad_()
    out = source * 1
    before = out.detach().clone()
    with pytest.raises(ValueError, match="gradients cannot flow through out: omit it"):
        rotate(tensor(), table=TABLE, out=out, compiled=compiled)
    out.sum().backward()
    assert torch.equal(out.detach(), before)
    assert (source.grad == 1).all()


@ways
@pytest.mark.parametrize("awaits", ["q", "k"])
def test_a_leaf_that_awaits_a_gradient_is_not_overwritten(awaits, compiled):
    q, k = tensor(), tensor()
    outs = [torch.zeros(3, 8, dtype=torch.float64) for _ in "qk"]
    outs["qk".index(awaits)].requires_grad_()
    with pytest.raises(ValueError, match="gradients cannot flow through out"):
        rotate(q, k, table=TABLE, out=tuple(outs), compiled=compiled)
    assert not any(out.any() for out in outs)


@ways
def test_without_gradients_a_leaf_may_be_written(compiled):
    leaf = torch.zeros(3, 8, dtype=torch.float64, requires_grad=True)
    with torch.no_grad():
        rotate(tensor(), table=TABLE, out=leaf, compiled=compiled)
    torch.testing.assert_close(leaf.detach(), rotate(tensor(), table=TABLE))


# Tensors without ordinary memory


@ways
def test_zeros_that_are_not_stored_rotate_to_zeros(compiled):
    zeros = torch._efficientzerotensor(3, 8)
    rotate(torch.zeros(3, 8), table=TABLE, compiled=compiled)  # a plan that must not serve for the next
    assert not rotate(zeros, table=TABLE, compiled=compiled).any()
    assert not rotate(zeros, table=TABLE, out=torch.ones(3, 8), compiled=compiled).any()


@ways
def test_zeros_that_are_not_stored_cannot_be_written(compiled):
    zeros = torch._efficientzerotensor(3, 8)
    for x in (zeros, torch.ones(3, 8)):
        with pytest.raises(ValueError, match="out must be writeable, got one that is read-only"):
            rotate(x, table=TABLE, out=zeros, compiled=compiled)


@ways
def test_a_tensor_without_tokens_still_rotates(compiled):
    empty = torch.ones(0, 8)
    assert rotate(empty, table=TABLE, compiled=compiled).shape == (0, 8)
    assert rotate(empty, table=TABLE, out=empty, compiled=compiled) is empty


def packed():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns that these are prototypes
        rows = [torch.randn(3, 8), torch.randn(2, 8)]
        return {
            "sparse_coo": torch.randn(3, 8).to_sparse(),
            "sparse_csr": torch.randn(3, 8).to_sparse_csr(),
            "mkldnn": torch.randn(3, 8).to_mkldnn(),
            "nested": torch.nested.nested_tensor(rows),
            "jagged": torch.nested.nested_tensor(rows, layout=torch.jagged),
            "masked": torch.masked.masked_tensor(torch.randn(3, 8), torch.ones(3, 8, dtype=torch.bool)),
        }


PACKED = packed()
CALLS = {
    "rotate q": ("q", lambda x: rotate(x, table=TABLE)),
    "rotate q by operations": ("q", lambda x: rotate(x, table=TABLE, compiled=False)),
    "rotate q by positions": ("q", lambda x: rotate(x, table=TABLE, positions=range(3))),
    "rotate k": ("k", lambda x: rotate(torch.ones(3, 8), x, table=TABLE)),
    "rotate_": ("x", lambda x: rotate_(x, TABLE.cos_sin(0, 3, like=torch.ones(1)))),
    "out": ("out", lambda x: rotate(torch.ones(3, 8), table=TABLE, out=x)),
    "positions": ("positions", lambda x: rotate(torch.ones(3, 8), table=TABLE, positions=x)),
    "apply_rope": ("x", lambda x: apply_rope(x, ANGLES)),
    "angles": ("angles", lambda x: apply_rope(torch.ones(3, 16), x)),
    "float64 angles": ("angles", lambda x: apply_rope(torch.ones(3, 16).double(), x.double())),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kind", PACKED)
@pytest.mark.filterwarnings("ignore:The PyTorch API of MaskedTensors")  # a prototype
def test_a_tensor_that_is_not_dense_is_refused_with_the_way_to_make_it_so(kind, call):
    name, run = CALLS[call]
    if kind == "mkldnn" and call == "float64 angles":
        return  # torch itself has no such tensor
    remedy = {"masked": "to_tensor(0)", "nested": "to_padded_tensor(0.0)", "jagged": "to_padded_tensor(0.0)"}
    with pytest.raises(ValueError, match=f"^{name} must") as caught:
        run(PACKED[kind])
    assert f"{name}.{remedy.get(kind, 'to_dense()')}" in str(caught.value)


# Far positions


@ways
@pytest.mark.parametrize(
    "offset", [2**52, 2**53 + 1, 2**64, 10**300, 10**400, 10**5000], ids=lambda n: f"{n.bit_length()} bits"
)
def test_an_offset_whose_angles_would_be_arbitrary_is_refused(offset, compiled):
    with pytest.raises(ValueError, match=r"start must be a whole number from 0 to 2\*\*52"):
        rotate(tensor(), table=TABLE, offset=offset, compiled=compiled)


def test_the_last_offset_allowed_rotates_by_the_float64_angle():
    last = 2**52 - 1
    expected = apply_rope(tensor(1, 8), rope_angles([last], inv_freq(8)))
    torch.testing.assert_close(rotate(tensor(1, 8), table=TABLE, offset=last), expected, rtol=0, atol=2)


@pytest.mark.parametrize("make", [np.asarray, torch.asarray], ids=["numpy", "torch"])
@pytest.mark.parametrize(
    "call",
    [
        lambda x, p: rotate(x, table=TABLE, positions=p),
        lambda x, p: apply_rope(x, rope_angles(p, inv_freq(8))),
        lambda x, p: Rotary(inv_freq(8)).rotate_q(x, p),
        lambda x, p: XPos(inv_freq(8)).rotate_k(x, p),
    ],
)
def test_positions_whose_angles_would_be_arbitrary_are_refused(call, make):
    x = make(np.ones((1, 8)))
    for position in (2.0**52, -(2.0**60), 1e300):
        with pytest.raises(ValueError, match=r"positions must be within ±2\*\*52"):
            call(x, make(np.array([position])))
    call(x, make(np.array([1 - 2.0**52])))


def test_positions_that_require_a_gradient_are_refused_by_their_name():
    with pytest.raises(ValueError, match=r"^positions must not require a gradient here"):
        rotate(tensor(), table=TABLE, positions=torch.arange(3.0, requires_grad=True))


# Angles that are no numbers


@pytest.mark.parametrize("angle", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize(
    "call",
    [
        lambda x, angles: apply_rope(x, angles),
        lambda x, angles: apply_rope(x.astype(np.float32), angles),
        lambda x, angles: rotate_as_complex(x, angles),
        lambda x, angles: rotation_matrix(angles[0]),
    ],
)
def test_no_warning_but_a_sentence_where_an_angle_is_not_finite(call, angle):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match="angles must be finite, got infinity or NaN among them"):
            call(np.ones((1, 4)), np.array([[0.5, angle]]))
