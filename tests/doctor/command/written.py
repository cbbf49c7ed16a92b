"""Presets written as GGUF, by the gguf package's own writer, with the keys that llama.cpp's converter writes."""

import gguf
import numpy as np

from rope_doctor.config import to_config
from rope_doctor.config.each_layer import layers_of_config
from rope_doctor.config.files import read_kinds
from rope_doctor.config.gguf_rotation import FACTS
from rope_edu import inv_freq

ARCHITECTURES = {
    "llama": "llama",
    "mistral": "llama",
    "mixtral": "llama",
    "qwen2": "qwen2",
    "qwen3": "qwen3",
    "qwen3_moe": "qwen3moe",
    "gemma": "gemma",
    "gemma2": "gemma2",
    "gemma3_text": "gemma3",
    "gemma4_text": "gemma4",
    "gpt_neox": "gptneox",
    "falcon": "falcon",
    "olmo2": "olmo2",
    "phi": "phi2",
    "phi3": "phi3",
    "stablelm": "stablelm",
    "deepseek_v3": "deepseek2",
    "qwen2_5_vl": "qwen2vl",
    "llama4_text": "llama4",
    "smollm3": "smollm3",
    "cohere2": "cohere2",
    "apertus": "apertus",
    "modernbert": "modern-bert",
    "mimo_v2_flash": "mimo2",
    "ernie4_5": "ernie4_5",
    "gpt_oss": "gpt-oss",
    "gemma3n_text": "gemma3n",
    "olmo3": "olmo2",
    "mistral4": "mistral4",
    "ministral3": "mistral3",
}
LOST = {"gpt_oss": "truncate"}  # a field that no key of a GGUF holds
CONTAINERS = {  # of models that llama.cpp does not convert: an architecture of the same layout and kinds of layers
    "gptj": "command-r",
    "codegen": "command-r",
    "longcat_flash": "command-r",
    "helium": "command-r",
    "roformer": "command-r",
    "hy_v3": "qwen2",
    "lfm3": "gemma4",
}


def spelled(config, spelling):
    """Return a config in the spelling of transformers 4 or 5; as it is where kinds of layers differ in width."""
    kinds = read_kinds(config)
    if len(kinds) == 1:
        return to_config(kinds[0], spelling=spelling)
    widths = {(each.spec.head_dim, each.spec.rotary_dim, each.rope_type == "nope") for each in kinds}
    if spelling == 4 or len(widths) > 1:
        return config
    made = {each.layer_type: to_config(each) for each in kinds}
    rules = {label: each.pop("rope_parameters") for label, each in made.items()}
    return next(iter(made.values())) | {"rope_parameters": rules}


def written(path, config, **changes):
    """Write a config as the GGUF that the converter makes of it, with some values changed; return its path."""
    readings = {each.layer_type: each for each in read_kinds(config)}
    main = readings.get("full_attention", next(iter(readings.values())))
    local = readings.get("sliding_attention")
    main = local if main.rope_type == "nope" else main
    writer = gguf.GGUFWriter(path, (ARCHITECTURES | CONTAINERS)[config["model_type"]])
    fields = {"base": main.base, "factor": main.factor, "rotary_dim": main.spec.rotary_dim} | changes
    writer.add_context_length(main.longest)
    writer.add_key_length(
        192 if main.spec.head_dim == 64 and "qk_rope_head_dim" in config else main.spec.head_dim
    )
    if "qk_rope_head_dim" in config:
        writer.add_kv_lora_rank(512)
    writer.add_rope_dimension_count(fields["rotary_dim"])
    writer.add_rope_freq_base(fields["base"])
    if local is not None:
        writer.add_sliding_window(4096)
        if local.spec != main.spec and writer.arch not in ("gemma3", "gemma3n"):  # llama.cpp knows theirs
            writer.add_rope_freq_base_swa(local.base)
            writer.add_rope_dimension_count_swa(local.spec.rotary_dim)
            writer.add_key_length_swa(local.spec.head_dim)
    if fields.get("window") is not None:
        writer.add_sliding_window(fields["window"])
    if "num_hidden_layers" in config:
        writer.add_block_count(config["num_hidden_layers"])
    beta = (config.get("rope_parameters") or {}).get("llama_4_scaling_beta")
    if beta:
        writer.add_attn_temperature_scale(beta)
    if writer.arch in ("gemma4", "mimo2"):
        layers = read_kinds(config) and layers_of_config(config, ()).rows(config.get("num_hidden_layers", 1))
        writer.add_sliding_window_pattern([layer.label == "sliding_attention" for layer in layers])
    scaling(writer, main, fields)
    writer.add_array("tokenizer.ggml.tokens", ["a token of any length"] * 1000)
    writer.add_tensor("token_embd.weight", np.zeros((4, 4), dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def scaling(writer, reading, fields):
    """Write the keys, or the tensor, of a rule."""
    keys = to_config(reading)["rope_parameters"]
    if reading.rope_type in ("linear", "yarn"):
        writer.add_rope_scaling_type(gguf.RopeScalingType(reading.rope_type))
        writer.add_rope_scaling_factor(fields["factor"])
    if reading.rope_type == "yarn":
        writer.add_rope_scaling_orig_ctx_len(keys["original_max_position_embeddings"])
        if "beta_fast" in keys:
            writer.add_rope_scaling_yarn_beta_fast(keys["beta_fast"])
            writer.add_rope_scaling_yarn_beta_slow(keys["beta_slow"])
        if "mscale_all_dim" in keys:
            tenth = 0.1 if writer.arch in FACTS["log_multiplier_in_tenths"] else 1
            writer.add_rope_scaling_yarn_log_mul(tenth * keys["mscale_all_dim"])
    if reading.rope_type in ("llama3", "proportional"):
        plain = inv_freq(reading.spec.head_dim, reading.base)
        turned = np.where(reading.spec.inv_freq > 0, reading.spec.inv_freq, plain / 1e30)
        writer.add_tensor("rope_freqs.weight", fields.get("factors", (plain / turned).astype(np.float32)))
    if reading.spec.sections:
        writer.add_rope_dimension_sections([*reading.spec.sections, 0])
