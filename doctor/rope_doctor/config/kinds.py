r"""The layer kinds in a config, and their rotation parameters."""

from typing import Any

from rope_doctor.config.table import RuleTable
from rope_doctor.config.values import RULES, Part, checked, config_error, names_of, same

THETA = "rope_theta"
THETAS = names_of(THETA)
NOPE = "nope"  # our name for layers without position encoding, which files do not name
# {kind: parameters}; the key None means all layers, and the value None means that the kind does not rotate
PartsByKind = dict[str | None, Part | None]


def kinds_of(table: RuleTable) -> PartsByKind:
    """Return the rotation parameters of every layer kind, with None for kinds that do not rotate."""
    stated = _stated(table)
    nested = any(isinstance(value, dict) for value in stated.values.values())
    table.facts |= {"nested": nested, "stretched": bool(stated.values.keys() - {"rope_type", "type", THETA})}
    table.part = Part({}) if nested else stated
    kinds: Any = table.decide(RULES["kinds_of_layers"])
    if kinds is None:
        parts: PartsByKind = {None: stated}
    elif kinds == "nested":
        parts = _nested(table, stated)
    elif isinstance(kinds, str):
        parts = _by_layer(table, stated, kinds)
    else:
        parts = {label: _of_kind(table, stated, **rule) for label, rule in kinds.items()}
    return _with_still(table, parts)


def _stated(table: RuleTable) -> Part:
    """Return rope_parameters, rope_scaling, or both merged; ConfigError if they disagree."""
    body = table.body
    present = [name for name in ("rope_scaling", "rope_parameters") if body.values.get(name)]
    parts = [Part(checked(name, body.path(name), body.values[name]), body.path(name)) for name in present]
    if present == ["rope_parameters"] and THETA in parts[0] and not _base_beside(body):
        table.notes.add("theta lost by 4")
    if len(parts) < 2:
        return parts[0] if parts else Part({}, body.path("rope_parameters"))
    scaling, parameters = parts
    for name in scaling.values:
        if name in parameters:
            check_same(scaling, parameters, name)
    if THETA in parameters and THETA not in scaling and not _base_beside(body):
        table.notes.lost("two places")
    return Part(parameters.values | scaling.values, scaling.start, parameters.all_paths())


def _base_beside(body: Part) -> bool:
    return any(name in body for name in THETAS)


def _nested(table: RuleTable, stated: Part) -> PartsByKind:
    """Return the kinds in a file that has one object per kind; declared kinds without an object do not rotate."""
    declared = table.get("layer_types")
    kinds: PartsByKind = {}
    for label, value in stated.values.items():
        path = stated.path(label)
        if not isinstance(value, dict):
            words = {"value": value, "rule": "nested", "allowed": "an object for each layer type"}
            raise config_error("no rule uses", path, **words)
        flat = table.facts["model_type"] in RULES["rope_parameters_for_all_layers"]
        if THETA in value and (label not in declared if declared else flat):
            table.notes.lost("no layer type", field=f"{path}.{THETA}")
        kinds[label] = Part(value, path, apart=True)
    if not _base_beside(table.body):
        table.notes.add("theta lost by 4")
    if any(label in kinds for label in declared or []):
        still = [label for label in RULES["kinds_of_attention"] if label in declared and label not in kinds]
        kinds |= dict.fromkeys(still)
        _note_still(table, [label not in still for label in declared])
    return kinds


def _of_kind(table: RuleTable, stated: Part, *, whole: bool = False, base: str = "") -> Part:
    """Return a kind's parameters: all those in the file if `whole`, and the base from the field `base`, if any."""
    source = stated if whole else Part({}, stated.start)
    if not base:
        return source
    place = stated if base in stated and not whole else table.body
    value = place.raw(base)
    if value is None and base != THETA:
        value = table.taken(base)
    if THETA in source:
        check_same(source, place, THETA, base)
    paths = source.all_paths() | {THETA: place.path(base)}
    return Part(source.values | {THETA: value}, source.start, paths, apart=True)


def _by_layer(table: RuleTable, stated: Part, name: str) -> PartsByKind:
    """Return the kinds in a file that lists one base per layer; 0 marks a layer that does not rotate."""
    path = table.body.path(name)
    bases = checked("layer_rope_theta", path, table.body.raw(name))
    table.used.add(path)
    types = table.get("layer_types") or []
    fractions = table.get("partial_rotary_factors") or []
    kinds: PartsByKind = {}
    for layer, base in enumerate(bases):
        label = types[layer] if layer < len(types) else "every layer"
        shared = stated.values if label == "full_attention" or not fractions else {}
        own = {"partial_rotary_factor": fractions[layer]} if layer < len(fractions) else {}
        values = shared | {THETA: base} | own
        part = Part(values, stated.start, {THETA: path}, apart=True) if base else None
        if kinds.setdefault(label, part) != part:
            raise config_error("several in one kind", path, value=label)
    _note_still(table, bases)
    return kinds


def _with_still(table: RuleTable, kinds: PartsByKind) -> PartsByKind:
    """Return the kinds together with those that do not rotate."""
    still = table.decide(RULES["still"])
    if still is None:
        return kinds
    types, layers = table.get("layer_types") or [], table.get("num_hidden_layers")
    if still == "all":
        return {NOPE: None}
    if still == "full_attention":
        if None not in kinds:
            return kinds
        _note_still(table, [label != "full_attention" for label in types])
        return {"sliding_attention": kinds[None], "full_attention": None}
    turning = table.get("no_rope_layers")
    if still == "every":
        interval = table.taken("no_rope_layer_interval", silently=True)
        turning = [(layer + 1) % interval for layer in range(layers)]
    _note_still(table, turning)
    return kinds if all(turning) else kinds | {NOPE: None}


def _note_still(table: RuleTable, turning: list[Any]) -> None:
    if not all(turning):
        still = sum(not rotates for rotates in turning)
        table.notes.add("layers without position", count=still, layers=len(turning))


def check_same(part: Part, other: Part, name: str, other_name: str = "") -> None:
    """Raise ConfigError if two parts give a field different values."""
    value, other_value = part.raw(name), other.raw(other_name or name)
    if not same(value, other_value):
        words = {"value": value, "other": other.path(other_name or name), "other_value": other_value}
        raise config_error("contradiction", part.path(name), **words)
