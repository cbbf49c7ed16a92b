r"""Wrap a function or a causal transformers model, even one already wrapped by other libraries, as a `Decoder`."""

import inspect
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import numpy as np

from rope_doctor.probes.decoder import BFLOAT16_EPS, FLOAT32_EPS, KEYWORDS, Call, Decoder
from rope_doctor.probes.layer_kinds import LayerKinds
from rope_doctor.probes.names import (
    CACHES,
    LEARNED,
    MASKS,
    POSITIONS,
    RECURRENT,
    TABLE_LENGTHS,
    TABLES,
    argument,
    growth_of_queries,
    pooled,
    scaled_queries,
    unwrapped,
    windows,
)

NO_CACHE = object()  # passed instead of a cache to disable caching


def as_decoder(model: Any, **facts: Any) -> Decoder:
    """Return a Decoder unchanged, or make one from a causal transformers model or a function like `Decoder.call`.

    Raises:
        ValueError: if the argument has the wrong type, or the function fails on two tokens or returns no logits;
            the message gives the reason.
    """
    if isinstance(model, Decoder):
        return model
    if hasattr(unwrapped(model), "config") and hasattr(model, "parameters"):
        return of_transformers(model)
    if not callable(model):
        raise ValueError(f"a decoder must be a function or a model, got {type(model).__name__}")
    takes = frozenset(KEYWORDS) & inspect.signature(model).parameters.keys()
    try:
        result = model(np.array([[0, 1]]), **dict.fromkeys(takes))
    except Exception as error:
        raise ValueError(f"the decoder fails on two tokens: {type(error).__name__}: {error}") from error
    logits = np.asarray(result[0] if isinstance(result, tuple) else result)
    if logits.ndim != 3:
        raise ValueError(f"a decoder must return logits (batch, seq, vocabulary), got {logits.shape}")
    facts = {"takes": takes, **facts}
    return Decoder(model, logits.shape[-1], **facts)


def of_transformers(model: Any) -> Decoder:
    """Return a causal transformers model as a Decoder, with attributes read from its config."""
    import torch

    inner = unwrapped(model)
    names = {"positions": argument(inner, POSITIONS), "mask": argument(inner, MASKS) or MASKS[0]}
    names["cache"] = argument(inner, CACHES)
    takes = frozenset(ours for ours, theirs in names.items() if theirs)
    config = inner.config.get_text_config()
    body = config.to_dict()
    try:
        kinds = LayerKinds.of(inner)
    except ValueError:  # the model does not rotate, or its config cannot be read
        kinds = LayerKinds({}, (), {})
    used = {label for label in kinds.layers if label in kinds.readings}
    unused = used and not used & kinds.turning.keys()  # the layers do not use the rotation in the config
    turning = [] if unused else list(kinds.turning.values())
    lengths = [reading.trained or reading.longest for reading in turning]
    rules = [reading.rope_type for reading in turning]
    learned = any(LEARNED.search(name) for name, _ in inner.named_parameters())
    dtype = next(model.parameters()).dtype
    types = {type(module) for module in model.modules()}
    recurrent = torch.nn.Conv1d in types or any(RECURRENT.search(kind.__name__) for kind in types)
    return Decoder(
        _call_of(model, {ours: theirs for ours, theirs in names.items() if theirs}),
        vocabulary=config.vocab_size,
        takes=takes,
        relative=True if turning else False if learned else None,
        trained=min((length for length in lengths if length), default=None),
        rule=next((rule for rule in rules if rule in ("dynamic", "longrope")), ""),
        coordinates=3 if any(reading.spec.axes for reading in turning) else 1,
        recurrent=recurrent,
        eps=FLOAT32_EPS if dtype in (torch.float32, torch.float64) else BFLOAT16_EPS,
        never=NO_CACHE,
        windows=windows(body),
        pools=pooled(body),
        scaled=scaled_queries(body),
        growth=growth_of_queries(body),
        longest=_table_length(inner, body),
        unknown=_unknown(names),
        crop=None if recurrent or pooled(body) > 1 else _crop,  # a pooled key still contains removed tokens
        generate=_generate_of(model) if _generates(inner) else None,
        narrow=None if dtype == torch.bfloat16 else lambda: of_transformers(_narrowed(inner)),
        wide=None if dtype == torch.float32 else _wide_of(inner),
    )


