r"""Kinds of layers: which object of a config states the rotation of which of them."""

from __future__ import annotations

import re
from enum import Enum
from typing import Any

from rope_edu.config.table import Notes, Table
from rope_edu.config.values import RULES, Part, checked, config_error, listed, names_of, same

THETA = "rope_theta"


class Layers(Enum):
    """Kinds of layers that a file has no name for."""

    ALL = None
    STILL = "nope"  # those without position


Label = str | Layers
Kinds = dict[Label, Part | None]  # None: these layers do not rotate


def body_of(config: object, notes: Notes) -> tuple[Part, str, bool]:
    """Return the language model's part of a config, its model_type, and whether it stands in another object."""
    if not isinstance(config, dict):
        raise config_error("not an object", "config", value=config)
    body, family = Part(config), _family(Part(config), "")
    for depth in range(RULES["deepest"]):
        nest = next((name for name in RULES["nests"] if name in body), None)
        if nest is None:
            return body, family, depth > 0
        inner = Part(checked("text_config", body.path(nest), body.values[nest]), body.path(nest))
        body = inner if family in RULES["outer_rotation_is_another"] else _inherited(body, inner, nest, notes)
        family = _family(body, RULES["text_of"].get(family, ""))
    return body, family, True


def _family(body: Part, otherwise: str) -> str:
    return checked("model_type", body.path("model_type"), body.values.get("model_type", otherwise))


def _inherited(outer: Part, inner: Part, nest: str, notes: Notes) -> Part:
    """Return an object with the base and the rotation that stand outside it."""
    values, paths = dict(inner.values), {}
    for name in (*names_of(THETA), "rope_parameters", "rope_scaling"):
        if name not in outer:
            continue
        if name not in inner:
            values[name], paths[name] = outer.raw(name), outer.path(name)
            notes.lost("outside", field=outer.path(name), nest=nest)
        elif not same(outer.raw(name), inner.raw(name)):
            raise _contradiction(inner, name, outer, name)
    return Part(values, inner.path(""), paths)


def kinds_of(table: Table) -> Kinds:
    """Return the rotation's parameters for each kind of layers; None for those that do not rotate."""
    stated = _stated(table)
    nested = any(isinstance(value, dict) for value in stated.values.values())
    table.facts |= {"nested": nested, "stretched": bool(set(stated.values) - {"rope_type", "type", THETA})}
    table.part = Part({}) if nested else stated
    row, family = table.holding(RULES["kinds_of_layers"]), table.facts["model_type"]
    if row is None:
        kinds: Kinds = {Layers.ALL: stated}
    elif row["kinds"] == "nested":
        kinds = _nested(stated, table)
    elif row["kinds"] == "by layer":
        kinds = _by_layer(table, stated, row["field"], row["from"])
    else:
        kinds = {label: _taken(stated, rule, table) for label, rule in row["kinds"].items()}
    if not nested and THETA in stated and family in RULES["rope_parameters_per_layer_type"]:
        table.notes.lost("flat", model_type=family)
    return _with_still(table, kinds)


def _stated(table: Table) -> Part:
    """Return rope_parameters or rope_scaling, or both in one where they agree."""
    body, notes = table.body, table.notes
    found = [name for name in ("rope_scaling", "rope_parameters") if body.values.get(name)]
    parts = [Part(checked(name, body.path(name), body.values[name]), body.path(name)) for name in found]
    beside = any(name in body for name in names_of(THETA))
    if found == ["rope_parameters"] and THETA in parts[0] and not beside:
        notes.add("theta lost by 4")
    if len(parts) < 2:
        return parts[0] if parts else Part({}, body.path("rope_parameters"))
    scaling, parameters = parts
    for name in scaling.values:
        if name in parameters and not same(scaling.values[name], parameters.values[name]):
            raise _contradiction(scaling, name, parameters, name)
    if THETA in parameters and THETA not in scaling and not beside:
        notes.lost("two places")
    return Part(parameters.values | scaling.values, scaling.path(""), parameters.all_paths())


