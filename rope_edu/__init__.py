"""Positional encodings step by step: the library of the book *RoPE, Turn by Turn*.

Begin with `rope_edu.plain`: the whole subject as functions of at most ten lines, to be read from top to bottom. The
names here are those that a reader of the book needs; others are imported from their packages: `rope_edu.encodings`,
`rope_edu.attention`, `rope_edu.config`, `rope_edu.clinic`, `rope_edu.fast`. These need NumPy and array-api-compat;
torch, matplotlib and ipywidgets are imported by the packages that use them, not here.
"""

from rope_edu import attention, clinic, encodings, fast, plain
from rope_edu.attention import KVCache, Rotary, causal_mask, multi_head_attention, softmax
from rope_edu.config import rope_from_config
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
    "clinic",
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
    "rope_from_config",
    "sinusoidal",
    "softmax",
    "t5_bucket",
    "wavelength",
    "yarn",
]
