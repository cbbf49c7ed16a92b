"""Rules for texts longer than any in training: frequencies, (pairs,), for a stretch s = L′/L (`factor`).

YaRN and LongRoPE return an attention factor a as well, by which the rotated q and k are multiplied.
"""

import math

import numpy as np
from numpy import ndarray

from rope_edu.plain.frequencies import inv_freq


def position_interpolation(head_dim: int, factor: float, base: float = 10_000.0) -> ndarray:
    """θ′_i = θ_i/s: position m gets the angles of m/s (PI; Chen 2023, §2.3)."""
    return inv_freq(head_dim, base) / factor


def abf(head_dim: int, base: float = 500_000.0) -> ndarray:
    """θ′_i = b′^(−2i/d): adjusted base frequency, a larger base b′, then more training (Xiong 2023, §2.1)."""
    return inv_freq(head_dim, base)


def ntk_aware(head_dim: int, factor: float, base: float = 10_000.0) -> ndarray:
    """b′ = b s^(d/(d−2)): θ_0 stays, the last θ becomes θ/s (YaRN, definition 1)."""
    return inv_freq(head_dim, base * factor ** (head_dim / (head_dim - 2)))


def dynamic_ntk(
    head_dim: int, length: int, trained_length: int, factor: float = 1.0, base: float = 10_000.0
) -> ndarray:
    """NTK-aware with s = f max(l, L)/L − (f − 1), l the text's length now, f = factor (transformers)."""
    stretch = factor * max(length, trained_length) / trained_length - (factor - 1)
    return ntk_aware(head_dim, stretch, base)


def blend(inv_freq: ndarray, factor: float, kept: ndarray) -> ndarray:
    """θ′ = (1 − γ) θ/s + γ θ: γ = 1 keeps a pair, γ = 0 interpolates it."""
    return (1 - kept) * inv_freq / factor + kept * inv_freq


def ntk_by_parts(
    head_dim: int, factor: float, trained_length: int, base: float = 10_000.0, slow: int = 1, fast: int = 32
) -> ndarray:
    """γ = clip((r − α)/(β − α), 0, 1), r = L θ/(2π) turns; α, β are slow, fast (YaRN, definition 2)."""
    frequencies = inv_freq(head_dim, base)
    turns = trained_length * frequencies / (2 * math.pi)  # r for each pair, within L tokens
    kept = np.clip((turns - slow) / (fast - slow), 0, 1)
    return blend(frequencies, factor, kept)


def llama3(head_dim: int, factor: float, trained_length: int = 8192, base: float = 500_000.0) -> ndarray:
    """NTK by parts, α = low_freq_factor = 1 turn, β = high_freq_factor = 4 turns (Llama 3.1)."""
    return ntk_by_parts(head_dim, factor, trained_length, base, slow=1, fast=4)


def kept_by_index(head_dim: int, trained_length: int, base: float = 10_000.0) -> ndarray:
    """γ falls from 1 to 0 over ⌊c(32)⌋ … ⌈c(1)⌉, c(n) = d ln(L/(2πn))/(2 ln b) (YaRN's code)."""
    c = [head_dim * math.log(trained_length / (2 * math.pi * n)) / (2 * math.log(base)) for n in (32, 1)]
    # c[0], c[1]: the pairs that make 32 turns and 1 turn within L tokens
    low, high = max(math.floor(c[0]), 0), min(math.ceil(c[1]), head_dim - 1)
    return 1 - np.clip((np.arange(head_dim // 2) - low) / max(high - low, 0.001), 0, 1)


def yarn(head_dim: int, factor: float, trained_length: int, base: float = 10_000.0) -> tuple[ndarray, float]:
    """θ′ blended by kept_by_index, linear in i and not in turns, and a = 0.1 ln s + 1 (Peng 2023, §3.4; code)."""
    kept = kept_by_index(head_dim, trained_length, base)
    return blend(inv_freq(head_dim, base), factor, kept), 0.1 * math.log(factor) + 1


def longrope(
    head_dim: int, factor: float, trained_length: int, length: int, short: ndarray, long: ndarray
) -> tuple[ndarray, float]:
    """θ′_i = θ_i/κ_i, κ found by search, and a = √(1 + ln s/ln L) (Ding 2024)."""
    divisors = long if length > trained_length else short  # κ: the model's config has both lists
    attention_factor = math.sqrt(1 + math.log(factor) / math.log(trained_length))
    return inv_freq(head_dim) / divisors, attention_factor
