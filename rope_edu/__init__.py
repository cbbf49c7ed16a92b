"""Positional encodings step by step: the library of the book *RoPE, Turn by Turn*.

Needs NumPy only; torch, matplotlib and ipywidgets are imported by the rooms that use them, not here.
The function `attention` is `rope_edu.attention.attention`: the package keeps the name.
"""

from rope_edu import encodings
from rope_edu.attention import (
    Additive,
    DynamicRotary,
    KVCache,
    LinearState,
    NoPosition,
    PositionEncoding,
    Rotary,
    ScoreBias,
    XPos,
    attention_scores,
    causal_mask,
    elu_plus_one,
    linear_attention,
    linear_attention_step,
    merge_heads,
    multi_head_attention,
    softmax,
    split_heads,
)
from rope_edu.encodings import *  # noqa: F403  (exactly encodings.__all__)

__version__ = "0.1.0"
__all__ = [
    "Additive",
    "DynamicRotary",
    "KVCache",
    "LinearState",
    "NoPosition",
    "PositionEncoding",
    "Rotary",
    "ScoreBias",
    "XPos",
    "__version__",
    "attention_scores",
    "causal_mask",
    "elu_plus_one",
    "linear_attention",
    "linear_attention_step",
    "merge_heads",
    "multi_head_attention",
    "softmax",
    "split_heads",
    *encodings.__all__,
]
