"""Where YaRN's two mscales go: what chapter 16 says of DeepSeek's formula and of transformers is what they do."""

import numpy as np
import pytest

from rope_edu.encodings import yarn, yarn_mscale

SHAPE = {
    "hidden_size": 32,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "q_lora_rank": 8,
    "kv_lora_rank": 8,
    "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 128,
    "v_head_dim": 16,
    "num_hidden_layers": 1,
    "intermediate_size": 16,
    "vocab_size": 16,
    "max_position_embeddings": 163_840,
}
M = yarn_mscale(40)
CASES = {  # what a config gives: (factor on cos and sin, factor on the softmax scale) in transformers
    "neither": ({}, M, 1.0),
    "both": ({"mscale": 1.0, "mscale_all_dim": 1.0}, 1.0, M**2),
    "mscale alone": ({"mscale": 0.707}, M, 1.0),
    "mscale_all_dim alone": ({"mscale_all_dim": 1.0}, M, M**2),
}


@pytest.mark.parametrize("given", CASES)
def test_transformers_ignores_one_mscale_without_the_other_on_cos_and_sin(given):
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from transformers.models.deepseek_v3 import modeling_deepseek_v3 as deepseek
    from transformers.models.deepseek_v3.configuration_deepseek_v3 import DeepseekV3Config

    mscales, on_turns, on_softmax = CASES[given]
    parameters = {
        "rope_type": "yarn",
        "rope_theta": 1e4,
        "factor": 40.0,
        "original_max_position_embeddings": 4096,
    }
    config = DeepseekV3Config(**SHAPE, rope_parameters=parameters | mscales)
    config._attn_implementation = "eager"
    assert deepseek.DeepseekV3RotaryEmbedding(config).attention_scaling == pytest.approx(on_turns)
    assert deepseek.DeepseekV3Attention(config, 0).scaling == pytest.approx(on_softmax * 192**-0.5)


@pytest.mark.parametrize("mscale", [0.0, 0.707, 1.0])
@pytest.mark.parametrize("mscale_all_dim", [0.0, 0.707, 1.0])
def test_ours_is_deepseeks_formula_for_any_two_numbers(mscale, mscale_all_dim):
    """DeepSeek's modeling_deepseek.py: get_mscale(s, mscale) / get_mscale(s, mscale_all_dim)."""
    spec = yarn(64, 40, 4096, mscale=mscale, mscale_all_dim=mscale_all_dim)
    expected = (0.1 * mscale * np.log(40) + 1) / (0.1 * mscale_all_dim * np.log(40) + 1)
    assert spec.attention_factor == pytest.approx(expected)
