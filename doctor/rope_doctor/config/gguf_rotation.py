r"""The rotation in a GGUF: its keys, mapped to config fields and read by the same rules.

gguf.json lists what llama.cpp infers from the architecture alone: which features pair, which layers do not rotate.
"""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rope_doctor.config.gguf import Header, read_factors, read_header, shortest
from rope_doctor.config.reader import NOPE, Reading, read_config
from rope_doctor.config.values import ConfigError, Notes, Remark, config_error

FACTS: dict[str, Any] = json.loads(Path(__file__).with_name("gguf.json").read_text(encoding="utf-8"))
TENSORS = LONG, SHORT, FREQS = "rope_factors_long.weight", "rope_factors_short.weight", "rope_freqs.weight"
KEYS: dict[str, str] = FACTS.pop("keys")  # config fields and their GGUF keys
ALSO_READ: list[str] = FACTS.pop("also_read")
TOP_LEVEL, SCALING, SLIDING = (
    {field.rpartition(".")[2]: key for field, key in KEYS.items() if field.rpartition(".")[0] == name}
    for name in ("", "rope_scaling", "sliding_attention")
)
KEYS_OF_RULE = {  # rules taking more than a factor
    "longrope": ("original_max_position_embeddings", "attention_factor"),
    "yarn": ("original_max_position_embeddings", "beta_fast", "beta_slow"),
}
Factors = dict[str, np.ndarray]
# differing fields by layer kind; None for layers that do not rotate
ChangesByKind = dict[str | None, dict[str, Any] | None]


def read_gguf(path: Path, seq_len: int | None = None) -> tuple[str, tuple[Reading, ...]]:
    """Return a GGUF file's architecture, and one Reading per layer kind."""
    header = read_header(path)
    factors = {name: read_factors(path, header, name) for name in TENSORS}
    return readings_of(header, {name: row for name, row in factors.items() if row is not None}, seq_len)


def readings_of(
    header: Header, lists: Factors, seq_len: int | None = None
) -> tuple[str, tuple[Reading, ...]]:
    """Return the architecture and one Reading per layer kind, from a header and its lists of factors."""
    arch = header.values.get("general.architecture")
    if not isinstance(arch, str) or not arch:
        raise config_error("missing", "general.architecture", why="it says what the other keys are called")
    if arch in FACTS["does_not_rotate"]:
        raise config_error("does not rotate", "general.architecture", value=arch)
    ours = (key for key in header.values if key.startswith(f"{arch}."))
    file = _File(arch, {key.removeprefix(f"{arch}."): header.values[key] for key in ours}, lists)
    kinds = _kinds(file)
    return arch, tuple(_reading(file, label, kinds, seq_len) for label in kinds)


@dataclass(frozen=True)
class _File:
    """An architecture, its keys without their architecture prefix, and its lists of factors."""

    arch: str
    keys: dict[str, Any]
    lists: Factors

    def one(self, key: str) -> Any:
        """Return a key's value; for a list with one value per layer, its only nonzero value, or None."""
        value = self.keys.get(key)
        if not isinstance(value, list) or key == KEYS["rope_scaling.mrope_section"]:
            return value
        distinct = {item for item in value if item}
        if len(distinct) > 1:
            raise config_error("several in one kind", f"{self.arch}.{key}", value="every layer")
        return distinct.pop() if distinct else None


def _kinds(file: _File) -> ChangesByKind:
    window, still = file.keys.get("attention.sliding_window"), FACTS["still"].get(file.arch)
    if still == NOPE:
        all_rotate = file.arch in FACTS["rotates_everywhere_without_window"] and window == 0
        return {None: {}} if all_rotate else {None: {}, NOPE: None}
    if still and window:
        return {"sliding_attention": {}, "full_attention": None}
    changes = FACTS["sliding_layers"].get(file.arch, {}) if window else {}
    changes = changes | {
        name: file.keys[key] for name, key in SLIDING.items() if file.keys.get(key) is not None
    }
    return {"full_attention": {}, "sliding_attention": changes} if changes else {None: {}}


