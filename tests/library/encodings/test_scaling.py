"""The rules that stretch a context: the papers' definitions, published numbers, what each keeps, the refusals."""

import inspect
import math

import numpy as np
import pytest

from rope_edu import inv_freq, wavelength
from rope_edu.encodings import (
    abf,
    dynamic_ntk,
    llama3,
    longrope,
    ntk_aware,
    ntk_by_parts,
    plain_rope,
    position_interpolation,
    yarn,
    yarn_mscale,
)
from rope_edu.plain import ramp_ends

LISTS = {"short_factor": [1.0] * 32, "long_factor": [2.0] * 32}
RULES = {  # each at head_dim 64, and with nothing else said
    "pi": lambda factor=4, **more: position_interpolation(64, factor, **more),
    "abf": lambda factor=4, **more: abf(64, **more),
    "ntk-aware": lambda factor=4, **more: ntk_aware(64, factor, **more),
    "dynamic-ntk": lambda factor=4, **more: dynamic_ntk(64, 4096, length=5000, factor=factor, **more),
    "ntk-by-parts": lambda factor=4, **more: ntk_by_parts(64, factor, 4096, **more),
    "yarn": lambda factor=4, **more: yarn(64, factor, 4096, **more),
    "llama3": lambda factor=4, **more: llama3(64, factor, 8192, **more),
    "longrope": lambda factor=4, **more: longrope(64, factor, 4096, **{"length": 5000} | LISTS | more),
}
every_rule = pytest.mark.parametrize("kind", RULES)


TEN_THOUSAND = {"base": 10_000.0}
RAMP = {"beta_slow": 1.0, "beta_fast": 32.0}
DEFAULTS = {  # of the papers and of the code that they released
    position_interpolation: TEN_THOUSAND,
    abf: {"base": 500_000.0},
    ntk_aware: TEN_THOUSAND,
    dynamic_ntk: TEN_THOUSAND | {"factor": 1.0},
    ntk_by_parts: TEN_THOUSAND | RAMP,
    yarn: TEN_THOUSAND | RAMP | {"ramp": "index", "truncate": True, "mscale": 1.0, "mscale_all_dim": 0.0},
    yarn_mscale: {"mscale": 1.0},
    llama3: {"base": 500_000.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0},
    longrope: TEN_THOUSAND,
}
OF_ALL = {"attention_factor": None}


@pytest.mark.parametrize("rule", DEFAULTS, ids=lambda rule: rule.__name__)
def test_an_argument_left_out_has_the_published_value(rule):
    stated = {
        name: each.default
        for name, each in inspect.signature(rule).parameters.items()
        if each.default is not inspect.Parameter.empty
    }
    assert {name: value for name, value in stated.items() if name not in OF_ALL} == DEFAULTS[rule]
    assert all(stated[name] == value for name, value in OF_ALL.items() if name in stated)


@every_rule
def test_a_rule_names_itself_and_its_base_and_rotates_part_of_a_head_in_any_layout(kind):
    spec = RULES[kind](base=77.0).replace(layout="half_split", head_dim=256)
    assert (spec.kind, spec.base, spec.layout, spec.head_dim, spec.rotary_dim) == (
        kind,
        77.0,
        "half_split",
        256,
        64,
    )


@every_rule
def test_a_stretch_of_one_changes_nothing(kind):
    trained = {"length": 4096} if kind == "longrope" else {"base": 1e4}
    spec = (
        dynamic_ntk(64, 4096, length=4096, factor=1)
        if kind == "dynamic-ntk"
        else RULES[kind](factor=1, **trained)
    )
    np.testing.assert_allclose(spec.inv_freq, inv_freq(64), rtol=1e-15)
    assert spec.attention_factor == 1.0


