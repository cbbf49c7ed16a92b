"""transformers' own rules, run in float64; run this file to write what it gives into transformers_rules.json.

`modeling_rope_utils` names float32 in every rule (`dtype=torch.float`, `.float()`). Its source is run as it
stands, under a mode of torch that reads float64 wherever a call names float32: the same steps, wider numbers.
"""

import json
from pathlib import Path

import torch
from torch.overrides import TorchFunctionMode

COMMITTED = Path(__file__).with_suffix("").with_name("transformers_rules.json")
ODD = {"rope_theta": 12_345.0, "factor": 6.5, "original_max_position_embeddings": 3000}
CASES = {  # published models, and what none of them has: (head_dim, max_position_embeddings, length, parameters)
    "linear, factor 4 (vicuna-13b-v1.5-16k)": (
        128,
        16_384,
        None,
        {"rope_type": "linear", "rope_theta": 1e4, "factor": 4.0},
    ),
    "dynamic, factor 2, at three times the trained length": (
        64,
        4096,
        12_288,
        {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0},
    ),
    "yarn (Qwen2.5-7B-Instruct as its card advises)": (
        128,
        131_072,
        None,
        {"rope_type": "yarn", "rope_theta": 1e6, "factor": 4.0, "original_max_position_embeddings": 32_768},
    ),
    "yarn without truncation (gpt-oss-20b)": (
        64,
        131_072,
        None,
        {
            "rope_type": "yarn",
            "rope_theta": 150_000.0,
            "factor": 32.0,
            "beta_fast": 32.0,
            "beta_slow": 1.0,
            "truncate": False,
            "original_max_position_embeddings": 4096,
        },
    ),
    "yarn with both mscales equal (DeepSeek-V3)": (
        64,
        163_840,
        None,
        {
            "rope_type": "yarn",
            "rope_theta": 1e4,
            "factor": 40.0,
            "beta_fast": 32.0,
            "beta_slow": 1.0,
            "mscale": 1.0,
            "mscale_all_dim": 1.0,
            "original_max_position_embeddings": 4096,
        },
    ),
    "yarn with two mscales": (
        64,
        19_500,
        None,
        {"rope_type": "yarn", "mscale": 1.2, "mscale_all_dim": 0.707} | ODD,
    ),
    "llama3, factor 8 (Llama-3.1-8B)": (
        128,
        131_072,
        None,
        {
            "rope_type": "llama3",
            "rope_theta": 5e5,
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8192,
        },
    ),
    "llama3, factor 32 (Llama-3.2-1B)": (
        64,
        131_072,
        None,
        {
            "rope_type": "llama3",
            "rope_theta": 5e5,
            "factor": 32.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8192,
        },
    ),
    "proportional, a quarter (Gemma 4, global layers)": (
        512,
        131_072,
        None,
        {"rope_type": "proportional", "rope_theta": 1e6, "partial_rotary_factor": 0.25},
    ),
}
CASES |= {
    f"longrope at {length} tokens, 4k to 128k as Phi-3-mini, lists made up": (
        16,
        131_072,
        length,
        {
            "rope_type": "longrope",
            "rope_theta": 1e4,
            "factor": 32.0,
            "original_max_position_embeddings": 4096,
            "short_factor": [1.0 + i / 16 for i in range(8)],
            "long_factor": [1.0 + i * i / 2 for i in range(8)],
        },
    )
    for length in (4096, 4097)
}


class InFloat64(TorchFunctionMode):
    """Read float64 wherever a call of torch names float32."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        def widen(value):
            return torch.float64 if value is torch.float32 else value

        func = torch.Tensor.double if func is torch.Tensor.float else func
        kwargs = {name: widen(value) for name, value in (kwargs or {}).items()}
        return func(*map(widen, args), **kwargs)


def transformers_rule(head_dim, max_position_embeddings, length, parameters):
    """Return transformers' (inv_freq, attention factor) for a config's parameters, in float64."""
    from transformers import LlamaConfig
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    config = LlamaConfig(
        hidden_size=2 * head_dim,
        num_attention_heads=2,
        head_dim=head_dim,
        max_position_embeddings=max_position_embeddings,
        rope_parameters=parameters,
    )
    narrow = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)  # ints divided by an int
    try:
        with InFloat64():
            rule = ROPE_INIT_FUNCTIONS[parameters["rope_type"]]
            frequencies, factor = rule(config, "cpu", seq_len=length)
    finally:
        torch.set_default_dtype(narrow)
    assert frequencies.dtype == torch.float64
    return frequencies.numpy(), float(factor)


def main():
    """Write what the installed transformers gives for every case."""
    import transformers

    values = {}
    for name, case in CASES.items():
        frequencies, factor = transformers_rule(*case)
        values[name] = {"inv_freq": frequencies.tolist(), "attention_factor": factor}
    source = (
        f"transformers {transformers.__version__}, modeling_rope_utils.ROPE_INIT_FUNCTIONS, run in float64"
    )
    COMMITTED.write_text(json.dumps({"source": source, "rules": values}, indent=1) + "\n")


if __name__ == "__main__":
    main()
