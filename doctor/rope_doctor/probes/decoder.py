r"""A decoder as a black box: tokens and positions in, logits out, with or without a cache."""

import inspect
import re
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rope_doctor.probes.layer_kinds import LayerKinds

Call = Callable[..., Any]
KEYWORDS = ("positions", "mask", "cache")
TRANSFORMERS_NAMES = {"positions": "position_ids", "mask": "attention_mask"}
CACHE_NAMES = ("cache", "past_key_values")  # in transformers from 5.24 on, and before
RECURRENT = re.compile("Mamba|SSM|Recurrent|DeltaNet|LinearAttention|Lightning|Rwkv|xLSTM|ShortConv|KDA")
NO_CACHE = object()  # passed instead of a cache to disable caching
FLOAT32_EPS, BFLOAT16_EPS = 2.0**-24, 2.0**-9  # largest relative rounding errors


@dataclass(frozen=True)
class Decoder:
    r"""A decoder, and the known facts about it.

    Attributes:
        call: `(tokens, *, positions, mask, cache) -> (logits, cache)`, or only logits if it has no cache. Tokens
            and positions are integers `(batch, seq)`, logits are `(batch, seq, vocabulary)`, and the mask
            `(batch, all tokens so far)` is 0 for hidden tokens.
        vocabulary: number of tokens in the vocabulary.
        takes: which of the keywords positions, mask and cache `call` accepts; no others are passed.
        relative: True if moving a whole text must change nothing, as with rotations; False for tables of absolute
            positions; None if unknown.
        trained, rule: length above which a rule may change the frequencies, or None; its name ("dynamic") or "".
        coordinates: how many each position has: 3 for M-RoPE, whose position ids are `(3, batch, seq)`.
        recurrent: True if recurrent layers see the order of tokens even without positions.
        eps: largest relative rounding error of its number format.
        crop: `(cache, length, removed) -> cache` that keeps the first `length` tokens, or None.
        shift: `(cache, by) -> cache` that moves the keys `by` positions, or None.
        never: value passed as the cache to disable caching.
        narrow, wide: functions that make the same decoder in bfloat16 and in float32, or None.

    >>> copy = lambda tokens: np.eye(40)[tokens]  # predicts every token again
    >>> logits, cache = Decoder(copy, vocabulary=40)(np.array([[3, 1]]))
    >>> logits.argmax(axis=-1), cache
    (array([[3, 1]]), None)

    Chapter 24.
    """

    call: Call
    vocabulary: int
    takes: frozenset[str] = frozenset()
    relative: bool | None = None
    trained: int | None = None
    rule: str = ""
    coordinates: int = 1
    recurrent: bool = False
    eps: float = FLOAT32_EPS
    crop: Callable[[Any, int, int], Any] | None = None
    shift: Callable[[Any, int], Any] | None = None
    never: Any = None
    narrow: Callable[[], "Decoder"] | None = field(default=None, repr=False)
    wide: Callable[[], "Decoder"] | None = field(default=None, repr=False)

    def __call__(
        self,
        tokens: np.ndarray,
        positions: np.ndarray | None = None,
        mask: np.ndarray | None = None,
        cache: Any = None,
    ) -> tuple[np.ndarray, Any]:
        """Return the logits in float64, and the cache or None."""
        options = {"positions": positions, "mask": mask, "cache": cache}
        result = self.call(tokens, **{name: options[name] for name in KEYWORDS if name in self.takes})
        logits, cache = result if isinstance(result, tuple) else (result, None)
        logits = np.asarray(logits, np.float64)
        if logits.shape != (*tokens.shape, self.vocabulary):
            raise ValueError(f"logits must be {(*tokens.shape, self.vocabulary)}, got {logits.shape}")
        return logits, cache


