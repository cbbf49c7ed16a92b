r"""A decoder as a black box: tokens and positions in, logits out, with a cache or without."""

import inspect
import re
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rope_doctor.probes.kinds import Kinds

Call = Callable[..., Any]
KEYWORDS = ("positions", "mask", "cache")
THEIRS = {
    "positions": "position_ids",
    "mask": "attention_mask",
    "cache": "past_key_values",
}  # in transformers
STATE = re.compile("Mamba|SSM|Recurrent|DeltaNet|LinearAttention|Lightning|Rwkv|xLSTM|ShortConv|KDA")
NEVER = object()  # in place of a cache: none is wanted
FLOAT32, BFLOAT16 = 2.0**-24, 2.0**-9  # largest relative error of a rounding


@dataclass(frozen=True)
class Decoder:
    r"""Anybody's decoder, and as much about it as is known.

    Attributes:
        call: `(tokens, *, positions, mask, cache) -> (logits, cache)`, or logits alone if it has no cache. Tokens
            and positions are `(batch, seq)` whole numbers, logits `(batch, seq, vocabulary)`, and the mask
            `(batch, all tokens so far)` is 0 for tokens that nobody may see.
        vocabulary: how many tokens there are.
        takes: those of the three keywords that the function has; no other is passed.
        relative: True if moving a whole text must change nothing, as for rotations; False for tables of absolute
            positions; None if that is not known.
        trained, rule: length from which on a rule, such as "dynamic", may change the frequencies; None and "".
        coordinates: numbers in a position: 3 for M-RoPE, whose position ids are `(3, batch, seq)`.
        recurrent: True if layers with a state see the order of tokens without any position.
        eps: largest relative error of one rounding of its numbers.
        crop: `(cache, length, removed) -> cache` that keeps the first `length` tokens, or None.
        shift: `(cache, by) -> cache` that moves the keys by some positions, or None.
        never: passed as the cache where none is wanted.
        narrow, wide: make the same decoder in bfloat16 and in float32, or None.

    >>> copy = lambda tokens: np.eye(40)[tokens]  # it expects each token again
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
    eps: float = FLOAT32
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
        """Return logits in float64, and the cache or None."""
        given = {"positions": positions, "mask": mask, "cache": cache}
        found = self.call(tokens, **{name: given[name] for name in KEYWORDS if name in self.takes})
        logits, cache = found if isinstance(found, tuple) else (found, None)
        logits = np.asarray(logits, np.float64)
        if logits.shape != (*tokens.shape, self.vocabulary):
            raise ValueError(f"logits must be {(*tokens.shape, self.vocabulary)}, got {logits.shape}")
        return logits, cache


def as_decoder(made: Any, **facts: Any) -> Decoder:
    """Return a Decoder for a Decoder, a causal model of transformers, or a function with the keywords of `call`.

    Raises:
        ValueError: it is none of these, or the function fails on two tokens; the sentence says how.
    """
    if isinstance(made, Decoder):
        return made
    if hasattr(made, "config") and hasattr(made, "parameters"):
        return of_transformers(made)
    if not callable(made):
        raise ValueError(f"a decoder must be a function or a model, got {type(made).__name__}")
    takes = frozenset(KEYWORDS) & inspect.signature(made).parameters.keys()
    try:
        found = made(np.array([[0, 1]]), **dict.fromkeys(takes))
    except Exception as error:
        raise ValueError(f"the decoder fails on two tokens: {type(error).__name__}: {error}") from error
    logits = np.asarray(found[0] if isinstance(found, tuple) else found)
    if logits.ndim != 3:
        raise ValueError(f"a decoder must return logits (batch, seq, vocabulary), got {logits.shape}")
    facts = {"takes": takes, **facts}
    return Decoder(made, logits.shape[-1], **facts)


def of_transformers(model: Any) -> Decoder:
    """Return a causal model of transformers as a Decoder; its attributes follow from its config."""
    import torch

    names = {"attention_mask", *inspect.signature(model.forward).parameters}
    takes = frozenset(ours for ours, theirs in THEIRS.items() if theirs in names)
    config = model.config.get_text_config()
    try:
        kinds = Kinds.of(model)
    except ValueError:  # it does not rotate, or its config cannot be read
        kinds = Kinds({}, (), {})
    used = {each for each in kinds.layers if each in kinds.readings}
    unused = used and not used & kinds.turning.keys()  # the config has a rotation that no layer uses
    turning = [] if unused else list(kinds.turning.values())
    lengths = [each.trained or each.longest for each in turning]
    width = next(model.parameters()).dtype
    recurrent = any(
        STATE.search(type(each).__name__) or type(each) is torch.nn.Conv1d for each in model.modules()
    )
    return Decoder(
        _call_of(model, takes),
        vocabulary=config.vocab_size,
        takes=takes,
        relative=True if turning else None,
        trained=min((each for each in lengths if each), default=None),
        rule=next((each.rope_type for each in turning if each.rope_type in ("dynamic", "longrope")), ""),
        coordinates=3 if any(each.spec.axes for each in turning) else 1,
        recurrent=recurrent,
        eps=FLOAT32 if width in (torch.float32, torch.float64) else BFLOAT16,
        never=NEVER,
        crop=None if recurrent else _cropped,
        narrow=None if width == torch.bfloat16 else lambda: of_transformers(_narrowed(model)),
        wide=None if width == torch.float32 else lambda: of_transformers(_widened(model)),
    )


def _call_of(model: Any, takes: frozenset[str]) -> Call:
    import torch

    def call(tokens: np.ndarray, *, cache: Any = None, **arrays: np.ndarray | None) -> tuple[np.ndarray, Any]:
        given: dict[str, Any] = {
            THEIRS[name]: torch.tensor(each) for name, each in arrays.items() if each is not None
        }
        if "cache" in takes:  # transformers tells packed texts apart only where nothing is to be cached
            given |= {"use_cache": False} if cache is NEVER else {"use_cache": True, "past_key_values": cache}
        was = model.training
        model.eval()
        try:
            with torch.no_grad():
                out = model(torch.tensor(tokens), **given)
        finally:
            model.train(was)
        return out.logits.double().cpu().numpy(), getattr(out, "past_key_values", None)

    return call


def _narrowed(model: Any) -> Any:
    """Return a copy in bfloat16, made as transformers loads one: its frequencies stay as they are."""
    import torch

    copy = deepcopy(model)
    for name, values in (*copy.named_parameters(), *copy.named_buffers()):
        if values.is_floating_point() and not name.endswith("inv_freq"):
            values.data = values.data.to(torch.bfloat16)
    return copy


def _widened(model: Any) -> Any:
    """Return the model made anew in float32, with the same weights: buffers cast by mistake are wide again."""
    import torch

    copy = type(model)._from_config(deepcopy(model.config), dtype=torch.float32)
    copy.load_state_dict(model.state_dict(), strict=False)
    return copy.eval()


def _cropped(cache: Any, length: int, removed: int) -> Any:
    try:
        cache.crop(-removed)  # how many to take away, in transformers 5.23
    except (TypeError, ValueError, IndexError):
        cache.crop(length)
    return cache
