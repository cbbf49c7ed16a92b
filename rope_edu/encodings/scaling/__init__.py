"""Rules for texts longer than the trained length; each returns a RopeSpec whose `kind` is the rule's name.

`factor` is the stretch s, the desired length divided by the trained length, and at least 1. A factor of 1 leaves
RoPE unchanged, except in `dynamic_ntk` and `longrope`, which also depend on the length of the text.
`trained_length` is L in tokens; `head_dim` is the number of features that rotate. Formulas are in `rope_edu.plain`.
Specs are interleaved; use `.replace(layout=…)` for the other layout.
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
