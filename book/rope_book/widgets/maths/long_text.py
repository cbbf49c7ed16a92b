r"""Choose the rotation for a trained model on texts beyond its trained length, and summarise its answers.

This is the Python counterpart of `js/maths/long_text.js`; `rope_book.training.restore.restore` returns the model
itself.
"""

import math

import numpy as np

from rope_edu.encodings import (
    RopeSpec,
    dynamic_ntk,
    llama3,
    ntk_aware,
    plain_rope,
    position_interpolation,
    yarn,
)
from rope_edu.encodings.scaling import ntk_by_parts

SETTINGS = {
    "times": 8,
    "factor": 8.0,
    "ramp_from": 0.5,
    "ramp_to": 2.0,
    "base": 10_000.0,
    "attention_factor": 1.0,
    "first_pair": 1,
    "last_pair": 16,
}


def page_rope(rule: str, length: int, head_dim: int, trained_base: float, **settings: float) -> RopeSpec:
    r"""Return the rotation for the figure's settings.

    Args:
        rule: none, pi, ntk-aware, dynamic-ntk, by-parts, yarn, llama3 or abf.
        length: trained length in tokens.
        head_dim, trained_base: the model's head width and base.
        settings: as in `SETTINGS`; pairs count from 1, and those outside first_pair … last_pair do not turn.
            Dynamic NTK stretches by `times`, and ABF uses `base`. YaRN uses the paper's ramp and multiplies its own
            attention factor by the given one.

    Returns:
        A RopeSpec in the half_split layout.

    Raises:
        KeyError: the rule is unknown.

    >>> page_rope("pi", 32, 4, 10_000.0, factor=8.0, last_pair=1).inv_freq.tolist()
    [0.125, 0.0]
    """
    options, base = SETTINGS | settings, trained_base
    factor, ramp = options["factor"], {"beta_slow": options["ramp_from"], "beta_fast": options["ramp_to"]}
    levels = {"low_freq_factor": options["ramp_from"], "high_freq_factor": options["ramp_to"]}
    spec = {
        "none": lambda: plain_rope(head_dim, base),
        "pi": lambda: position_interpolation(head_dim, factor, base=base),
        "ntk-aware": lambda: ntk_aware(head_dim, factor, base=base),
        "dynamic-ntk": lambda: dynamic_ntk(head_dim, length, length=options["times"] * length, base=base),
        "by-parts": lambda: ntk_by_parts(head_dim, factor, length, base=base, **ramp),
        "yarn": lambda: yarn(head_dim, factor, length, base=base, ramp="turns", **ramp),
        "llama3": lambda: llama3(head_dim, factor, length, base=base, **levels),
        "abf": lambda: plain_rope(head_dim, options["base"]),
    }[rule]()
    pair = np.arange(1, len(spec.inv_freq) + 1)
    turning = (options["first_pair"] <= pair) & (pair <= options["last_pair"])
    return RopeSpec(
        np.where(turning, spec.inv_freq, 0.0),
        spec.attention_factor * options["attention_factor"],
        "half_split",
        kind=spec.kind,
    )


def turns_within(inv_freq: np.ndarray, places: int) -> np.ndarray:
    r"""Return the number of turns that each pair makes within `places` positions, capped at one.

    >>> turns_within(np.array([1.0, 0.001]), 101).round(4).tolist()
    [1.0, 0.0159]
    """
    return np.minimum(1.0, np.asarray(inv_freq) * (places - 1) / (2 * math.pi))


def bin_size(length: int, times: int) -> int:
    r"""Return the number of positions per bar: an eighth of the trained length, doubled until at most 17 bars
    remain.

    >>> [bin_size(32, times) for times in (1, 2, 4, 8, 16)]
    [4, 4, 8, 16, 32]
    """
    size = length // 8
    while times * length / size > 16:
        size *= 2
    return size


def means(rows: np.ndarray, size: int) -> list[float]:
    r"""Return the mean of each block of `size` columns over all rows, ignoring NaN, or NaN if all values are NaN.

    >>> means(np.array([[1.0, 0.0, np.nan], [1.0, 1.0, np.nan]]), 2)
    [0.75, nan]
    """
    parts = [rows[:, start : start + size] for start in range(0, rows.shape[1], size)]
    return [float(np.nanmean(part)) if np.isfinite(part).any() else math.nan for part in parts]


def loss_of(logits: np.ndarray, answer: int) -> float:
    r"""Return −log softmax at the answer, in nats."""
    top = logits.max()
    return float(np.log(np.exp(logits - top).sum()) + top - logits[answer])


def pooled(weights: np.ndarray, size: int) -> np.ndarray:
    r"""Return the largest weight in each block of `size` queries and `size` keys.

    >>> pooled(np.array([[1.0, 0.0, 0.0], [0.25, 0.75, 0.0], [0.2, 0.2, 0.6]]), 2).tolist()
    [[1.0, 0.0], [0.2, 0.6]]
    """
    cells = math.ceil(len(weights) / size)
    blocks = np.zeros((cells * size, cells * size))
    blocks[: len(weights), : len(weights)] = weights
    return blocks.reshape(cells, size, cells, size).max(axis=(1, 3))
