r"""Which part of a config is the language model's, and which of its layers are asked for."""

from __future__ import annotations

from rope_edu.config.kinds import THETA, Kinds, check_same, kinds_of
from rope_edu.config.table import Notes, Table
from rope_edu.config.values import RULES, Part, checked, config_error, listed, names_of, same
from rope_edu.config.widths import with_own_width


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
    for name in (*names_of(THETA), "rope_parameters", "rope_scaling"):
        if name in outer and name in inner:
            check_same(inner, outer, name)
        elif name in outer:
            values[name], paths[name] = outer.raw(name), outer.path(name)
            notes.lost("outside", field=outer.path(name), nest=nest)
    return Part(values, inner.start, paths)


def layers_of(table: Table, layer_type: object) -> tuple[str | None, Part | None, list[str]]:
    """Return the kind of layers that is asked for, its parameters (None: no rotation), and the names of all."""
    kinds = kinds_of(table)
    told = len(table.notes)
    label = chosen(
        table, {each: with_own_width(table, each, part) for each, part in kinds.items()}, layer_type
    )
    del table.notes[told:]  # of kinds that nobody asked for
    return label, with_own_width(table, label, kinds[label]), _names(kinds)


def chosen(table: Table, kinds: Kinds, layer_type: object) -> str | None:
    """Return the kind of layers that is asked for."""
    names = _names(kinds)
    types = table.get("layer_types") or []
    if layer_type is None:
        turning = {label: part.values for label, part in kinds.items() if part is not None}
        first = next(iter(turning or kinds))
        if not all(same(values, turning[first]) for values in turning.values()):
            raise config_error("choose", "layer_type", choices=names, allowed=listed(names), value=None)
        return first
    layer_type = checked("layer_type", "layer_type", layer_type)
    if layer_type in kinds:
        return layer_type
    if None in kinds and layer_type in types:
        return None
    allowed = list(dict.fromkeys(names or types))
    reason = "no such layer type" if allowed else "one rotation"
    raise config_error(reason, "layer_type", choices=allowed, allowed=listed(allowed), value=layer_type)


def _names(kinds: Kinds) -> list[str]:
    """Return the kinds as `layer_type` names them; nothing for all layers."""
    return [label for label in kinds if label is not None]
