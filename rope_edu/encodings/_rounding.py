r"""Round float64 to 16 bits once."""

from __future__ import annotations

from typing import Any

from array_api_compat import array_namespace, is_numpy_array

from rope_edu.encodings._checks import Array

CUT_OFF = 2**29 - 1  # the bits of a float64 that float32 has not


def round_once(wide: Array, dtype: Any) -> Array:
    r"""Return `wide` as `dtype`, each number the nearest one, ties to even.

    From float64 torch goes to 16 bits by way of float32: where the first rounding lands half-way between two
    16-bit numbers, the second knows no longer on which side it began. So the float32 is made the neighbour
    with an odd last bit wherever something was cut off; it is never half-way. Gradients pass unchanged.

    >>> import torch
    >>> just_above = torch.tensor([1 + 2**-8 + 2**-40], dtype=torch.float64)  # 1 and 1 + 2⁻⁷ are bfloat16
    >>> just_above.to(torch.bfloat16).item(), round_once(just_above, torch.bfloat16).item()
    (1.0, 1.0078125)

    Source: S. Boldo and G. Melquiond, "Emulation of a FMA and correctly rounded sums", IEEE Trans. Computers
    57 (2008), section 3.
    """
    xp = array_namespace(wide)
    if is_numpy_array(wide) or wide.dtype != xp.float64 or dtype in (xp.float32, xp.float64):
        return xp.astype(wide, dtype, copy=False)
    bits = wide.detach().view(xp.int64)
    odd = ((bits | ((bits & CUT_OFF) + CUT_OFF)) & ~CUT_OFF).view(xp.float64)
    if wide.requires_grad:
        odd = wide + xp.where(odd == wide, 0.0, odd - wide).detach()
    return odd.to(dtype)
