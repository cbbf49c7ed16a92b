r"""The rotation in a GGUF: its keys, mapped to config fields and read by the same rules.

gguf.json lists what llama.cpp infers from the architecture alone: which features pair, which layers do not rotate.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rope_doctor.config.each_layer import (
    CHUNKED,
    FULL,
    SLIDING,
    WITHOUT_HEADS,
    Layer,
    Layers,
    grows,
    periodic,
)
from rope_doctor.config.gguf import Header, read_factors, read_header, shortest
from rope_doctor.config.reader import NOPE, Reading, read_config
from rope_doctor.config.values import ConfigError, Notes, Remark, config_error
from rope_edu.encodings.frequencies import inv_freq

FACTS: dict[str, Any] = json.loads(Path(__file__).with_name("gguf.json").read_text(encoding="utf-8"))
TENSORS = LONG, SHORT, FREQS = "rope_factors_long.weight", "rope_factors_short.weight", "rope_freqs.weight"
KEYS: dict[str, str] = FACTS.pop("keys")  # config fields and their GGUF keys
ALSO_READ: list[str] = FACTS.pop("also_read")
TOP_LEVEL, SCALING, OF_SLIDING = (
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


def read_gguf(path: Path, seq_len: int | None = None) -> tuple[str, tuple[Reading, ...], Layers]:
    """Return a GGUF file's architecture, one Reading per layer kind, and its layers."""
    header = read_header(path)
    factors = {name: read_factors(path, header, name) for name in TENSORS}
    lists = {name: row for name, row in factors.items() if row is not None}
    arch, readings = readings_of(header, lists, seq_len)
    return arch, readings, layers_of_keys(_keys_of(header, arch), arch)


def _keys_of(header: Header, arch: str) -> dict[str, Any]:
    ours = (key for key in header.values if key.startswith(f"{arch}."))
    return {key.removeprefix(f"{arch}."): header.values[key] for key in ours}


def readings_of(
    header: Header, lists: Factors, seq_len: int | None = None
) -> tuple[str, tuple[Reading, ...]]:
    """Return the architecture and one Reading per layer kind, from a header and its lists of factors."""
    arch = header.values.get("general.architecture")
    if not isinstance(arch, str) or not arch:
        raise config_error("missing", "general.architecture", why="it says what the other keys are called")
    if arch in FACTS["does_not_rotate"]:
        raise config_error("does not rotate", "general.architecture", value=arch)
    if arch not in FACTS["interleaved"] + FACTS["half_split"]:
        raise config_error("unknown architecture", "general.architecture", value=arch)
    file = _File(arch, _keys_of(header, arch), lists)
    kinds = _kinds(file)
    return arch, tuple(_reading(file, label, kinds, seq_len) for label in kinds)


def layers_of_keys(keys: dict[str, Any], arch: str) -> Layers:
    """Return the layers that llama.cpp builds for an architecture; `keys` lack its prefix."""
    count, window = keys.get("block_count"), keys.get("attention.sliding_window")
    facts, step = FACTS["windows"].get(arch), FACTS["rotates_but_every"].get(arch)
    still, local = FACTS["still"].get(arch), CHUNKED if arch == "llama4" else SLIDING
    if arch in FACTS["compressed_layers"]:
        return Layers(count, None, "the kinds of compressed layers are not compared")
    if isinstance(window, list):
        window = next((each for each in window if each), None)
    if window and facts is None:
        return Layers(count, None, f"it is not known which layers of {arch} have the window")
    window = facts.get("default") if facts and window is None else window
    windowed = facts and not facts.get("unused") and (window or ("window" in facts and window != 0))
    facts = facts if facts and windowed else {}
    label_of = _labels(keys.get("attention.sliding_window_pattern"), facts)
    if isinstance(label_of, str):
        return Layers(count, None, label_of)
    scale = keys.get("attention.temperature_scale") if arch in FACTS["queries_by_key"] else None
    length = keys.get(KEYS["rope_scaling.original_max_position_embeddings"]) or keys.get("context_length")

    def row(index: int, total: int) -> Layer:
        label = label_of(index, total) if _attends(keys, arch, index) else WITHOUT_HEADS[0]
        turns = (not step or (index + 1) % step != 0) and not (facts and still == FULL == label)
        turns = (turns or (arch == "llama4" and not facts)) and label not in WITHOUT_HEADS
        label = local if label == SLIDING else label
        queries = grows(scale, length, 0) if scale else ""
        if arch == "llama4" and not turns:
            queries = grows(0.1, 8192, 1)
        return Layer(label, turns, facts.get("window", window) if label == local else None, queries)

    return Layers(count if isinstance(count, int) else None, row)


