"""Heads come from the file that states them, and the rows of q and k in a fused projection from the heads."""

from pathlib import Path

import gguf
import numpy as np
import pytest

from rope_doctor.config import fused
from rope_doctor.config.fused import Heads, Latent

PHI = {"model_type": "phi3", "num_attention_heads": 4, "num_key_value_heads": 2}
MLA = {"kv_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 6, "num_attention_heads": 4}


class Numbered:
    """A tensor whose rows hold their numbers."""

    path = Path("a.bin")

    def __init__(self, rows):
        self.shape = (rows, 1)

    def columns(self, most):
        return np.arange(self.shape[0], dtype=float)[:, None]


@pytest.mark.parametrize(
    ("config", "heads"),
    [
        (None, Heads(None, None, None)),
        (PHI, Heads("joined", 4, 2)),
        (MLA, Heads(None, 4, 4, Latent(still=6, turning=8))),
    ],
)
def test_heads_of_weights_are_those_of_the_config_beside_them(config, heads, tmp_path):
    (tmp_path / "model.safetensors").write_bytes(bytes(8))
    for path in (tmp_path / "model.safetensors", tmp_path):
        assert fused.heads_of(path, config) == heads


@pytest.mark.parametrize(("latent", "kept"), [(False, None), (True, Latent(still=6, turning=8))])
def test_heads_of_a_gguf_are_those_of_its_header(latent, kept, tmp_path):
    writer = gguf.GGUFWriter(tmp_path / "a.gguf", "deepseek2")
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_key_length(14)
    writer.add_rope_dimension_count(8)
    if latent:
        writer.add_kv_lora_rank(16)
    for step in ("write_header_to_file", "write_kv_data_to_file", "write_tensors_to_file", "close"):
        getattr(writer, step)()
    assert fused.heads_of(tmp_path / "a.gguf", None) == Heads("joined", 4, 2, kept)


@pytest.mark.parametrize(
    ("order", "q", "k"),
    [("joined", range(8), range(8, 12)), ("grouped", [0, 1, 2, 3, 8, 9, 10, 11], [4, 5, 12, 13])],
)
def test_rows_of_four_queries_and_two_keys_of_width_2_are_told_apart(order, q, k):
    found = fused.split_fused(Numbered(16), Heads(order, 4, 2), 2)
    assert {part: rows.columns(1)[:, 0].tolist() for part, rows in found.items()} == {"q": [*q], "k": [*k]}


def test_the_last_rows_of_each_latent_head_turn():
    latent = Latent(still=1, turning=2)
    assert fused.turning_rows(Numbered(6), "q", latent).columns(1)[:, 0].tolist() == [1, 2, 4, 5]
    assert fused.turning_rows(Numbered(6), "k", latent).columns(1)[:, 0].tolist() == [4, 5]
    assert "6 rows, not heads of 4" in fused.turning_rows(Numbered(6), "q", Latent(2, 2))
