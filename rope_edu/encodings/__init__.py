"""Numbers about position: every encoding of the book, as pure functions of arrays."""

from rope_edu.encodings.absolute import learned_table, look_up, shift_matrix, sinusoidal
from rope_edu.encodings.base_bound import first_negative_distance, smallest_base
from rope_edu.encodings.decay import mean_cosine, roformer_bound, score_curve, trivial_bound
from rope_edu.encodings.frequencies import inv_freq, rope_angles, wavelength
from rope_edu.encodings.layouts import (
    LAYOUTS,
    check_layout,
    convert_projection,
    half_split_to_interleaved,
    interleaved_to_half_split,
    layout_permutation,
    pair_slices,
)
from rope_edu.encodings.partial import p_rope, partial_rope
from rope_edu.encodings.precision import (
    NUMBER_FORMATS,
    PIPELINES,
    Pipeline,
    angle_error,
    pipeline_turns,
    round_to,
)
from rope_edu.encodings.relative import (
    alibi_bias,
    alibi_slopes,
    fire_bias,
    kerple_log_bias,
    relative_positions,
    shaw_index,
    shaw_scores,
    t5_bias,
    t5_bucket,
    transformer_xl_scores,
)
from rope_edu.encodings.rotary import (
    apply_rope,
    rotate_as_complex,
    rotate_by_matrix,
    rotate_pair,
    rotation_matrix,
)
from rope_edu.encodings.scaling import (
    abf,
    dynamic_ntk,
    llama3,
    longrope,
    ntk_aware,
    ntk_by_parts,
    position_interpolation,
    yarn,
    yarn_mscale,
)
from rope_edu.encodings.spec import RopeSpec, plain_rope, rope_parts
from rope_edu.encodings.trained_range import completes_turn, meets_new_angle, reach
from rope_edu.encodings.xpos import xpos_scale

__all__ = [
    "LAYOUTS",
    "NUMBER_FORMATS",
    "PIPELINES",
    "Pipeline",
    "RopeSpec",
    "abf",
    "alibi_bias",
    "alibi_slopes",
    "angle_error",
    "apply_rope",
    "check_layout",
    "completes_turn",
    "convert_projection",
    "dynamic_ntk",
    "fire_bias",
    "first_negative_distance",
    "half_split_to_interleaved",
    "interleaved_to_half_split",
    "inv_freq",
    "kerple_log_bias",
    "layout_permutation",
    "learned_table",
    "llama3",
    "longrope",
    "look_up",
    "mean_cosine",
    "meets_new_angle",
    "ntk_aware",
    "ntk_by_parts",
    "p_rope",
    "pair_slices",
    "partial_rope",
    "pipeline_turns",
    "plain_rope",
    "position_interpolation",
    "reach",
    "relative_positions",
    "roformer_bound",
    "rope_angles",
    "rope_parts",
    "rotate_as_complex",
    "rotate_by_matrix",
    "rotate_pair",
    "rotation_matrix",
    "round_to",
    "score_curve",
    "shaw_index",
    "shaw_scores",
    "shift_matrix",
    "sinusoidal",
    "smallest_base",
    "t5_bias",
    "t5_bucket",
    "transformer_xl_scores",
    "trivial_bound",
    "wavelength",
    "xpos_scale",
    "yarn",
    "yarn_mscale",
]
