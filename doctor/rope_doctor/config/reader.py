r"""Read the rotation in a model's config.json, with remarks on unusual fields.

The rules are the decision tables in rules.json, which JavaScript also reads.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rope_doctor.config.kinds import NOPE as NOPE
from rope_doctor.config.layers import body_of, layers_of
from rope_doctor.config.table import RuleTable
from rope_doctor.config.values import (
    RULES,
    Notes,
    Remark,
    checked,
    config_error,
    format_value,
    listed,
    names_of,
)
from rope_edu import encodings
from rope_edu.encodings.spec import RopeSpec

OBJECTS = "rope_parameters", "rope_scaling", "rotary"  # all their fields are read or rejected
ELSEWHERE = [field for field, rule in RULES["fields"].items() if rule.get("place") != "rotation"]


@dataclass(frozen=True)
class Call:
    """A call to a rule in `rope_edu.encodings`, and changes to the resulting spec."""

    rule: str
    arguments: tuple[Any, ...]
    settings: dict[str, Any]
    changes: dict[str, Any]
    divided_by: float = 1.0
    axes: tuple[int, ...] | None = None

    def spec(self) -> RopeSpec:
        """Return the spec that results from the rule and the changes."""
        if self.rule == NOPE:
            head_dim = self.arguments[0]
            return RopeSpec(np.zeros(head_dim // 2), head_dim=head_dim, kind=NOPE, **self.changes)
        spec: RopeSpec = getattr(encodings, self.rule)(*self.arguments, **self.settings)
        changes = self.changes | {"inv_freq": spec.inv_freq / self.divided_by, "axes": self.axes}
        return spec.replace(**changes)

    def line(self) -> str:
        """Return the call as a line of Python, or a `rope_from_config` call if no short one can express it.

        >>> Call("llama3", (128, 8.0, 8192), {"base": 5e5}, {"layout": "half_split"}).line()
        'llama3(128, 8, 8192, base=500000).replace(layout="half_split")'
        """
        if self.rule in (NOPE, "longrope") or self.divided_by != 1 or self.axes is not None:
            return 'rope_from_config("config.json")'
        arguments = [*map(format_value, self.arguments), *map(_keyword, self.settings.items())]
        changes = f".replace({', '.join(map(_keyword, self.changes.items()))})" if self.changes else ""
        return f"{self.rule}({', '.join(arguments)}){changes}"


def _keyword(item: tuple[str, Any]) -> str:
    name, value = item
    return f"{name}={value if isinstance(value, bool) else format_value(value)}"


@dataclass(frozen=True)
class Reading:
    r"""The rotation specified by a config.

    Attributes:
        spec: the rotation.
        rope_type: the rule's name in transformers; "nope" for layers that do not rotate.
        base: b of b^(−2i/d); 1.0 for layers that do not rotate.
        factor: the stretch s, or None.
        longest, trained: the claimed length in tokens (max_position_embeddings), and the length before stretching
            if the rule uses it; either may be None.
        layer_type, layer_types: the layers that were read (None: all), and the allowed values of `layer_type`
            (empty if all layers have the same rotation).
        section_order: "contiguous", "interleaved" or "rows and columns first"; None without sections.
        softmax_scale: factor on the softmax scale 1/√d besides the attention factor; None if unknown.
        remarks, call: noteworthy facts; the `rope_edu.encodings` rule and its arguments.
    """

    spec: RopeSpec
    rope_type: str
    base: float
    factor: float | None
    longest: int | None
    trained: int | None
    layer_type: str | None
    layer_types: tuple[str, ...]
    section_order: str | None
    remarks: tuple[Remark, ...]
    call: Call
    softmax_scale: float | None = 1.0


def rope_from_config(
    config: dict[str, Any] | str | Path, *, layer_type: str | None = None, seq_len: int | None = None
) -> RopeSpec:
    r"""Return the rotation specified by a model's config.json.

    Accepts both spellings: `rope_theta` with `rope_scaling` (transformers 4) and `rope_parameters`
    (transformers 5), for all layers or per layer type. Also reads partial widths, MLA's `qk_rope_head_dim`, second
    bases, sections, and layers without position encoding. Ambiguous files are rejected: the base of a stretched
    model must be given, and the rule must use every key. The layout is the architecture's, or "half_split" if the
    architecture is unknown. The result depends only on the arguments, not on earlier calls.

    Raises ConfigError, a ValueError that names the field and the value, for an unknown rope_type, a missing field,
    a value of the wrong type or out of range, two contradictory fields, or an unused key; OSError for an
    unreadable file.

    Args:
        config: the file's content as a dict, its path, or the path of its folder.
        layer_type: the layers to read, if they rotate differently: "full_attention", "sliding_attention", … as in
            the file; "nope" for layers without position encoding that have no name in the file.
        seq_len: tokens in the current text, for "dynamic" and "longrope". By default, at most the trained length.

    >>> llama = {"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32, "rope_theta": 500000.0}
    >>> rope_from_config(llama)
    <RopeSpec "rope": 64 pairs, 1 … 2.45514e-06 rad/token, half_split>
    >>> rope_from_config(llama | {"rope_scaling": {"type": "linear"}})
    Traceback (most recent call last):
    rope_doctor.config.values.ConfigError: rope_scaling.factor is missing: the rule needs it

    Source: transformers 5.23, `modeling_rope_utils`; the results are equal in float64. Chapter 21.
    """
    return read_config(config, layer_type=layer_type, seq_len=seq_len).spec


def read_config(
    config: dict[str, Any] | str | Path, *, layer_type: str | None = None, seq_len: int | None = None
) -> Reading:
    r"""Read everything that a model's config.json specifies about the rotation.

    Takes the same arguments as `rope_from_config`, raises the same errors, and returns the same RopeSpec in `spec`.

    >>> file = {"model_type": "gpt_neox", "hidden_size": 64, "num_attention_heads": 1, "rope_theta": 25000}
    >>> for remark in read_config(file).remarks:
    ...     print(remark.text)
    transformers 5 loses this θ: for gpt_neox it reads rotary_emb_base, not rope_theta.
    partial_rotary_factor is not in the file, so the default of gpt_neox, 0.25, is used.

    Chapter 21.
    """
    seq_len = None if seq_len is None else checked("seq_len", "seq_len", seq_len)
    content, notes = loaded(config), Notes()
    suggestive = _suggestive_paths(content)
    body, family, nested = body_of(content, notes)
    table = RuleTable(body, notes, {"model_type": family, "nested_file": nested, "seq_len": seq_len})
    table.decide(RULES["first"])
    label, rotates, labels = layers_of(table, layer_type)
    call = _call(table, _rule_of(table) if rotates else RULES["still_rule"])
    _note_unread(table, suggestive)
    facts = table.facts
    return Reading(
        spec=call.spec(),
        rope_type=facts["rule"],
        base=facts["base"] or 1.0,
        factor=facts.get("factor"),
        longest=table.get("max_position_embeddings"),
        trained=facts.get("trained"),
        layer_type=layer_type if label is None else label,
        layer_types=tuple(labels),
        section_order=facts.get("section_order"),
        remarks=tuple(notes),
        call=call,
        softmax_scale=facts.get("softmax_scale", 1.0),
    )


def _rule_of(table: RuleTable) -> dict[str, Any]:
    """Return the rule in the config; ConfigError if the config has a key that the rule does not use."""
    table.run(RULES["rule"])
    name, part = table.facts["rule"], table.part
    rule: dict[str, Any] = RULES["rules"][name]
    takes = rule["takes"]
    known = {*takes, *rule.get("without_effect", ()), *RULES["any_rule_takes"], *RULES["beside_the_rotation"]}
    for key, value in part.values.items():
        if key not in known and key not in part.added:
            words = {"value": value, "rule": name, "allowed": listed(takes) or "no further key"}
            raise config_error("no rule uses", part.path(key), **words)
        table.used.add(part.path(key))
    return rule


def _call(table: RuleTable, rule: dict[str, Any]) -> Call:
    """Return the call to the rule, with arguments taken from the facts."""
    table.run(rule["facts"])
    call = table.decide(rule["calls"])
    arguments = tuple(map(table.value, call["arguments"]))
    stated = call["settings"] | {"base": "@base"}
    settings = {name: value for name, row in stated.items() if (value := table.value(row)) is not None}
    changes = {} if table.facts["layout"] == "interleaved" else {"layout": table.facts["layout"]}
    if arguments[0] != table.facts["head_dim"]:
        changes["head_dim"] = table.facts["head_dim"]
    divided_by = table.value(call.get("divided_by", 1.0))
    return Call(call["function"], arguments, settings, changes, divided_by, table.facts.get("axes"))


def loaded(config: object) -> object:
    """Return the contents of a file, or the argument if it is not a path."""
    if not isinstance(config, str | Path):
        return config
    if isinstance(config, str) and config.lstrip().startswith("{"):
        raise config_error("not an object", "config", value=config[:40])
    path = Path(config)
    path = path / "config.json" if path.is_dir() else path
    try:
        return json.loads(path.read_text(encoding="utf-8"), parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise config_error("not JSON", str(config), detail=str(error)) from None


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is not a JSON number")


def _suggestive_paths(config: object) -> list[str]:
    """Return the paths of fields whose names suggest a rotation; ConfigError if the nesting is too deep."""
    suggests = re.compile(RULES["words_of_rotation"]).search
    fields = ((path, path.rpartition(".")[2].lower(), value) for path, value in _walk(config))
    return [path for path, name, value in fields if suggests(name) and value not in (None, [], {})]


def _walk(config: object) -> Iterator[tuple[str, Any]]:
    """Yield (path, value) for every field at every depth, without recursion."""
    stack = [("", 0, config)] if isinstance(config, dict) else []
    while stack:
        path, depth, value = stack.pop()
        if depth > RULES["deepest"]:
            raise config_error("too deep", "config", deepest=RULES["deepest"])
        if path:
            yield path, value
        inner: list[tuple[str, Any]] = []
        if isinstance(value, dict):
            inner = [(f"{path}.{key}" if path else str(key), child) for key, child in value.items()]
        elif isinstance(value, list | tuple):
            inner = [(f"{path}[]", child) for child in value if isinstance(child, dict | list | tuple)]
        stack.extend((name, depth + 1, child) for name, child in reversed(inner))


def _note_unread(table: RuleTable, suggestive: list[str]) -> None:
    """Add a remark on unread fields whose names suggest a rotation."""
    read = table.used | {table.body.path(name) for field in ELSEWHERE for name in names_of(field)}
    objects = [table.body.path(name) for name in OBJECTS]
    inside = tuple(f"{path}." for path in objects)
    unread = [
        path[:60] for path in suggestive if path not in {*read, *objects} and not path.startswith(inside)
    ]
    if unread:
        table.notes.add("not read", fields=", ".join(unread[:6]) + (", …" if len(unread) > 6 else ""))
