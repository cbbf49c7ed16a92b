r"""Read a config's factors on q·k: the softmax scale, and query gains that grow with position."""

import math
from collections.abc import Callable

import numpy as np

from rope_doctor.probes.layer_kinds import LayerKinds


def stated_scale(kinds: LayerKinds, width: int) -> tuple[float, bool]:
    r"""Return the softmax scale for heads with `width` features, and whether the config specifies it.

    The default is 1/√width. Gemma specifies `query_pre_attn_scalar` and Granite `attention_multiplier`. MLA with
    YaRN multiplies the scale by the square of 0.1 · mscale_all_dim · ln(factor) + 1.

    Source: transformers 5.23, `modeling_gemma3`, `modeling_granite`, `modeling_deepseek_v3`.
    """
    body = kinds.body
    if scalar := body.get("query_pre_attn_scalar"):
        return float(scalar) ** -0.5, True
    if (multiplier := body.get("attention_multiplier")) is not None:
        return float(multiplier), True
    for reading in kinds.turning.values():
        rule = body.get("rope_parameters") or body.get("rope_scaling") or {}
        share = rule.get("mscale_all_dim") or 0
        if reading.rope_type == "yarn" and share and body.get("qk_rope_head_dim") and reading.factor:
            factor = 0.1 * share * math.log(reading.factor) + 1 if reading.factor > 1 else 1.0
            return width**-0.5 * factor**2, True
    return width**-0.5, False


def query_gains(kinds: LayerKinds) -> tuple[int, Callable[[np.ndarray, bool], np.ndarray]] | None:
    """Return a text length at which query gains are visible, and a function that computes them; None without gains.

    The function takes positions, `(seq,)`, and whether the layer rotates, and returns the gains, `(seq,)`. Llama 4
    and Beam scale the queries of layers that do not rotate, and Ministral 3 those of all layers. Beam's rule has no
    config field.

    Source: transformers 5.23, `modeling_llama4`, `modeling_ministral3`, `modeling_beam`.
    """
    body = kinds.body
    if body.get("attn_temperature_tuning") and body.get("floor_scale"):
        floor, scale = float(body["floor_scale"]), float(body.get("attn_scale") or 0)

        def of_still_layers(positions: np.ndarray, rotates: bool) -> np.ndarray:
            return 1 + scale * (not rotates) * np.log1p(np.floor((positions + 1) / floor))

        return 4 * int(floor), of_still_layers
    if body.get("model_type") == "beam":
        return 8192, lambda positions, rotates: (1 + (positions + 1) / 2048) ** (0.0 if rotates else 0.1)
    rule = body.get("rope_parameters") or {}
    beta, trained = rule.get("llama_4_scaling_beta"), rule.get("original_max_position_embeddings")
    if not beta or not trained:
        return None
    return 4 * int(trained), lambda positions, rotates: 1 + beta * np.log1p(np.floor(positions / trained))
