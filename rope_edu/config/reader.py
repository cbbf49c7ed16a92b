r"""Read a model's config.json: which rotation it states, and what in it a reader should know.

Fields, their ranges, the rules' keys and every sentence stand in rules.json, which JavaScript reads too. `layers`
finds the object that states the rotation of the layers asked for, `rotation` makes of it a call of a rule of
`rope_edu.encodings`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from rope_edu.config.layers import ALL, STILL, Notes, body_of, chosen, rotations_of, still_labels
from rope_edu.config.rotation import (
    LONGEST,
    Call,
    Source,
    call_of,
    head_dim_of,
    layout_of,
    rope_type_of,
    section_order,
)
from rope_edu.config.values import RULES, Part, checked, refuse
from rope_edu.encodings.spec import RopeSpec


@dataclass(frozen=True)
class Remark:
    """Something true of a config that a reader should know: its kind in rules.json, and the sentence."""

    kind: str
    text: str


@dataclass(frozen=True)
class Reading:
    r"""What a config says of a rotation; `spec` is the rotation itself.

    Attributes:
        spec: the RopeSpec.
        rope_type: the rule as transformers names it; "nope" for layers that do not rotate.
        base: b of b^(−2i/d); 1.0 for layers that do not rotate.
        factor: the stretch s, or None.
        longest: tokens that the file claims (max_position_embeddings), or None.
        trained: tokens before the stretch, where the rule knows them, or None.
        layer_type: the layers that were read, or None for all.
        layer_types: what `layer_type` may be; empty if all layers rotate alike.
        section_order: "contiguous" or "interleaved"; None without sections.
        remarks: what a reader should know, `Remark`s.
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
    config: dict | str | Path, *, layer_type: str | None = None, seq_len: int | None = None
) -> RopeSpec:
    r"""Read a model's config.json and specify its rotation.

    Both spellings are read: `rope_theta` and `rope_scaling` (transformers 4) and `rope_parameters` (5), one for all
    layers or one for each type of layer; partial widths, MLA's `qk_rope_head_dim`, second bases, sections, layers
    without position. What the file does not say unmistakably is refused: no default base for a stretched model, no
    key that no rule uses. The result depends on the arguments alone, not on longer texts read before.

    Args:
        config: the file's content as a dict, its path, or the path of the folder that holds it.
        layer_type: which layers, where they rotate differently: "full_attention", "sliding_attention", … as in the
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
    config: dict | str | Path, *, layer_type: str | None = None, seq_len: int | None = None
) -> Reading:
    r"""Read a model's config.json as `rope_from_config` does, and say what there is to know about it.

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
    notes = Notes()
    seq_len = None if seq_len is None else checked("seq_len", "seq_len", seq_len)
    body = body_of(loaded(config), notes)
    family = body.get("model_type", "")
    _check_rotates(body, family)
    rotations = still_labels(body, family, rotations_of(body, family, notes), notes)
    label, part = chosen(rotations, layer_type, body)
    layout = layout_of(body, family, notes)
    at = Source(body, part or Part({}), family, label, seq_len, notes)
    rope_type = STILL if part is None else rope_type_of(part)
    call = _still(at, layout) if part is None else call_of(at, rope_type, layout)
    labels = tuple(name for name in rotations if name != ALL)
    return Reading(
        spec=call.spec(),
        rope_type=rope_type,
        base=at.base,
        factor=at.factor,
        longest=body.one(LONGEST),
        trained=at.trained,
        layer_type=label,
        layer_types=labels,
        section_order=section_order(at.part),
        remarks=tuple(Remark(kind, RULES["remarks"][kind].format(**words)) for kind, words in notes),
        call=call,
    )


def loaded(config: object) -> object:
    """Return the content of a file, or what was given."""
    if not isinstance(config, str | Path):
        return config
    if isinstance(config, str) and config.lstrip().startswith("{"):
        raise refuse("not an object", "config", value=config[:40])
    path = Path(config)
    path = path / "config.json" if path.is_dir() else path
    try:
        return json.loads(path.read_text(encoding="utf-8"), parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise refuse("not JSON", str(config), detail=str(error)) from None


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is no number of JSON")


def _check_rotates(body: Part, family: str) -> None:
    if family in RULES["families_that_do_not_rotate"]:
        raise refuse("does not rotate", body.path("model_type"), value=family)
    kind = body.get("position_embedding_type")
    if kind in RULES["does_not_rotate"]:
        raise refuse("does not rotate", body.path("position_embedding_type"), value=kind)
    if body.get("alibi"):
        raise refuse("does not rotate", body.path("alibi"), value=True)


def _still(at: Source, layout: str) -> Call:
    head_dim = head_dim_of(at)
    if head_dim % 2:
        raise refuse("odd width", at.body.path_of("head_dim"), value=head_dim, width=head_dim, least=2)
    return Call(STILL, (head_dim,), {"layout": layout})
