r"""PI divides all frequencies by one number; ABF and NTK use a larger base, which slows the slow pairs most."""

from rope_edu import plain
from rope_edu.encodings.spec import RopeSpec
from rope_edu.encodings.validation import AtLeastOne, Base, Count, EvenDim, checked


@checked
def position_interpolation(head_dim: EvenDim, factor: AtLeastOne, *, base: Base = 10_000.0) -> RopeSpec:
    r"""Return the spec for PI (position interpolation), which divides every frequency by the stretch: kind "pi".

        θ′_i = θ_i / s,   so position m is rotated as position m/s was in training

    All angles stay within the trained range. The price is that neighbouring angles are s times closer together,
    even in the fastest pair, so the model needs fine-tuning. ValueError if `factor`, s, is below 1 or not finite,
    or as for `plain_rope`.

    >>> position_interpolation(4, 8).inv_freq.tolist()
    [0.125, 0.00125]

    Source: Chen 2023, arXiv 2306.15595, §2.3; transformers' rope type "linear". Chapter 15.
    Plain form: `plain.position_interpolation`.
    """
    return RopeSpec(plain.position_interpolation(head_dim, factor, base), kind="pi", base=base)


@checked
def abf(head_dim: EvenDim, base: Base = 500_000.0) -> RopeSpec:
    r"""Return the spec for ABF (adjusted base frequency), a larger base with further training: kind "abf".

        θ′_i = base^(−2i / d)

    The base is 500,000 in Xiong et al. and Llama 3, and 1,000,000 in Code Llama. Errors are as for `plain_rope`.

    >>> abf(4, 1_000_000)
    <RopeSpec "abf": 2 pairs, 1 … 0.001 rad/token, interleaved>

    Source: Xiong 2023, arXiv 2309.16039, §2.1; Code Llama, arXiv 2308.12950, §2.4. Chapter 15.
    Plain form: `plain.abf`.
    """
    return RopeSpec(plain.abf(head_dim, base), kind="abf", base=base)


@checked
def ntk_aware(head_dim: EvenDim, factor: AtLeastOne, *, base: Base = 10_000.0) -> RopeSpec:
    r"""Return the spec for NTK-aware scaling (neural tangent kernel): θ_0 is unchanged, and the last θ becomes θ/s.

        b′ = b · s^(d/(d−2)),   that is θ′_i = θ_i · s^(−2i/(d−2))

    The spec's kind is "ntk-aware". ValueError if fewer than 4 features rotate, or as for `position_interpolation`.

    >>> ntk_aware(4, 8)  # 1/1 and 0.01/8
    <RopeSpec "ntk-aware": 2 pairs, 1 … 0.00125 rad/token, interleaved>

    Source: u/bloc97 2023, as given in YaRN, arXiv 2309.00071, §3.1 (definition 1). Chapter 15.
    Plain form: `plain.ntk_aware`.
    """
    return RopeSpec(plain.ntk_aware(_check_two_pairs(head_dim), factor, base), kind="ntk-aware", base=base)


@checked
def dynamic_ntk(
    head_dim: EvenDim,
    trained_length: Count,
    *,
    length: Count,
    factor: AtLeastOne = 1.0,
    base: Base = 10_000.0,
) -> RopeSpec:
    r"""Return the spec for dynamic NTK, whose stretch depends on the length of the text: kind "dynamic-ntk".

        s = f·l/L − (f − 1),   l = max(length, L),   then as in `ntk_aware`

    `length` is the current length of the text in tokens. f is `factor`: with f = 1 the stretch is l/L, and a larger
    f stretches more. Up to the trained length L, the frequencies are those of plain RoPE. Beyond L, all of them
    except the first change with the length, so a key cached at one length is wrong at the next. The spec depends
    only on its arguments, not on earlier, longer texts. ValueError if a length is not a whole number ≥ 1, or as for
    `ntk_aware`.

    >>> dynamic_ntk(4, 100, length=200).inv_freq.tolist()  # twice the length: the last pair at half its 0.01
    [1.0, 0.005]

    Source: transformers' rope type "dynamic"; YaRN, arXiv 2309.00071, §3.3. Chapter 15.
    Plain form: `plain.dynamic_ntk`.
    """
    frequencies = plain.dynamic_ntk(_check_two_pairs(head_dim), trained_length, length, factor, base)
    return RopeSpec(frequencies, kind="dynamic-ntk", base=base)


def _check_two_pairs(head_dim: int) -> int:
    if head_dim < 4:
        raise ValueError(f"head_dim must be at least 4: the rule divides by d − 2; got {head_dim}")
    return head_dim
