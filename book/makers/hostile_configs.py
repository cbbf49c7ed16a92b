"""Configs for the test vectors, both as models ship them and as they go wrong."""

from __future__ import annotations

LLAMA = {"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "rope_theta": 500_000.0}
LLAMA |= {"max_position_embeddings": 131_072}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
LLAMA3 |= {"original_max_position_embeddings": 8192}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32_768}
KIMI = {"factor": 32.0, "beta_fast": 1.0, "beta_slow": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0}
KIMI |= {"original_max_position_embeddings": 4096}
T4, T5 = "transformers 4's spelling", "transformers 5's spelling"
OURS = "made up, as a careless hand or a cut file makes it"


def _without(config: dict, key: str) -> dict:
    return {name: value for name, value in config.items() if name != key}


def _scaled(**changes: object) -> dict:
    return LLAMA | {"rope_scaling": LLAMA3 | changes}


CONFIGS: dict[str, tuple[object, str, str, dict]] = {  # name: (config, source, catches, options)
    "plain, spelling of 4": (LLAMA, T4, "a base that is not read", {}),
    "plain, spelling of 5": (
        _without(LLAMA, "rope_theta") | {"rope_parameters": {"rope_type": "default", "rope_theta": 500_000.0}},
        T5, "a base looked for in the old place only", {},
    ),
    "llama3, spelling of 4": (_scaled(), T4, "a rule that is not read", {}),
    "llama3, spelling of 5": (
        _without(LLAMA, "rope_theta") | {"rope_parameters": LLAMA3 | {"rope_theta": 500_000.0}},
        T5, "a rule looked for in the old place only", {},
    ),
    "rule named by type": (
        LLAMA | {"rope_scaling": {"type": "linear", "factor": 4.0}}, T4, "the older name of rope_type", {},
    ),
    "yarn": (LLAMA | {"rope_scaling": YARN}, T4, "the attention factor left out", {}),
    "yarn without truncation": (
        LLAMA | {"rope_scaling": YARN | {"truncate": False}}, "gpt-oss", "truncate ignored", {},
    ),
    "dynamic at the trained length": (
        LLAMA | {"rope_scaling": {"rope_type": "dynamic", "factor": 2.0}}, T4, "a stretch before it is due",
        {"seq_len": 131_072},
    ),
    "dynamic beyond": (
        LLAMA | {"rope_scaling": {"rope_type": "dynamic", "factor": 2.0}}, T4, "a length that is not read",
        {"seq_len": 262_144},
    ),
    "a quarter of the head": (
        {"model_type": "gpt_neox", "hidden_size": 512, "num_attention_heads": 8, "rotary_pct": 0.25,
         "rotary_emb_base": 10_000}, "GPT-NeoX", "the whole head turned", {},
    ),
    "a width of its own": (LLAMA | {"head_dim": 128}, T4, "hidden_size / heads taken for the width", {}),
    "no rule": (LLAMA | {"rope_scaling": None}, T4, "null taken for a rule", {}),
    "unknown rule": (_scaled(rope_type="llama4"), OURS, "a rule read as plain", {}),
    "factor missing": (LLAMA | {"rope_scaling": _without(LLAMA3, "factor")}, OURS, "a factor of 1 assumed", {}),
    "original length missing": (
        LLAMA | {"rope_scaling": _without(LLAMA3, "original_max_position_embeddings")}, OURS,
        "the claimed length taken for the trained", {},
    ),
    "factor below one": (_scaled(factor=0.5), OURS, "a text squeezed the wrong way", {}),
    "factor as text": (_scaled(factor="8"), OURS, "text taken for a number", {}),
    "factor true": (_scaled(factor=True), OURS, "true taken for 1", {}),
    "thresholds exchanged": (
        _scaled(low_freq_factor=4.0, high_freq_factor=1.0), OURS, "a ramp that runs backwards", {},
    ),
    "thresholds equal": (
        _scaled(low_freq_factor=1.0, high_freq_factor=1.0), "Llama 4 Scout",
        "a division by zero: the ramp is a step", {},
    ),
    "betas equal": (
        LLAMA | {"rope_theta": 50_000.0, "rope_scaling": YARN | KIMI}, "Kimi K2", "a ramp of one pair refused", {},
    ),
    "a key that no rule uses": (_scaled(beta_fast=32), OURS, "another rule's parameter, silently lost", {}),
    "rope_theta as text": (LLAMA | {"rope_theta": "500000"}, OURS, "text taken for a number", {}),
    "rope_theta zero": (LLAMA | {"rope_theta": 0}, OURS, "a division by zero", {}),
    "two types": (_scaled(type="linear"), OURS, "two fields that contradict each other", {}),
    "heads that do not divide": (LLAMA | {"num_attention_heads": 7}, OURS, "a width rounded down", {}),
    "no width": (_without(LLAMA, "hidden_size"), OURS, "a width assumed", {}),
    "a part above one": (LLAMA | {"partial_rotary_factor": 1.5}, OURS, "more features than there are", {}),
    "rope_scaling a list": (LLAMA | {"rope_scaling": [8.0]}, OURS, "a list taken for an object", {}),
    "a list": ([LLAMA], OURS, "a list taken for a config", {}),
    "alibi": ({"model_type": "falcon", "hidden_size": 64, "num_attention_heads": 8, "alibi": True},
              "falcon's alibi", "rotation where there is none", {}),
}  # fmt: skip

PLAIN = ("rope", 64, 64, 500_000.0, {})
THREE = ("llama3", 64, 64, 500_000.0, {"factor": 8.0, "trained_length": 8192})
STRETCHED = {"factor": 4.0, "trained_length": 32_768}
GROWN = {"factor": 2.0, "trained_length": 131_072}
ROTATIONS: dict[
    str, tuple[str, int, int, float, dict]
] = {  # name: (rule, head_dim, rotary_dim, base, parameters)
    "plain, spelling of 4": PLAIN,
    "plain, spelling of 5": PLAIN,
    "llama3, spelling of 4": THREE,
    "llama3, spelling of 5": THREE,
    "rule named by type": ("linear", 64, 64, 500_000.0, {"factor": 4.0}),
    "yarn": ("yarn", 64, 64, 500_000.0, STRETCHED),
    "yarn without truncation": ("yarn", 64, 64, 500_000.0, STRETCHED | {"truncate": False}),
    "dynamic at the trained length": ("dynamic", 64, 64, 500_000.0, GROWN | {"length": 131_072}),
    "dynamic beyond": ("dynamic", 64, 64, 500_000.0, GROWN | {"length": 262_144}),
    "a quarter of the head": ("rope", 64, 16, 10_000.0, {}),
    "a width of its own": ("rope", 128, 128, 500_000.0, {}),
    "no rule": PLAIN,
    "thresholds equal": (
        "llama3", 64, 64, 500_000.0,
        {"factor": 8.0, "trained_length": 8192, "low_freq_factor": 1.0, "high_freq_factor": 1.0},
    ),
    "betas equal": (
        "yarn", 64, 64, 50_000.0,
        {"factor": 32.0, "trained_length": 4096, "beta_fast": 1.0, "beta_slow": 1.0, "mscale": 1.0,
         "mscale_all_dim": 1.0},
    ),
}  # fmt: skip  # rotations of the valid configs, all half_split; any other config must be refused
