"""Rules for texts longer than the trained length; each returns a RopeSpec whose `kind` is the rule's name.

`factor` is the stretch s, desired length over trained length, at least 1; 1 leaves RoPE unchanged, except in
`dynamic_ntk` and `longrope`, which also look at the text's length. `trained_length` is L in tokens; `head_dim`
counts the features that rotate. Formulas are in `rope_edu.plain`; specs are interleaved (`.replace(layout=…)`).
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
