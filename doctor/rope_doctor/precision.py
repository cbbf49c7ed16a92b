r"""Measure the errors of angles computed at low precision, with NumPy in float64."""

from dataclasses import dataclass, field, fields

import numpy as np

from rope_edu.arrays import ArrayLike
from rope_edu.encodings.frequencies import rope_angles
from rope_edu.encodings.validation import as_finite, as_real, check_one_of, check_whole_number

__all__ = ["NUMBER_FORMATS", "PIPELINES", "Pipeline", "angle_error", "pipeline_cos_sin", "round_to"]

SIGNIFICAND_BITS = {"float64": 53, "float32": 24, "bfloat16": 8, "float16": 11}
NUMBER_FORMATS = tuple(SIGNIFICAND_BITS)


@dataclass(frozen=True)
class Pipeline:
    r"""The number format of each step from positions to cosines and sines.

        φ = round(round(m) · round(θ)),   ĉ = round(cos φ),   ŝ = round(sin φ)

    `frequencies` is the format of θ, `positions` of m, `angles` of their product, and `cos_sin` of ĉ and ŝ;
    ValueError unless each is "float64", "float32", "bfloat16" or "float16". `note`, a sentence on where this occurs
    in practice, is ignored in comparisons.

    >>> Pipeline(positions="bfloat16") == PIPELINES["positions in bfloat16"]
    True

    Source: Wang et al. 2024, "When Precision Meets Position", arXiv 2411.13476. Chapter A1.
    """

    frequencies: str = "float32"
    positions: str = "float32"
    angles: str = "float32"
    cos_sin: str = "float32"
    note: str = field(default="", compare=False, kw_only=True)

    def __post_init__(self) -> None:
        for step in fields(self)[:4]:
            check_one_of(step.name, getattr(self, step.name), NUMBER_FORMATS)


PIPELINES = {
    "ours": Pipeline(
        *("float64", "float64", "float64", "float32"),
        note="Angles in float64, cos and sin rounded once to float32.",
    ),
    "float32": Pipeline(note="float32 throughout, as in transformers, Meta's code and torchtune."),
    "frequencies in bfloat16": Pipeline(
        frequencies="bfloat16",
        note="module.to(bfloat16) reached inv_freq: wrong clocks, but the same wrong clocks everywhere.",
    ),
    "positions in bfloat16": Pipeline(
        positions="bfloat16",
        note="A bfloat16 input made the positions: beyond 256 neighbours share one.",
    ),
    "float16": Pipeline(
        *("float16",) * 4,
        note="float16 throughout: beyond 2,048 neighbours share a position, and 65,520 is already infinite.",
    ),
    "cos and sin in bfloat16": Pipeline(
        *("float64", "float64", "float64", "bfloat16"),
        note="Exact angles, cos and sin rounded to bfloat16: a small error, the same at every position.",
    ),
}


def round_to(x: ArrayLike, number_format: str) -> np.ndarray:
    r"""Round numbers to a format, half to even, and return them as float64 in the shape of `x`.

        bits of the significand:   float64 53,   float32 24,   float16 11,   bfloat16 8
        largest finite number:     1.8e308,      3.4e38,       65,504,       3.4e38

    Overflow gives infinity and underflow 0, as in the format; infinity and NaN are unchanged. bfloat16 and float16
    are rounded via float32, as in torch, so a number very close to a tie may be rounded like the tie. ValueError if
    the numbers are not real or the format is not one of these.

    >>> round_to([256, 257, 258, 259], "bfloat16").tolist()  # 8 bits: steps of 2; ties go to 256 and 260
    [256.0, 256.0, 258.0, 260.0]
    >>> round_to([2049, 65_519, 65_520], "float16").tolist()  # 11 bits: steps of 2, at the end of 32
    [2048.0, 65504.0, inf]

    Source: IEEE 754-2019, §4.3.1; arXiv 2411.13476, §2. Chapter A1.
    """
    check_one_of("number_format", number_format, NUMBER_FORMATS)
    x = np.asarray(as_real("x", x))
    if number_format == "float64":
        return x.copy()
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        single = x.astype(np.float32)
        rounded = _to_bfloat16(single) if number_format == "bfloat16" else single.astype(number_format)
    return rounded.astype(np.float64)


