r"""Names that different libraries use for the same argument, config field or module, newest first.

A name that is not in these tables counts as unknown. A check that needs it does not run, and the report gives the
reason.
"""

import inspect
import re
from collections.abc import Mapping
from typing import Any

CACHES = ("cache", "past_key_values")  # argument name in transformers from 5.24 on, and before
POSITIONS = ("position_ids",)
MASKS = ("attention_mask",)
WRAPPED = ("_orig_mod", "base_model.model", "module")  # of torch.compile, PEFT, and DataParallel, DDP or FSDP
WINDOWS = (
    "sliding_window",
    "sliding_window_size",
    "attention_chunk_size",
    "attention_window_size",
    "window_size",
)
WINDOWED = re.compile("sliding|chunked|local|swa")  # patterns in the names of layer kinds with a window
# modules that store one row per position
TABLES = re.compile(r"wpe|embed_positions|position_embeddings?$|pos_emb|sin|cos|freqs")
LEARNED = re.compile(r"(?:wpe|embed_positions|position_embeddings?)\.weight$")
TABLE_LENGTHS = ("max_position_embeddings", "n_positions", "n_ctx")
SCALED_FROM_THE_START = {"beam": 0.1 / 2048}  # growth per token of the factor (1 + position / 2048) ** 0.1
RECURRENT = re.compile("Mamba|SSM|Recurrent|DeltaNet|LinearAttention|Lightning|Rwkv|xLSTM|ShortConv|KDA")


def unwrapped(model: Any) -> Any:
    """Return the model inside the wrappers of torch.compile, PEFT and parallel training.

    >>> from types import SimpleNamespace as Wrapper
    >>> unwrapped(Wrapper(_orig_mod=Wrapper(module="the model")))
    'the model'
    """
    for path in WRAPPED:
        own = {**vars(model), **vars(model).get("_modules", {})} if hasattr(model, "__dict__") else {}
        if path.partition(".")[0] not in own:  # every transformers model has a `base_model` property
            continue
        inner = model
        for name in path.split("."):
            inner = getattr(inner, name, None)
        if inner is not None and inner is not model:
            return unwrapped(inner)
    return model


def argument(model: Any, names: tuple[str, ...]) -> str | None:
    """Return the first of these names that is an argument of the model's forward method, or None."""
    taken = inspect.signature(unwrapped(model).forward).parameters
    return next((name for name in names if name in taken), None)


def windows(config: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the widths, in tokens, of the sliding windows and chunks in a config, in ascending order.

    >>> windows({"sliding_window": 512, "layer_types": ["sliding_attention", "full_attention"]})
    (512,)
    >>> windows({"sliding_window": 512, "layer_types": ["full_attention"]})
    ()
    """
    kinds = config.get("layer_types")
    if kinds and not any(WINDOWED.search(str(kind)) for kind in kinds):
        return ()
    if config.get("use_sliding_window") is False:
        return ()
    found = {config.get(name) for name in WINDOWS}
    return tuple(sorted(width for width in found if type(width) is int and width > 0))


def pooled(config: Mapping[str, Any]) -> int:
    """Return the smallest number of tokens that a layer pools into one key, as in DeepSeek V4; 1 without pooling.

    >>> pooled({"compress_rates": {"a": 4, "b": 128}, "layer_types": ["a", "b"]})
    4
    """
    rates = config.get("compress_rates")
    if not isinstance(rates, Mapping):
        return 1
    kinds = config.get("layer_types") or list(rates)
    return min((int(rate) for kind, rate in rates.items() if kind in kinds), default=1)


def growth_of_queries(config: Mapping[str, Any]) -> float:
    """Return the relative growth of queries per token if they are scaled from position 0 on, otherwise 0."""
    return SCALED_FROM_THE_START.get(str(config.get("model_type")), 0.0)


def scaled_queries(config: Mapping[str, Any]) -> int | None:
    """Return the position at which query scaling begins, as in Llama 4 and Ministral 3, or None.

    >>> scaled_queries({"attn_temperature_tuning": True, "floor_scale": 8192})
    8191
    """
    if config.get("attn_temperature_tuning") and config.get("floor_scale"):
        return int(config["floor_scale"]) - 1  # log1p(floor((position + 1) / floor_scale))
    if config.get("model_type") in SCALED_FROM_THE_START:
        return 0
    rope = config.get("rope_parameters") or {}
    if isinstance(rope, Mapping) and rope.get("llama_4_scaling_beta"):
        return int(rope.get("original_max_position_embeddings") or 0)  # log1p(floor(position / original))
    return None
