r"""PI divides all frequencies alike; ABF chooses another base and NTK computes one, which slows slow pairs more."""

import numpy as np

from rope_edu.encodings.spec import RopeSpec, plain_rope, start_frequencies
from rope_edu.encodings.validation import check_at_least_one, check_positive_int


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
    ValueError if `factor`, s, is below 1 or not finite, or as for `plain_rope`.

    >>> position_interpolation(4, 8).inv_freq.tolist()
    [0.125, 0.00125]

    Source: Chen 2023, arXiv 2306.15595, §2.3; transformers' rope type "linear". Chapter 15.
    Plain form: `rope_edu.plain.position_interpolation`.
    """
    factor = check_at_least_one("factor", factor)
    frequencies = start_frequencies(head_dim, base, rotary_dim) / factor
    return RopeSpec(frequencies, layout=layout, head_dim=head_dim, kind="pi")


def abf(
    head_dim: int,
    base: float = 500_000.0,
    *,
    rotary_dim: int | None = None,
    layout: str = "interleaved",
) -> RopeSpec:
    r"""ABF (adjusted base frequency): RoPE with a larger base, to continue training with. A spec of kind "abf".

        θ′_i = base^(−2i / d)

    The base is 500,000 in Xiong et al. and Llama 3, 1,000,000 in Code Llama. Errors are those of `plain_rope`.

    >>> abf(4, 1_000_000)
    <RopeSpec "abf": 2 pairs, 1 … 0.001 rad/token, interleaved>

    Source: Xiong 2023, arXiv 2309.16039, §2.1; Code Llama, arXiv 2308.12950, §2.4. Chapter 15.
    Plain form: `rope_edu.plain.abf`.
    """
    return plain_rope(head_dim, base, rotary_dim=rotary_dim, layout=layout).replace(kind="abf")


def ntk_aware(
    head_dim: int,
    factor: float,
    *,
    base: float = 10_000.0,
    rotary_dim: int | None = None,
    layout: str = "interleaved",
) -> RopeSpec:
    r"""NTK-aware scaling: the base that leaves the first frequency alone and divides the last by the stretch.

        b′ = b · s^(d/(d−2)),   that is θ′_i = θ_i · s^(−2i/(d−2))

    A spec of kind "ntk-aware". ValueError if fewer than 4 features turn, or as for `position_interpolation`.

    >>> ntk_aware(4, 8)  # 1/1 and 0.01/8
    <RopeSpec "ntk-aware": 2 pairs, 1 … 0.00125 rad/token, interleaved>

    Source: u/bloc97 2023, as given in YaRN, arXiv 2309.00071, §3.1 (definition 1). Chapter 15.
    Plain form: `rope_edu.plain.ntk_aware`.
    """
    factor = check_at_least_one("factor", factor)
    frequencies = _with_last_pair_divided(start_frequencies(head_dim, base, rotary_dim), factor)
    return RopeSpec(frequencies, layout=layout, head_dim=head_dim, kind="ntk-aware")


def dynamic_ntk(
    head_dim: int,
    length: int,
    trained_length: int,
    *,
    factor: float = 1.0,
    base: float = 10_000.0,
    rotary_dim: int | None = None,
    layout: str = "interleaved",
) -> RopeSpec:
    r"""Dynamic NTK: NTK-aware scaling by a stretch that follows the text's length. A spec of kind "dynamic-ntk".

        s = f·l/L − (f − 1),   l = max(length, L),   then as `ntk_aware`

    `length` is that of the text now, in tokens; the larger f, the factor, the sooner the stretch, which for 1 is
    l/L. Up to the trained length L nothing changes. Beyond it every pair but the first has another frequency at
    each length, so a key cached at one length is wrong at the next. The spec depends on its arguments alone, not on
    earlier, longer texts. ValueError if a length is not a whole number ≥ 1, or as for `ntk_aware`.

    >>> dynamic_ntk(4, 200, 100).inv_freq.tolist()  # twice the length: the last pair at half its 0.01
    [1.0, 0.005]

    Source: transformers' rope type "dynamic"; YaRN, arXiv 2309.00071, §3.3. Chapter 15.
    Plain form: `rope_edu.plain.dynamic_ntk`.
    """
    length = check_positive_int("length", length)
    trained_length = check_positive_int("trained_length", trained_length)
    factor = check_at_least_one("factor", factor)
    stretch = factor * max(length, trained_length) / trained_length - (factor - 1)
    frequencies = _with_last_pair_divided(start_frequencies(head_dim, base, rotary_dim), stretch)
    return RopeSpec(frequencies, layout=layout, head_dim=head_dim, kind="dynamic-ntk")


def _with_last_pair_divided(frequencies: np.ndarray, stretch: float) -> np.ndarray:
    """θ_i · stretch^(−2i/(d−2)): the first frequency as it is, the last divided by the stretch."""
    pairs = len(frequencies)
    if pairs < 2:
        raise ValueError(f"at least 4 features must turn: the rule divides by d − 2; got {2 * pairs}")
    return frequencies * stretch ** -(np.arange(pairs) / (pairs - 1))
