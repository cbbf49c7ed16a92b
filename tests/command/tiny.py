"""Tiny models of transformers with random weights, sharp enough that positions matter."""

import warnings

import torch
import transformers

WORDS = 96
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
}
LATENT = (
    *("axk1", "axk2", "deepseek_v2", "deepseek_v3", "deepseek_v32", "glm4_moe_lite", "glm_moe_dsa"),
    *("minicpm3", "youtu"),
)
DEEPER = ("lfm3", "olmo_hybrid", "qwen3_5_text", "qwen3_5_moe_text", "qwen3_next")
OTHERWISE = {  # what an architecture needs besides
    **{name: {"head_dim": None, "num_key_value_heads": 4} for name in LATENT},
    **{name: {"num_hidden_layers": 4} for name in DEEPER},
    "flint": {"num_hidden_layers": 8},
    "falcon": {"head_dim": None},
    "gemma4_text": {"head_dim": None},
    "longcat_flash": {"num_key_value_heads": 4},
    "mimo_v2_flash": {"head_dim": 24},
    "zaya": {"num_experts_per_tok": 1},
}


def tiny(model_type, *, seed=0, width=torch.float32, **changes):
    """A causal model of an architecture, two layers of 64 features, whose attention is sharp."""
    warnings.filterwarnings("ignore")
    transformers.logging.set_verbosity_error()
    kind = transformers.CONFIG_MAPPING[model_type]
    usual = kind()
    given = {name: value for name, value in SMALL.items() if hasattr(usual, name)}
    given |= OTHERWISE.get(model_type, {}) | changes
    torch.manual_seed(seed)
    config = kind(**{name: value for name, value in given.items() if value is not None})
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
