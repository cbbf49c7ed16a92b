r"""Scaling by parts: pairs that turn often in the trained length stay, the others are interpolated."""

import math

import numpy as np

from rope_edu.encodings.spec import RopeSpec, start_frequencies
from rope_edu.encodings.validation import check_at_least_one, check_positive_int, check_positive_number


def ntk_by_parts(
    head_dim: int,
    factor: float,
    trained_length: int,
    *,
    beta_slow: float = 1.0,
    beta_fast: float = 32.0,
    base: float = 10_000.0,
    rotary_dim: int | None = None,
    layout: str = "interleaved",
) -> RopeSpec:
    r"""NTK-by-parts: a blend of plain RoPE and PI, by the turns of each pair in the trained length.

        r_i = L θ_i / 2π,   γ_i = clip((r_i − α)/(β − α), 0, 1),   θ′_i = (1 − γ_i) θ_i/s + γ_i θ_i

    A spec of kind "ntk-by-parts". A pair that makes at most α = `beta_slow` turns is interpolated fully, one that
    makes at least β = `beta_fast` is left alone; α = β is a step. ValueError if `factor` is below 1,
    `trained_length` is not a whole number ≥ 1, α is not above 0 or is above β, or as for `plain_rope`.

    >>> ntk_by_parts(4, 8, 1000).inv_freq.round(5).tolist()  # 159 turns: kept; 1.6 turns: nearly 0.01/8
    [1.0, 0.00142]

    Source: YaRN, arXiv 2309.00071, §3.2 (definition 2). Chapter 16. Plain form: `rope_edu.plain.ntk_by_parts`.
    """
    factor, trained_length = check_stretch(factor, trained_length)
    slow, fast = check_ordered("beta_slow", beta_slow, "beta_fast", beta_fast)
    frequencies = start_frequencies(head_dim, base, rotary_dim)
    frequencies = blend(frequencies, factor, kept_by_turns(frequencies, trained_length, slow, fast))
    return RopeSpec(frequencies, layout=layout, head_dim=head_dim, kind="ntk-by-parts")


def llama3(
    head_dim: int,
    factor: float,
    trained_length: int,
    *,
    low_freq_factor: float = 1.0,
    high_freq_factor: float = 4.0,
    base: float = 500_000.0,
    rotary_dim: int | None = None,
    layout: str = "interleaved",
) -> RopeSpec:
    r"""Llama 3.1's rule: NTK-by-parts with other thresholds. A spec of kind "llama3".

        λ_i > L/low: θ_i/s,   λ_i < L/high: θ_i,   between: (1 − u) θ_i/s + u θ_i,   u = (L/λ_i − low)/(high − low)

    L/λ_i is the number of turns in the trained length, so low and high, `low_freq_factor` and `high_freq_factor`,
    are the `beta_slow` and `beta_fast` of `ntk_by_parts`, whose errors these are. s is 8 in Llama 3.1 and 32 in
    Llama 3.2, L is 8,192 in both; Llama 4 Scout has 1 and 1 for low and high, a step.

    >>> llama3(4, 8, 8192, base=10_000 * math.pi**2).inv_freq.round(6).tolist()  # 1304 turns; 4.15: kept as well
    [1.0, 0.003183]

    Source: Meta's llama-models, `apply_scaling`; transformers' rope type "llama3". Chapter 16.
    Plain form: `rope_edu.plain.llama3`.
    """
    factor, trained_length = check_stretch(factor, trained_length)
    slow, fast = check_ordered("low_freq_factor", low_freq_factor, "high_freq_factor", high_freq_factor)
    frequencies = start_frequencies(head_dim, base, rotary_dim)
    frequencies = blend(frequencies, factor, kept_by_turns(frequencies, trained_length, slow, fast))
    return RopeSpec(frequencies, layout=layout, head_dim=head_dim, kind="llama3")


def kept_by_turns(frequencies: np.ndarray, trained_length: int, slow: float, fast: float) -> np.ndarray:
    """γ, the share of each plain frequency that is kept, rising with the pair's turns in the trained length."""
    turns = trained_length * frequencies / (2 * math.pi)
    if slow == fast:  # a step
        return np.where(turns < slow, 0.0, 1.0)
    return np.clip((turns - slow) / (fast - slow), 0.0, 1.0)


def blend(frequencies: np.ndarray, factor: float, kept: np.ndarray) -> np.ndarray:
    """Interpolated and plain frequencies, blended: `kept` of the plain ones."""
    return (1 - kept) * frequencies / factor + kept * frequencies


def check_stretch(factor: object, trained_length: object) -> tuple[float, int]:
    """The stretch and the trained length, checked."""
    return check_at_least_one("factor", factor), check_positive_int("trained_length", trained_length)


def check_ordered(low_name: str, low: object, high_name: str, high: object) -> tuple[float, float]:
    """Two numbers above 0, the first at most the second; where they are equal, the ramp is a step."""
    low, high = check_positive_number(low_name, low), check_positive_number(high_name, high)
    if low > high:
        raise ValueError(f"{low_name} must be at most {high_name} = {high:g}, got {low:g}")
    return low, high
