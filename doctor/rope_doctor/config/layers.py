r"""The language model's part of a config, and the layers of it that are asked for."""

import re
from typing import Any

from rope_doctor.config.kinds import THETAS, Kinds, check_same, kinds_of
from rope_doctor.config.table import Table
from rope_doctor.config.values import RULES, Notes, Part, checked, config_error, listed, same

WIDTH = "head_dim"


def body_of(config: object, notes: Notes) -> tuple[Part, str, bool]:
    """Return the language model's part of a config, its model_type, and whether it stands in another object."""
    if not isinstance(config, dict):
        raise config_error("not an object", "config", value=config)
    body, inside = Part(config), False
    family = _family(body, "")
    while nest := next((name for name in RULES["nests"] if name in body), None):
        inner = Part(checked("text_config", body.path(nest), body.values[nest]), body.path(nest))
        body = inner if family in RULES["outer_rotation_is_another"] else _inherited(body, inner, nest, notes)
        family, inside = _family(body, RULES["text_of"].get(family, "")), True
    return body, family, inside


def _family(body: Part, otherwise: str) -> str:
    return checked("model_type", body.path("model_type"), body.values.get("model_type", otherwise))


def _inherited(outer: Part, inner: Part, nest: str, notes: Notes) -> Part:
    """Return an object with the base and the rotation that stand outside it."""
    values, paths = dict(inner.values), {}
    for name in (*THETAS, "rope_parameters", "rope_scaling"):
        if name in outer and name in inner:
            check_same(inner, outer, name)
        elif name in outer:
            values[name], paths[name] = outer.raw(name), outer.path(name)
            notes.lost("outside", field=outer.path(name), nest=nest)
    return Part(values, inner.start, paths)


def layers_of(table: Table, layer_type: object) -> tuple[str | None, bool, list[str]]:
    """Give the table the part of the layers asked for; return their kind, if they rotate, and all kinds' names."""
    kinds = kinds_of(table)
    told, names = len(table.notes), [label for label in kinds if label is not None]
    full = {label: with_own_width(table, label, part) for label, part in kinds.items()}
    label = _only(full, names) if layer_type is None else _named(table, full, names, layer_type)
    del table.notes[told:]  # of kinds that nobody asked for
    part = with_own_width(table, label, kinds[label])
    table.part = part or Part({})
    return label, part is not None, names


def _only(kinds: Kinds, names: list[str]) -> str | None:
    """Return the first kind that rotates, if all of them rotate alike."""
    turning = {label: part.values for label, part in kinds.items() if part is not None}
    first = next(iter(turning or kinds))
    if not all(same(values, turning[first]) for values in turning.values()):
        raise config_error("choose", "layer_type", choices=names, allowed=listed(names), value=None)
    return first


def _named(table: Table, kinds: Kinds, names: list[str], layer_type: object) -> str | None:
    types = table.get("layer_types") or []
    layer_type = checked("layer_type", "layer_type", layer_type)
    if layer_type in kinds:
        return layer_type
    if None in kinds and layer_type in types:
        return None
    allowed = list(dict.fromkeys(names or types))
    reason = "no such layer type" if allowed else "one rotation"
    raise config_error(reason, "layer_type", choices=allowed, allowed=listed(allowed), value=layer_type)


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