@every_rule
def test_frequencies_only_ever_slow_down_and_never_below_the_stretch(kind):
    plain = inv_freq(64, 5e5 if kind == "llama3" else 1e4)
    frequencies = RULES[kind]().inv_freq
    assert (frequencies <= plain * (1 + 1e-15)).all()
    if kind not in ("abf", "dynamic-ntk"):
        assert (frequencies >= plain / 4 * (1 - 1e-15)).all()


def test_pi_divides_every_pair_alike():
    assert (position_interpolation(128, 8).inv_freq == inv_freq(128) / 8).all()


@pytest.mark.parametrize(("factor", "base"), [(2, 20_221), (4, 40_890), (8, 82_685)])
def test_ntk_aware_scaling_amounts_to_the_published_bases(factor, base):
    """Of d = 128 and base 10,000."""
    exact = 10_000 * factor ** (128 / 126)
    assert exact == pytest.approx(base, abs=1)
    frequencies = ntk_aware(128, factor).inv_freq
    np.testing.assert_allclose(frequencies, inv_freq(128, exact), rtol=1e-13)
    assert frequencies[0] == 1.0  # the first pair as it was, the last at the PI of it
    assert inv_freq(128)[-1] / frequencies[-1] == pytest.approx(factor, rel=1e-14)


def test_abf_is_another_base_and_its_slowest_pair_takes_millions_of_tokens():
    slowest = [wavelength(abf(128, base).inv_freq)[-1] for base in (1e4, 5e5, 1e6)]
    assert [round(tokens) for tokens in slowest] == [54_410, 2_559_196, 5_063_256]


@pytest.mark.parametrize("factor", [1.0, 4.0])
def test_dynamic_ntk_leaves_texts_up_to_the_trained_length_alone(factor):
    for length in (1, 99, 100):
        assert dynamic_ntk(16, 100, length=length, factor=factor) == plain_rope(16).replace(
            kind="dynamic-ntk"
        )


def test_dynamic_ntk_of_factor_one_is_ntk_aware_scaling_by_the_length():
    np.testing.assert_allclose(
        dynamic_ntk(128, 4096, length=4 * 4096).inv_freq, ntk_aware(128, 4).inv_freq, rtol=1e-15
    )


def test_dynamic_ntk_slows_every_pair_but_the_first_with_every_token_and_remembers_nothing():
    before, after = dynamic_ntk(16, 100, length=150), dynamic_ntk(16, 100, length=151)
    assert (after.inv_freq[1:] < before.inv_freq[1:]).all()
    dynamic_ntk(16, 100, length=10_000)
    assert dynamic_ntk(16, 100, length=150) == before


def one_by_one(frequencies, factor, trained_length, slow, fast):
    """Give NTK-by-parts as the paper writes it: a case for each pair."""
    for theta in frequencies:
        r = trained_length / (2 * math.pi / theta)
        gamma = 0 if r < slow else 1 if r > fast else (r - slow) / (fast - slow)
        yield (1 - gamma) * theta / factor + gamma * theta


@pytest.mark.parametrize(("slow", "fast"), [(1, 32), (0.25, 2), (3, 3.5)])
def test_ntk_by_parts_and_the_papers_yarn_are_the_papers_definition(slow, fast):
    expected = list(one_by_one(inv_freq(128), 16, 4096, slow, fast))
    by_parts = ntk_by_parts(128, 16, 4096, beta_slow=slow, beta_fast=fast)
    np.testing.assert_allclose(by_parts.inv_freq, expected, rtol=1e-14)
    paper = yarn(128, 16, 4096, ramp="turns", beta_slow=slow, beta_fast=fast)
    assert (paper.inv_freq == by_parts.inv_freq).all()
    assert paper.attention_factor == 0.1 * math.log(16) + 1


def test_the_papers_ramp_and_the_codes_differ_by_up_to_three_for_llama_2():
    """More than 1 % in 25 of 64 pairs, at most 3.04 times."""
    ratio = yarn(128, 16, 4096).inv_freq / yarn(128, 16, 4096, ramp="turns").inv_freq
    assert np.count_nonzero(np.maximum(ratio, 1 / ratio) > 1.01) == 25
    assert np.maximum(ratio, 1 / ratio).max() == pytest.approx(3.04, abs=0.005)


