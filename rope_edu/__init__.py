"""Positional encodings step by step: the reference library of the book *RoPE, Turn by Turn*.

plain/       all encodings, rules and attention as functions of at most ten lines, without checks: start here
arrays.py    array types for any library that follows the array API standard
encodings/   the same formulas with input checks, for any array type
fast/        the same rotation, about as fast as copying memory
attention/   softmax attention, four doors for position, multiple heads, a KV cache
nn/          PyTorch modules: a drop-in rotary embedding, and the encodings

This package exports the names that readers of the book need; import the others from the subpackages. The library
requires NumPy and array-api-compat. `rope_edu.nn` imports torch, and `rope_edu.fast` imports numba on first use.
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
