r"""Make the files that `rope-doctor examples` writes: run python -m makers.examples in book/.

The gguf package writes the GGUFs, with the keys of llama.cpp's converter, and the safetensors package writes
the checkpoints. Every file is as small as the command can read.
"""

from __future__ import annotations

import json
from pathlib import Path

import gguf
import numpy as np
from safetensors.numpy import save

from rope_doctor.config import preset, read_config
from rope_edu import inv_freq
from rope_edu.encodings.layouts import convert_projection

FOLDER = Path(__file__).resolve().parents[2] / "doctor" / "rope_doctor" / "command" / "examples"
LLAMA = preset("Llama 3.1 8B").config
LITTLE = {
    "model_type": "llama",
    "hidden_size": 64,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "num_hidden_layers": 1,
    "max_position_embeddings": 2048,
    "rope_theta": 10_000.0,
}
HEADS = {"q": 4, "k": 2}  # number of heads, with 16 features each
CUT = 150  # length of a truncated file, in bytes


def write(folder: Path) -> None:
    """Write all generated files."""
    (folder / "little").mkdir(parents=True, exist_ok=True)
    spec = read_config(LLAMA).spec
    factors = (inv_freq(spec.head_dim, LLAMA["rope_theta"]) / spec.inv_freq).astype(np.float32)
    for path, config in (("config.json", LLAMA), ("little/config.json", LITTLE)):
        (folder / path).write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    as_gguf(folder / "model.gguf", LLAMA, {"rope_freqs.weight": factors})
    as_gguf(folder / "lost.gguf", LLAMA, {"token_embd.weight": np.zeros((1, 1), np.float32)})
    (folder / "cut.gguf").write_bytes((folder / "model.gguf").read_bytes()[:CUT])
    draw = np.random.default_rng(7)
    weights = {name: draw.normal(size=(16 * heads, 4)).astype(np.float16) for name, heads in HEADS.items()}
    named = {f"model.layers.0.self_attn.{name}_proj.weight": weight for name, weight in weights.items()}
    (folder / "little/model.safetensors").write_bytes(save(named))
    interleaved = {
        name: convert_projection(weight, HEADS[name], to="interleaved") for name, weight in weights.items()
    }
    for path, tensors in (
        ("little.gguf", interleaved),
        ("forgotten.gguf", interleaved | {"k": weights["k"]}),
    ):
        as_gguf(
            folder / path, LITTLE, {f"blk.0.attn_{name}.weight": tensor for name, tensor in tensors.items()}
        )


def as_gguf(path: Path, config: dict, tensors: dict[str, np.ndarray]) -> None:
    """Write a config and tensors as a GGUF with the llama architecture."""
    spec = read_config(config).spec
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_key_length(spec.head_dim)
    writer.add_rope_dimension_count(spec.rotary_dim)
    writer.add_rope_freq_base(config["rope_theta"])
    for name, tensor in tensors.items():
        writer.add_tensor(name, np.ascontiguousarray(tensor))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    write(FOLDER)
