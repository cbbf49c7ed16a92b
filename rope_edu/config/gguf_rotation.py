r"""The rotation that a GGUF states: its keys as the fields of a config, read by the same rules.

What llama.cpp knows by the architecture alone (which features pair, which layers do not rotate) is in gguf.json.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rope_edu.config.gguf import Header, read_factors, read_header, shortest
from rope_edu.config.reader import STILL, Reading, read_config
from rope_edu.config.values import ConfigError, Notes, Remark, config_error

FACTS: dict[str, Any] = json.loads(Path(__file__).with_name("gguf.json").read_text(encoding="utf-8"))
LISTS = LONG, SHORT, FACTORS = "rope_factors_long.weight", "rope_factors_short.weight", "rope_freqs.weight"
KEYS: dict[str, str] = FACTS.pop("keys")  # a field of a config, and the key in which a GGUF has it
ALSO_READ: list[str] = FACTS.pop("also_read")
WANTED = {  # by a rule that has more than a factor
    "longrope": ("original_max_position_embeddings", "attention_factor"),
    "yarn": ("original_max_position_embeddings", "beta_fast", "beta_slow"),
}
Lists = dict[str, np.ndarray]
Kinds = dict[
    str | None, dict[str, Any] | None
]  # the fields that each changes; None: its layers do not rotate


def read_gguf(path: Path, seq_len: int | None = None) -> tuple[str, tuple[Reading, ...]]:
    """Return the architecture of a GGUF file and a Reading for each kind of its layers."""
    header = read_header(path)
    found = {name: read_factors(path, header, name) for name in LISTS}
    return readings_of(header, {name: each for name, each in found.items() if each is not None}, seq_len)


def readings_of(header: Header, lists: Lists, seq_len: int | None = None) -> tuple[str, tuple[Reading, ...]]:
    """Return the same of a header and the lists of factors that are beside it."""
    keys = _Keys(header)
    if keys.arch in FACTS["does_not_rotate"]:
        raise config_error("does not rotate", "general.architecture", value=keys.arch)
    kinds = _kinds(keys)
    return keys.arch, tuple(_reading(keys, label, kinds, lists, seq_len) for label in kinds)


class _Keys:
    """The keys of an architecture."""

    def __init__(self, header: Header) -> None:
        self.values = header.values
        arch = self.values.get("general.architecture")
        if not isinstance(arch, str) or not arch:
            why = "it says what the other keys are called"
            raise config_error("missing", "general.architecture", why=why)
        self.arch = arch

    def get(self, key: str) -> Any:
        return self.values.get(f"{self.arch}.{key}")

    def one(self, field: str) -> Any:
        """Return the value of a field; where it is listed by layer, the one that is not 0."""
        value = self.get(KEYS[field])
        if not isinstance(value, list) or field == "rope_scaling.mrope_section":
            return value
        found = {each for each in value if each}
        if len(found) > 1:
            raise config_error("several in one kind", f"{self.arch}.{KEYS[field]}", value="every layer")
        return found.pop() if found else None


def _kinds(keys: _Keys) -> Kinds:
    window, still = keys.get("attention.sliding_window"), FACTS["still"].get(keys.arch)
    if still == STILL:
        all_turn = keys.arch in FACTS["rotates_everywhere_without_window"] and window == 0
        return {None: {}} if all_turn else {None: {}, STILL: None}
    if still and window:
        return {"sliding_attention": {}, "full_attention": None}
    changes = dict(FACTS["sliding_layers"].get(keys.arch, {})) if window else {}
    for field, key in KEYS.items():
        if field.startswith("sliding_attention.") and keys.get(key) is not None:
            changes[field.partition(".")[2]] = keys.get(key)
    return {"full_attention": {}, "sliding_attention": changes} if changes else {None: {}}


def _fields(keys: _Keys, lists: Lists) -> dict[str, Any]:
    """Return the fields of a config that say the same."""
    fields = {name: keys.one(name) for name in KEYS if "." not in name}
    fields["rope_interleave"] = keys.arch in FACTS["interleaved"]
    fields["rope_theta"] = 10_000.0 if fields["rope_theta"] is None else fields["rope_theta"]
    if keys.get("attention.kv_lora_rank") and fields["rotary_dim"]:
        fields["head_dim"] = fields["rotary_dim"]  # of MLA only the decoupled key turns
    fields["rope_scaling"] = _scaling(keys, lists, fields["max_position_embeddings"])
    return {name: value for name, value in fields.items() if value is not None}


def _scaling(keys: _Keys, lists: Lists, longest: int | None) -> dict[str, Any]:
    stated = {name.partition(".")[2]: keys.one(name) for name in KEYS if name.startswith("rope_scaling.")}
    scaling: dict[str, Any] = {}
    factor = keys.get("rope.scale_linear") if stated["factor"] is None else stated["factor"]
    rule = stated["rope_type"] or "linear"
    if rule == "longrope" or LONG in lists:
        rule, scaling["attention_factor"] = "longrope", 1.0
        for field, name in (("short_factor", SHORT), ("long_factor", LONG)):
            scaling[field] = [shortest(each) for each in lists[name]] if name in lists else None
    elif rule == "none" or (rule == "linear" and factor in (None, 0, 1)):
        rule = "default"
    else:
        scaling["factor"] = factor or 1.0
    if rule == "yarn":
        scaling |= {"original_max_position_embeddings": longest} | _mscales(
            keys.arch, stated["mscale_all_dim"]
        )
    scaling |= {name: stated[name] for name in WANTED.get(rule, ()) if stated[name] is not None}
    sections = stated["mrope_section"]
    if isinstance(sections, list) and any(sections):
        scaling["mrope_section"] = [each for each in sections if each]
        scaling["mrope_interleaved"] = keys.arch in FACTS["sections_in_turn"]
    return {"rope_type": rule} | scaling


def _mscales(arch: str, stated: float | None) -> dict[str, float]:
    if not stated or arch in FACTS["log_multiplier_unread"]:
        return {}
    scale = stated * (10 if arch in FACTS["log_multiplier_in_tenths"] else 1)
    return {"mscale": scale if arch in FACTS["mscale_is_all_dim"] else 1.0, "mscale_all_dim": scale}


def _reading(keys: _Keys, label: str | None, kinds: Kinds, lists: Lists, seq_len: int | None) -> Reading:
    """Return what one kind of layers does."""
    changes = kinds[label]
    fields = _fields(keys, lists) | ({"position_embedding_type": STILL} if changes is None else changes)
    try:
        reading = read_config(fields, seq_len=seq_len)
    except ConfigError as error:
        key = f"{keys.arch}.{KEYS[error.field]}" if error.field in KEYS else error.field
        raise ConfigError(error.reason, key, error.words, error.choices) from None
    if FACTORS in lists and changes is not None and label != "sliding_attention":
        reading = _divided(reading, lists[FACTORS])
    growth = keys.get("rope.scaling.attn_factor")
    if reading.rope_type == "yarn" and isinstance(growth, float) and growth > 0:
        grown = reading.spec.replace(attention_factor=reading.spec.attention_factor * growth)
        reading = replace(reading, spec=grown)
    labels = tuple(each for each in kinds if each is not None)
    return replace(reading, layer_type=label, layer_types=labels, remarks=_remarks(keys, reading))


def _divided(reading: Reading, factors: np.ndarray) -> Reading:
    """Return a reading whose frequencies are divided by the file's own factors."""
    pairs = len(reading.spec.inv_freq)
    if len(factors) != pairs or not np.isfinite(factors).all() or not (factors > 0).all():
        raise config_error("wrong length", FACTORS, pairs=pairs, value=len(factors))
    divided = reading.spec.replace(inv_freq=reading.spec.inv_freq / factors.astype(float), kind="factors")
    return replace(reading, spec=divided, rope_type="factors of rope_freqs")


def _remarks(keys: _Keys, reading: Reading) -> tuple[Remark, ...]:
    notes = Notes(each for each in reading.remarks if each.kind != "theta lost by 4")
    if keys.arch not in FACTS["interleaved"] + FACTS["half_split"]:
        notes.add("layout assumed", value=keys.arch)
    known = {*KEYS.values(), *(f"rope.{key}" for key in ALSO_READ)}
    ours = (key for key in keys.values if key.startswith(f"{keys.arch}.rope."))
    unread = [key for key in ours if key.removeprefix(f"{keys.arch}.") not in known]
    if unread:
        notes.add("not read", fields=", ".join(unread[:6]))
    return tuple(notes)
