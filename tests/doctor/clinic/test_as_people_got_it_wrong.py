"""Rotations as people got them wrong, rebuilt in our own words: evidence, fix, and no misleading advice."""

from typing import NamedTuple

import numpy as np
import pytest

from rope_doctor.clinic import MISTAKES, diagnose
from rope_doctor.precision import round_to
from rope_edu import RopeSpec, apply_rope, inv_freq, p_rope, plain_rope, rope_angles, yarn
from rope_edu.encodings import ntk_aware, position_interpolation

D, HEADS, BASE = 32, 12, 10_000.0
HALVES = plain_rope(D, BASE, layout="half_split")
FOUR = "batch heads seq head_dim"
OSS = yarn(D, 32.0, 4096, base=150_000.0, truncate=False).replace(layout="half_split")
DEEPSEEK = plain_rope(D, 160_000.0, layout="half_split")
GEMMA = p_rope(D, 0.25, 1e6, layout="half_split")
LINEAR = position_interpolation(D, 4.0, base=BASE).replace(layout="half_split")
NTK = ntk_aware(D, 8.0, base=BASE).replace(layout="half_split")


def rotate_half(x):
    first, second = np.split(x, 2, axis=-1)
    return np.concatenate((-second, first), axis=-1)


def twice(numbers):
    return np.concatenate((numbers, numbers), axis=-1)


def by_frequencies(frequencies, cos_factor=1.0, sin_factor=1.0):
    """The rotation of transformers' Llama, with factors on its tables."""

    def rotate(x, positions):
        angles = twice(positions[:, None] * frequencies)
        return x * cos_factor * np.cos(angles) + rotate_half(x) * sin_factor * np.sin(angles)

    return rotate


def exponents(width, sign=-1):
    return BASE ** (sign * np.arange(0, D, 2) / width)


