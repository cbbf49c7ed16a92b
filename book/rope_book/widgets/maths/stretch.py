"""Apply context-extension rules by name, and compute the trend of the score."""

import math

import numpy as np

from rope_edu.encodings import (
    RopeSpec,
    abf,
    llama3,
    ntk_aware,
    ntk_by_parts,
    plain_rope,
    position_interpolation,
    yarn,
)

RULES = {
    "rope": "no rule",
    "pi": "PI",
    "abf": "ABF",
    "ntk-aware": "NTK-aware",
    "ntk-by-parts": "by parts",
    "yarn": "YaRN",
    "llama3": "Llama 3",
}


def stretched(
    rule: str, head_dim: int, base: float, trained: int, wanted: float, abf_base: float = 500_000.0
) -> RopeSpec:
    """Return the rotation of a head whose context a rule stretches to `wanted` tokens, with published thresholds.

    >>> stretched("pi", 4, 10_000.0, 4096, 8192).inv_freq.tolist()
    [0.5, 0.005]

    Chapter 15.
    """
    s = max(1.0, wanted / trained)
    rules = {
        "rope": lambda: plain_rope(head_dim, base),
        "pi": lambda: position_interpolation(head_dim, s, base=base),
        "abf": lambda: abf(head_dim, abf_base),
        "ntk-aware": lambda: ntk_aware(head_dim, s, base=base),
        "ntk-by-parts": lambda: ntk_by_parts(head_dim, s, trained, base=base),
        "yarn": lambda: yarn(head_dim, s, trained, base=base),
        "llama3": lambda: llama3(head_dim, s, trained, base=base),
    }
    return rules[rule]()


def score_trend(inv_freq: np.ndarray, attention_factor: float, distance: float, spread: float) -> float:
    """Return the score of equal vectors, averaged over `distance` · (1 ± `spread`), relative to plain RoPE at 0.

        a²/pairs · Σ_i cos(r θ_i) sinc(spread · r θ_i),   sinc x = sin(x)/x

    With `spread` = 0, the result is the score at `distance` itself.

    >>> round(score_trend(np.array([math.pi]), 1.0, 1.0, 0.0), 6)
    -1.0

    Chapter 15.
    """
    angles = distance * np.asarray(inv_freq)
    return float(attention_factor**2 * np.mean(np.cos(angles) * np.sinc(spread * angles / math.pi)))