def _nested(stated: Part, table: Table) -> Kinds:
    body, family = table.body, table.facts["model_type"]
    declared = table.get("layer_types")
    kinds: Kinds = {}
    for label, value in stated.values.items():
        path = stated.path(label)
        if not isinstance(value, dict):
            words = {"value": value, "rule": "nested", "allowed": "an object for each layer type"}
            raise config_error("no rule uses", path, **words)
        lost = label not in declared if declared else family in RULES["rope_parameters_for_all_layers"]
        if lost and THETA in value:
            table.notes.lost("no layer type", field=f"{path}.{THETA}")
        kinds[label] = Part(value, path, apart=True)
    if not any(name in body for name in names_of(THETA)):
        table.notes.add("theta lost by 4")
    if any(label in kinds for label in declared or []):
        still = [label for label in RULES["kinds_of_attention"] if label in declared and label not in kinds]
        kinds |= dict.fromkeys(still)
        _note_still(table, [label not in still for label in declared])
    return kinds


def _taken(stated: Part, rule: dict[str, Any], table: Table) -> Part:
    """Return the parameters of a kind of layers: those stated or none, and fields taken from beside them."""
    whole = "stated" in rule
    source = stated if whole else Part({}, stated.path(""))
    values, paths = dict(source.values), source.all_paths()
    for name, other in rule.items():
        if name == "stated":
            continue
        place = stated if other in stated and not whole else table.body
        value = place.raw(other)
        if value is None and other != name:
            value = table.taken(other)
        if value is None:
            continue
        if name in values and not same(values[name], value):
            raise _contradiction(source, name, place, other)
        values[name], paths[name] = value, place.path(other)
    return Part(values, source.path(""), paths, apart=len(rule) > whole)


def _by_layer(table: Table, stated: Part, field: str, name: str) -> Kinds:
    """Return the kinds of a file that lists a base for each layer; 0 is a layer that does not rotate."""
    path = table.body.path(name)
    bases = checked(field, path, table.body.raw(name))
    table.used.add(path)
    types = table.get("layer_types") or []
    fractions = table.get("partial_rotary_factors") or []
    kinds: Kinds = {}
    for layer, base in enumerate(bases):
        label = types[layer] if len(types) > layer else "every layer"
        values = dict(stated.values) if label == "full_attention" or not fractions else {}
        values[THETA] = base
        if len(fractions) > layer:
            values["partial_rotary_factor"] = fractions[layer]
        part = Part(values, stated.path(""), {THETA: path}, apart=True) if base else None
        known = kinds.setdefault(label, part)
        if (known and known.values) != (part and part.values):
            raise config_error("several in one kind", path, value=label)
    _note_still(table, bases)
    return kinds


def with_own_fields(table: Table, label: Label, part: Part | None) -> Part | None:
    """Return a kind's parameters with the fields that the file states for this kind alone, such as its width."""
    if part is None:
        return part
    values, paths = dict(part.values), part.all_paths()
    for name, other in RULES["fields_of_a_kind"].get(label, RULES["fields_of_any_kind"]).items():
        value, path = _own(table, label, name, other)
        if value is not None:
            values[name], paths[name] = value, path
    added = values.keys() - part.values.keys()
    return Part(values, part.start, paths, apart=part.apart or bool(added), added=added)


def _own(table: Table, label: Label, name: str, other: str | None) -> tuple[Any, str]:
    """Return a kind's own value of a field and its path: that of its layers, else that of the field `other`."""
    value, path = _of_layers(table, label, name)
    if other is None:
        return value, path
    replaced = "per_layer_config" in table.body and table.default(other) is not None  # by the model's class
    if value is None and not replaced:
        return table.taken(other), table.path(other)
    read, stated = _of_the_rest(table, name) if value is None else value, table.get(other)
    if stated is not None and not same(read, stated):
        words = {"value": stated, "other": path or table.path(name), "other_value": read}
        raise config_error("contradiction", table.path(other), **words)
    return value, path


def _of_layers(table: Table, label: Label, name: str) -> tuple[Any, str]:
    """Return a field stated for single layers, where all layers of a kind agree, and its path."""
    types = table.get("layer_types") or []
    count = len(types) or table.get("num_hidden_layers")
    stated = _stated_by_layer(table, name, count)
    members = {layer for layer, each in enumerate(types) if each == label}
    members = members or set(range(count)) if count else {layer for layer, *_ in stated}
    found = [(path, checked(name, path, value)) for layer, path, value in stated if layer in members]
    if not found:
        return None, ""
    (first, value), complete = found[0], members <= {layer for layer, *_ in stated}
    odd = [path for path, each in found if not same(each, value)]
    if odd or not (complete or same(_of_the_rest(table, name), value)):
        shown = label if isinstance(label, str) else "every layer"
        raise config_error("several in one kind", (odd or [first])[0], value=shown)
    return value, first