def _unknown(names: Mapping[str, str | None]) -> dict[str, str]:
    known = {"cache": CACHES, "positions": POSITIONS, "mask": MASKS}
    return {
        ours: f"the decoder takes no {ours} under a known name ({', '.join(known[ours])})"
        for ours, theirs in names.items()
        if theirs is None
    }


def _table_length(model: Any, body: Mapping[str, Any]) -> int | None:
    """Return the number of rows in a model's position table, or None if there is no table."""
    stated = {body[name] for name in TABLE_LENGTHS if type(body.get(name)) is int}
    tensors = (*model.named_parameters(), *model.named_buffers())
    rows = {tensor.shape[0] for name, tensor in tensors if tensor.ndim == 2 and TABLES.search(name)}
    return min((length for length in stated if {length, length + 1, length + 2} & rows), default=None)


def _device_of(model: Any) -> Any:
    """Return the device of a model's embedding, on which it expects the tokens."""
    inner = unwrapped(model)
    embedding = inner.get_input_embeddings() if hasattr(inner, "get_input_embeddings") else None
    return next((embedding or inner).parameters()).device


def _call_of(model: Any, names: Mapping[str, str]) -> Call:
    import torch

    def call(tokens: np.ndarray, *, cache: Any = None, **arrays: np.ndarray | None) -> tuple[np.ndarray, Any]:
        device = _device_of(model)
        given = {name: array for name, array in arrays.items() if array is not None}
        options: dict[str, Any] = {
            names[name]: torch.tensor(array, device=device) for name, array in given.items()
        }
        if "cache" in names:  # without a cache, transformers keeps packed texts separate
            caching = {"use_cache": True, names["cache"]: cache}
            options |= {"use_cache": False} if cache is NO_CACHE else caching
        was = model.training
        model.eval()
        try:
            with torch.no_grad():
                out = model(torch.tensor(tokens, device=device), **options)
        finally:
            model.train(was)
        return out.logits.double().cpu().numpy(), getattr(out, names.get("cache", ""), None)

    return call


def _generates(model: Any) -> bool:
    return bool(hasattr(model, "generate") and getattr(model, "can_generate", lambda: False)())


def _generate_of(model: Any) -> Any:
    import torch

    def generate(tokens: np.ndarray, mask: np.ndarray, new: int) -> tuple[np.ndarray, np.ndarray]:
        device = _device_of(model)
        was = model.training
        model.eval()
        try:
            out = getattr(model, "generate", unwrapped(model).generate)(
                torch.tensor(tokens, device=device),
                attention_mask=torch.tensor(mask, device=device),
                max_new_tokens=new,
                min_new_tokens=new,
                do_sample=False,
                num_beams=1,
                use_cache=True,
                pad_token_id=0,
                output_logits=True,
                return_dict_in_generate=True,
            )
        finally:
            model.train(was)
        logits = torch.stack(out.logits, dim=1)
        return out.sequences.cpu().numpy(), logits.double().cpu().numpy()

    return generate


def _narrowed(model: Any) -> Any:
    """Return a bfloat16 copy with uncast frequencies, as transformers would load it."""
    import torch

    copy = deepcopy(model)
    for name, values in (*copy.named_parameters(), *copy.named_buffers()):
        if values.is_floating_point() and not name.endswith("inv_freq"):
            values.data = values.data.to(torch.bfloat16)
    return copy


def _wide_of(model: Any) -> Any:
    """Return a function that returns a float32 copy, or None if the config cannot rebuild the model."""
    import torch

    copy = type(model)._from_config(deepcopy(model.config), dtype=torch.float32)
    missing, unexpected = copy.load_state_dict(model.state_dict(), strict=False)
    if missing or unexpected:  # the model has adapters or was modified by hand
        return None
    copy = copy.to(_device_of(model)).eval()
    return lambda: of_transformers(copy)


def _crop(cache: Any, length: int, removed: int) -> Any:
    try:
        cache.crop(-removed)  # transformers 5.23 expects the number of tokens to remove
    except (TypeError, ValueError, IndexError):
        cache.crop(length)
    return cache