def pipeline_cos_sin(positions: ArrayLike, inv_freq: ArrayLike, pipeline: Pipeline) -> np.ndarray:
    r"""Return the cosines and sines that a pipeline computes, ĉ + iŝ: complex128 `(…, seq, pairs)`.

        ĉ + iŝ = round(cos φ) + i round(sin φ),   φ = round(round(m) · round(θ))

    Cosine and sine are computed in float64 and then rounded, so |ĉ + iŝ| is not exactly 1, and the last bit may
    differ from that of a cosine computed in float32. The result is NaN where the angle is infinite or 0 · ∞.
    Arguments and errors are like those of `rope_angles`.

    >>> from math import pi
    >>> coarse = Pipeline(positions="bfloat16")
    >>> pipeline_cos_sin([256, 257], [pi / 2], coarse).round(3).tolist()  # 64 turns; 257 becomes 256, so not i
    [[(1+0j)], [(1+0j)]]

    Source: arXiv 2411.13476, §2–3. Chapter A1.
    """
    rope_angles(positions, inv_freq)  # validates the arguments
    frequencies = round_to(inv_freq, pipeline.frequencies)
    rounded = round_to(positions, pipeline.positions)
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        angles = round_to(rounded[..., None] * frequencies, pipeline.angles)  # (…, seq, pairs)
        cos_sin = np.empty(angles.shape, np.complex128)
        cos_sin.real = round_to(np.cos(angles), pipeline.cos_sin)
        cos_sin.imag = round_to(np.sin(angles), pipeline.cos_sin)
    return cos_sin


def angle_error(
    positions: ArrayLike, inv_freq: ArrayLike, pipeline: Pipeline, *, step: int = 0
) -> np.ndarray:
    r"""Return the errors of a pipeline's angles, in radians from 0 to π: float64 `(…, seq, pairs)`.

        step 0:      |arg((ĉ + iŝ)_m · e^{−imθ})|
        step k > 0:  |arg((ĉ + iŝ)_m · conj (ĉ + iŝ)_{m−k} · e^{−ikθ})|

    The first is the error in an angle, and the second is the error in the rotation between tokens k apart. Scores
    depend only on the second. With frequencies in bfloat16, the second is the same at every m, so scores stay
    relative. With positions in bfloat16, which collide, it depends on m. Random angles have a mean error of π/2.
    The reference is m · θ in float64, which is off by m · θ · 10⁻¹⁶; θ is assumed to be exact. ValueError as for
    `rope_angles`, or if `step`, k in tokens, is not a whole number ≥ 0.

    >>> coarse = Pipeline(positions="bfloat16")
    >>> angle_error([256, 257], [1.0], coarse).round(3).tolist()  # 257 becomes 256: one token, 1 rad
    [[0.0], [1.0]]
    >>> angle_error([257, 258], [1.0], coarse, step=1).round(3).tolist()  # 0 tokens further, then 2, never 1
    [[1.0], [1.0]]

    Source: arXiv 2411.13476, §3. Chapter A1.
    """
    step = check_whole_number("step", step)
    actual = pipeline_cos_sin(positions, inv_freq, pipeline)
    if step:
        actual *= pipeline_cos_sin(as_finite("positions", positions) - step, inv_freq, pipeline).conj()
    angles = np.asarray(rope_angles(step or positions, inv_freq))
    cos, sin = np.cos(angles), np.sin(angles)  # real arithmetic, so that equal angles differ by exactly 0
    return np.abs(np.arctan2(actual.imag * cos - actual.real * sin, actual.real * cos + actual.imag * sin))


def _to_bfloat16(single: np.ndarray) -> np.ndarray:
    """Round float32 to its upper 16 bits, ties to even: add 0x7FFF plus the lowest kept bit, then truncate."""
    bits = single.view(np.uint32)
    half = 0x7FFF + ((bits >> 16) & 1)
    rounded = ((bits + half) & 0xFFFF0000).astype(np.uint32).view(np.float32)
    return np.where(np.isnan(single), single, rounded)
