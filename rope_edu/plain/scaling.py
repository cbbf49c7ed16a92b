"""Rules for texts longer than those in training: frequencies, (pairs,), for a stretch s = L′/L (`factor`).

YaRN and LongRoPE also return an attention factor a, which multiplies the rotated q and k.
"""

import math

import numpy as np
from numpy import ndarray

from rope_edu.plain.frequencies import inv_freq


def position_interpolation(head_dim: int, factor: float, base: float = 10_000.0) -> ndarray:
    """PI: position interpolation. θ′_i = θ_i/s, so position m rotates as position m/s did (Chen 2023, §2.3)."""
    return inv_freq(head_dim, base) / factor


def abf(head_dim: int, base: float = 500_000.0) -> ndarray:
    """ABF: adjusted base frequency. θ′_i = b′^(−2i/d) for a larger b′, then more training (Xiong 2023, §2.1)."""
    return inv_freq(head_dim, base)


def ntk_aware(head_dim: int, factor: float, base: float = 10_000.0) -> ndarray:
    """NTK: neural tangent kernel. b′ = b s^(d/(d−2)): θ_0 stays, the last θ becomes θ/s (YaRN, definition 1)."""
    return inv_freq(head_dim, base * factor ** (head_dim / (head_dim - 2)))


def dynamic_ntk(
    head_dim: int, trained_length: int, length: int, factor: float = 1.0, base: float = 10_000.0
) -> ndarray:
    """NTK-aware with s = f max(l, L)/L − (f − 1), where l is the current length and f the factor (transformers)."""
    stretch = factor * max(length, trained_length) / trained_length - (factor - 1)
    return ntk_aware(head_dim, stretch, base)


def blend(inv_freq: ndarray, factor: float, kept: ndarray) -> ndarray:
    """θ′ = (1 − γ) θ/s + γ θ: γ = 1 keeps a pair, γ = 0 interpolates it."""
    return (1 - kept) * inv_freq / factor + kept * inv_freq


def kept_by_turns(inv_freq: ndarray, trained_length: int, slow: float, fast: float) -> ndarray:
    """γ = 1 − clip((β − r)/(β − α), 0, 1), r = L θ/(2π) turns in L tokens, α = slow, β = fast (YaRN, §3.2)."""
    turns = trained_length * inv_freq / (2 * math.pi)  # r of each pair
    return 1 - np.clip((fast - turns) / (fast - slow or 1e-100), 0, 1)  # a step if fast == slow, not 0/0


def ntk_by_parts(
    head_dim: int,
    factor: float,
    trained_length: int,
    base: float = 10_000.0,
    slow: float = 1,
    fast: float = 32,
) -> ndarray:
    """Pairs with at most α = slow turns are interpolated; those with at least β = fast are kept (YaRN, def. 2)."""
    frequencies = inv_freq(head_dim, base)
    kept = kept_by_turns(frequencies, trained_length, slow, fast)
    return blend(frequencies, factor, kept)


def llama3(head_dim: int, factor: float, trained_length: int = 8192, base: float = 500_000.0) -> ndarray:
    """NTK by parts with α = low_freq_factor = 1 turn and β = high_freq_factor = 4 turns (Llama 3.1)."""
    return ntk_by_parts(head_dim, factor, trained_length, base, slow=1, fast=4)


def ramp_ends(
    head_dim: int, trained_length: int, base: float, slow: float = 1, fast: float = 32, truncate: bool = True
) -> tuple[float, float]:
    """⌊c(β)⌋ and ⌈c(α)⌉, where pair c(n) = d ln(L/(2πn))/(2 ln b) makes n turns in L tokens (YaRN's code)."""
    low, high = (
        head_dim * math.log(trained_length / (2 * math.pi * n)) / (2 * math.log(base)) for n in (fast, slow)
    )
    if truncate:
        low, high = math.floor(low), math.ceil(high)
    return max(low, 0), min(high, head_dim - 1)  # as YaRN does, although the last pair is head_dim / 2 − 1


def kept_by_index(head_dim: int, low: float, high: float) -> ndarray:
    """γ falls linearly from 1 at pair low to 0 at pair high; in the paper, it is linear in turns (YaRN's code)."""
    return 1 - np.clip(
        (np.arange(head_dim // 2) - low) / (high - low or 0.001), 0, 1
    )  # YaRN's code avoids 0/0 in the same way


def yarn_mscale(factor: float, mscale: float = 1.0) -> float:
    """0.1 mscale ln s + 1 (Peng 2023, eq. 22; mscale: DeepSeek)."""
    return 0.1 * mscale * math.log(factor) + 1


def yarn(head_dim: int, factor: float, trained_length: int, base: float = 10_000.0) -> tuple[ndarray, float]:
    """θ′ blended by kept_by_index, and a = 0.1 ln s + 1 (Peng 2023, §3.4, and its code)."""
    kept = kept_by_index(head_dim, *ramp_ends(head_dim, trained_length, base))
    return blend(inv_freq(head_dim, base), factor, kept), yarn_mscale(factor)


def longrope(
    head_dim: int,
    factor: float,
    trained_length: int,
    length: int,
    short: ndarray,
    long: ndarray,
    base: float = 10_000.0,
) -> tuple[ndarray, float]:
    """θ′_i = θ_i/κ_i, with κ from a search, and a = √(1 + ln s/ln L) (Ding 2024)."""
    divisors = long if length > trained_length else short  # κ; both lists are in the model's config
    attention_factor = math.sqrt(1 + math.log(factor) / math.log(trained_length))
    return inv_freq(head_dim, base) / divisors, attention_factor
