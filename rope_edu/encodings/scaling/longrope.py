r"""LongRoPE: a divisor for each pair, found by search and listed in the model's config."""

import math

import numpy as np

from rope_edu.arrays import ArrayLike
from rope_edu.encodings.scaling.by_parts import check_stretch
from rope_edu.encodings.spec import RopeSpec, start_frequencies
from rope_edu.encodings.validation import as_real, check_positive_int, check_positive_number


def longrope(
    head_dim: int,
    factor: float,
    trained_length: int,
    *,
    length: int,
    short_factor: ArrayLike,
    long_factor: ArrayLike,
    attention_factor: float | None = None,
    base: float = 10_000.0,
    rotary_dim: int | None = None,
    layout: str = "interleaved",
) -> RopeSpec:
    r"""LongRoPE: each frequency divided by its entry of a list, one for short texts and one for long.

        θ′_i = θ_i / κ_i,   κ = short if length ≤ L, else long,   a = √(1 + ln s / ln L)

    The change of list makes all cached keys wrong: transformers' Phi-3 then discards the cache and reads the text
    again. ValueError for an argument out of its range, or as for `plain_rope`.

    Args:
        factor: s, the model's stretch, at least 1; max_position_embeddings over L in Phi-3.
        trained_length: L, tokens, at least 2; `original_max_position_embeddings`.
        length: present tokens of the text, at least 1.
        short_factor, long_factor: the lists, one number above 0 for each pair.
        attention_factor: a itself, above 0, if the config states it.

    >>> lists = {"short_factor": [1.0, 1.0], "long_factor": [1.0, 20.0]}
    >>> [longrope(4, 32, 4096, length=n, **lists).inv_freq.tolist() for n in (4096, 4097)]
    [[1.0, 0.01], [1.0, 0.0005]]
    >>> round(longrope(4, 32, 4096, length=1, **lists).attention_factor, 4)  # Phi-3-mini, 4k to 128k
    1.1902

    Source: Ding 2024, arXiv 2402.13753; Phi-3's code, as in transformers' rope type "longrope". Chapter 16.
    Plain form: `rope_edu.plain.longrope`.
    """
    factor, trained_length = check_stretch(factor, trained_length)
    frequencies = start_frequencies(head_dim, base, rotary_dim)
    short = _check_divisors("short_factor", short_factor, len(frequencies))
    long = _check_divisors("long_factor", long_factor, len(frequencies))
    divisors = long if check_positive_int("length", length) > trained_length else short
    if attention_factor is None:
        if trained_length == 1:
            raise ValueError("trained_length must be at least 2: the rule divides by its logarithm; got 1")
        attention_factor = math.sqrt(1 + math.log(factor) / math.log(trained_length))
    return RopeSpec(frequencies / divisors, attention_factor, layout, head_dim, "longrope")


def _check_divisors(name: str, values: ArrayLike, pairs: int) -> np.ndarray:
    """A list of a config as float64 `(pairs,)`."""
    values = np.array(as_real(name, values).tolist(), dtype=np.float64)
    if values.shape != (pairs,):
        raise ValueError(f"{name} must list one number a pair, ({pairs},), got shape {values.shape}")
    for value in values.tolist():
        check_positive_number(f"each of {name}", value)
    return values
