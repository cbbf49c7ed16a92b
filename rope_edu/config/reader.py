r"""Read a model's config.json: which rotation it states, and what in it a reader should know.

The rules are the tables of rules.json, which JavaScript reads too: `values` checks single fields, `table`
interprets rows, `layers` finds the object that states the rotation of the layers asked for.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rope_edu import encodings
from rope_edu.config.layers import Layers, body_of, chosen, kinds_of, name_of, names_in, with_own_fields
from rope_edu.config.table import Notes, Table, pair_axes
from rope_edu.config.values import (
    FIELDS,
    RULES,
    Part,
    checked,
    config_error,
    format_value,
    listed,
    names_of,
    walk,
)
from rope_edu.encodings.spec import RopeSpec

STILL = Layers.STILL.value


@dataclass(frozen=True)
class Remark:
    """A fact about a config that a reader should know: its kind in rules.json, and the sentence."""

    kind: str
    text: str


@dataclass(frozen=True)
class Call:
    """A rule of `rope_edu.encodings`, its arguments, and the changes made to its result."""

    rule: str
    arguments: tuple[Any, ...]
    settings: dict[str, Any]
    divided_by: float = 1.0
    axes: tuple[int, ...] | None = None

    def spec(self) -> RopeSpec:
        """Return the rule's result."""
        if self.rule == STILL:
            head_dim = self.arguments[0]
            return RopeSpec(np.zeros(head_dim // 2), head_dim=head_dim, kind=STILL, **self.settings)
        made: RopeSpec = getattr(encodings, self.rule)(*self.arguments, **self.settings)
        return made.replace(inv_freq=made.inv_freq / self.divided_by, axes=self.axes)

    def line(self) -> str:
        """Return the call as a line of Python, or the reader's own where a list, sections or no rule is needed.

        >>> Call("llama3", (128, 8.0, 8192), {"base": 5e5, "layout": "half_split"}).line()
        'llama3(128, 8, 8192, base=500000, layout="half_split")'
        """
        if self.rule in (STILL, "longrope") or self.divided_by != 1 or self.axes is not None:
            return 'rope_from_config("config.json")'
        given = [format_value(each) for each in self.arguments]
        for name, value in self.settings.items():
            given.append(f"{name}={value if isinstance(value, bool) else format_value(value)}")
        return f"{self.rule}({', '.join(given)})"


@dataclass(frozen=True)
class Reading:
    r"""A config's statement of a rotation; `spec` is the rotation itself.

    Attributes:
        spec: the RopeSpec.
        rope_type: the rule as transformers names it; "nope" for layers that do not rotate.
        base: b of b^(−2i/d); 1.0 for layers that do not rotate.
        factor: the stretch s, or None.
        longest: tokens that the file claims (max_position_embeddings), or None.
        trained: tokens before the stretch, where the rule knows them, or None.
        layer_type: the layers that were read, or None for all.
        layer_types: the values that `layer_type` may have; empty if all layers rotate alike.
        section_order: "contiguous", "interleaved" or "rows and columns first"; None without sections.
        remarks: `Remark`s for the reader.
        call: the rule of `rope_edu.encodings` and its arguments.
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


def rope_from_config(
    config: dict[str, Any] | str | Path, *, layer_type: str | None = None, seq_len: int | None = None
) -> RopeSpec:
    r"""Read a model's config.json and specify its rotation.

    Both spellings are read: `rope_theta` and `rope_scaling` (transformers 4) and `rope_parameters` (5), one for all
    layers or one for each type of layer; partial widths, MLA's `qk_rope_head_dim`, second bases, sections, layers
    without position. A file that does not state its rotation unmistakably is refused: no default base for a
    stretched model, no key that no rule uses. The result depends on the arguments alone, not on texts read before.

    Args:
        config: the file's content as a dict, its path, or the path of the folder that holds it.
        layer_type: the layers, where they rotate differently: "full_attention", "sliding_attention", … as in the
            file; "nope" for layers without position that the file gives no name.
        seq_len: tokens of the text now, for "dynamic" and "longrope". Default: no more than the trained length.

    Returns:
        A RopeSpec; the layout is the architecture's own where it is known, else "half_split".

    Raises:
        ConfigError: a ValueError that names the field and the value: an unknown rope_type, a missing field, a
            wrong type or range, two fields that contradict each other, a key that no rule uses.
        OSError: the file cannot be read.

    >>> llama = {"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32, "rope_theta": 500000.0}
    >>> rope_from_config(llama)
    <RopeSpec "rope": 64 pairs, 1 … 2.45514e-06 rad/token, half_split>
    >>> rope_from_config(llama | {"rope_scaling": {"type": "linear"}})
    Traceback (most recent call last):
    rope_edu.config.values.ConfigError: rope_scaling.factor is missing, got null: the rule computes with it

    Source: transformers 5.23, `modeling_rope_utils`, equal to it in float64. Chapter 21.
    """
    return read_config(config, layer_type=layer_type, seq_len=seq_len).spec


def read_config(
    config: dict[str, Any] | str | Path, *, layer_type: str | None = None, seq_len: int | None = None
) -> Reading:
    r"""Read a model's config.json as `rope_from_config` does, with everything that there is to know about it.

    Args:
        config, layer_type, seq_len: as for `rope_from_config`; so are the errors.

    Returns:
        A Reading; the spec is among its attributes.

    >>> file = {"model_type": "gpt_neox", "hidden_size": 64, "num_attention_heads": 1, "rope_theta": 25000}
    >>> for remark in read_config(file).remarks:
    ...     print(remark.text)
    Read by transformers 5 this θ is lost: for gpt_neox it reads rotary_emb_base, not rope_theta.
    partial_rotary_factor is not in the file: 0.25, the default of gpt_neox, is taken.

    Chapter 21.
    """
    seq_len = None if seq_len is None else checked("seq_len", "seq_len", seq_len)
    content, notes = loaded(config), Notes()
    keys = _keys_that_speak(content)
    body, family, inside = body_of(content, notes)
    table = Table(body, Part({}), notes, {"model_type": family, "nested_file": inside, "seq_len": seq_len})
    table.decide(RULES["first"])
    kinds = kinds_of(table)
    table.notes = Notes()  # of kinds that nobody asked for
    own = {each: with_own_fields(table, each, part) for each, part in kinds.items()}
    label = chosen(own, layer_type, table)
    table.notes = notes
    part = with_own_fields(table, label, kinds[label])
    table.part = part or Part({})
    table.run({"layout": RULES["facts"]["layout"]})
    call = _still(table) if part is None else _call(table)
    _note_unread(table, keys)
    facts, texts = table.facts, RULES["remarks"]
    longest = table.get("max_position_embeddings")
    return Reading(
        spec=call.spec(),
        rope_type=facts["rule"],
        base=facts.get("base", 1.0),
        factor=facts.get("factor"),
        longest=longest,
        trained=facts.get("trained"),
        layer_type=layer_type if label is Layers.ALL else name_of(label),
        layer_types=tuple(names_in(kinds)),
        section_order=facts.get("section_order"),
        remarks=tuple(Remark(kind, texts[kind].format(**words)) for kind, words in table.notes),
        call=call,
    )


def _call(table: Table) -> Call:
    """Return the call of the rule that the chosen layers state."""
    facts = table.facts
    facts["rule"] = rule = _rule_of(table)
    table.run(RULES["facts"])
    table.run(RULES["rules"][rule]["facts"])
    table.run(RULES["last"])
    row = table.holding(RULES["rules"][rule]["calls"])
    assert row is not None, rule  # the last row holds always
    arguments = tuple(map(table.value, row["arguments"]))
    values = {name: table.value(each) for name, each in row["settings"].items()}
    settings = {name: value for name, value in values.items() if value is not None}
    settings |= {"base": facts["base"], "layout": facts["layout"]}
    sections = facts["sections"]
    axes = pair_axes(sections, facts["section_order"]) if sections else None
    return Call(row["function"], arguments, settings, table.value(row.get("divided_by", 1.0)), axes)


def _rule_of(table: Table) -> str:
    """Return the rule's name, without aliases, after a look at the keys beside it."""
    stated = table.get("rope_type")
    rule: str = "default" if stated is None else stated
    path, part = table.path("rope_type"), table.part
    if rule in RULES["refused_rules"]:
        raise config_error("refused rule", path, value=rule, why=RULES["refused_rules"][rule])
    if rule not in RULES["rules"]:
        allowed = listed([*RULES["rules"], *RULES["refused_rules"]])
        raise config_error("no rule", path, allowed=allowed, value=rule)
    rule = "ntk_alpha" if rule == "dynamic" and "alpha" in part else rule
    takes = RULES["rules"][rule]["takes"]
    known = {*takes, *RULES["rules"][rule].get("without_effect", ()), *RULES["any_rule_takes"]}
    for name, value in part.values.items():
        if name not in known and name not in RULES["beside_the_rotation"] and name not in part.added:
            words = {"value": value, "rule": rule, "allowed": listed(takes) or "no key of its own"}
            raise config_error("no rule uses", part.path(name), **words)
        table.used.add(part.path(name))
    return rule


def _still(table: Table) -> Call:
    table.facts["rule"] = STILL
    table.run({"head_dim": RULES["facts"]["head_dim"]})
    head_dim = table.facts["head_dim"]
    if head_dim % 2:
        words = {"value": head_dim, "width": head_dim, "least": 2}
        raise config_error("odd width", table.path("head_dim"), **words)
    return Call(STILL, (head_dim,), {"layout": table.facts["layout"]})


def loaded(config: object) -> object:
    """Return the content of a file, or the content given."""
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
    raise ValueError(f"{word} is no number of JSON")


def _keys_that_speak(config: object) -> list[str]:
    """Return the paths of all fields whose names speak of a rotation; a file nested too deeply is refused."""
    found = []
    for path, depth, value in walk(config if isinstance(config, dict) else {}):
        if depth > RULES["deepest"]:
            raise config_error("too deep", "config", deepest=RULES["deepest"])
        name = path.rpartition(".")[2].lower()
        speaks = name == "scaling_factor" or any(word in name for word in RULES["words_of_rotation"])
        if speaks and value is not None and value != [] and value != {}:
            found.append(path)
    return found


def _note_unread(table: Table, keys: list[str]) -> None:
    """Remark on the fields that speak of a rotation and were not read."""
    body, used = table.body, set(table.used)
    for field, rule in FIELDS.items():
        if rule.get("place") != "rotation":
            used |= {body.path(name) for name in names_of(field)}
    objects = [body.path(name) for name in ("rope_parameters", "rope_scaling", "rotary")]
    inside = tuple(f"{path}." for path in objects)
    unread = [path[:60] for path in keys if path not in {*used, *objects} and not path.startswith(inside)]
    if unread:
        table.notes.add("not read", fields=", ".join(unread[:6]) + (", …" if len(unread) > 6 else ""))
