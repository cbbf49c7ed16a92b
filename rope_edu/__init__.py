"""Positional encodings step by step: the reference library of the book *RoPE, Turn by Turn*.

plain/       every encoding, rule and attention as a function of at most ten lines, without checks: begin here
arrays.py    the types of arrays, of any library that follows the array API standard
encodings/   the same formulas for any array, with checks
fast/        the same rotation at the speed of copying
attention/   queries and keys combined: softmax attention, four doors for position, heads, a cache
nn/          PyTorch: a drop-in rotary embedding, and the encodings as modules

The names here are those that a reader of the book needs; import all others from their subpackages. The library
needs NumPy and array-api-compat; `rope_edu.nn` imports torch, and `rope_edu.fast` numba, at its first rotation.
"""

from rope_edu import attention, encodings, fast, plain
from rope_edu.attention import KVCache, Rotary, causal_mask, multi_head_attention, softmax
from rope_edu.encodings import (
    RopeSpec,
    alibi_bias,
    alibi_slopes,
    apply_rope,
    dynamic_ntk,
    inv_freq,
    llama3,
    longrope,
    ntk_aware,
    p_rope,
    partial_rope,
    plain_rope,
    position_interpolation,
    rope_angles,
    sinusoidal,
    t5_bucket,
    wavelength,
    yarn,
)

__version__ = "0.1.0"
__all__ = [
    "KVCache",
    "RopeSpec",
    "Rotary",
    "__version__",
    "alibi_bias",
    "alibi_slopes",
    "apply_rope",
    "attention",
    "causal_mask",
    "dynamic_ntk",
    "encodings",
    "fast",
    "inv_freq",
    "llama3",
    "longrope",
    "multi_head_attention",
    "ntk_aware",
    "p_rope",
    "partial_rope",
    "plain",
    "plain_rope",
    "position_interpolation",
    "rope_angles",
    "sinusoidal",
    "softmax",
    "t5_bucket",
    "wavelength",
    "yarn",
]
