r"""One value of a config, checked against rules.json, which JavaScript reads too."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from numbers import Real
from pathlib import Path
from typing import Any

RULES = json.loads(Path(__file__).with_name("rules.json").read_text(encoding="utf-8"))
FIELDS = RULES["fields"]


class ConfigError(ValueError):
    r"""A config that says too little, too much or two things; a ValueError.

    Attributes:
        field: path of the field, such as "rope_scaling.factor".
        reason: which of the sentences of rules.json it is, such as "out of range".
    """

    def __init__(self, reason: str, field: str, words: dict[str, Any]) -> None:
        super().__init__(RULES["refusals"][reason].format(field=field, **words))
        self.field, self.reason, self.words = field, reason, words

    def __reduce__(self) -> tuple:
        return ConfigError, (self.reason, self.field, self.words)


def refuse(reason: str, field: str, **words: Any) -> ConfigError:
    """Return the error of a reason; values are shortened, lists of names joined."""
    plain = ("allowed", "why", "detail", "other", "rule")
    return ConfigError(
        reason, field, {name: word if name in plain else said(word) for name, word in words.items()}
    )


def missing(field: str, name: str) -> ConfigError:
    """Return the error of a field that is not there."""
    why = RULES["why_missing"]
    return refuse("missing", field, why=why.get(name, why["rule"]))


def said(value: object) -> str:
    """Return a value as a sentence shows it: whole numbers without a point, at most 60 characters."""
    if isinstance(value, Real) and not isinstance(value, bool):
        return _number_said(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        text = json.dumps(value, ensure_ascii=False)
    elif isinstance(value, list | tuple):
        text = "[" + ", ".join(said(each) for each in value[:16]) + (", …]" if len(value) > 16 else "]")
    else:
        text = "an object" if isinstance(value, dict) else f"a {type(value).__name__}"
    return text if len(text) <= 60 else text[:59] + "…"


def _number_said(value: Real) -> str:
    try:
        number = float(value)
    except OverflowError:
        return "a number too large"
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else f"{number:.12g}"


def checked(name: str, path: str, value: object) -> Any:
    """Return a value in the type of its field (`name` in rules.json), or raise the error that names its path."""
    rule = FIELDS[name]
    one = _KINDS[rule["kind"]]
    try:
        if not rule.get("list"):
            return one(value, rule)
        if not isinstance(value, list | tuple) or not 1 <= len(value) <= 65_536:
            raise TypeError
        return [one(each, rule) for each in value]
    except (TypeError, OverflowError):
        raise refuse("out of range", path, allowed=rule["allowed"], value=value) from None


def _number(value: object, rule: dict) -> float:
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise TypeError
    number = float(value)
    if (
        number <= rule.get("above", -math.inf)
        or number < rule.get("least", -math.inf)
        or number > rule["most"]
    ):
        raise TypeError
    return number


def _whole(value: object, rule: dict) -> int:
    number = _number(value, rule)
    if not number.is_integer():
        raise TypeError
    return int(number)


def _of(kind: type) -> Callable[[object, dict], Any]:
    def one(value: object, rule: dict) -> Any:
        if not isinstance(value, kind):
            raise TypeError
        return value

    return one


_KINDS = {"number": _number, "whole": _whole, "flag": _of(bool), "text": _of(str), "object": _of(dict)}


class Part:
    """An object of a config, and the path that leads to it; null is the same as absent."""

    def __init__(
        self, values: dict, path: str = "", paths: dict[str, str] | None = None, *, apart: bool = False
    ) -> None:
        self.values = {key: value for key, value in values.items() if value is not None}
        self.apart = apart  # states what holds for some layers: what stands beside it may differ
        self._path, self._paths = path, paths or {}

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def path(self, name: str) -> str:
        """Return how an error names a field of this part."""
        return self._paths.get(name) or ".".join(filter(None, (self._path, str(name))))

    def get(self, name: str, default: Any = None) -> Any:
        """Return a field, checked, or the default where it is not there."""
        return checked(name, self.path(name), self.values[name]) if name in self else default

    def need(self, name: str) -> Any:
        """Return a field, checked; an error if it is not there."""
        if name not in self:
            raise missing(self.path(name), name)
        return self.get(name)

    def one(self, name: str) -> Any:
        """Return a field under any of its names, checked, or None; an error where two names disagree."""
        found = [each for each in RULES["names"].get(name, [name]) if each in self]
        values = [checked(name, self.path(each), self.values[each]) for each in found]
        for other, value in zip(found[1:], values[1:], strict=True):
            if value != values[0]:
                raise refuse(
                    "contradiction",
                    self.path(found[0]),
                    value=values[0],
                    other=self.path(other),
                    other_value=value,
                )
        return values[0] if found else None

    def path_of(self, name: str) -> str:
        """Return how an error names a field that may have one of several names."""
        return self.path(next((each for each in RULES["names"].get(name, [name]) if each in self), name))
