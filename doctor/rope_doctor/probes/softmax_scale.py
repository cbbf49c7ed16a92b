r"""The factor on q·k that a config states."""

import math

from rope_doctor.probes.layer_kinds import LayerKinds


def stated_scale(kinds: LayerKinds, width: int) -> tuple[float, bool]:
    r"""Return the softmax scale for heads of `width` features, and whether the config states it.

    Without a field of its own it is 1/√width. Gemma states `query_pre_attn_scalar`, Granite `attention_multiplier`,
    and MLA with YaRN multiplies the scale by the square of 0.1 · mscale_all_dim · ln(factor) + 1.

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
