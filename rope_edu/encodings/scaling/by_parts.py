r"""Scaling by parts: pairs that turn often in training keep their frequency, and slow pairs are interpolated."""

from rope_edu import plain
from rope_edu.encodings.spec import RopeSpec
from rope_edu.encodings.validation import AtLeastOne, Base, Count, EvenDim, Positive, check_ordered, checked


@checked
def ntk_by_parts(
    head_dim: EvenDim,
    factor: AtLeastOne,
    trained_length: Count,
    *,
    beta_slow: Positive = 1.0,
    beta_fast: Positive = 32.0,
    base: Base = 10_000.0,
) -> RopeSpec:
    r"""Return the spec for NTK-by-parts, which blends plain RoPE and PI according to each pair's turns in training.

        r_i = L θ_i / 2π,   γ_i = 1 − clip((β − r_i)/(β − α), 0, 1),   θ′_i = (1 − γ_i) θ_i/s + γ_i θ_i

    The spec's kind is "ntk-by-parts". A pair that makes at most α = `beta_slow` turns is fully interpolated, and
    one that makes at least β = `beta_fast` turns is unchanged; if α = β, γ steps from 0 to 1. ValueError if
    `factor` is below 1, `trained_length` is not a whole number ≥ 1, α is not above 0 or is above β, or as for
    `plain_rope`.

    >>> ntk_by_parts(4, 8, 1000).inv_freq.round(5).tolist()  # 159 turns: kept; 1.6 turns: nearly 0.01/8
    [1.0, 0.00142]

    Source: YaRN, arXiv 2309.00071, §3.2 (definition 2). Chapter 16. Plain form: `plain.ntk_by_parts`.
    """
    check_ordered("beta_slow", beta_slow, "beta_fast", beta_fast)
    frequencies = plain.ntk_by_parts(head_dim, factor, trained_length, base, beta_slow, beta_fast)
    return RopeSpec(frequencies, kind="ntk-by-parts", base=base)


@checked
def llama3(
    head_dim: EvenDim,
    factor: AtLeastOne,
    trained_length: Count,
    *,
    low_freq_factor: Positive = 1.0,
    high_freq_factor: Positive = 4.0,
    base: Base = 500_000.0,
) -> RopeSpec:
    r"""Return the spec for Llama 3.1's rule, NTK-by-parts with different thresholds: kind "llama3".

        λ_i > L/low: θ_i/s,   λ_i < L/high: θ_i,   between: (1 − u) θ_i/s + u θ_i,   u = (L/λ_i − low)/(high − low)

    L/λ_i is the number of turns in the trained length, so low and high, `low_freq_factor` and `high_freq_factor`,
    play the role of `beta_slow` and `beta_fast` in `ntk_by_parts`, and errors are the same. s is 8 in Llama 3.1 and
    32 in Llama 3.2, and L is 8,192 in both. In Llama 4 Scout, low = high = 1, so the blend is a step.

    >>> import math
    >>> llama3(4, 8, 8192, base=10_000 * math.pi**2).inv_freq.round(6).tolist()  # 1304 turns; 4.15: kept as well
    [1.0, 0.003183]

    Source: Meta's llama-models, `apply_scaling`; transformers' rope type "llama3". Chapter 16.
    Plain form: `plain.llama3`.
    """
    low, high = check_ordered("low_freq_factor", low_freq_factor, "high_freq_factor", high_freq_factor)
    frequencies = plain.ntk_by_parts(head_dim, factor, trained_length, base, low, high)
    return RopeSpec(frequencies, kind="llama3", base=base)