def _attends(keys: dict[str, Any], arch: str, index: int) -> bool:
    """Return whether a layer has attention heads, rather than a recurrence or a convolution."""
    interval, heads = FACTS["attends_every"].get(arch), keys.get("attention.head_count_kv")
    if isinstance(heads, list):
        return index >= len(heads) or bool(heads[index])
    return not interval or (index + 1) % (keys.get("full_attention_interval") or interval) == 0


def _labels(pattern: Any, facts: dict[str, Any]) -> Callable[[int, int], str] | str:
    """Return a function that labels a layer, given its index and the count, or say why there is none."""
    if not facts:
        return lambda index, total: FULL
    if isinstance(pattern, list):
        return lambda index, total: SLIDING if index < len(pattern) and pattern[index] else FULL
    period = pattern if isinstance(pattern, int) and not isinstance(pattern, bool) else facts.get("period")
    if period is None:
        return "attention.sliding_window_pattern is not in the file"
    return periodic(period, first=facts.get("full") == "first")


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
    if file.arch in FACTS["compressed_layers"]:
        main = {"rope_scaling": None}
        return {
            "main": main,
            "compress": {"rope_theta": file.keys.get(FACTS["compressed_layers"][file.arch])},
        }
    window, still = file.keys.get("attention.sliding_window"), FACTS["still"].get(file.arch)
    if still == NOPE:
        all_rotate = file.arch in FACTS["rotates_everywhere_without_window"] and window == 0
        return {None: {}} if all_rotate else {None: {}, NOPE: None}
    if still and window:
        return {"sliding_attention": {}, "full_attention": None}
    changes = FACTS["sliding_layers"].get(file.arch, {}) if window else {}
    changes = changes | {
        name: file.keys[key] for name, key in OF_SLIDING.items() if file.keys.get(key) is not None
    }
    return {"full_attention": {}, "sliding_attention": changes} if changes else {None: {}}


def _fields(file: _File) -> dict[str, Any]:
    """Return the equivalent config fields."""
    fields = {name: file.one(key) for name, key in TOP_LEVEL.items()}
    fields["rope_interleave"] = file.arch in FACTS["interleaved"]
    fields["model_type"] = FACTS["read_as"].get(file.arch)
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
    spared = label == "sliding_attention" and arch not in FACTS["rope_freqs_on_sliding_layers"]
    if FREQS in file.lists and changes is not None and not spared:
        reading = _divided(reading, file.lists[FREQS])
    if arch not in FACTS["read_as"]:
        reading = replace(reading, softmax_scale=1.0)  # no other graph scales its softmax by the multiplier
    if reading.rope_type == "yarn":
        reading = _as_llama_cpp_mixes(reading, file)
    labels = tuple(kind for kind in kinds if kind is not None)
    return replace(reading, layer_type=label, layer_types=labels, remarks=_remarks(file, reading))


def _as_llama_cpp_mixes(reading: Reading, file: _File) -> Reading:
    """Return a YaRN reading with the file's attention factor, mixed with unstretched angles as the file states."""
    spec, growth = reading.spec, file.keys.get("rope.scaling.attn_factor")
    if isinstance(growth, float) and growth > 0:
        spec = spec.replace(attention_factor=spec.attention_factor * growth)
    share = file.keys.get("rope.scaling.yarn_ext_factor")
    if isinstance(share, float) and 0 <= share <= 1e6 and share != 1 and reading.factor:
        stretched = inv_freq(spec.rotary_dim, reading.base) / reading.factor
        mixed = stretched + share * (spec.inv_freq - stretched)
        spec = spec.replace(inv_freq=mixed, **({} if share else {"attention_factor": 1.0}))
    return replace(reading, spec=spec)


def _divided(reading: Reading, factors: np.ndarray) -> Reading:
    """Return a reading with its frequencies divided by the file's factors."""
    pairs = len(reading.spec.inv_freq)
    if len(factors) != pairs or not np.isfinite(factors).all() or not (factors > 0).all():
        raise config_error("wrong length", FREQS, pairs=pairs, value=len(factors))
    divided = reading.spec.replace(inv_freq=reading.spec.inv_freq / factors.astype(float), kind="factors")
    return replace(reading, spec=divided, rope_type="factors of rope_freqs")


def _remarks(file: _File, reading: Reading) -> tuple[Remark, ...]:
    notes = Notes(remark for remark in reading.remarks if remark.kind != "theta lost by 4")
    known = {*KEYS.values(), *ALSO_READ}
    unread = [f"{file.arch}.{key}" for key in file.keys if key.startswith("rope.") and key not in known]
    if unread:
        notes.add("not read", fields=", ".join(unread[:6]))
    return tuple(notes)
