r"""The gradient of the kernel. This module imports torch; `rotate` imports it once a gradient is wanted."""

from __future__ import annotations

import torch

from rope_edu.fast import launch


class Rotation(torch.autograd.Function):
    """The kernel forward; backward the same kernel with −θ. Only the cosines and sines are kept in between."""

    @staticmethod
    def forward(ctx, x, cos_sin, plan, sign):
        ctx.cos_sin, ctx.sign = cos_sin, sign
        return launch.rotate(x, cos_sin, plan, sign=sign)

    @staticmethod
    def backward(ctx, grad):
        if grad.stride(-1) != 1 or grad.is_neg():  # the gradient of a sum is one number, broadcast
            grad = grad.resolve_neg().contiguous()
        plan = launch.make_plan(grad, ctx.cos_sin)
        return Rotation.apply(grad, ctx.cos_sin, plan, -ctx.sign), None, None, None
