r"""The gradient of the kernel. This module imports torch; `rotate` imports it once a gradient is wanted."""

from __future__ import annotations

import torch

from rope_edu.fast import launch


class Rotation(torch.autograd.Function):
    """The kernel forward; backward the same kernel with −θ. Nothing is kept in between but the turns."""

    @staticmethod
    def forward(ctx, x, turns, plan, sign):
        ctx.turns, ctx.sign = turns, sign
        return launch.rotate(x, turns, plan, sign=sign)

    @staticmethod
    def backward(ctx, grad):
        if grad.stride(-1) != 1 or grad.is_neg():  # the gradient of a sum is one number, broadcast
            grad = grad.resolve_neg().contiguous()
        plan = launch.make_plan(grad, ctx.turns)
        return Rotation.apply(grad, ctx.turns, plan, -ctx.sign), None, None, None
