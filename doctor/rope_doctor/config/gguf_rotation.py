r"""Read the rotation in a GGUF: map its keys to config fields, and apply the rules for a config.json.

gguf.json contains the facts that llama.cpp infers from the architecture alone, such as the layout and the layers
that do not rotate.
"""

import json
import math
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
KEYS_OF_RULE = {  # rules that use keys other than the factor
    "longrope": ("original_max_position_embeddings", "attention_factor"),
    "yarn": ("original_max_position_embeddings", "beta_fast", "beta_slow"),
}
Factors = dict[str, np.ndarray]
# fields that differ, by layer kind; None for layers that do not rotate
ChangesByKind = dict[str | None, dict[str, Any] | None]


def read_gguf(path: Path, seq_len: int | None = None) -> tuple[str, tuple[Reading, ...], Layers]:
    """Return the architecture of a GGUF file, one Reading per layer kind, and the layers."""
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
    """Return the architecture and one Reading per layer kind from a header and its factor lists."""
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
    """Return the layers that llama.cpp builds for an architecture; `keys` omit the architecture prefix."""
    count, window = keys.get("block_count"), _window(keys, arch)
    facts, step = FACTS["windows"].get(arch), FACTS["rotates_but_every"].get(arch)
    still, local = FACTS["still"].get(arch), CHUNKED if arch == "llama4" else SLIDING
    if arch in FACTS["compressed_layers"]:
        return Layers(count, None, "the kinds of compressed layers are not compared")
    if window and facts is None:
        return Layers(count, None, f"it is not known which layers of {arch} have the window")
    facts = facts if facts and window else {}
    label_of = _labels(keys.get("attention.sliding_window_pattern"), facts)
    if isinstance(label_of, str):
        return Layers(count, None, label_of)
    scale = keys.get("attention.temperature_scale") if arch in FACTS["queries_by_key"] else None
    lengths = (
        FACTS["queries_by_key"].get(arch),
        KEYS["rope_scaling.original_max_position_embeddings"],
        "context_length",
    )
    length = next((keys[name] for name in lengths if keys.get(name)), None)

    def row(index: int, total: int) -> Layer:
        label = label_of(index, total) if _attends(keys, arch, index) else WITHOUT_HEADS[0]
        turns = (index + 1) % step != 0 if step else not (facts and still == FULL == label)
        turns = (turns or (arch == "llama4" and not facts)) and label not in WITHOUT_HEADS
        label = local if label == SLIDING else label
        queries = grows(scale, length, 0) if scale else ""
        if arch == "llama4" and not turns:
            queries = grows(0.1, 8192, 1)
        return Layer(label, turns, window if label == local else None, queries)

    return Layers(count if isinstance(count, int) else None, row)


def _window(keys: dict[str, Any], arch: str) -> int | str | None:
    """Return the width of the window that llama.cpp uses, or None if it uses none."""
    facts, stated = FACTS["windows"].get(arch, {}), keys.get("attention.sliding_window")
    if isinstance(stated, list):
        stated = next((each for each in stated if each), None)
    of_layers = facts.get("of_layers")
    if facts.get("unused") or (of_layers and keys.get("block_count", of_layers) != of_layers):
        return None
    window = facts.get("default") if stated is None else stated
    return facts.get("fixed", window) if window else None


def _attends(keys: dict[str, Any], arch: str, index: int) -> bool:
    """Return whether a layer has attention heads rather than a recurrence or a convolution."""
    interval, heads = FACTS["attends_every"].get(arch), keys.get("attention.head_count_kv")
    recurrent = keys.get("attention.recurrent_layers")
    if interval and isinstance(recurrent, list):
        return index >= len(recurrent) or not recurrent[index]
    if isinstance(heads, list):
        return index >= len(heads) or bool(heads[index])
    return not interval or (index + 1) % (keys.get("full_attention_interval") or interval) == 0


def _labels(pattern: Any, facts: dict[str, Any]) -> Callable[[int, int], str] | str:
    """Return a function that labels a layer by its index and the layer count, or the reason why there is none."""
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
    """An architecture, its keys without the prefix, and its factor lists."""

    arch: str
    keys: dict[str, Any]
    lists: Factors

    def one(self, key: str) -> Any:
        """Return a key's value; for a list with one value per layer, its only distinct nonzero value, or None."""
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
    window, still = _window(file.keys, file.arch), FACTS["still"].get(file.arch)
    if still == NOPE or (still and not window and file.arch in FACTS["rotates_but_every"]):
        all_rotate = file.arch in FACTS["rotates_everywhere_without_window"] and not window
        return {None: {}} if all_rotate else {None: {}, NOPE: None}
    if still and window:
        return {"sliding_attention": {}, "full_attention": None}
    changes = FACTS["sliding_layers"].get(file.arch, {}) if window else {}
    if file.arch in FACTS["halved_width"]:
        changes = changes | {"rotary_dim": _whole_width(file)}
    changes = changes | {
        name: file.keys[key] for name, key in OF_SLIDING.items() if file.keys.get(key) is not None
    }
    return {"full_attention": {}, "sliding_attention": changes} if changes else {None: {}}


