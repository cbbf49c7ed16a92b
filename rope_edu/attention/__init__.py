"""Attention: softmax and linear attention, position encodings, multiple heads, and a KV cache."""

from rope_edu.attention.cache import KVCache
from rope_edu.attention.dot_product import attention as attention
from rope_edu.attention.dot_product import attention_scores, causal_mask, softmax
from rope_edu.attention.encoding import (
    Additive,
    DynamicRotary,
    NoPosition,
    PositionEncoding,
    Rotary,
    ScoreBias,
    XPos,
)
from rope_edu.attention.latent import decoupled_scores
from rope_edu.attention.linear import LinearState, elu_plus_one, linear_attention, linear_attention_step
from rope_edu.attention.multi_head import merge_heads, multi_head_attention, split_heads
from rope_edu.attention.rerope import rerope_attention

# The function `attention` is omitted, because a star import would replace this package with it.
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
    "attention_scores",
    "causal_mask",
    "decoupled_scores",
    "elu_plus_one",
    "linear_attention",
    "linear_attention_step",
    "merge_heads",
    "multi_head_attention",
    "rerope_attention",
    "softmax",
    "split_heads",
]
