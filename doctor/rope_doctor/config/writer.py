r"""Write a rotation as config.json fields, in either of the two transformers spellings."""

from typing import Any

import numpy as np

from rope_doctor.config.reader import NOPE, Reading
from rope_edu.encodings.frequencies import inv_freq
from rope_edu.encodings.spec import RopeSpec

NOT_KEYS = ("base", "layout", "rotary_dim", "length")
ERNIE = "ernie4_5_vl_moe_text"  # the only model_type whose section order has no key


def to_config(rotation: Reading | RopeSpec, *, spelling: int = 5) -> dict[str, Any]:
    r"""Return a rotation as config.json fields that `rope_from_config` reads back as the same spec.

    Rules that depend on the text length are written for the length at which they were read. Spelling 5 uses
    `rope_parameters`, which includes the base; spelling 4 uses `rope_scaling` and `rope_theta`. A bare spec does
    not record its rule, so it must be plain RoPE on the whole head or part of it. ValueError for any other spec, or
    if `spelling` is neither 4 nor 5.

    >>> from rope_edu import plain_rope
    >>> to_config(plain_rope(4, layout="half_split"))["rope_parameters"]
    {'rope_type': 'default', 'rope_theta': 10000.0}
    >>> to_config(plain_rope(4, layout="half_split"), spelling=4)
    {'head_dim': 4, 'rotary_dim': 4, 'rope_interleave': False, 'rope_theta': 10000.0}

    Source: transformers 4.57 and 5.23, `modeling_rope_utils`. Chapter 21.
    """
    if spelling not in (4, 5):
        raise ValueError(f"spelling must be 4 or 5, got {spelling!r}")
    spec = rotation.spec if isinstance(rotation, Reading) else rotation
    shape = {"head_dim": spec.head_dim, "rotary_dim": spec.rotary_dim}
    shape["rope_interleave"] = spec.layout == "interleaved"
    if spec.kind == NOPE:
        del shape["rotary_dim"]
        return shape | {"position_embedding_type": NOPE}
    if isinstance(rotation, Reading):
        base, stated = rotation.base, _stated(rotation)
        shape |= _beside(rotation)
    else:
        base, stated = _plain_base(spec), {"rope_type": "default"}
    if stated["rope_type"] == "proportional":
        del shape["rotary_dim"]
    if spelling == 5:
        return shape | {"rope_parameters": stated | {"rope_theta": base}}
    scaling = {} if stated == {"rope_type": "default"} else {"rope_scaling": stated}
    return shape | {"rope_theta": base} | scaling


def _stated(reading: Reading) -> dict[str, Any]:
    """Return the keys that specify a rule."""
    call, rule = reading.call, reading.rope_type
    keys: dict[str, Any] = {}
    if rule == "proportional":
        keys["partial_rotary_factor"] = call.arguments[1]
    if reading.factor is not None:
        keys["alpha" if rule == "ntk_alpha" else "factor"] = reading.factor
    if reading.trained is not None and rule != "dynamic":
        keys["original_max_position_embeddings"] = reading.trained
    keys |= {name: value for name, value in call.settings.items() if name not in NOT_KEYS}
    if rule == "longrope":
        keys["attention_factor"] = reading.spec.attention_factor
    if reading.section_order:
        times, *others = reading.spec.sections or (0,)
        last = reading.section_order == "rows and columns first"
        keys["mrope_section"] = (*others, times) if last else (times, *others)
        keys["mrope_interleaved"] = reading.section_order == "interleaved"
    return {"rope_type": "dynamic" if rule == "ntk_alpha" else rule} | keys


def _beside(reading: Reading) -> dict[str, Any]:
    longest = reading.trained if reading.rope_type == "dynamic" else reading.longest
    fields: dict[str, Any] = {} if longest is None else {"max_position_embeddings": longest}
    return fields | ({"model_type": ERNIE} if reading.section_order == "rows and columns first" else {})


def _plain_base(spec: RopeSpec) -> float:
    """Return the base of a plain RoPE spec; ValueError for any other spec."""
    is_plain = spec.kind in ("rope", "partial") and spec.attention_factor == 1 and spec.axes is None
    if is_plain and spec.base and np.array_equal(inv_freq(spec.rotary_dim, spec.base), spec.inv_freq):
        return spec.base
    allowed = "a Reading, or a RopeSpec of plain RoPE with one base"
    raise ValueError(f"rotation must be {allowed}, got {spec!r}: a spec does not hold its rule")
