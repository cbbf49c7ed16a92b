r"""The gradient of the kernel. This module imports torch; `rotate` imports it once a gradient is wanted."""

from __future__ import annotations

from typing import Any

import torch

from rope_edu.fast import launch
from rope_edu.fast.rows import CosSinRows


class Rotation(torch.autograd.Function):
    """The kernel forward; backward the same kernel with −θ. Only the cosines and sines are kept in between."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, cos_sin: CosSinRows, plan: launch.Plan, sign: int) -> Any:
        ctx.cos_sin, ctx.sign = cos_sin, sign
        out = plan.new(x)
        plan.turn(x.data_ptr(), out.data_ptr(), cos_sin.address, sign)
        return out

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        if grad.stride(-1) != 1 or grad.is_neg() or grad.data_ptr() % grad.itemsize:
            grad = grad.clone(memory_format=torch.contiguous_format)  # that of a sum is one number, broadcast
        plan = launch.make_plan(grad, ctx.cos_sin)
        if isinstance(plan, str):
            raise launch.NotCompiledError(plan)
        return Rotation.apply(grad, ctx.cos_sin, plan, -ctx.sign), None, None, None  # type: ignore[no-untyped-call]