def test_the_codes_ramp_runs_between_the_pairs_that_make_32_turns_and_one():
    """Llama 2: 20.94 … 45.03, rounded outwards unless truncate is False."""
    plain = inv_freq(128)
    turns = 4096 * plain / (2 * math.pi)
    places = np.interp([-math.log(32), 0], -np.log(turns), np.arange(64))
    assert places.round(2).tolist() == [20.94, 45.03]
    for truncate in (True, False):
        frequencies = yarn(128, 16, 4096, truncate=truncate).inv_freq
        assert (frequencies[:21] == plain[:21]).all()
        assert (frequencies[21:] < plain[21:]).all()
        np.testing.assert_allclose(frequencies[46:], plain[46:] / 16, rtol=1e-15)
    for truncate, (low, high), digits in ((True, (20, 46), 1e-14), (False, places, 1e-9)):
        kept = (high - 33) / (high - low)  # of a pair between
        blended = yarn(128, 16, 4096, truncate=truncate).inv_freq[33] / plain[33]
        assert blended == pytest.approx((1 - kept) / 16 + kept, rel=digits)


def test_yarn_multiplies_as_published_and_deepseek_divides_by_a_second_mscale():
    assert [round(yarn_mscale(s), 4) for s in (1, 8, 16, 32)] == [1.0, 1.2079, 1.2773, 1.3466]
    both = yarn(64, 40, 4096, mscale=0.8, mscale_all_dim=0.5).attention_factor
    assert both == (0.08 * math.log(40) + 1) / (0.05 * math.log(40) + 1)
    assert yarn(64, 40, 4096, mscale=1.0, mscale_all_dim=1.0).attention_factor == 1.0
    assert yarn(64, 40, 4096, mscale=0.5, attention_factor=1.5).attention_factor == 1.5


def test_deepseek_multiplies_the_softmax_scale_by_the_square_of_what_its_rotation_left_out():
    modeling = pytest.importorskip("transformers.models.deepseek_v3.modeling_deepseek_v3")
    parameters = {"rope_type": "yarn", "factor": 40, "mscale_all_dim": 0.7}
    assert modeling.yarn_apply_mscale(parameters, 0.125) == pytest.approx(
        0.125 * yarn_mscale(40, 0.7) ** 2, rel=1e-15
    )


def test_llama_3_1_keeps_29_pairs_blends_6_and_divides_29_by_8():
    ratio = inv_freq(128, 5e5) / llama3(128, 8, 8192).inv_freq
    kept, divided = np.isclose(ratio, 1, rtol=1e-14), np.isclose(ratio, 8, rtol=1e-14)
    assert (kept.sum(), (~kept & ~divided).sum(), divided.sum()) == (29, 6, 29)


def test_llama3_is_by_parts_with_its_thresholds_counted_in_turns():
    by_parts = ntk_by_parts(64, 32, 8192, beta_slow=1, beta_fast=4, base=5e5)
    assert (llama3(64, 32, 8192).inv_freq == by_parts.inv_freq).all()


def test_longrope_divides_by_the_short_list_up_to_the_trained_length_and_by_the_long_one_beyond():
    short, long = np.linspace(1, 2, 8), np.linspace(1, 30, 8)
    specs = [
        longrope(16, 32, 4096, length=n, short_factor=short, long_factor=long.tolist())
        for n in (1, 4096, 4097)
    ]
    for spec, divisors in zip(specs, (short, short, long), strict=True):
        assert (spec.inv_freq == inv_freq(16) / divisors).all()
        assert spec.attention_factor == math.sqrt(1 + math.log(32) / math.log(4096))
    assert round(specs[0].attention_factor, 4) == 1.1902  # Phi-3-mini, 4k to 128k


