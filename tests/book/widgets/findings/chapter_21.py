"""Chapter 21: what the reader of configs makes of four files."""

import numpy as np

from rope_book.widgets.config_inspector import PRESETS
from rope_doctor import read_config, rope_from_config
from rope_doctor.config import ConfigError
from rope_edu import inv_freq
from rope_edu.encodings import completes_turn

CONFIGS = {preset.name: preset.config for preset in PRESETS}
BARE = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 1}


def factor():
    plain, slowed = inv_freq(128, 500_000.0), rope_from_config(CONFIGS["Llama 3.1 8B"]).inv_freq
    slow = ~completes_turn(plain, 8192)
    return float(np.median(8192 * plain[slow] / slowed[slow]))


def deepseek():
    return len(rope_from_config(CONFIGS["DeepSeek-V3"]).inv_freq)


def gemma():
    whole, window = (
        rope_from_config(CONFIGS["Gemma 3 4B"], layer_type=layers).inv_freq.min()
        for layers in ("full_attention", "sliding_attention")
    )
    return {
        "see the whole text": whole < window,
        "with the window, which": window < whole,
        "one model has one base": whole == window,
    }


def _refused(config):
    try:
        read_config(config)
    except ConfigError:
        return True
    return False


def no_base():
    with_yarn = _refused(BARE | {"rope_scaling": {"type": "yarn", "factor": 4}})
    found = None if _refused(BARE) else read_config(BARE)
    taken, said = found and found.base == 10_000, found and bool(found.remarks)
    return {
        "and a remark says so": taken and said and with_yarn,
        "a base is missing": found is None,
        "with YaRN as well": taken and not with_yarn,
    }
