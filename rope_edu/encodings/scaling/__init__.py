"""Rules for texts longer than the trained length; each returns a RopeSpec, whose `kind` is the rule's name.

`factor` is always the stretch s, desired length over trained length, at least 1; factor 1 leaves RoPE unchanged.
`trained_length` is L in tokens; `head_dim` counts the features that rotate. A rule checks its arguments, calls its
formula in `rope_edu.plain`, and returns an interleaved spec: `yarn(64, 4, 4096).replace(layout="half_split")`.
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
