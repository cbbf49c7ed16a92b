r"""The width of a head that a config states for one kind of layers alone, or layer by layer."""

from __future__ import annotations

import re
from typing import Any

from rope_edu.config.table import Table
from rope_edu.config.values import RULES, Part, checked, config_error, same

WIDTH = "head_dim"


def with_own_width(table: Table, label: str | None, part: Part | None) -> Part | None:
    """Return a kind's parameters with the width that the file states for this kind alone."""
    if part is None:
        return None
    width, path = _own_width(table, label)
    if width is None:
        return part
    added = {WIDTH} - part.values.keys()
    paths = part.all_paths() | {WIDTH: path}
    return Part(part.values | {WIDTH: width}, part.start, paths, part.apart or bool(added), added)


def _own_width(table: Table, label: str | None) -> tuple[Any, str]:
    """Return a kind's own width and its path: that of its layers, else that of the field for this kind."""
    width, path = _of_layers(table, label)
    other = RULES["width_of_a_kind"].get(label)
    if other is None:
        return width, path
    replaced = "per_layer_config" in table.body and table.default(other) is not None  # by the model's class
    if width is None and not replaced:
        return table.taken(other), table.path(other)
    read, stated = width or _of_the_rest(table), table.get(other)
    if stated is not None and not same(read, stated):
        words = {"value": stated, "other": path or table.path(WIDTH), "other_value": read}
        raise config_error("contradiction", table.path(other), **words)
    return width, path


def _of_layers(table: Table, label: str | None) -> tuple[Any, str]:
    """Return the width stated for single layers, where all layers of a kind agree, and its path."""
    types = table.get("layer_types") or []
    count = len(types) or table.get("num_hidden_layers")
    stated = _by_layer(table, count)
    layers = {layer for layer, *_ in stated}
    named = {layer for layer, each in enumerate(types) if each == label}
    members = (named or set(range(count))) if count else layers
    found = [(path, checked(WIDTH, path, width)) for layer, path, width in stated if layer in members]
    if not found:
        return None, ""
    first, width = found[0]
    odd = [path for path, each in found if not same(each, width)]
    if odd or not (members <= layers or same(_of_the_rest(table), width)):
        kind = "every layer" if label is None else label
        raise config_error("several in one kind", (odd or [first])[0], value=kind)
    return width, first


def _by_layer(table: Table, count: int | None) -> list[tuple[int, str, Any]]:
    """Return (layer, path, width) of each in per_layer_config, in the order of layers."""
    start, found = table.path("per_layer_config"), []
    for layer, each in (table.get("per_layer_config") or {}).items():
        if not isinstance(each, dict) or each.get(WIDTH) is None:
            continue
        path = f"{start}.{layer}.{WIDTH}"
        if re.fullmatch("[0-9]{1,6}", str(layer)) and (count is None or int(layer) < count):
            found.append((int(layer), path, each[WIDTH]))
            table.used.add(path)
        else:
            table.notes.add("of no layer", field=path[:60])
    return sorted(found, key=lambda each: each[:2])


def _of_the_rest(table: Table) -> Any:
    """Return the width of layers that state none, or None."""
    width = table.get(WIDTH)
    if width is not None:
        return width
    hidden, heads = table.get("hidden_size"), table.get("num_attention_heads")
    wide = hidden // heads if hidden and heads and hidden % heads == 0 else None
    return table.default(WIDTH) or wide
