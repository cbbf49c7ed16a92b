"""Tiny models of transformers with random weights, sharp enough that positions matter."""

import warnings

import pytest
import torch
import transformers

WORDS = 96
VERSION = tuple(map(int, transformers.__version__.split(".")[:2]))
PINNED = (5, 23)
SMALL = {
    "hidden_size": 64,
    "intermediate_size": 64,
    "intermediate_size_mlp": 32,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "vocab_size": WORDS,
    "num_hidden_layers": 2,
    "moe_intermediate_size": 16,
    "shared_expert_intermediate_size": 16,
    "num_experts": 4,
    "num_local_experts": 4,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "num_dense_layers": 1,
    "first_k_dense_replace": 1,
    "n_group": 1,
    "topk_group": 1,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "n_embd": 64,
    "n_head": 4,
    "n_layer": 2,
    "n_inner": 64,
    "rotary_dim": 8,
    "qk_rope_head_dim": 16,
    "qk_nope_head_dim": 16,
    "v_head_dim": 16,
    "kv_lora_rank": 16,
    "q_lora_rank": 16,
    "ffn_dim": 64,
    "num_layers": 2,
    "num_heads": 4,
    "num_shared_experts": 1,
    "n_shared_experts": 1,
    "index_n_heads": 2,
    "index_head_dim": 16,
    "mamba_d_state": 8,
    "mamba_n_heads": 4,
    "mamba_d_head": 32,
    "mamba_n_groups": 1,
    "sliding_window": 16,
    "attention_chunk_size": 16,
}
LATENT = (
    *("axk1", "axk2", "deepseek_v2", "deepseek_v3", "deepseek_v32", "glm4_moe_lite", "glm_moe_dsa"),
    *("minicpm3", "youtu"),
)
HYBRID = ("olmo_hybrid", "qwen3_5_text", "qwen3_5_moe_text", "qwen3_next")
ALTERNATING = ["sliding_attention", "full_attention"]
PLAIN = {"rope_type": "default", "rope_theta": 1e4}
OTHERWISE = {  # what an architecture needs besides
    **{name: {"head_dim": None, "num_key_value_heads": 4} for name in LATENT},
    **{name: {"layer_types": ["linear_attention", "full_attention"]} for name in HYBRID},
    "lfm3": {"num_hidden_layers": 4},
    "flint": {"num_hidden_layers": 8},
    "falcon": {"head_dim": None},
    "longcat_flash": {"num_key_value_heads": 4},
    "mimo_v2_flash": {"head_dim": 24},
    "qwen4_exp_text": {
        "layer_types": ["linear_attention", "indexed_attention"],
        "linear_key_head_dim": 16,
        "linear_value_head_dim": 16,
        "linear_num_key_heads": 2,
        "linear_num_value_heads": 4,
        "hc_lowrank": 16,
        "ngram_vocab_size_base": 200,
        "indexer_n_heads": 2,
        "indexer_kv_heads": 1,
        "indexer_head_dim": 16,
        "indexer_budget": 4096,
        "indexer_compress_ratio": 4,
    },
    "zaya": {"num_experts_per_tok": 1},
    "qwen3_vl_moe_text": {"sliding_window": None},  # only its cache would have the window, and its mask not
    "bailing_hybrid": {
        "head_dim": None,
        "num_key_value_heads": 4,
        "layer_types": ["linear_attention", "full_attention"],
        "mlp_layer_types": ["dense", "sparse"],
        "linear_head_dim": 16,
        "linear_num_heads": 4,
        "num_expert_group": 1,
    },
    "bamba": {"attn_layer_indices": [1]},
    "cohere_compass_text": {"layer_types": ALTERNATING, "rope_parameters": dict.fromkeys(ALTERNATING, PLAIN)},
    "dbrx": {
        "d_model": 64,
        "n_heads": 4,
        "n_layers": 2,
        "num_key_value_heads": None,
        "attn_config": {"rope_theta": 1e4, "kv_n_heads": 2, "clip_qkv": 8.0},
        "ffn_config": {"ffn_hidden_size": 64, "moe_num_experts": 4, "moe_top_k": 2, "hidden_size": 64},
    },
    "falcon_h1": {"mamba_d_ssm": 128},
    "gemma3n_text": {
        "num_hidden_layers": 4,
        "num_kv_shared_layers": 2,
        "layer_types": 2 * ALTERNATING,
        "vocab_size_per_layer_input": WORDS,
        "hidden_size_per_layer_input": 16,
        "activation_sparsity_pattern": [0.0] * 4,
        "laurel_rank": 16,
    },
    "gemma4_text": {
        "layer_types": ALTERNATING,
        "vocab_size_per_layer_input": WORDS,
        "hidden_size_per_layer_input": 16,
    },
    "gemma4_unified_text": {"layer_types": ALTERNATING},
    "granitemoehybrid": {
        "head_dim": None,
        "layer_types": ["linear_attention", "full_attention"],
        "position_embedding_type": "rope",
    },
    "jamba": {"num_hidden_layers": 4, "attn_layer_period": 2, "attn_layer_offset": 1, "mamba_dt_rank": 8},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"]},
    "recurrent_gemma": {"head_dim": None, "num_hidden_layers": 3, "lru_width": 64},
    "zamba2": {
        "head_dim": None,
        "num_hidden_layers": 4,
        "num_key_value_heads": 4,
        "layers_block_type": ["linear_attention", "hybrid"] * 2,
        "hybrid_layer_ids": [1, 3],
        "use_mem_rope": True,
        "n_mamba_heads": 4,
        "mamba_headdim": 32,
        "attention_hidden_size": 128,
        "attention_head_dim": 32,
        "kv_channels": 16,
        "num_query_groups": 4,
        "adapter_rank": 8,
    },
}


def small_config(model_type, **changes):
    """The config of an architecture with two layers of 64 features, and with these changes."""
    transformers.logging.set_verbosity_error()
    if VERSION < PINNED and model_type not in transformers.CONFIG_MAPPING:
        pytest.skip(f"transformers {transformers.__version__} has no {model_type}")
    kind = transformers.CONFIG_MAPPING[model_type]
    usual = kind()
    given = {name: value for name, value in SMALL.items() if has(usual, name)}
    given |= OTHERWISE.get(model_type, {}) | changes
    return kind(**{name: value for name, value in given.items() if value is not None})


def has(config, name):
    """Whether a config has a field, also one that differs from layer to layer."""
    try:
        return hasattr(config, name)
    except Exception:  # it must not be asked for all layers at once
        return True


def tiny(model_type, *, seed=0, width=torch.float32, **changes):
    """A causal model of an architecture, two layers of 64 features, whose attention is sharp."""
    warnings.filterwarnings("ignore")
    config = small_config(model_type, **changes)
    torch.manual_seed(seed)
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=width).eval()
    sharpen(model)
    return model


def sharpen(model):
    """Draw the matrices so large that attention is far from even."""
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.ndim >= 2:
                weight.normal_(std=1.5 * weight.shape[-1] ** -0.5)
            elif not weight.any() and not name.endswith("bias"):
                weight.fill_(1.0)  # a gain that begins at 0