def _stated_by_layer(table: Table, name: str, count: int | None) -> list[tuple[int, str, Any]]:
    """Return (layer, path, value) of a field in per_layer_config, in the order of layers."""
    start, found = table.path("per_layer_config"), []
    for layer, each in (table.get("per_layer_config") or {}).items():
        if not isinstance(each, dict) or each.get(name) is None:
            continue
        path = f"{start}.{layer}.{name}"
        if re.fullmatch("[0-9]{1,6}", str(layer)) and (count is None or int(layer) < count):
            found.append((int(layer), path, each[name]))
            table.used.add(path)
        else:
            table.notes.add("of no layer", field=path[:60])
    return sorted(found, key=lambda each: each[:2])


def _of_the_rest(table: Table, name: str) -> Any:
    """Return the value of a field in layers that state none, or None."""
    value, wide = table.get(name), None
    if value is None and name == "head_dim":
        hidden, heads = table.get("hidden_size"), table.get("num_attention_heads")
        wide = hidden // heads if hidden and heads and hidden % heads == 0 else None
    return next((each for each in (value, table.default(name), wide) if each is not None), None)


def _with_still(table: Table, kinds: Kinds) -> Kinds:
    """Return the kinds and those that do not rotate."""
    row = table.holding(RULES["still"])
    if row is None:
        return kinds
    types, layers = table.get("layer_types") or [], table.get("num_hidden_layers")
    if row["still"] == "all":
        return {Layers.STILL: None}
    if row["still"] == "full_attention":
        if Layers.ALL in kinds:
            _note_still(table, [label != "full_attention" for label in types])
            kinds = {"sliding_attention": kinds[Layers.ALL], "full_attention": None}
        return kinds
    turning = table.get("no_rope_layers")
    if row["still"] == "every":
        turning = [(layer + 1) % table.value(row["interval"]) for layer in range(layers)]
    if all(turning):
        return kinds
    _note_still(table, turning)
    return kinds | {Layers.STILL: None}


def _note_still(table: Table, turning: list[Any]) -> None:
    if not all(turning):
        still = sum(not each for each in turning)
        table.notes.add("layers without position", count=str(still), layers=str(len(turning)))


def chosen(kinds: Kinds, layer_type: object, table: Table) -> Label:
    """Return the kind of layers that is asked for."""
    labels = names_in(kinds)
    types = table.get("layer_types") or []
    if layer_type is None:
        return _only(kinds, labels)
    layer_type = checked("layer_type", "layer_type", layer_type)
    if layer_type in kinds:
        return layer_type
    if layer_type == Layers.STILL.value and Layers.STILL in kinds:
        return Layers.STILL
    if Layers.ALL in kinds and layer_type in types:
        return Layers.ALL
    allowed = list(dict.fromkeys(labels or types))
    reason = "no such layer type" if allowed else "one rotation"
    raise config_error(reason, "layer_type", choices=allowed, allowed=listed(allowed), value=layer_type)


def _only(kinds: Kinds, labels: list[str]) -> Label:
    turning = {label: part.values for label, part in kinds.items() if part is not None}
    first = next(iter(turning or kinds))
    if not all(same(values, turning[first]) for values in turning.values()):
        raise config_error("choose", "layer_type", choices=labels, allowed=listed(labels), value=None)
    return first


def names_in(kinds: Kinds) -> list[str]:
    """Return the kinds as `layer_type` names them; nothing for all layers."""
    return [name for name in map(name_of, kinds) if name is not None]


def name_of(label: Label) -> str | None:
    """Return a kind as `layer_type` names it; None for all layers."""
    return label.value if isinstance(label, Layers) else label


def _contradiction(part: Part, name: str, other: Part, other_name: str) -> Exception:
    words = {"value": part.raw(name), "other": other.path(other_name), "other_value": other.raw(other_name)}
    return config_error("contradiction", part.path(name), **words)
