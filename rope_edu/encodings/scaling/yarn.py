r"""YaRN: scaling by parts, and an attention factor that keeps attention over a longer text as sharp."""

import math

import numpy as np

from rope_edu.encodings.scaling.by_parts import blend, check_ordered, check_stretch, kept_by_turns
from rope_edu.encodings.spec import RopeSpec, start_frequencies
from rope_edu.encodings.validation import check_at_least_one, check_at_least_zero, check_one_of


def yarn(
    head_dim: int,
    factor: float,
    trained_length: int,
    *,
    ramp: str = "index",
    beta_fast: float = 32.0,
    beta_slow: float = 1.0,
    truncate: bool = True,
    mscale: float = 1.0,
    mscale_all_dim: float = 0.0,
    attention_factor: float | None = None,
    base: float = 10_000.0,
    rotary_dim: int | None = None,
    layout: str = "interleaved",
) -> RopeSpec:
    r"""YaRN: a blend of plain RoPE and PI, and an attention factor.

        θ′_i = (1 − γ_i) θ_i/s + γ_i θ_i,   a = (0.1 · mscale · ln s + 1) / (0.1 · mscale_all_dim · ln s + 1)

        ramp="turns", the paper:  γ_i = clip((r_i − β_slow)/(β_fast − β_slow), 0, 1),   r_i = L θ_i / 2π
        ramp="index", the code:   γ_i = 1 − clip((i − low)/(high − low), 0, 1),   low = c(β_fast), high = c(β_slow),
                                  c(n) = d · ln(L / (2πn)) / (2 ln b), the pair that makes n turns

    Models are trained with the code's ramp. It is linear in the pair's index, and so in the logarithm of the turns;
    for Llama 2 and s = 16 the two ramps' frequencies differ by a factor of up to 3. ValueError if `ramp` is
    misspelt, `truncate` is no bool, the ramp would run backwards, an mscale is negative, or as for `ntk_by_parts`.

    Args:
        ramp: "index" or "turns".
        beta_fast, beta_slow: turns between which a pair is blended; Kimi K2 has 1 and 1, a step.
        truncate: whether low is rounded down and high up to whole pairs (ramp="index"; gpt-oss does not).
        mscale, mscale_all_dim: DeepSeek's. Its models also multiply their softmax scale by
            `yarn_mscale(factor, mscale_all_dim)²`, which is not part of a rotation: pass it to `attention` as
            `scale`. transformers reads the two only if neither is 0.
        attention_factor: a itself, above 0, if the config states it.

    >>> yarn(128, 16, 4096).attention_factor.__round__(4)  # 0.1 ln 16 + 1
    1.2773
    >>> yarn(128, 40, 4096, mscale=1.0, mscale_all_dim=1.0).attention_factor  # DeepSeek-V3
    1.0

    Source: Peng 2023, arXiv 2309.00071, §3.2–3.4; its released code, as in transformers' rope type "yarn".
    Chapter 16. Plain form: `rope_edu.plain.yarn`.
    """
    if not isinstance(truncate, bool):
        raise ValueError(f"truncate must be True or False, got {truncate!r}")
    factor, trained_length = check_stretch(factor, trained_length)
    slow, fast = check_ordered("beta_slow", beta_slow, "beta_fast", beta_fast)
    frequencies = start_frequencies(head_dim, base, rotary_dim)
    if check_one_of("ramp", ramp, ("index", "turns")) == "turns":
        kept = kept_by_turns(frequencies, trained_length, slow, fast)
    else:
        kept = _kept_by_index(len(frequencies), base, trained_length, slow, fast, truncate)
    if attention_factor is None:
        all_dim = check_at_least_zero("mscale_all_dim", mscale_all_dim)
        attention_factor = yarn_mscale(factor, mscale) / yarn_mscale(factor, all_dim)
    return RopeSpec(blend(frequencies, factor, kept), attention_factor, layout, head_dim, "yarn")


def yarn_mscale(factor: float, mscale: float = 1.0) -> float:
    r"""YaRN's factor of cosines and sines, at least 1; scores grow by its square.

        m = 0.1 · mscale · ln s + 1

    ValueError if s is below 1, if `mscale` is negative, or if one is not finite.

    >>> [round(yarn_mscale(s), 4) for s in (8, 16, 32)]
    [1.2079, 1.2773, 1.3466]

    Source: Peng 2023, arXiv 2309.00071, eq. 22; with mscale: DeepSeek's `yarn_get_mscale`. Chapter 16.
    """
    factor, mscale = check_at_least_one("factor", factor), check_at_least_zero("mscale", mscale)
    return 0.1 * mscale * math.log(factor) + 1.0


def ramp_ends(
    rotary_dim: int,
    base: float,
    trained_length: int,
    *,
    beta_fast: float = 32.0,
    beta_slow: float = 1.0,
    truncate: bool = True,
) -> tuple[float, float]:
    """Indices of pairs between which YaRN's code blends; low > high if the ramp would run backwards."""
    low, high = (
        rotary_dim * math.log(trained_length / (turns * 2 * math.pi)) / (2 * math.log(base))
        for turns in (beta_fast, beta_slow)
    )
    if truncate:
        low, high = math.floor(low), math.ceil(high)
    return max(low, 0), min(high, rotary_dim - 1)  # − 1, though pairs end at width/2 − 1: as released


def _kept_by_index(
    pairs: int, base: float, trained_length: int, slow: float, fast: float, truncate: bool
) -> np.ndarray:
    """γ, falling linearly in the pair's index between the pairs that make `fast` and `slow` turns."""
    low, high = ramp_ends(2 * pairs, base, trained_length, beta_fast=fast, beta_slow=slow, truncate=truncate)
    if low > high:
        raise ValueError(
            f"trained_length must let some pair make {slow:g} to {fast:g} turns (beta_slow to beta_fast), "
            f"got {trained_length} with base {base:g}: the ramp would run backwards"
        )
    high += 0.001 * (low == high)  # as released: a step if the two are equal
    return 1 - np.clip((np.arange(pairs) - low) / (high - low), 0.0, 1.0)