def _fields(file: _File) -> dict[str, Any]:
    """Return the equivalent fields of a config.json."""
    fields = {name: file.one(key) for name, key in TOP_LEVEL.items()}
    halves = file.arch in FACTS["halves_with_sections"] and _states_sections(file.keys)
    fields["rope_interleave"] = file.arch in FACTS["interleaved"] and not halves
    if file.arch in FACTS["halved_width"]:
        fields["rotary_dim"] = (_whole_width(file) or 0) // 2 or None
    if fields["rope_theta"] is None:
        fields["rope_theta"] = 10_000.0
    if file.keys.get("attention.kv_lora_rank") and fields["rotary_dim"]:
        fields["head_dim"] = fields["rotary_dim"]  # MLA rotates only the decoupled key
    return fields | {"rope_scaling": _scaling(file, fields["max_position_embeddings"])}


def _whole_width(file: _File) -> Any:
    return file.one(TOP_LEVEL["rotary_dim"]) or file.one(TOP_LEVEL["head_dim"])


def _states_sections(keys: dict[str, Any]) -> bool:
    """Return whether the pairs are divided among coordinates, given keys without the architecture prefix."""
    sections = keys.get(KEYS["rope_scaling.mrope_section"])
    return isinstance(sections, list) and any(sections)


def _scaling(file: _File, longest: int | None) -> dict[str, Any]:
    if file.arch in FACTS["ignores_scaling"]:
        return {"rope_type": "default"}
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
    if _states_sections(file.keys):
        scaling["mrope_section"] = [size for size in stated["mrope_section"] if size]
        scaling["mrope_interleaved"] = file.arch in FACTS["sections_in_turn"]
    return {"rope_type": rule} | scaling


def _mscales(arch: str, stated: float | None) -> dict[str, float]:
    if not stated or arch in FACTS["log_multiplier_unread"]:
        return {}
    scale = stated * (10 if arch in FACTS["log_multiplier_in_tenths"] else 1)
    return {"mscale": scale if arch in FACTS["mscale_is_all_dim"] else 1.0, "mscale_all_dim": scale}


def _reading(file: _File, label: str | None, kinds: ChangesByKind, seq_len: int | None) -> Reading:
    """Return the reading of one layer kind."""
    changes, arch = kinds[label], file.arch
    fields = _fields(file) | ({"position_embedding_type": NOPE} if changes is None else changes)
    try:
        reading = read_config(fields, seq_len=seq_len)
    except ConfigError as error:
        key = f"{arch}.{KEYS[error.field]}" if error.field in KEYS else error.field
        raise ConfigError(error.reason, key, error.words, error.choices) from None
    spared = label == "sliding_attention" and arch not in FACTS["rope_freqs_on_sliding_layers"]
    if FREQS in file.lists and changes is not None and not spared:
        pairs = len(reading.spec.inv_freq) if arch in FACTS["halved_width"] else None
        reading = _divided(reading, file.lists[FREQS][:pairs])
    if reading.rope_type == "yarn":
        reading = _as_llama_cpp_mixes(reading, file)
    reading = replace(reading, softmax_scale=_softmax_scale(reading, file))
    labels = tuple(kind for kind in kinds if kind is not None)
    return replace(reading, layer_type=label, layer_types=labels, remarks=_remarks(file, reading))


def _softmax_scale(reading: Reading, file: _File) -> float:
    """Return the additional factor on the softmax scale 1/√d, which is 1 except in a few architectures."""
    if reading.rope_type != "yarn" or file.arch not in FACTS["softmax_by_yarn"] or not reading.factor:
        return 1.0
    stated = file.one(KEYS["rope_scaling.mscale_all_dim"])
    multiplier = _mscales(file.arch, stated).get("mscale_all_dim", 0.0)
    return (reading.spec.attention_factor * (1 + 0.1 * multiplier * math.log(reading.factor))) ** 2


def _as_llama_cpp_mixes(reading: Reading, file: _File) -> Reading:
    """Return a YaRN reading with the file's attention factor and its mix of stretched and unstretched angles."""
    spec, growth = reading.spec, file.keys.get("rope.scaling.attn_factor")
    if isinstance(growth, float) and growth > 0:
        spec = spec.replace(attention_factor=spec.attention_factor * growth)
    if file.arch in FACTS["compressed_layers"]:
        spec = spec.replace(attention_factor=1.0)
    share = file.keys.get("rope.scaling.yarn_ext_factor")
    if isinstance(share, float) and 0 <= share <= 1e6 and share != 1 and reading.factor:
        stretched = inv_freq(spec.rotary_dim, reading.base) / reading.factor
        mixed = stretched + share * (spec.inv_freq - stretched)
        spec = spec.replace(inv_freq=mixed, **({} if share else {"attention_factor": 1.0}))
    return replace(reading, spec=spec)


def _divided(reading: Reading, factors: np.ndarray) -> Reading:
    """Return a reading with the frequencies divided by the factors in the file."""
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
