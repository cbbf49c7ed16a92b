r"""Find the q and k rows in fused projections, and the rows that rotate in latent attention (MLA)."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from rope_doctor.config.gguf import is_gguf, read_header

FUSED = re.compile(
    r"(?:\.|^)(?P<name>qkv_proj|query_key_value|c_attn|attn_qkv|Wqkv|W_pack|wqkv|in_proj_qkv)\.(?P<kind>weight|bias)$"
)
LATENT = re.compile(  # excludes the indexer, which has separate heads
    r"(?:^|(?<!indexer)\.)(?:(?P<q>q_b_proj|wq_b|attn_q_b)|(?P<k>kv_a_proj_with_mqa|wkv_a|attn_kv_a_mqa))"
    r"\.(?P<kind>weight|bias)$"
)
JOINED, GROUPED = "joined", "grouped"  # all of q, then k, then v; or q, k and v group by group
ORDERS = {  # row orders in a fused tensor, by model_type
    **dict.fromkeys(
        ("phi3", "phi4mm", "phi4_multimodal", "qwen", "chatglm", "baichuan", "mixformer-sequential"), JOINED
    ),
    **dict.fromkeys(("dbrx", "mpt", "phi-msft", "modernbert", "nomic_bert", "gte"), JOINED),
    **dict.fromkeys(("gpt_neox", "gpt_neox_japanese", "internlm2", "persimmon"), GROUPED),
}


class Held(Protocol):
    """A stored tensor that can be read without loading all of its columns."""

    @property
    def path(self) -> Path:
        """Return the file's path."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the tensor's shape."""

    def columns(self, most: int) -> np.ndarray:
        """Return the first columns as float64, shape (rows, at most `most`)."""


@dataclass(frozen=True)
class Split:
    """Selected rows of a tensor."""

    whole: Held
    rows: np.ndarray

    @property
    def path(self) -> Path:
        """Return the file's path."""
        return self.whole.path

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape of these rows."""
        return (len(self.rows), *self.whole.shape[1:])

    def columns(self, most: int) -> np.ndarray:
        """Return the first columns as float64, shape (rows, at most `most`)."""
        return self.whole.columns(most)[self.rows]


@dataclass(frozen=True)
class Latent:
    """The numbers of unrotated and rotated features in a latent-attention head, which are stored in that order."""

    still: int
    turning: int


@dataclass(frozen=True)
class Heads:
    """The row order in the fused tensors of a checkpoint, its head counts, and the parts of its latent heads."""

    order: str | None
    queries: int | None
    keys: int | None
    latent: Latent | None = None


def heads_of(path: Path, config: dict[str, Any] | None) -> Heads:
    """Return the heads specified by a GGUF or, for other weights, by the config in the same folder."""
    if config is None and path.is_file() and is_gguf(path):
        values = read_header(path).values
        arch = values.get("general.architecture")
        ours = {key.removeprefix(f"{arch}."): value for key, value in values.items()}
        heads = ours.get("attention.head_count")
        width = _first(ours, "attention.key_length_mla", "attention.key_length")
        latent = (
            _latent(width, ours.get("rope.dimension_count")) if "attention.kv_lora_rank" in ours else None
        )
        return Heads(JOINED, _count(heads), _count(ours.get("attention.head_count_kv", heads)), latent)
    config = config or {}
    queries = _first(config, "num_attention_heads", "n_head", "n_heads")
    keys = _first(config, "num_key_value_heads", "multi_query_group_num", "num_kv_heads", "n_kv_heads")
    turning, still = (_count(config.get(f"qk_{part}_head_dim")) for part in ("rope", "nope"))
    latent = _latent(turning + still, turning) if turning and still and "kv_lora_rank" in config else None
    return Heads(ORDERS.get(str(config.get("model_type"))), queries, keys or queries, latent)


def _latent(width: object, turning: object) -> Latent | None:
    width, turning = _count(width), _count(turning)
    return Latent(width - turning, turning) if width and turning and width > turning else None


def turning_rows(tensor: Held, part: str, latent: Latent | None) -> Split | str:
    """Return the rotating rows of a latent "q" or "k" projection, or the reason why they cannot be identified."""
    if latent is None:
        return "the widths of its latent projections are not known"
    rows = np.arange(tensor.shape[0])
    if part == "k":
        return Split(tensor, rows[-latent.turning :])
    width = latent.still + latent.turning
    if len(rows) % width:
        return f"its latent projection of q has {len(rows)} rows, not heads of {width}"
    return Split(tensor, rows.reshape(-1, width)[:, latent.still :].ravel())


def split_fused(tensor: Held, heads: Heads, head_dim: int) -> dict[str, Split] | str:
    """Return the q rows and the k rows, or the reason why they cannot be identified."""
    if heads.order is None or not heads.queries or not heads.keys:
        return "the order of q, k and v in its fused projections is not known"
    queries, keys, total = heads.queries, heads.keys, (heads.queries + 2 * heads.keys) * head_dim
    if tensor.shape[0] != total or queries % keys:
        return f"its fused projections have {tensor.shape[0]} rows, and its heads need {total}"
    rows = np.arange(total)
    if heads.order == JOINED:
        at = queries * head_dim
        return {"q": Split(tensor, rows[:at]), "k": Split(tensor, rows[at : at + keys * head_dim])}
    groups = rows.reshape(keys, -1, head_dim)
    parts = {"q": groups[:, : queries // keys], "k": groups[:, queries // keys]}
    return {name: Split(tensor, part.ravel()) for name, part in parts.items()}


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _first(config: dict[str, Any], *names: str) -> int | None:
    return next((found for name in names if (found := _count(config.get(name)))), None)