def as_decoder(model: Any, **facts: Any) -> Decoder:
    """Return a Decoder, given one, a causal transformers model, or a function with the keywords of `call`.

    Raises:
        ValueError: it is none of these, or the function fails on two tokens; the message says how.
    """
    if isinstance(model, Decoder):
        return model
    if hasattr(model, "config") and hasattr(model, "parameters"):
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
    """Return a causal transformers model as a Decoder, with attributes from its config."""
    import torch

    names = {"attention_mask", *inspect.signature(model.forward).parameters}
    cache_name = next((name for name in CACHE_NAMES if name in names), None)
    takes = frozenset(ours for ours, theirs in TRANSFORMERS_NAMES.items() if theirs in names)
    takes |= {"cache"} if cache_name else frozenset()
    config = model.config.get_text_config()
    try:
        kinds = LayerKinds.of(model)
    except ValueError:  # it does not rotate, or its config cannot be read
        kinds = LayerKinds({}, (), {})
    used = {label for label in kinds.layers if label in kinds.readings}
    unused = used and not used & kinds.turning.keys()  # the config has a rotation that no layer uses
    turning = [] if unused else list(kinds.turning.values())
    lengths = [reading.trained or reading.longest for reading in turning]
    rules = [reading.rope_type for reading in turning]
    dtype = next(model.parameters()).dtype
    types = {type(module) for module in model.modules()}
    recurrent = torch.nn.Conv1d in types or any(RECURRENT.search(kind.__name__) for kind in types)
    return Decoder(
        _call_of(model, cache_name),
        vocabulary=config.vocab_size,
        takes=takes,
        relative=True if turning else None,
        trained=min((length for length in lengths if length), default=None),
        rule=next((rule for rule in rules if rule in ("dynamic", "longrope")), ""),
        coordinates=3 if any(reading.spec.axes for reading in turning) else 1,
        recurrent=recurrent,
        eps=FLOAT32_EPS if dtype in (torch.float32, torch.float64) else BFLOAT16_EPS,
        never=NO_CACHE,
        crop=None if recurrent else _crop,
        narrow=None if dtype == torch.bfloat16 else lambda: of_transformers(_narrowed(model)),
        wide=None if dtype == torch.float32 else lambda: of_transformers(_widened(model)),
    )


def _call_of(model: Any, cache_name: str | None) -> Call:
    import torch

    def call(tokens: np.ndarray, *, cache: Any = None, **arrays: np.ndarray | None) -> tuple[np.ndarray, Any]:
        arrays = {name: array for name, array in arrays.items() if array is not None}
        options: dict[str, Any] = {TRANSFORMERS_NAMES[name]: torch.tensor(arrays[name]) for name in arrays}
        if cache_name:  # transformers separates packed texts only without a cache
            caching = {"use_cache": True, cache_name: cache}
            options |= {"use_cache": False} if cache is NO_CACHE else caching
        was = model.training
        model.eval()
        try:
            with torch.no_grad():
                out = model(torch.tensor(tokens), **options)
        finally:
            model.train(was)
        return out.logits.double().cpu().numpy(), getattr(out, cache_name or "", None)

    return call


def _narrowed(model: Any) -> Any:
    """Return a bfloat16 copy as transformers would load it, without casting the frequencies."""
    import torch

    copy = deepcopy(model)
    for name, values in (*copy.named_parameters(), *copy.named_buffers()):
        if values.is_floating_point() and not name.endswith("inv_freq"):
            values.data = values.data.to(torch.bfloat16)
    return copy


def _widened(model: Any) -> Any:
    """Return a new float32 model with the same weights; buffers that were cast by mistake are recomputed."""
    import torch

    copy = type(model)._from_config(deepcopy(model.config), dtype=torch.float32)
    copy.load_state_dict(model.state_dict(), strict=False)
    return copy.eval()


def _crop(cache: Any, length: int, removed: int) -> Any:
    try:
        cache.crop(-removed)  # takes the number of tokens to remove, in transformers 5.23
    except (TypeError, ValueError, IndexError):
        cache.crop(length)
    return cache