REFUSED = [
    *(
        (RULES[kind], {"factor": 0.9}, "factor must be a finite number of at least 1, got 0.9")
        for kind in RULES
        if kind != "abf"
    ),
    *(
        (RULES[kind], {"factor": math.inf}, "factor must be a finite number of at least 1, got inf")
        for kind in RULES
        if kind != "abf"
    ),
    *((RULES[kind], {"base": 1}, "base must be a finite number above 1, got 1") for kind in RULES),
    (
        ntk_aware,
        {"head_dim": 2, "factor": 2},
        r"head_dim must be at least 4: the rule divides by d − 2; got 2",
    ),
    (
        dynamic_ntk,
        {"head_dim": 8, "length": 0, "trained_length": 9},
        "length must be a whole number of at least 1, got 0",
    ),
    (
        dynamic_ntk,
        {"head_dim": 8, "length": 9, "trained_length": 1.5},
        "trained_length must be a whole number of at least 1, got 1.5",
    ),
    *(
        (
            rule,
            {"head_dim": 8, "factor": 2, "trained_length": None},
            "trained_length must be a whole number of at least 1, got None",
        )
        for rule in (ntk_by_parts, yarn, llama3)
    ),
    *(
        (
            rule,
            {"head_dim": 8, "factor": 2, "trained_length": 64, "beta_slow": 33, "beta_fast": 32},
            "beta_slow must be at most beta_fast = 32, got 33",
        )
        for rule in (ntk_by_parts, yarn)
    ),
    (
        llama3,
        {"head_dim": 8, "factor": 2, "trained_length": 64, "low_freq_factor": 5},
        "low_freq_factor must be at most high_freq_factor = 4, got 5",
    ),
    (
        llama3,
        {"head_dim": 8, "factor": 2, "trained_length": 64, "low_freq_factor": 0},
        "low_freq_factor must be a finite number above 0, got 0",
    ),
    (RULES["yarn"], {"ramp": "paper"}, "ramp must be 'index' or 'turns', got 'paper'"),
    (RULES["yarn"], {"truncate": "no"}, "truncate must be True or False, got 'no'"),
    (RULES["yarn"], {"mscale": -1}, "mscale must be a finite number of at least 0, got -1"),
    (
        RULES["yarn"],
        {"mscale_all_dim": -0.5},
        "mscale_all_dim must be a finite number of at least 0, got -0.5",
    ),
    (RULES["yarn"], {"attention_factor": 0}, "attention_factor must be a finite number above 0, got 0"),
    (
        yarn,
        {"head_dim": 64, "factor": 2, "trained_length": 3},
        r"trained_length must let some pair make 1 to 32 turns .*, got 3",
    ),
    (
        RULES["longrope"],
        {"long_factor": [1.0] * 31},
        r"long_factor must list one number per pair, \(32,\), got shape \(31,\)",
    ),
    (
        RULES["longrope"],
        {"short_factor": [1.0] * 31 + [0.0]},
        "each of short_factor must be a finite number above 0, got 0.0",
    ),
    (RULES["longrope"], {"short_factor": None}, "short_factor must be real numbers"),
    (
        longrope,
        {
            "head_dim": 4,
            "factor": 2,
            "trained_length": 1,
            "length": 1,
            "short_factor": [1, 1],
            "long_factor": [1, 1],
        },
        "trained_length must be at least 2",
    ),
]


