"""Import the function, model or decoder given on the command line as "module:name"."""

import inspect
from collections.abc import Callable
from functools import reduce
from importlib import import_module
from typing import Any, cast

from rope_doctor.probes import Decoder


def load_function(name: str) -> Callable[..., Any]:
    """Import a function given as "module:function"; ValueError if there is none."""
    function = _named(name, "function", "function", "is not found", lambda function: function)
    if not callable(function):
        raise ValueError(f"{name} must be a function, got {type(function).__name__}")
    return cast("Callable[..., Any]", function)


def load_model(name: str) -> Any:
    """Import a model or decoder, or call the function that makes it; ValueError if this fails."""
    return _named(name, "model", "make", "could not be made", lambda item: item() if _makes(item) else item)


def _named(name: str, kind: str, word: str, failed: str, use: Callable[[Any], Any]) -> Any:
    module, colon, path = name.partition(":")
    if not (module and colon and path):
        raise ValueError(f"the {kind} must be written module:{word}, got {name!r}")
    try:
        return use(reduce(getattr, path.split("."), cast("Any", import_module(module))))
    except Exception as error:  # the user's module may raise any exception
        raise ValueError(f"{name} {failed}: {type(error).__name__}: {error}") from error


def _makes(item: Any) -> bool:
    """Return True for a function without arguments, False for a model or decoder."""
    is_model = hasattr(item, "parameters") and not isinstance(item, type)
    if isinstance(item, Decoder) or is_model or not callable(item):
        return False
    try:
        inspect.signature(item).bind()
    except TypeError:
        return False
    return True
