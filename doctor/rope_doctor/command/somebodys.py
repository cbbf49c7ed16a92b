"""A function, a model or a decoder of somebody's, named "module:name" on the command line."""

import inspect
from collections.abc import Callable
from functools import reduce
from importlib import import_module
from typing import Any, cast

from rope_doctor.probes import Decoder


def function(name: str) -> Callable[..., Any]:
    """Return the function that "module:function" names; ValueError if there is none."""
    found = _named(name, "function", "function", "is not found", lambda found: found)
    if not callable(found):
        raise ValueError(f"{name} must be a function, got {type(found).__name__}")
    return cast("Callable[..., Any]", found)


def made(name: str) -> Any:
    """Return the model or the decoder that "module:make" names or makes; ValueError if there is none."""
    return _named(name, "model", "make", "could not be made", lambda each: each() if _makes(each) else each)


def _named(name: str, kind: str, word: str, failed: str, use: Callable[[Any], Any]) -> Any:
    module, colon, path = name.partition(":")
    if not (module and colon and path):
        raise ValueError(f"the {kind} must be written module:{word}, got {name!r}")
    try:
        return use(reduce(getattr, path.split("."), cast("Any", import_module(module))))
    except Exception as error:  # whatever somebody's module raises
        raise ValueError(f"{name} {failed}: {type(error).__name__}: {error}") from error


def _makes(found: Any) -> bool:
    """Tell whether this is a function without arguments, and no model or decoder itself."""
    is_model = hasattr(found, "parameters") and not isinstance(found, type)
    if isinstance(found, Decoder) or is_model or not callable(found):
        return False
    try:
        inspect.signature(found).bind()
    except TypeError:
        return False
    return True
