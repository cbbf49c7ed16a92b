"""Adapters that let `rope-doctor decode` call ONNX Runtime, JAX and MLX decoders; substitute your own names.

The ONNX Runtime and JAX adapters are tested. The MLX adapter follows mlx-lm and has not been run, because MLX
requires a Mac.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rope_doctor.probes import Decoder

ALL = frozenset(("positions", "mask", "cache"))


def of_onnxruntime(session: Any, vocabulary: int) -> Decoder:
    """Adapt an exported decoder with Optimum's inputs: ids, mask, positions, and cached keys and values."""
    past = [each for each in session.get_inputs() if "past" in each.name]
    _, heads, _, head_dim = past[0].shape

    def decoder(tokens: Any, *, positions: Any = None, mask: Any = None, cache: Any = None) -> Any:
        if cache is None:
            cache = [np.zeros((len(tokens), heads, 0, head_dim), np.float32)] * len(past)
        seen = cache[0].shape[2]
        if positions is None:
            positions = np.broadcast_to(seen + np.arange(tokens.shape[1]), tokens.shape)
        if mask is None:
            mask = np.ones((len(tokens), seen + tokens.shape[1]))
        given = {"input_ids": tokens, "attention_mask": mask, "position_ids": positions}
        feed = {name: np.asarray(each, np.int64) for name, each in given.items()}
        logits, *cache = session.run(
            None, feed | {each.name: kept for each, kept in zip(past, cache, strict=True)}
        )
        return logits, cache

    return Decoder(decoder, vocabulary, ALL, relative=True)


def of_jax(apply: Any, new_cache: Any, vocabulary: int) -> Decoder:
    """Adapt a function `apply(tokens, positions, mask, cache) -> (logits, cache)` whose cache counts its tokens."""

    def decoder(tokens: Any, *, positions: Any = None, mask: Any = None, cache: Any = None) -> Any:
        cache = new_cache(len(tokens)) if cache is None else cache
        seen = int(cache["count"])
        if positions is None:
            positions = np.broadcast_to(seen + np.arange(tokens.shape[1]), tokens.shape)
        if mask is None:
            mask = np.ones((len(tokens), seen + tokens.shape[1]), int)
        return apply(tokens, positions, mask, cache)

    return Decoder(decoder, vocabulary, ALL, relative=True)


def of_mlx(model: Any, vocabulary: int) -> Decoder:
    """Adapt an mlx-lm model, whose cache counts the positions; padding and moved texts are not checked."""
    import mlx.core as mx
    from mlx_lm.models.cache import make_prompt_cache, trim_prompt_cache

    def decoder(tokens: Any, *, cache: Any = None) -> Any:
        cache = make_prompt_cache(model) if cache is None else cache
        logits = model(mx.array(tokens), cache=cache)
        return np.array(logits.astype(mx.float32)), cache

    def crop(cache: Any, length: int, removed: int) -> Any:
        trim_prompt_cache(cache, removed)
        return cache

    return Decoder(decoder, vocabulary, frozenset(("cache",)), relative=True, crop=crop)
