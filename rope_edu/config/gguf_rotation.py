r"""The rotation that a GGUF states: its keys as the fields of a config, read by the same rules.

What llama.cpp knows by the architecture alone (which features pair, which layers do not rotate) is in gguf.json.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rope_edu.config.gguf import Header, read_factors, read_header
from rope_edu.config.reader import Reading, read_config
from rope_edu.config.table import Remark
from rope_edu.config.values import RULES, ConfigError, config_error

FACTS: dict[str, Any] = json.loads(Path(__file__).with_name("gguf.json").read_text(encoding="utf-8"))
LISTS = LONG, SHORT, FACTORS = "rope_factors_long.weight", "rope_factors_short.weight", "rope_freqs.weight"
KEYS: dict[str, str] = FACTS.pop("keys")  # a field of a config, and the key in which a GGUF has it
ALSO_READ: list[str] = FACTS.pop("also_read")


def read_gguf(path: Path, seq_len: int | None = None) -> tuple[str, tuple[Reading, ...]]:
    """Return the architecture of a GGUF file and a Reading for each kind of its layers."""
    header = read_header(path)
    found = {name: read_factors(path, header, name) for name in LISTS}
    lists = {name: factors for name, factors in found.items() if factors is not None}
    return readings_of(header, lists, seq_len)


def readings_of(
    header: Header, lists: dict[str, np.ndarray], seq_len: int | None = None
) -> tuple[str, tuple[Reading, ...]]:
    """Return the same of a header and the lists of factors that are beside it."""
    keys = _Keys(header)
    if keys.arch in FACTS["does_not_rotate"]:
        raise config_error("does not rotate", "general.architecture", value=keys.arch)
    kinds = _kinds(keys)
    return keys.arch, tuple(_reading(keys, label, kinds, lists, seq_len) for label in kinds)


class _Keys:
    """The keys of an architecture; those that were asked for are known afterwards."""

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
        if isinstance(value, list) and field != "rope_scaling.mrope_section":
            found = {each for each in value if each}
            if len(found) > 1:
                raise config_error("several in one kind", f"{self.arch}.{KEYS[field]}", value="every layer")
            return found.pop() if found else None
        return value

    def unread(self) -> Iterator[str]:
        known = {f"{self.arch}.{key}" for key in KEYS.values()}
        also = {f"{self.arch}.rope.{key}" for key in ALSO_READ}
        ours = (key for key in self.values if key.startswith(f"{self.arch}.rope."))
        yield from (key for key in ours if key not in known | also)


def _kinds(keys: _Keys) -> dict[str | None, dict[str, Any] | None]:
    """Return the changes that each kind of layers makes to the fields; None for layers that do not rotate."""
    slides = bool(keys.get("attention.sliding_window"))
    still = FACTS["still"].get(keys.arch)
    if still == "nope":
        window = keys.get("attention.sliding_window")
        all_turn = keys.arch in FACTS["rotates_everywhere_without_window"] and window == 0
        return {None: {}} if all_turn else {None: {}, "nope": None}
    if still and slides:
        return {"sliding_attention": {}, "full_attention": None}
    own = {
        "rope_theta": keys.get("rope.freq_base_swa"),
        "rotary_dim": keys.get("rope.dimension_count_swa"),
        "head_dim": keys.get("attention.key_length_swa"),
    }
    own = {name: value for name, value in own.items() if value is not None}
    known = FACTS["sliding_layers"].get(keys.arch, {}) if slides else {}
    if "base" in known:
        own = {"rope_theta": known["base"]} | own
    if "factor" in known:
        own["rope_scaling"] = None  # it is 1
    return {"full_attention": {}, "sliding_attention": own} if own else {None: {}}


def _fields(keys: _Keys, lists: dict[str, np.ndarray]) -> dict[str, Any]:
    """Return the fields of a config that say the same."""
    arch = keys.arch
    fields = {name: keys.one(name) for name in KEYS if not name.startswith("rope_scaling")}
    fields["rope_interleave"] = arch in FACTS["interleaved"]
    fields["rope_theta"] = 10_000.0 if fields["rope_theta"] is None else fields["rope_theta"]
    if keys.get("attention.kv_lora_rank") and fields["rotary_dim"]:
        fields["head_dim"] = fields["rotary_dim"]  # of MLA only the decoupled key turns
    stated = {name.partition(".")[2]: keys.one(name) for name in KEYS if name.startswith("rope_scaling.")}
    factor = stated["factor"] if stated["factor"] is not None else keys.get("rope.scale_linear")
    sort, wanted = stated["rope_type"] or "linear", []
    if sort == "longrope" or LONG in lists:
        scaling: dict[str, Any] = {"rope_type": "longrope", "attention_factor": 1.0}
        scaling |= {"short_factor": _listed(lists.get(SHORT)), "long_factor": _listed(lists.get(LONG))}
        wanted = ["original_max_position_embeddings", "attention_factor"]
    elif sort == "none" or (sort == "linear" and factor in (None, 0, 1)):
        scaling = {"rope_type": "default"}
    else:
        scaling = {"rope_type": sort, "factor": factor or 1.0}
    if scaling["rope_type"] == "yarn":
        wanted = ["original_max_position_embeddings", "beta_fast", "beta_slow"]
        scaling["original_max_position_embeddings"] = fields["max_position_embeddings"]
        if stated["mscale_all_dim"] and arch not in FACTS["log_multiplier_unread"]:
            scale = stated["mscale_all_dim"] * (10 if arch in FACTS["log_multiplier_in_tenths"] else 1)
            equal = arch in FACTS["mscale_is_all_dim"]
            scaling |= {"mscale": scale if equal else 1.0, "mscale_all_dim": scale}
    scaling |= {name: stated[name] for name in wanted if stated[name] is not None}
    if isinstance(stated["mrope_section"], list) and any(stated["mrope_section"]):
        scaling["mrope_section"] = [each for each in stated["mrope_section"] if each]
        scaling["mrope_interleaved"] = arch in FACTS["sections_in_turn"]
    return {name: value for name, value in fields.items() if value is not None} | {"rope_scaling": scaling}


def _listed(factors: np.ndarray | None) -> list[float] | None:
    return None if factors is None else [float(str(each)) for each in factors]


def _reading(
    keys: _Keys,
    label: str | None,
    kinds: dict[str | None, dict[str, Any] | None],
    lists: dict[str, np.ndarray],
    seq_len: int | None,
) -> Reading:
    """Return what one kind of layers does."""
    changes = kinds[label]
    fields = _fields(keys, lists)
    fields |= {"position_embedding_type": "nope"} if changes is None else changes
    try:
        reading = read_config(fields, seq_len=seq_len)
    except ConfigError as error:
        key = f"{keys.arch}.{KEYS[error.field]}" if error.field in KEYS else error.field
        raise ConfigError(error.reason, key, error.words, error.choices) from None
    factors = lists.get(FACTORS)
    if factors is not None and changes is not None and label != "sliding_attention":
        reading = _divided(reading, factors)
    growth = keys.get("rope.scaling.attn_factor")
    if reading.rope_type == "yarn" and isinstance(growth, float) and growth > 0:
        grown = reading.spec.replace(attention_factor=reading.spec.attention_factor * growth)
        reading = replace(reading, spec=grown)
    labels = tuple(each for each in kinds if each is not None)
    return replace(reading, layer_type=label, layer_types=labels, remarks=(*_remarks(keys, reading),))


def _divided(reading: Reading, factors: np.ndarray) -> Reading:
    """Return a reading whose frequencies are divided by the file's own factors."""
    pairs = len(reading.spec.inv_freq)
    if len(factors) != pairs or not np.isfinite(factors).all() or not (factors > 0).all():
        raise config_error("wrong length", FACTORS, pairs=pairs, value=len(factors))
    divided = reading.spec.replace(inv_freq=reading.spec.inv_freq / factors.astype(float), kind="factors")
    return replace(reading, spec=divided, rope_type="factors of rope_freqs")


def _remarks(keys: _Keys, reading: Reading) -> Iterator[Remark]:
    yield from (each for each in reading.remarks if each.kind != "theta lost by 4")
    texts = RULES["remarks"]
    if keys.arch not in FACTS["interleaved"] + FACTS["half_split"]:
        yield Remark("layout assumed", texts["layout assumed"].format(value=f'"{keys.arch}"'))
    if unread := ", ".join(list(keys.unread())[:6]):
        yield Remark("not read", texts["not read"].format(fields=unread))
