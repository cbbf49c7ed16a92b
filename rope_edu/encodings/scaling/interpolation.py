r"""Position interpolation (PI): all frequencies divided alike."""

from __future__ import annotations

from rope_edu.encodings.spec import RopeSpec, start_frequencies
from rope_edu.encodings.validation import check_at_least_one


def position_interpolation(
    head_dim: int,
    factor: float,
    *,
    base: float = 10_000.0,
    rotary_dim: int | None = None,
    layout: str = "interleaved",
) -> RopeSpec:
    r"""PI: every frequency divided by the stretch, so that no angle leaves the trained range. A spec of kind "pi".

        θ′_i = θ_i / s,   so position m turns as m/s did

    The price: neighbouring positions differ s times less, in the fastest pair too, so it needs fine-tuning.

    Args:
        factor: s, wanted length over trained length, at least 1.
        head_dim, base, rotary_dim, layout: as for `plain_rope`.

    Raises:
        ValueError: `factor` is below 1 or not finite, or as for `plain_rope`.

    >>> position_interpolation(4, 8).inv_freq.tolist()
    [0.125, 0.00125]

    Source: Chen 2023, arXiv 2306.15595, §2.3; transformers' rope type "linear". Chapter 15.
    Plain form: `rope_edu.plain.position_interpolation`.
    """
    factor = check_at_least_one("factor", factor)
    frequencies = start_frequencies(head_dim, base, rotary_dim) / factor
    return RopeSpec(frequencies, layout=layout, head_dim=head_dim, kind="pi")
