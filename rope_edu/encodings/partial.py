r"""Rotate only part of a head: its first features (partial rotary) or its fast pairs (p-RoPE)."""

from rope_edu import plain
from rope_edu.encodings.spec import RopeSpec, plain_rope
from rope_edu.encodings.validation import Base, EvenDim, check_share, checked

__all__ = ["p_rope", "partial_rope"]


def partial_rope(
    head_dim: int, rotary_dim: int, base: float = 10_000.0, *, layout: str = "interleaved"
) -> RopeSpec:
    r"""Return the spec for partial rotary, which applies RoPE to only a head's first features: kind "partial".

        θ_i = base^(−2i / rotary_dim),   i < rotary_dim / 2,   and the other features are unchanged

    The exponent contains the rotated width, so the frequencies, though fewer, still range from 1 to nearly 1/base.
    Half_split pairs are (i, i + rotary_dim/2), not (i, i + head_dim/2). transformers specifies `rotary_dim` as a
    share of `head_dim`, rounded down: `partial_rotary_factor`, formerly `rotary_pct`. GPT-NeoX rotates a quarter.
    Arguments and errors are as for `plain_rope`.

    >>> partial_rope(8, 4)
    <RopeSpec "partial": 2 pairs, 1 … 0.01 rad/token, interleaved, first 4 of 8 features>

    Source: GPT-J and GPT-NeoX, arXiv 2204.06745, §2.1; transformers' `modeling_gpt_neox`. Chapter 19.
    Plain form: `plain.partial_rope`.
    """
    return plain_rope(head_dim, base, rotary_dim=rotary_dim, layout=layout).replace(kind="partial")


@checked
def p_rope(head_dim: EvenDim, p: float, base: Base = 10_000.0, *, layout: str = "interleaved") -> RopeSpec:
    r"""Return the spec for p-RoPE, which leaves the slowest pairs unrotated: kind "p-rope", `head_dim // 2` pairs.

        θ_i = base^(−2i / head_dim)   for i < r,   0 for the other pairs,   r = ⌊p · head_dim / 2⌋

    The exponent contains the width of the head, and half_split pairs are (i, i + head_dim/2). p, the share of pairs
    that turn, is 1 for RoPE and 0 for no position encoding. ValueError unless p is from 0 to 1, or as for
    `plain_rope`.

    >>> p_rope(8, 0.5).inv_freq.tolist()  # 10000^0, 10000^(−1/4), and two pairs that never turn
    [1.0, 0.1, 0.0, 0.0]

    Source: Barbero 2024, arXiv 2410.06205, §6; transformers calls it "proportional" (Gemma 4's global layers,
    p = 0.25). Chapter 19. Plain form: `plain.p_rope`.
    """
    share = check_share("p, the fraction of pairs that turn,", p)
    return RopeSpec(plain.p_rope(head_dim, share, base), layout=layout, kind="p-rope", base=base)
