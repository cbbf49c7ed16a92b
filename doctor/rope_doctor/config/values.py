r"""Values in a config: their ranges, their formatting in messages, and the objects that contain them."""

import json
import math
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from numbers import Real
from pathlib import Path
from typing import Any

RULES: dict[str, Any] = json.loads(Path(__file__).with_name("rules.json").read_text(encoding="utf-8"))
FIELDS: dict[str, dict[str, Any]] = RULES["fields"]
TYPES = {"number": float, "whole": int, "flag": bool, "text": str, "object": dict}
# message arguments that are already formatted
UNFORMATTED = {"allowed", "why", "detail", "field", "fields", "other", "rule", "nest", "model_type"}


class ConfigError(ValueError):
    r"""A config with a missing, unknown, invalid or contradictory field; a ValueError.

    Attributes:
        reason: the key of the message in rules.json, such as "out of range".
        field, words: the path of the field, such as "rope_scaling.factor", and the other arguments of the message.
        choices: the allowed values of `layer_type` if the error is in that argument, otherwise empty.
    """

    def __init__(self, reason: str, field: str, words: dict[str, str], choices: Iterable[str] = ()) -> None:
        super().__init__(visible(RULES["refusals"][reason].format(field=field, **words)))
        self.reason, self.field, self.words, self.choices = reason, field, words, tuple(choices)

    def __reduce__(self) -> tuple[Any, ...]:
        return ConfigError, (self.reason, self.field, self.words, self.choices)


def config_error(reason: str, field: str, *, choices: Iterable[str] = (), **words: Any) -> ConfigError:
    """Return the error for the given reason, with its values formatted."""
    return ConfigError(reason, field, shown(words), choices)


def shown(words: dict[str, Any]) -> dict[str, str]:
    """Return a message's arguments, with the values formatted."""
    return {name: word if name in UNFORMATTED else format_value(word) for name, word in words.items()}


def format_value(value: object) -> str:
    """Return a value as text for a message: integers without a decimal point, at most 60 characters."""
    if isinstance(value, Real) and not isinstance(value, bool):
        return _format_number(value)
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, str):
        text = json.dumps(value[:61], ensure_ascii=False)
    elif isinstance(value, list | tuple):
        items = ("[…]" if isinstance(item, list | tuple) else format_value(item) for item in value[:16])
        text = "[" + ", ".join(items) + (", …]" if len(value) > 16 else "]")
    else:
        text = "an object" if isinstance(value, dict) else f"a {type(value).__name__}"
    return text if len(text) <= 60 else text[:59] + "…"


def _format_number(value: Real) -> str:
    try:
        number = float(value)
    except OverflowError:
        return "a number too large"
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else f"{number:.12g}"


CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    r"""Return text with control characters escaped, so that a terminal prints them instead of interpreting them.

    >>> print(visible("\x1b[2J"))
    \x1b[2J
    """
    return CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def listed(names: Iterable[str]) -> str:
    """Return quoted names, separated by commas."""
    return ", ".join(f'"{name}"' for name in names)


def checked(name: str, path: str, value: object) -> Any:
    """Return a value converted to its field's type; ConfigError, which names the path, if that fails."""
    rule = FIELDS[name]
    try:
        if not rule.get("list"):
            converted = _converted(value, rule)
            return rule["same_as"].get(converted, converted) if "same_as" in rule else converted
        if not isinstance(value, list | tuple) or not 1 <= len(value) <= 65_536:
            raise TypeError
        return [_converted(item, rule) for item in value]
    except (TypeError, OverflowError):
        raise config_error("out of range", path, allowed=rule["allowed"], value=value) from None


def _converted(value: object, rule: dict[str, Any]) -> Any:
    """Return a value converted to the type in a rule; TypeError if it has a different type or is out of range."""
    kind = TYPES[rule["kind"]]
    if kind not in (float, int):
        if not isinstance(value, kind):
            raise TypeError
        return value
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    least, above = rule.get("least", -math.inf), rule.get("above", -math.inf)
    if not (above < number and least <= number <= rule["most"]) or (kind is int and number % 1):
        raise TypeError
    return kind(number)


def same(a: object, b: object) -> bool:
    """Return whether two JSON values are equal; 1 equals 1.0 but not true."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, Real) and isinstance(b, Real):
        return a == b or (a != a and b != b)  # NaNs match here; the reader rejects them
    return type(a) is type(b) and isinstance(a, str | None) and a == b


@dataclass(frozen=True)
class Part:
    """An object in a config, with its path; fields that are null count as absent."""

    values: dict[str, Any]
    start: str = ""
    paths: dict[str, str] = field(default_factory=dict)  # full paths of fields from other objects
    apart: bool = False  # True if only some layers use it, so that fields outside may differ
    added: Collection[str] = ()  # fields that are not in the object itself

    def __post_init__(self) -> None:
        stated = {key: value for key, value in self.values.items() if value is not None}
        object.__setattr__(self, "values", stated)

    def __contains__(self, name: str) -> bool:
        return self.raw(name) is not None

    def raw(self, name: str) -> Any:
        """Return an unchecked value, or None; a dot in a name, as in "attn_config.rope_theta", means nesting."""
        if name in self.values or "." not in name:
            return self.values.get(name)
        outer, inner = name.split(".", 1)
        within = self.values.get(outer)
        return within.get(inner) if isinstance(within, dict) else None

    def path(self, name: str) -> str:
        """Return a field's full path in the file, for error messages."""
        return self.paths.get(name) or ".".join(filter(None, (self.start, str(name))))

    def all_paths(self) -> dict[str, str]:
        """Return the paths of all fields."""
        return {name: self.path(name) for name in self.values}


def names_of(field: str) -> list[str]:
    """Return all names of a field, the most common first."""
    return FIELDS[field].get("names", [field])


@dataclass(frozen=True)
class Remark:
    """A remark on a config: its kind in rules.json, and its text."""

    kind: str
    text: str


class Notes(list[Remark]):
    """A list of remarks without duplicates."""

    def add(self, kind: str, **words: Any) -> None:
        """Add a remark of this kind, with its placeholders filled in."""
        remark = Remark(kind, visible(RULES["remarks"][kind].format(**shown(words))))
        if remark not in self:
            self.append(remark)

    def lost(self, how: str, **words: Any) -> None:
        """Add the remark that transformers 5 does not read the base; `how` names the reason in rules.json."""
        self.add("theta lost by 5", detail=RULES["how_lost"][how].format(**shown(words)))
