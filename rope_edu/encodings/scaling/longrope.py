r"""LongRoPE: one divisor per pair, found by a search and listed in the model's config."""

import numpy as np

from rope_edu import plain
from rope_edu.arrays import ArrayLike
from rope_edu.encodings.spec import RopeSpec
from rope_edu.encodings.validation import (
    AtLeastOne,
    Base,
    Count,
    EvenDim,
    Positive,
    as_real,
    check_positive_number,
    checked,
)


@checked
def longrope(
    head_dim: EvenDim,
    factor: AtLeastOne,
    trained_length: Count,
    *,
    length: Count,
    short_factor: ArrayLike,
    long_factor: ArrayLike,
    attention_factor: Positive | None = None,
    base: Base = 10_000.0,
) -> RopeSpec:
    r"""Return the spec for LongRoPE, which has one list of divisors for short texts and one for long texts.

        θ′_i = θ_i / κ_i,   κ = short if length ≤ L, else long,   a = √(1 + ln s / ln L)

    Switching to the other list invalidates all cached keys; transformers' Phi-3 then discards its cache and
    processes the text again. ValueError if an argument is out of range, or as for `plain_rope`.

    Args:
        factor: s, the model's stretch, at least 1; max_position_embeddings divided by L in Phi-3.
        trained_length: L, tokens, at least 2 unless `attention_factor` is given.
        length: the text's current length in tokens, at least 1.
        short_factor, long_factor: the two lists, one number above 0 per pair.
        attention_factor: a itself, above 0, if the config specifies it.

    >>> lists = {"short_factor": [1.0, 1.0], "long_factor": [1.0, 20.0]}
    >>> [longrope(4, 32, 4096, length=n, **lists).inv_freq.tolist() for n in (4096, 4097)]
    [[1.0, 0.01], [1.0, 0.0005]]
    >>> round(longrope(4, 32, 4096, length=1, **lists).attention_factor, 4)  # Phi-3-mini, 4k to 128k
    1.1902

    Source: Ding 2024, arXiv 2402.13753; Phi-3's code, as in transformers' rope type "longrope". Chapter 16.
    Plain form: `plain.longrope`.
    """
    short = _check_divisors("short_factor", short_factor, head_dim // 2)
    long = _check_divisors("long_factor", long_factor, head_dim // 2)
    if attention_factor is not None:
        frequencies = plain.inv_freq(head_dim, base) / (long if length > trained_length else short)
    elif trained_length > 1:
        frequencies, attention_factor = plain.longrope(
            head_dim, factor, trained_length, length, short, long, base
        )
    else:
        raise ValueError("trained_length must be at least 2: the rule divides by its logarithm; got 1")
    return RopeSpec(frequencies, attention_factor, kind="longrope", base=base)


def _check_divisors(name: str, values: ArrayLike, pairs: int) -> np.ndarray:
    """Return a list of divisors as float64 `(pairs,)`."""
    values = np.array(as_real(name, values).tolist(), dtype=np.float64)
    if values.shape != (pairs,):
        raise ValueError(f"{name} must list one number per pair, ({pairs},), got shape {values.shape}")
    for value in values.tolist():
        check_positive_number(f"each of {name}", value)
    return values
