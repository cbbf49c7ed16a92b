r"""rope-edu model module:make and rope-edu decode module:make: a live model, and a decoder as a black box.

`module:make` names a model, or a function without arguments that returns one. `model` needs torch; `decode` takes a
causal model of transformers, or a function `(tokens, *, positions, mask, cache) -> (logits, cache)` with those
keywords that it has.
"""

from __future__ import annotations

import inspect
import sys
from dataclasses import asdict
from functools import reduce
from importlib import import_module
from typing import Any, cast

from rope_edu.clinic.decoder import Decoder
from rope_edu.clinic.decoding import DecoderReport, check_decoder
from rope_edu.clinic.modules import ModelReport, check_model


def made(name: str) -> Any:
    """Return the model or the decoder that "module:make" names; ValueError with a sentence if there is none."""
    module, colon, path = name.partition(":")
    if not (colon and module and path):
        raise ValueError(f"the model must be written module:make, got {name!r}")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        found: Any = reduce(getattr, path.split("."), cast("Any", import_module(module)))
        return found() if _makes(found) else found
    except Exception as error:  # whatever somebody's module raises
        raise ValueError(f"{name} could not be made: {type(error).__name__}: {error}") from error


def _makes(found: Any) -> bool:
    """Tell whether this is a function without arguments, and no model or decoder itself."""
    is_model = hasattr(found, "parameters") and not isinstance(found, type)
    if isinstance(found, Decoder) or is_model or not callable(found):
        return False
    signature = inspect.signature(found)
    try:
        signature.bind()
    except TypeError:
        return False
    return True


def run_model(name: str, config: str | None) -> tuple[int, object, str]:
    """Check a live model: 0 if it rotates as its config states, 1 if not, 2 if nothing could be probed."""
    model = made(name)
    if not hasattr(model, "named_modules"):
        raise ValueError(f"{name} must be a torch module, got {type(model).__name__}")
    return _answer(check_model(model, config))


def run_decode(name: str) -> tuple[int, object, str]:
    """Check a decoder: 0 if it answers alike in every way of asking, 1 if not, 2 if that is unclear."""
    return _answer(check_decoder(made(name)))


def _answer(report: ModelReport | DecoderReport) -> tuple[int, object, str]:
    status = {True: 0, False: 1, None: 2}[report.right]
    return status, {"right": report.right, **asdict(report), "text": str(report)}, str(report)
