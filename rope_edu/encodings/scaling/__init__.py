"""Rules for texts longer than the trained length; each returns a RopeSpec, whose `kind` is the rule's name.

`factor` is always the stretch s, wanted length over trained length, at least 1; with factor 1 a rule is plain RoPE.
`trained_length` is L, tokens. `head_dim`, `base`, `rotary_dim` and `layout` are those of `plain_rope`.
"""

from rope_edu.encodings.scaling.by_parts import llama3, ntk_by_parts
from rope_edu.encodings.scaling.interpolation import abf, dynamic_ntk, ntk_aware, position_interpolation
from rope_edu.encodings.scaling.longrope import longrope
from rope_edu.encodings.scaling.yarn import yarn, yarn_mscale

__all__ = [
    "abf",
    "dynamic_ntk",
    "llama3",
    "longrope",
    "ntk_aware",
    "ntk_by_parts",
    "position_interpolation",
    "yarn",
    "yarn_mscale",
]
