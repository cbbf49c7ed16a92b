"""The known mistakes: what each does, the smallest fix, and whether it shows without knowing what was wanted."""

from __future__ import annotations

from typing import NamedTuple


class Mistake(NamedTuple):
    """One known mistake: what it does, the smallest fix, and whether it shows only against what was wanted.

    >>> MISTAKES["counts_from_one"].fix
    'Count positions from 0.'

    Chapter 22.
    """

    does: str  # a sentence
    fix: str  # a sentence
    needs_spec: bool = False  # it is a right rotation of something else: seen only against what was wanted


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
        "first·cos + second·sin: the minus sign is missing, so a pair is sheared, not turned.",
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
        "It turns pairs, but lengths change with the position, as xPos's do: scores are relative only if keys "
        "change the other way.",
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
        "What comes out for one token depends on the others: it rolls or flips along the sequence axis.",
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
    "other_base": Mistake(
        "The frequencies are those of another base: the config's θ did not arrive.",
        "Pass the model's base (rope_theta).",
        True,
    ),
    "other_denominator": Mistake(
        "On a part of the head, the exponent is divided by the whole head's width.",
        "Divide by rotary_dim, the width that turns.",
        True,
    ),
    "other_width": Mistake(
        "It turns another number of features than asked.",
        "Turn the first rotary_dim features and pass the others.",
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
        "The frequencies are the plain ones of this base: the scaling rule did not arrive.",
        "Build the frequencies with the rule of the config.",
        True,
    ),
    "other_frequencies": Mistake(
        "The frequencies are not those wanted.",
        "Compare inv_freq with the wanted ones pair by pair.",
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
    "other_attention_factor": Mistake(
        "The gain is not the attention factor wanted.",
        "Multiply cosines and sines by the rule's factor.",
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
    "no_position": Mistake(
        "What comes out does not depend on the position.", "Multiply the frequencies with the positions."
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
        "What comes out has 8 significant bits though float32 or float64 went in.",
        "Cast the tables to the dtype of x, not x to the dtype of the tables.",
    ),
    "result_in_float16": Mistake(
        "What comes out has 11 significant bits though float32 or float64 went in.",
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
    "changes_its_input": Mistake(
        "It writes into the x, or the positions, that it was given.",
        "Write into a new array, or say that it works in place.",
    ),
}
