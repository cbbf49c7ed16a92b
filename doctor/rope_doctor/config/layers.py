r"""Find the section of a config that describes the language model and, in that section, the requested layers."""

import re
from typing import Any

from rope_doctor.config.kinds import THETAS, PartsByKind, check_same, kinds_of
from rope_doctor.config.table import RuleTable
from rope_doctor.config.values import RULES, Notes, Part, checked, config_error, listed, same

WIDTH = "head_dim"


def body_of(config: object, notes: Notes) -> tuple[Part, str, bool]:
    """Return the language-model section of a config, its model_type, and whether it is nested in another object."""
    if not isinstance(config, dict):
        raise config_error("not an object", "config", value=config)
    body, inside = Part(config), False
    family = _family(body, "")
    while nest := next((name for name in RULES["nests"] if name in body), None):
        inner = Part(checked("text_config", body.path(nest), body.values[nest]), body.path(nest))
        body = inner if family in RULES["outer_rotation_is_another"] else _inherited(body, inner, nest, notes)
        family, inside = _family(body, RULES["text_of"].get(family, "")), True
    return body, family, inside


def _family(body: Part, default: str) -> str:
    return checked("model_type", body.path("model_type"), body.values.get("model_type", default))


def _inherited(outer: Part, inner: Part, nest: str, notes: Notes) -> Part:
    """Return an inner object that inherits the base and rotation of the outer object."""
    values, paths = dict(inner.values), {}
    for name in (*THETAS, "rope_parameters", "rope_scaling"):
        if name in outer and name in inner:
            check_same(inner, outer, name)
        elif name in outer:
            values[name], paths[name] = outer.raw(name), outer.path(name)
            notes.lost("outside", field=outer.path(name), nest=nest)
    return Part(values, inner.start, paths)


def layers_of(table: RuleTable, layer_type: object) -> tuple[str | None, bool, list[str]]:
    """Point the table at the requested layers; return their kind, whether they rotate, and all kinds."""
    kinds = kinds_of(table)
    n_notes, names = len(table.notes), [label for label in kinds if label is not None]
    full = {label: with_own_width(table, label, part) for label, part in kinds.items()}
    label = _only(full, names) if layer_type is None else _named(table, full, names, layer_type)
    del table.notes[n_notes:]  # discard notes on kinds that were not requested
    part = with_own_width(table, label, kinds[label])
    table.part = part or Part({})
    return label, part is not None, names


def _only(kinds: PartsByKind, names: list[str]) -> str | None:
    """Return the first kind that rotates; ConfigError if another kind rotates differently."""
    turning = {label: part.values for label, part in kinds.items() if part is not None}
    first = next(iter(turning or kinds))
    if not all(same(values, turning[first]) for values in turning.values()):
        raise config_error("choose", "layer_type", choices=names, allowed=listed(names), value=None)
    return first


def _named(table: RuleTable, kinds: PartsByKind, names: list[str], layer_type: object) -> str | None:
    types = table.get("layer_types") or []
    layer_type = checked("layer_type", "layer_type", layer_type)
    if layer_type in kinds:
        return layer_type
    if None in kinds and layer_type in types:
        return None
    allowed = list(dict.fromkeys(names or types))
    reason = "no such layer type" if allowed else "one rotation"
    raise config_error(reason, "layer_type", choices=allowed, allowed=listed(allowed), value=layer_type)


def with_own_width(table: RuleTable, label: str | None, part: Part | None) -> Part | None:
    """Return the parameters of a kind, including a width that applies only to this kind."""
    if part is None:
        return None
    width, path = _own_width(table, label)
    if width is None:
        return part
    added = {WIDTH} - part.values.keys()
    paths = part.all_paths() | {WIDTH: path}
    return Part(part.values | {WIDTH: width}, part.start, paths, part.apart or bool(added), added)


def _own_width(table: RuleTable, label: str | None) -> tuple[Any, str]:
    """Return a kind's width and its path, from per-layer settings or else from the field for this kind."""
    width, path = _of_layers(table, label)
    other = RULES["width_of_a_kind"].get(label)
    if other is None:
        return width, path
    # if both are present, the config class overwrites the width in the file
    replaced = "per_layer_config" in table.body and table.default(other) is not None
    if width is None and not replaced:
        return table.taken(other), table.path(other)
    read, stated = width or _of_the_rest(table), table.get(other)
    if stated is not None and not same(read, stated):
        words = {"value": stated, "other": path or table.path(WIDTH), "other_value": read}
        raise config_error("contradiction", table.path(other), **words)
    return width, path


def _of_layers(table: RuleTable, label: str | None) -> tuple[Any, str]:
    """Return the width given for the individual layers of a kind, and its path; ConfigError if they disagree."""
    types = table.get("layer_types") or []
    count = len(types) or table.get("num_hidden_layers")
    stated = _by_layer(table, count)
    layers = {layer for layer, *_ in stated}
    named = {layer for layer, kind in enumerate(types) if kind == label}
    members = (named or set(range(count))) if count else layers
    widths = [(path, checked(WIDTH, path, width)) for layer, path, width in stated if layer in members]
    if not widths:
        return None, ""
    first, width = widths[0]
    odd = [path for path, other in widths if not same(other, width)]
    if odd or not (members <= layers or same(_of_the_rest(table), width)):
        kind = "every layer" if label is None else label
        raise config_error("several in one kind", (odd or [first])[0], value=kind)
    return width, first


def _by_layer(table: RuleTable, count: int | None) -> list[tuple[int, str, Any]]:
    """Return (layer, path, width) for all layers in per_layer_config, in order."""
    start, widths = table.path("per_layer_config"), []
    for layer, fields in (table.get("per_layer_config") or {}).items():
        if not isinstance(fields, dict) or fields.get(WIDTH) is None:
            continue
        path = f"{start}.{layer}.{WIDTH}"
        if re.fullmatch("[0-9]{1,6}", str(layer)) and (count is None or int(layer) < count):
            widths.append((int(layer), path, fields[WIDTH]))
            table.used.add(path)
        else:
            table.notes.add("of no layer", field=path[:60])
    return sorted(widths, key=lambda entry: entry[:2])


def _of_the_rest(table: RuleTable) -> Any:
    """Return the width of the layers for which the config specifies no separate one, or None."""
    width = table.get(WIDTH)
    if width is not None:
        return width
    hidden, heads = table.get("hidden_size"), table.get("num_attention_heads")
    wide = hidden // heads if hidden and heads and hidden % heads == 0 else None
    return table.default(WIDTH) or wide
