r"""Which object of a config states the rotation of which layers."""

from __future__ import annotations

from numbers import Real
from typing import Any

from rope_edu.config.values import RULES, Part, checked, refuse, said

THETA = "rope_theta"
STILL = "nope"  # the type of layers that do not rotate, where the file has no name for them
ALL = ""  # the label of a rotation that all layers share


class Notes(list):
    """Remarks as (kind, words), each once."""

    def add(self, kind: str, **words: Any) -> None:
        note = (kind, words)
        if note not in self:
            self.append(note)

    def lost(self, how: str, **words: Any) -> None:
        """Note that transformers 5 loses θ."""
        self.add("theta lost by 5", detail=RULES["how_lost"][how].format(**words))


def body_of(config: object, notes: Notes) -> Part:
    """Return the language model's part of a config, nested or not; what it lacks of the base comes from outside."""
    if not isinstance(config, dict):
        raise refuse("not an object", "config", value=config)
    body = Part(config)
    for _ in range(3):
        nest = next((name for name in RULES["nests"] if name in body), None)
        if nest is None:
            break
        inner = Part(checked("text_config", body.path(nest), body.values[nest]), body.path(nest))
        body = _inherited(body, inner, nest, notes)
    return body


def _inherited(outer: Part, inner: Part, nest: str, notes: Notes) -> Part:
    values, paths = dict(inner.values), {}
    for name in (*RULES["names"][THETA], "rope_parameters", "rope_scaling"):
        if name not in outer:
            continue
        if name not in inner:
            values[name], paths[name] = outer.values[name], outer.path(name)
            notes.lost("outside", field=outer.path(name), nest=nest)
        elif not same(outer.values[name], inner.values[name]):
            raise _contradiction(inner, name, outer, name)
    return Part(values, inner.path(""), paths)


def rotations_of(body: Part, family: str, notes: Notes) -> dict[str, Part]:
    """Return the rotation's parameters for each type of layer, or for `ALL`."""
    stated = _stated(body, notes)
    if any(isinstance(value, dict) for value in stated.values.values()):
        return _nested(stated, body, family, notes)
    if THETA in stated and family in RULES["rope_parameters_per_layer_type"]:
        notes.lost("flat", model_type=family)
    names = [name for name in RULES["second_bases"] if name in body]
    defaults = RULES["defaults"].get(family, {})
    if not names and "rope_local_base_freq" not in defaults:
        return {ALL: stated}
    name = names[0] if names else "rope_local_base_freq"
    if not names:
        notes.add("default taken", field=name, value=said(defaults[name]), model_type=family)
    return _two_bases(stated, body, name, body.values.get(name, defaults.get(name)))


def _stated(body: Part, notes: Notes) -> Part:
    """Return rope_parameters or rope_scaling, or both in one where they agree."""
    found = [name for name in ("rope_scaling", "rope_parameters") if body.get(name)]
    parts = [Part(body.values[name], body.path(name)) for name in found]
    beside = any(name in body for name in RULES["names"][THETA])
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
    paths = {name: parameters.path(name) for name in parameters.values}
    return Part(parameters.values | scaling.values, scaling.path(""), paths)


def _nested(stated: Part, body: Part, family: str, notes: Notes) -> dict[str, Part]:
    declared = body.get("layer_types")
    known_flat = family in RULES["rope_parameters_for_all_layers"]
    for label, value in stated.values.items():
        if not isinstance(value, dict):
            raise refuse(
                "no rule uses",
                stated.path(label),
                value=value,
                rule="nested",
                allowed="an object for each layer type",
            )
        lost = label not in declared if declared else known_flat
        if lost and THETA in value:
            notes.lost("no layer type", field=f"{stated.path(label)}.{THETA}")
    if not any(name in body for name in RULES["names"][THETA]):
        notes.add("theta lost by 4")
    return {label: Part(value, stated.path(label), apart=True) for label, value in stated.values.items()}