def _fields(file: _File) -> dict[str, Any]:
    """Return the equivalent config fields."""
    fields = {name: file.one(key) for name, key in TOP_LEVEL.items()}
    fields["rope_interleave"] = file.arch in FACTS["interleaved"]
    if fields["rope_theta"] is None:
        fields["rope_theta"] = 10_000.0
    if file.keys.get("attention.kv_lora_rank") and fields["rotary_dim"]:
        fields["head_dim"] = fields["rotary_dim"]  # MLA rotates only the decoupled key
    return fields | {"rope_scaling": _scaling(file, fields["max_position_embeddings"])}


def _scaling(file: _File, longest: int | None) -> dict[str, Any]:
    stated = {name: file.one(key) for name, key in SCALING.items()}
    scaling: dict[str, Any] = {}
    factor = file.keys.get("rope.scale_linear") if stated["factor"] is None else stated["factor"]
    rule = stated["rope_type"] or "linear"
    if rule == "longrope" or LONG in file.lists:
        rule, scaling["attention_factor"] = "longrope", 1.0
        for field, name in (("short_factor", SHORT), ("long_factor", LONG)):
            scaling[field] = [shortest(value) for value in file.lists[name]] if name in file.lists else None
    elif rule == "none" or (rule == "linear" and factor in (None, 0, 1)):
        rule = "default"
    else:
        scaling["factor"] = factor or 1.0
    if rule == "yarn":
        scaling["original_max_position_embeddings"] = longest
        scaling |= _mscales(file.arch, stated["mscale_all_dim"])
    scaling |= {name: stated[name] for name in KEYS_OF_RULE.get(rule, ()) if stated[name] is not None}
    sections = stated["mrope_section"]
    if isinstance(sections, list) and any(sections):
        scaling["mrope_section"] = [size for size in sections if size]
        scaling["mrope_interleaved"] = file.arch in FACTS["sections_in_turn"]
    return {"rope_type": rule} | scaling


def _mscales(arch: str, stated: float | None) -> dict[str, float]:
    if not stated or arch in FACTS["log_multiplier_unread"]:
        return {}
    scale = stated * (10 if arch in FACTS["log_multiplier_in_tenths"] else 1)
    return {"mscale": scale if arch in FACTS["mscale_is_all_dim"] else 1.0, "mscale_all_dim": scale}


def _reading(file: _File, label: str | None, kinds: ChangesByKind, seq_len: int | None) -> Reading:
    """Return one layer kind's reading."""
    changes, arch = kinds[label], file.arch
    fields = _fields(file) | ({"position_embedding_type": NOPE} if changes is None else changes)
    try:
        reading = read_config(fields, seq_len=seq_len)
    except ConfigError as error:
        key = f"{arch}.{KEYS[error.field]}" if error.field in KEYS else error.field
        raise ConfigError(error.reason, key, error.words, error.choices) from None
    if FREQS in file.lists and changes is not None and label != "sliding_attention":
        reading = _divided(reading, file.lists[FREQS])
    growth = file.keys.get("rope.scaling.attn_factor")
    if reading.rope_type == "yarn" and isinstance(growth, float) and growth > 0:
        grown = reading.spec.replace(attention_factor=reading.spec.attention_factor * growth)
        reading = replace(reading, spec=grown)
    labels = tuple(kind for kind in kinds if kind is not None)
    return replace(reading, layer_type=label, layer_types=labels, remarks=_remarks(file, reading))


def _divided(reading: Reading, factors: np.ndarray) -> Reading:
    """Return a reading with its frequencies divided by the file's factors."""
    pairs = len(reading.spec.inv_freq)
    if len(factors) != pairs or not np.isfinite(factors).all() or not (factors > 0).all():
        raise config_error("wrong length", FREQS, pairs=pairs, value=len(factors))
    divided = reading.spec.replace(inv_freq=reading.spec.inv_freq / factors.astype(float), kind="factors")
    return replace(reading, spec=divided, rope_type="factors of rope_freqs")


def _remarks(file: _File, reading: Reading) -> tuple[Remark, ...]:
    notes = Notes(remark for remark in reading.remarks if remark.kind != "theta lost by 4")
    if file.arch not in FACTS["interleaved"] + FACTS["half_split"]:
        notes.add("layout assumed", value=file.arch)
    known = {*KEYS.values(), *ALSO_READ}
    unread = [f"{file.arch}.{key}" for key in file.keys if key.startswith("rope.") and key not in known]
    if unread:
        notes.add("not read", fields=", ".join(unread[:6]))
    return tuple(notes)