@pytest.mark.parametrize(("rule", "arguments", "sentence"), REFUSED)
def test_what_makes_no_sense_is_refused_by_name_and_value(rule, arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        rule(**arguments)


@pytest.mark.parametrize("rule", [ntk_by_parts, yarn, llama3])
def test_the_original_length_has_no_default(rule):
    with pytest.raises(TypeError, match="trained_length"):
        rule(64, 4)


def as_transformers(rope_type, head_dim, factor, trained_length, base, **settings):
    """Frequencies and attention factor by transformers' rule."""
    pytest.importorskip("transformers")
    from transformers import LlamaConfig
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    parameters = {"rope_type": rope_type, "rope_theta": base, "factor": factor}
    parameters |= {"original_max_position_embeddings": trained_length, **settings}
    config = LlamaConfig(
        head_dim=head_dim,
        max_position_embeddings=int(factor * trained_length),
        rope_parameters=parameters,
    )
    frequencies, attention_factor = ROPE_INIT_FUNCTIONS[rope_type](config, "cpu")
    return frequencies.double().numpy(), attention_factor


@pytest.mark.parametrize("turns", [1.0, 4.0])
def test_equal_thresholds_of_llama3_are_a_step_as_in_transformers(turns):
    """Llama 4 Scout: low_freq_factor = high_freq_factor = 1."""
    given = {"low_freq_factor": turns, "high_freq_factor": turns}
    ours = llama3(128, 16, 8192, base=5e5, **given)
    theirs, _ = as_transformers("llama3", 128, 16.0, 8192, 5e5, **given)
    assert np.allclose(ours.inv_freq, theirs, rtol=1e-5)
    divided = 8192 * inv_freq(128, 5e5) / (2 * np.pi) < turns
    assert 0 < divided.sum() < 64
    assert np.allclose(ours.inv_freq, inv_freq(128, 5e5) / np.where(divided, 16, 1), rtol=1e-15)
    by_parts = ntk_by_parts(128, 16, 8192, base=5e5, beta_slow=turns, beta_fast=turns)
    assert (by_parts.inv_freq == ours.inv_freq).all()


def test_a_pair_that_makes_exactly_as_many_turns_as_a_step_asks_for_is_kept():
    turns = 100 * 1.0 / (2 * math.pi)  # of the pair of frequency 1, in 100 tokens
    spec = llama3(2, 8.0, 100, low_freq_factor=turns, high_freq_factor=turns)
    np.testing.assert_array_equal(spec.inv_freq, [1.0])


@pytest.mark.parametrize("truncate", [True, False])
@pytest.mark.parametrize("turns", [1.0, 32.0])
def test_equal_betas_of_yarn_are_a_step_as_in_transformers(turns, truncate):
    """Kimi K2: beta_fast = beta_slow = 1."""
    given = {"beta_fast": turns, "beta_slow": turns, "truncate": truncate}
    ours = yarn(64, 32, 4096, base=5e4, **given)
    theirs, attention_factor = as_transformers("yarn", 64, 32.0, 4096, 5e4, **given)
    assert np.allclose(ours.inv_freq, theirs, rtol=1e-5)
    assert ours.attention_factor == pytest.approx(attention_factor)
    assert set(np.round(ours.inv_freq / inv_freq(64, 5e4), 9)) >= {1.0, 1 / 32}
    paper = yarn(64, 32, 4096, base=5e4, ramp="turns", beta_fast=turns, beta_slow=turns)
    kept = 4096 * inv_freq(64, 5e4) / (2 * np.pi) >= turns
    assert np.allclose(paper.inv_freq, inv_freq(64, 5e4) / np.where(kept, 1, 32), rtol=1e-15)


@pytest.mark.parametrize(("base", "trained_length"), [(10.0, 4096), (10.0, 64), (1e4, 33), (1e6, 40)])
def test_both_ends_of_the_ramp_are_clipped_as_in_transformers(base, trained_length):
    """With base 10 the ramp would end beyond the head; in 33 tokens no pair turns 32 times."""
    ours = yarn(16, 4, trained_length, base=base)
    theirs, _ = as_transformers("yarn", 16, 4.0, trained_length, base)
    assert np.allclose(ours.inv_freq, theirs, rtol=1e-5)
    low, high = ramp_ends(16, trained_length, base)
    assert 0 <= low <= high <= 15
    assert low == 0 or high == 15  # one of the clips is at work