def sines_at_a_padded_offset(x, positions):
    """A row holds cosines, sines and padding; the sines are sought behind the padded width (vllm-ascend 12723)."""
    angles = positions[:, None] * exponents(D)
    row = np.concatenate((np.cos(angles), np.sin(angles), np.zeros_like(angles)), axis=-1)
    cos, sin = row[:, : D // 2], row[:, D // 2 + 5 : D + 5]
    return x * twice(cos) + rotate_half(x) * twice(sin)


def sines_one_token_late(x, positions):
    cos, sin = np.cos(positions[:, None] * exponents(D)), np.sin((positions[:, None] + 1) * exponents(D))
    return x * twice(cos) + rotate_half(x) * twice(sin)


def position_plus_row(x, positions):
    """The module counts rows itself, on top of the positions that its caller counted."""
    return by_frequencies(exponents(D))(x, positions + np.arange(len(positions)))


def start_for_all(x, positions):
    """The start of a window of drafts stands for all its rows (omlx 2363)."""
    return by_frequencies(exponents(D))(x, np.full(len(x), positions[0]))


def start_and_length(x, positions):
    """A fused kernel takes a start and counts on (NeMo Automodel 2377, Megatron-LM 453)."""
    return by_frequencies(exponents(D))(x, positions[0] + np.arange(len(x)))


def along_heads(x, positions):
    """Angles for x.shape[1] tokens, which are heads here (xformers 841, open_lm 4)."""
    angles = twice(np.arange(x.shape[1])[:, None, None] * exponents(D))
    return x * np.cos(angles) + rotate_half(x) * np.sin(angles)


def along_heads_of_a_slice(x, positions):
    """The sequence is sought at −2 of (batch, seq, heads, head_dim) (audio-flamingo 27)."""
    angles = twice(np.resize(positions[0], x.shape[-2])[:, None] * exponents(D))
    return x * np.cos(angles) + rotate_half(x) * np.sin(angles)


def shared_cache_position(x, positions):
    """One row of positions for a batch padded on the left (unsloth 4078)."""
    angles = twice(positions[0][:, None] * exponents(D))
    return x * np.cos(angles) + rotate_half(x) * np.sin(angles)


def by_number_of_rows(x, positions):
    """Dynamic NTK from the rows of the call instead of the text."""
    longer = max(1.0, len(x) / 2048)
    return by_frequencies(inv_freq(D, BASE * longer ** (D / (D - 2))))(x, positions)


def cached_by_length():
    """Angles under the key of a length (rotary-embedding-torch 11)."""
    cache = {}

    def rotate(x, positions):
        angles = cache.setdefault(len(x), twice(positions[:, None] * exponents(D)))
        return x * np.cos(angles) + rotate_half(x) * np.sin(angles)

    return rotate


def tiled_for_neighbours(x, positions):
    """Halves' tables with neighbours' pairs (V-JEPA 2, pull request 15)."""
    angles = twice(positions[:, None] * exponents(D))
    partner = (x.reshape(len(x), -1, 2)[..., ::-1] * [-1, 1]).reshape(x.shape)
    return x * np.cos(angles) + partner * np.sin(angles)


def never_filled():
    """inv_freq as it lies in memory after to_empty (transformers 45902, FastPLMs 47)."""
    remains = np.random.default_rng(0).random(D // 2)
    remains[1::3] = 6.93e-18
    return by_frequencies(remains)


class Case(NamedTuple):
    rotate: object
    against: RopeSpec
    mistakes: tuple[str, ...]
    found: str  # words of the evidence
    wanted: str
    fix: str  # words of the fix
    never: str = "\0"  # words that no fix may have: that is in place
    takes: str = "seq head_dim"


FACTOR = 0.1 * np.log(16) + 1
CASES = {
    "DeepSeek-V4: a factor where 1 is wanted": Case(
        by_frequencies(DEEPSEEK.inv_freq, FACTOR, FACTOR), DEEPSEEK, ("attention_factor_unwanted",),
        "factor of 1.27726", "expected 1.", "Leave the tables unscaled", "Multiply",
    ),
    "vllm-ascend 12723: sines behind a padded width": Case(
        sines_at_a_padded_offset, HALVES, ("sines_of_other_pairs",),
        "Found -0.0562 of feature 16 in feature 0 at position 1", "expected -0.8415 (pair 0)",
        "begin after rotary_dim/2", "xPos",
    ),
    "sines of the next token": Case(
        sines_one_token_late, HALVES, ("sines_of_other_pairs",), "at position 0", "expected 0 (pair 0)",
        "for the same position",
        "xPos",
    ),
    "mscale on the cosines alone": Case(
        by_frequencies(exponents(D), FACTOR, 1.0), HALVES, ("one_table_scaled",),
        "cosines times 1.27726 and sines times 1,", "expected 1 for both", "both tables", "xPos",
    ),
    "exponents divided by hidden_size": Case(
        by_frequencies(exponents(D * HEADS)), HALVES, ("other_denominator",),
        "2i/384 in the exponent", "expected 2i/32", "Divide 2i by rotary_dim", "rope_theta",
    ),
    "the exponent's minus missing": Case(
        by_frequencies(exponents(D, +1)), HALVES, ("exponent_sign",),
        "Found 1.77828 radians per token in pair 1", "expected 0.562341", "base^(−2i/d)", "sines the same sign",
    ),
    "position plus row": Case(
        position_plus_row, HALVES, ("adds_row_number",), "the second is rotated as at 10", "expected 9",
        "Count once",
        "Add the second term",
    ),
    "omlx 2363: the start for all rows": Case(
        start_for_all, HALVES, ("takes_first_for_all",), "the second is rotated as at 5", "expected 9",
        "start + arange",
    ),
    "Automodel 2377: gaps are closed": Case(
        start_and_length, HALVES, ("fills_gaps",), "the second is rotated as at 6", "expected 9", "passed in",
    ),
    "xformers 841: along the heads": Case(
        along_heads, HALVES, ("turns_along_heads",), "Heads at one position differ by",
        "expected 0; positions in one head by 0",
        "along the token axis", takes=FOUR,
    ),
    "audio-flamingo 27: −2 is the heads": Case(
        along_heads_of_a_slice, HALVES, ("turns_along_heads",), "axes: batch seq heads head_dim", "expected 0",
        "along the token axis", takes="batch seq heads head_dim",
    ),
    "unsloth 4078: one row of positions": Case(
        shared_cache_position, HALVES, ("mixes_batch",), "the batch row at 20 to 27 differs", "expected 0",
        "(batch, 1, seq,",
        takes=FOUR,
    ),
    "transformers 45902: never filled": Case(
        never_filled(), HALVES, ("frequencies_uninitialised",), "radians per token in pair 0", "expected 1;",
        "after the module has its device", "rotary_dim",
    ),
    "frequencies of 0": Case(
        by_frequencies(np.zeros(D // 2)), HALVES, ("no_position",),
        "Found 1 of feature 0 in feature 0 at position 1",
        "expected 0.5403", "inv_freq[0] is not 0",
    ),
    "another length, another rotation": Case(
        by_number_of_rows, HALVES, ("depends_on_length",), "In 8200 rows, all at 5, the first differs by",
        "expected 0",
        "from the length of the whole text",
    ),
    "rotary-embedding-torch 11: a key without the offset": Case(
        cached_by_length, HALVES, ("keeps_first_positions",), "positions 100 to 107 are rotated as at 0 to 7",
        "the first call",
        "into the cache key",
    ),
    "V-JEPA 2: halves' tables for neighbours": Case(
        tiled_for_neighbours, plain_rope(D), ("table_of_other_layout",),
        "Found 0.5332 of feature 0 in feature 1", "expected 0.8415",
        "repeat_interleave",
    ),
    "mlxcel 1324: positions doubled": Case(
        by_frequencies(2 * exponents(D)), HALVES, ("frequencies_scaled",),
        "Found 2 radians per token in pair 0", "expected 1;",
        "Leave θ_0 at 1",
    ),
    "Megatron-Bridge 4195: the zeros dropped": Case(
        lambda x, p: apply_rope(x, rope_angles(p, GEMMA.inv_freq[GEMMA.inv_freq > 0]), layout="half_split"),
        GEMMA,
        ("zeros_dropped",), "Found 8 rotated features", "expected 32", "Keep a frequency of 0", "Rotate the first",
    ),
    "vLLM 27722: truncate ignored": Case(
        by_frequencies(
            yarn(D, 32.0, 4096, base=150_000.0).inv_freq, OSS.attention_factor, OSS.attention_factor
        ), OSS, ("rule_differs",), "pairs differ. Found base 150000", "expected 150000", "truncate", "rope_theta",
    ),
    "a linear rule that did not arrive": Case(
        by_frequencies(exponents(D)), LINEAR, ("rule_missing",), "Found 1 radians per token in pair 0",
        "expected 0.25",
        "with the rule of the config", "Leave θ_0",
    ),
    "an NTK rule that did not arrive": Case(
        by_frequencies(exponents(D)), NTK, ("rule_missing",), "Found base 10000",
        f"expected {BASE * 8 ** (D / (D - 2)):.6g}",
        "with the rule of the config", "rope_theta",
    ),
    "YaRN never applied": Case(
        by_frequencies(inv_freq(D, 150_000.0)), OSS, ("rule_missing", "attention_factor_missing"),
        "pairs differ", "expected", "with the rule of the config", "\0",
    ),
    "MarinFold 184: the base lost": Case(
        by_frequencies(exponents(D)), plain_rope(D, 5e5, layout="half_split"), ("other_base",),
        "Found base 10000",
        "expected 500000", "rope_theta",
    ),
    "gpt-neox 1003: frequencies cast": Case(
        by_frequencies(round_to(exponents(D), "bfloat16")), HALVES, ("frequencies_in_bfloat16",), "in pair 1",
        "radians per token", "Keep inv_freq in float32",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_mistake_that_people_made_leads_to_its_fix(name):
    case = CASES[name]
    rotate = case.rotate() if case.rotate is cached_by_length else case.rotate
    found = diagnose(rotate, D, against=case.against, takes=case.takes)
    assert found.mistakes == case.mistakes
    said = found.evidence[case.mistakes[0]]
    assert case.found in said
    assert case.wanted in said
    assert case.fix in MISTAKES[case.mistakes[0]].fix
    assert case.never not in "".join(MISTAKES[name].does + MISTAKES[name].fix for name in found.mistakes)
    assert f"    {said}\n    Fix: " in str(found)
    assert str(found).count("Fix: ") == 1


@pytest.mark.parametrize(
    "takes", [FOUR, "batch seq heads head_dim", "seq heads head_dim", "heads seq head_dim"]
)
def test_a_right_rotation_has_no_mistake_in_any_order_of_axes(takes):
    names = takes.split()

    def rotate(x, positions):
        angles = rope_angles(positions, HALVES.inv_freq)  # (batch, seq, pairs) or (seq, pairs)
        x = np.moveaxis(x, names.index("seq"), -2)
        rotated = apply_rope(x, angles[:, None] if "batch" in names else angles, layout="half_split")
        return np.moveaxis(rotated, -2, names.index("seq"))

    found = diagnose(rotate, D, against=HALVES, takes=takes)
    assert (found.mistakes, found.layout, round(found.base)) == ((), "half_split", BASE)


def test_without_the_wanted_rotation_a_missing_minus_still_has_its_name():
    found = diagnose(by_frequencies(exponents(D, +1)), D)
    assert found.mistakes == ("exponent_sign",)
    assert found.base is None


@pytest.mark.parametrize(
    "takes",
    ["", "head_dim", "heads head_dim", "seq", "head_dim seq", "seq seq head_dim", "tokens head_dim", 4],
)
def test_axes_that_no_head_has_are_refused(takes):
    with pytest.raises(ValueError, match='takes must name the axes of x, such as "batch heads seq head_dim"'):
        diagnose(lambda x, positions: x, D, takes=takes)


def fails_where(fails):
    def rotate(x, positions):
        if fails(x, positions):
            raise KeyError("cos")
        return by_frequencies(exponents(D))(x, positions)

    return rotate


@pytest.mark.parametrize(
    ("fails", "where"),
    [
        (lambda x, p: len(x) != 8, "5 rows at positions 100 to 104"),
        (lambda x, p: len(x) == 1, "1 row at position 3"),
        (lambda x, p: not x.any(axis=1).all(), "33 rows at position 1"),
        (lambda x, p: len(p) == 33 and len(set(p)) == 1, "33 rows at position 1"),
        (lambda x, p: p[0] == 5 and len(p) == 2, "2 rows at positions 5 and 9"),
        (lambda x, p: len(p) == 33 and p[0] == 7, "33 rows at position 7"),
        (lambda x, p: p[0] == 3 and len(p) == 3, "3 rows at positions 3 to 5"),
    ],
)
def test_a_failing_call_is_named(fails, where):
    sentence = rf"function fails on {where}: KeyError: 'cos'; expected the rotated x, \(\d+, 32\)"
    with pytest.raises(ValueError, match=sentence):
        diagnose(fails_where(fails), D)


@pytest.mark.long
def test_failing_from_any_call_on_gives_a_diagnosis_or_a_sentence():
    def after(calls):
        left = [calls]

        def fails(x, positions):
            left[0] -= 1
            return left[0] < 0

        return fails_where(fails)

    said = []
    for calls in range(60):
        try:
            diagnose(after(calls), D)
        except ValueError as error:
            said.append(str(error))
    assert said
    assert all(sentence.startswith("function fails on ") for sentence in said)


@pytest.mark.parametrize(
    "raised", [SystemExit("out"), RecursionError("deep"), AssertionError("no"), StopIteration()]
)
def test_any_exception_of_the_function_becomes_a_sentence(raised):
    def rotate(x, positions):
        raise raised

    with pytest.raises(
        ValueError, match=f"function fails on 8 rows at positions 0 to 7: {type(raised).__name__}"
    ):
        diagnose(rotate, D)
