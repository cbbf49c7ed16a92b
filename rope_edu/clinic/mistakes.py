"""The known mistakes: the effect of each, the smallest fix, and the knowledge and axes that it needs to show."""

from __future__ import annotations

from typing import NamedTuple


class Mistake(NamedTuple):
    """One known mistake: its effect, the smallest fix, and the knowledge and axes that it needs to show.

    >>> MISTAKES["counts_from_one"].fix
    'Count positions from 0.'

    Chapter 22.
    """

    does: str  # a sentence
    fix: str  # a sentence
    needs_spec: bool = False  # a right rotation of something else: it shows only against a RopeSpec
    takes: str = "seq head_dim"  # axes of x without which it does not show, as in `diagnose`


FOUR_AXES = "batch heads seq head_dim"
MISTAKES: dict[str, Mistake] = {
    "other_layout": Mistake(
        "It pairs other features than the weights expect: neighbours instead of halves, or the reverse.",
        "Rotate with the other layout, or permute the rows of W_q and W_k (convert_projection).",
        True,
    ),
    "turns_backwards": Mistake(
        "It turns clockwise. Scores stay relative, but weights trained the other way do not fit.",
        "Negate the sines.",
        True,
    ),
    "minus_sign_missing": Mistake(
        "The minus sign is missing in first·cos − second·sin, so a pair is sheared, not turned.",
        "first′ = first·cos − second·sin; second′ = first·sin + second·cos.",
    ),
    "table_of_other_layout": Mistake(
        "The cosines and sines are laid out for the other layout (cat where repeat_interleave belongs, or the "
        "reverse), so the two members of a pair turn by different angles.",
        "Neighbours want each angle twice in a row (repeat_interleave), halves want all of them twice (cat).",
    ),
    "cos_and_sin_swapped": Mistake(
        "Cosine and sine are exchanged: position 0 is turned by a quarter, and all turns run backwards.",
        "Exchange the two tables.",
    ),
    "sine_missing": Mistake(
        "Features are multiplied by numbers between −1 and 1, and nothing goes from one to the other.",
        "Add the second term: second features times sine, with a minus for the first ones.",
    ),
    "one_table_scaled": Mistake(
        "Cosines and sines have two factors, so a pair runs on an ellipse: lengths change with the "
        "position, and scores are no longer relative.",
        "Multiply both tables by the attention factor, or neither.",
    ),
    "sines_of_other_pairs": Mistake(
        "The sine of a pair does not belong to the angle of its cosine, so a pair is stretched as it turns.",
        "Read both at one position and one pair: in a row of cosines and sines the sines begin after "
        "rotary_dim/2 numbers, not after a padded width.",
    ),
    "rolls_features": Mistake(
        "Each feature is mixed with its neighbour all around the head (roll by one) instead of within pairs.",
        "Exchange the two members of each pair, with a minus for the first, instead of rolling.",
    ),
    "wrong_pairs": Mistake(
        "It turns pairs, but these are neither neighbours nor halves.",
        "Pair (2i, 2i+1), or (i, i + rotary_dim/2), as the weights expect.",
    ),
    "mixes_features": Mistake(
        "Features are mixed beyond pairs.",
        "Let each feature meet its partner only.",
    ),
    "not_a_rotation": Mistake(
        "It mixes the members of pairs, but does not turn them: lengths change with the position.",
        "first′ = first·cos − second·sin; second′ = first·sin + second·cos.",
    ),
    "length_by_position": Mistake(
        "It turns pairs, but by factors that change with the position, as xPos's do: scores are relative only if "
        "keys change the other way.",
        "Leave lengths alone; with xPos turn queries and keys by their own functions.",
    ),
    "phase_at_zero": Mistake(
        "Position 0 turns pairs already, each by an angle of its own: that is no position. Alone it changes no "
        "score; beside a cache filled otherwise it does.",
        "Let position 0 leave x as it is.",
    ),
    "senses_differ": Mistake(
        "Some pairs turn one way and some the other.",
        "Give all sines one sign.",
    ),
    "tail_changes": Mistake(
        "The features that do not turn come out changed.",
        "Pass them as they are: the attention factor belongs to the features that turn.",
    ),
    "adds_instead_of_turning": Mistake(
        "It adds something to the vector: it is not linear, so lengths and relative scores are lost.",
        "Multiply pairs by cosines and sines of position times frequency; add nothing.",
    ),
    "not_linear": Mistake(
        "It is not linear: twice the x does not give twice the result, as where a norm, a clip or a rounding is "
        "inside.",
        "Hand over the rotation alone; normalise before it.",
    ),
    "differs_when_repeated": Mistake(
        "The same call gives two results: noise, dropout, or a counter of its own is inside.",
        "Make the result a function of x and positions alone.",
    ),
    "mixes_tokens": Mistake(
        "The result for one token depends on the others: it rolls or flips along the sequence axis.",
        "Pair along the last axis, the features.",
    ),
    "uneven_gain": Mistake(
        "Features have different gains after the turn: scores are no longer relative unless partners share theirs.",
        "Apply gains before the rotation, or share one between the members of a pair.",
    ),
    "one_clock": Mistake(
        "All pairs turn at one speed: after 2π tokens everything repeats.",
        "θ_i = base^(−2i/rotary_dim), one for each pair.",
    ),
    "frequencies_reversed": Mistake(
        "The first pairs are the slow ones: the frequencies are in the reverse order.",
        "Sort them falling: θ_0 = 1.",
    ),
    "exponent_doubled": Mistake(
        "θ_i = base^(−4i/d): the factor 2 stands twice, as if the base were its square.",
        "Divide 2i by d once: arange(0, d, 2) / d has the 2 already.",
        True,
    ),
    "exponent_halved": Mistake(
        "θ_i = base^(−i/d): the factor 2 is missing, as if the base were its root.",
        "arange(0, d, 2) / d.",
        True,
    ),
    "frequencies_scaled": Mistake(
        "All frequencies are multiplied by one number (degrees for radians, or an interpolation nobody asked for).",
        "Leave θ_0 at 1 radian per token.",
        True,
    ),
    "exponent_sign": Mistake(
        "θ_i = base^(+2i/d): the minus in the exponent is missing, so pairs turn faster and faster.",
        "θ_i = base^(−2i/d), or 1 / base^(2i/d).",
    ),
    "other_base": Mistake(
        "The frequencies are those of another base: the config's θ did not arrive.",
        "Pass the model's base (rope_theta).",
        True,
    ),
    "other_denominator": Mistake(
        "The exponent is divided by another width than that of the features that turn: by the hidden size, "
        "or by the whole head.",
        "Divide 2i by rotary_dim, a part of one head.",
        True,
    ),
    "other_width": Mistake(
        "It turns another number of features than asked.",
        "Turn the first rotary_dim features and pass the others.",
        True,
    ),
    "zeros_dropped": Mistake(
        "The frequencies are right, but the zeros behind them are gone: in halves, feature i then meets "
        "another partner.",
        "Keep a frequency of 0 for every pair that stands still.",
        True,
    ),
    "other_part": Mistake(
        "The part that turns does not start at feature 0.",
        "Turn the first features, or hand over that part of the head alone, as MLA does.",
        True,
    ),
    "reordered": Mistake(
        "Features come out in another order, or with another sign, than they went in. Scores are the same where "
        "queries and keys are treated alike; beside a cache filled otherwise they are not.",
        "Return each feature in its place.",
        True,
    ),
    "rule_missing": Mistake(
        "The frequencies are plain ones: the scaling rule did not arrive.",
        "Build the frequencies with the rule of the config.",
        True,
    ),
    "rule_differs": Mistake(
        "The first pairs are right and others are not: the scaling rule has other options, or is another "
        "rule.",
        "Read every option of the rule (factor, trained length, thresholds, truncate), or refuse the config.",
        True,
    ),
    "frequencies_uninitialised": Mistake(
        "The frequencies follow no rule: a buffer was allocated and never filled, as after loading from the"
        " meta device.",
        "Compute inv_freq after the module has its device, or store it with the weights.",
        True,
    ),
    "other_frequencies": Mistake(
        "The frequencies are other numbers than those wanted.",
        "Compare inv_freq with the wanted numbers, from the pair named on.",
        True,
    ),
    "attention_factor_missing": Mistake(
        "Cosines and sines are not multiplied by the rule's attention factor.",
        "Multiply both tables by it.",
        True,
    ),
    "attention_factor_twice": Mistake(
        "The attention factor is applied twice: logits grow by its fourth power.",
        "Multiply cosines and sines by it once, and leave the softmax scale alone.",
        True,
    ),
    "attention_factor_unwanted": Mistake(
        "Cosines and sines are multiplied by a factor, but the wanted one is 1: logits grow by its square.",
        "Leave the tables unscaled: this model has no attention factor, or has it on the softmax.",
        True,
    ),
    "other_attention_factor": Mistake(
        "The gain is another than the attention factor wanted.",
        "Multiply cosines and sines by the wanted factor instead.",
        True,
    ),
    "counts_from_one": Mistake(
        "The first token is not at position 0. Alone it changes no score; beside a cache filled otherwise it does.",
        "Count positions from 0.",
    ),
    "ignores_positions": Mistake(
        "It turns by the place in the array, not by the positions given: a cache, padding or packing goes wrong.",
        "Multiply the frequencies with the positions that are passed.",
    ),
    "counts_from_the_first": Mistake(
        "It counts from the first position of the call: a token that comes later, alone, is turned like the first.",
        "Multiply the frequencies with the positions that are passed, without taking the first away.",
    ),
    "takes_first_for_all": Mistake(
        "Every row of a call is turned by the position of the first.",
        "Give each row its position: start + arange(rows).",
    ),
    "fills_gaps": Mistake(
        "It counts on from the first position of the call: positions with gaps are turned as if they had "
        "none.",
        "Multiply the frequencies with the positions that are passed, not with start + arange(rows).",
    ),
    "adds_row_number": Mistake(
        "The row number is added to the position, so each later row of a call is turned too far.",
        "Count once: pass positions, or let the function count from an offset.",
    ),
    "no_position": Mistake(
        "Nothing turns: the position does not show. Frequencies of 0 do so (a buffer never filled, after "
        "loading from the meta device), and a rotation that is never called.",
        "Look at inv_freq[0], which must not be 0; then multiply the frequencies with the positions.",
    ),
    "table_ends": Mistake(
        "Beyond the end of its table, positions silently take another row.",
        "Make the table as long as the positions, or raise an error.",
    ),
    "positions_in_bfloat16": Mistake(
        "Positions pass through bfloat16: from 256 on, neighbours share one.",
        "Keep positions and angles in float32 or wider; cast cosines and sines at the end.",
    ),
    "positions_in_float16": Mistake(
        "Positions pass through float16: from 2,048 on, neighbours share one.",
        "Keep positions and angles in float32 or wider; cast cosines and sines at the end.",
    ),
    "frequencies_in_bfloat16": Mistake(
        "The frequencies are rounded to bfloat16 (module.to(bfloat16) reached inv_freq): wrong clocks everywhere.",
        "Keep inv_freq in float32 when the module is cast.",
    ),
    "angles_in_bfloat16": Mistake(
        "The angles are rounded to bfloat16: off by up to 1/256 of themselves.",
        "Take cosine and sine of float32 angles, and cast afterwards.",
    ),
    "frequencies_in_float16": Mistake(
        "The frequencies are rounded to float16 (module.half() reached inv_freq): wrong clocks everywhere.",
        "Keep inv_freq in float32 when the module is cast.",
    ),
    "angles_in_float16": Mistake(
        "The angles are rounded to float16: off by up to 1/2048 of themselves, and no number from 65,520 on.",
        "Take cosine and sine of float32 angles, and cast afterwards.",
    ),
    "result_in_bfloat16": Mistake(
        "The result has 8 significant bits though float32 or float64 went in.",
        "Cast the tables to the dtype of x, not x to the dtype of the tables.",
    ),
    "result_in_float16": Mistake(
        "The result has 11 significant bits though float32 or float64 went in.",
        "Cast the tables to the dtype of x, not x to the dtype of the tables.",
    ),
    "remembers_earlier_calls": Mistake(
        "The same input gives another result after a longer one: the rule keeps state.",
        "Make the frequencies a function of the config and the length asked for.",
    ),
    "depends_on_longest_row": Mistake(
        "The result at one position depends on the largest position in the call: a long row changes a short one.",
        "Choose the frequencies for each row, or once for the longest text.",
    ),
    "depends_on_length": Mistake(
        "The result at one position depends on the number of rows in the call: a decoding step and a "
        "prefill disagree.",
        "Choose the frequencies from the length of the whole text, the same for every call.",
    ),
    "keeps_first_positions": Mistake(
        "Angles are cached by the number of rows: a second call of that length is turned by the positions "
        "of the first.",
        "Put everything that the angles depend on into the key: positions or offset, base, width.",
    ),
    "turns_along_heads": Mistake(
        "Heads are counted where tokens should be: each head is turned by its number.",
        "Count positions along the axis of the tokens: transpose x, or unsqueeze the tables at the heads.",
        takes=FOUR_AXES,
    ),
    "mixes_batch": Mistake(
        "Rows of a batch are not turned each by its own positions: the first row's serve for all.",
        "Let the tables keep the axis of the batch: (batch, 1, seq, head_dim).",
        takes=FOUR_AXES,
    ),
    "changes_its_input": Mistake(
        "It writes into the x, or the positions, that it was given.",
        "Write into a new array, or say that it works in place.",
    ),
}
