"""Fields of a config that speak of a rotation and that nobody reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rope_edu.config.table import Table
from rope_edu.config.values import FIELDS, RULES, config_error, names_of

OBJECTS = "rope_parameters", "rope_scaling", "rotary"  # whose fields are read or refused
ELSEWHERE = [name for field in FIELDS for name in names_of(field) if FIELDS[field].get("place") != "rotation"]


def keys_that_speak(config: object) -> list[str]:
    """Return the paths of all fields whose names speak of a rotation; a file nested too deeply is refused."""
    return [
        path for path, value in walk(config) if _speaks(path) and value is not None and value not in ([], {})
    ]


def _speaks(path: str) -> bool:
    name = path.rpartition(".")[2].lower()
    return name == "scaling_factor" or any(word in name for word in RULES["words_of_rotation"])


def walk(config: object) -> Iterator[tuple[str, Any]]:
    """Yield (path, value) of every field at any depth, without recursion."""
    stack = [("", 0, config)] if isinstance(config, dict) else []
    while stack:
        path, depth, value = stack.pop()
        if depth > RULES["deepest"]:
            raise config_error("too deep", "config", deepest=RULES["deepest"])
        if path:
            yield path, value
        inner: list[tuple[str, Any]] = []
        if isinstance(value, dict):
            inner = [(f"{path}.{key}" if path else str(key), each) for key, each in value.items()]
        elif isinstance(value, list | tuple):
            inner = [(f"{path}[]", each) for each in value if isinstance(each, dict | list | tuple)]
        stack.extend((name, depth + 1, each) for name, each in reversed(inner))


def note_unread(table: Table, speaking: list[str]) -> None:
    """Remark on the fields that speak of a rotation and were not read."""
    read = table.used | set(map(table.body.path, ELSEWHERE))
    objects = [table.body.path(name) for name in OBJECTS]
    inside = tuple(f"{path}." for path in objects)
    unread = [path[:60] for path in speaking if path not in {*read, *objects} and not path.startswith(inside)]
    if unread:
        table.notes.add("not read", fields=", ".join(unread[:6]) + (", …" if len(unread) > 6 else ""))
