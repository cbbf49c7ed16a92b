r"""YaRN: scaling by parts, and an attention factor that keeps attention sharp in longer texts."""

from rope_edu import plain
from rope_edu.encodings.spec import RopeSpec
from rope_edu.encodings.validation import (
    AtLeastOne,
    AtLeastZero,
    Base,
    Count,
    EvenDim,
    Positive,
    check_one_of,
    check_ordered,
    checked,
)


@checked
def yarn(
    head_dim: EvenDim,
    factor: AtLeastOne,
    trained_length: Count,
    *,
    ramp: str = "index",
    beta_fast: Positive = 32.0,
    beta_slow: Positive = 1.0,
    truncate: bool = True,
    mscale: AtLeastZero = 1.0,
    mscale_all_dim: AtLeastZero = 0.0,
    attention_factor: Positive | None = None,
    base: Base = 10_000.0,
) -> RopeSpec:
    r"""Return the spec for YaRN, which blends plain RoPE and PI and adds an attention factor: kind "yarn".

        θ′_i = (1 − γ_i) θ_i/s + γ_i θ_i,   a = (0.1 · mscale · ln s + 1) / (0.1 · mscale_all_dim · ln s + 1)

        ramp="turns", the paper:  γ_i = clip((r_i − β_slow)/(β_fast − β_slow), 0, 1),   r_i = L θ_i / 2π
        ramp="index", the code:   γ_i = 1 − clip((i − low)/(high − low), 0, 1),   low = c(β_fast), high = c(β_slow),
                                  c(n) = d · ln(L / (2πn)) / (2 ln b), the pair with n turns

    Models are trained with the code's ramp, which is linear in the index of the pair, and so in the logarithm of
    the number of turns. For Llama 2 and s = 16, the frequencies of the two ramps differ by a factor of up to 3.
    ValueError if `ramp` is misspelt, `truncate` is not a bool, the ramp would run backwards, an mscale is negative,
    or as for `ntk_by_parts`.

    Args:
        ramp: "index" or "turns".
        beta_fast, beta_slow: pairs between these numbers of turns are blended; in Kimi K2, both are 1 (a step).
        truncate: whether low is rounded down and high up to whole pairs (for ramp="index"; False in gpt-oss).
        mscale, mscale_all_dim: DeepSeek's settings. Its models also multiply their softmax scale by
            `yarn_mscale(factor, mscale_all_dim)²`, which is not part of the rotation: pass it to `attention` as
            `scale`. transformers uses the two settings only if both are nonzero.
        attention_factor: a itself, above 0, if the config specifies it.

    >>> yarn(128, 16, 4096).attention_factor.__round__(4)  # 0.1 ln 16 + 1
    1.2773
    >>> yarn(128, 40, 4096, mscale=1.0, mscale_all_dim=1.0).attention_factor  # DeepSeek-V3
    1.0

    Source: Peng 2023, arXiv 2309.00071, §3.2–3.4; its released code, as in transformers' rope type "yarn".
    Chapter 16. Plain form: `plain.yarn`.
    """
    if not isinstance(truncate, bool):
        raise ValueError(f"truncate must be True or False, got {truncate!r}")
    slow, fast = check_ordered("beta_slow", beta_slow, "beta_fast", beta_fast)
    frequencies = plain.inv_freq(head_dim, base)
    if check_one_of("ramp", ramp, ("index", "turns")) == "turns":
        kept = plain.kept_by_turns(frequencies, trained_length, slow, fast)
    else:
        low, high = plain.ramp_ends(head_dim, trained_length, base, slow, fast, truncate)
        if low > high:
            raise ValueError(
                f"trained_length must let some pair make {slow:g} to {fast:g} turns (beta_slow to beta_fast), "
                f"got {trained_length} with base {base:g}: the ramp would run backwards"
            )
        kept = plain.kept_by_index(head_dim, low, high)
    if attention_factor is None:
        attention_factor = yarn_mscale(factor, mscale) / yarn_mscale(factor, mscale_all_dim)
    return RopeSpec(plain.blend(frequencies, factor, kept), attention_factor, kind="yarn", base=base)


@checked
def yarn_mscale(factor: AtLeastOne, mscale: AtLeastZero = 1.0) -> float:
    r"""Return YaRN's multiplier for cosines and sines, at least 1; scores grow by its square.

        m = 0.1 · mscale · ln s + 1

    ValueError if `factor`, s, is below 1, `mscale` is negative, or either is not finite.

    >>> [round(yarn_mscale(s), 4) for s in (8, 16, 32)]
    [1.2079, 1.2773, 1.3466]

    Source: Peng 2023, arXiv 2309.00071, eq. 22; with mscale: DeepSeek's `yarn_get_mscale`. Chapter 16.
    Plain form: `plain.yarn_mscale`.
    """
    return plain.yarn_mscale(factor, mscale)