def _two_bases(stated: Part, body: Part, name: str, base: object) -> dict[str, Part]:
    """Return the rotations of a config with a second base beside the first."""
    rule = RULES["second_bases"][name]
    second = Part({THETA: base}, paths={THETA: body.path(name)}, apart=True)
    if rule["scaled"] != rule["own"]:
        return {rule["others"]: stated, rule["own"]: second}
    if THETA in stated and not same(stated.values[THETA], base):
        raise _contradiction(stated, THETA, body, name)
    paths = {key: stated.path(key) for key in stated.values} | {THETA: body.path(name)}
    scaled = Part(stated.values | {THETA: base}, stated.path(""), paths, apart=True)
    return {rule["others"]: Part({}, stated.path("")), rule["own"]: scaled}


def still_labels(body: Part, family: str, rotations: dict[str, Part], notes: Notes) -> dict[str, Part]:
    """Add to `rotations` the layers without position, with None for their parameters."""
    types, layers = body.get("layer_types"), body.one("num_hidden_layers")
    if body.get("position_embedding_type") == STILL:
        return {STILL: None}
    if family in RULES["only_sliding_layers_rotate"] and "sliding_window" in body and ALL in rotations:
        if types:
            notes.add(
                "layers without position", count=str(types.count("full_attention")), layers=str(len(types))
            )
        return {"sliding_attention": rotations[ALL], "full_attention": None}
    turning = _turning_layers(body, family, layers)
    if turning is None or all(turning):
        return rotations
    notes.add("layers without position", count=str(turning.count(0)), layers=str(len(turning)))
    return rotations | {STILL: None}


def _turning_layers(body: Part, family: str, layers: int | None) -> list[int] | None:
    """Return 1 for each layer that rotates and 0 for each that does not, or None if the file does not say."""
    if body.values.get("no_rope_layers") not in (None, []):
        return body.get("no_rope_layers")
    default = RULES["defaults"].get(family, {}).get("no_rope_layer_interval")
    interval = body.get("no_rope_layer_interval", default)
    if interval is None or layers is None:
        return None
    return [int((layer + 1) % interval != 0) for layer in range(layers)]


def chosen(
    rotations: dict[str, Part | None], layer_type: object, body: Part
) -> tuple[str | None, Part | None]:
    """Return (label, parameters) of the layers asked for; None for the parameters of layers that do not rotate."""
    labels = [label for label in rotations if label != ALL]
    if layer_type is None:
        return _only(rotations, labels, body)
    layer_type = checked("layer_type", "layer_type", layer_type)
    if layer_type in labels:
        return layer_type, rotations[layer_type]
    if ALL in rotations and layer_type in (body.get("layer_types") or []):
        return layer_type, rotations[ALL]
    if not labels and not body.get("layer_types"):
        raise refuse("one rotation", "layer_type", value=layer_type)
    allowed = labels or list(dict.fromkeys(body.get("layer_types")))
    raise refuse("no such layer type", "layer_type", allowed=listed(allowed), value=layer_type)


def _only(rotations: dict[str, Part | None], labels: list[str], body: Part) -> tuple[str | None, Part | None]:
    turning = [label for label, part in rotations.items() if part is not None]
    if not turning:
        return labels[0], None
    first = rotations[turning[0]]
    alike = all(same(rotations[label].values, first.values) for label in turning)
    if not alike or (len(turning) > 1 and "global_head_dim" in body):
        raise refuse("choose", "layer_type", allowed=listed(labels), value=None)
    return (turning[0] or None), first


def listed(names: list[str]) -> str:
    """Return names as a sentence lists them."""
    return ", ".join(f'"{name}"' for name in names)


def same(a: object, b: object) -> bool:
    """Tell whether two values of a JSON file are equal; 1 and 1.0 are, 1 and true are not."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, Real) and isinstance(b, Real):
        return a == b or (a != a and b != b)  # no number at all is refused where it is read
    return type(a) is type(b) and isinstance(a, str | None) and a == b


def _contradiction(part: Part, name: str, other: Part, other_name: str) -> Exception:
    return refuse(
        "contradiction",
        part.path(name),
        value=part.values[name],
        other=other.path(other_name),
        other_value=other.values[other_name],
    )
