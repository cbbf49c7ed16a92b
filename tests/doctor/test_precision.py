"""Precision: rounding equal to torch bit for bit, pipelines equal to torch doing the steps, and known errors."""

import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest
import torch
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

from rope_doctor.precision import (
    NUMBER_FORMATS,
    PIPELINES,
    Pipeline,
    angle_error,
    pipeline_cos_sin,
    round_to,
)
from rope_edu import apply_rope, inv_freq, rope_angles

formats = pytest.mark.parametrize("number_format", NUMBER_FORMATS)
FREQUENCIES = inv_freq(128)
LAST_BIT = {"float64": 2**-53, "float32": 2**-24, "bfloat16": 2**-8, "float16": 2**-11}  # just below 1
FAR = np.unique(np.concatenate([np.arange(600), np.geomspace(600, 2**20, 900).astype(int)]))


def same_bits(a, b) -> bool:
    """Tell whether two float64 arrays are equal, signs of zero included; all NaN are one."""
    a, b = (np.where(np.isnan(x), np.nan, np.asarray(x, np.float64)) for x in (a, b))
    return a.tobytes() == b.tobytes()


def by_torch(x, number_format):
    return torch.tensor(x).to(getattr(torch, number_format)).double().numpy()


def special_numbers() -> np.ndarray:
    """Zeros, infinities, NaN; powers of two down to the smallest, ties between them, and both neighbours."""
    powers = 2.0 ** np.arange(-1074.0, 1024.0)
    ties = [powers * (1 + odd * 2.0**-bits) for bits in (8, 9, 11, 12, 24, 25) for odd in (1, 3)]
    largest = np.array(
        [65_504, 65_519.99, 65_520, 3.3895313892515355e38, 3.3961775292304957e38, 3.4028235e38]
    )
    finite = np.concatenate([[0.0], powers, *ties, largest])
    finite = finite[np.isfinite(finite)]
    beside = [finite, np.nextafter(finite, 0), np.nextafter(finite, np.inf)]
    return np.concatenate([*beside, *(-x for x in beside), [np.inf, -np.inf, np.nan]])


@formats
def test_special_numbers_round_as_in_torch_bit_for_bit(number_format):
    x = special_numbers()
    assert same_bits(round_to(x, number_format), by_torch(x, number_format))


@formats
def test_every_kind_of_number_rounds_as_in_torch_bit_for_bit(number_format):
    words = np.random.default_rng(0).integers(0, 2**64, 200_000, dtype=np.uint64)
    every = words.view(np.float64)  # all exponents, alike
    with np.errstate(invalid="ignore"):  # some are NaN
        single = (words >> 32).astype(np.uint32).view(np.float32).astype(np.float64)
    for x in (every, single, np.random.default_rng(1).normal(size=100_000)):
        assert same_bits(round_to(x, number_format), by_torch(x, number_format))


def test_float16_and_float32_are_those_of_numpy():
    single = np.random.default_rng(0).integers(0, 2**32, 200_000, dtype=np.uint32).view(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        assert same_bits(round_to(single, "float16"), single.astype(np.float16))
        doubles = np.random.default_rng(1).normal(size=10_000) * 1e38
        assert same_bits(round_to(doubles, "float32"), doubles.astype(np.float32))


def test_a_number_beside_a_tie_goes_by_way_of_float32():
    beside = 1 + 2**-8 + 2**-30  # above the tie between 1 and 1 + 2⁻⁷, and equal to it in float32
    assert round_to(beside, "bfloat16") == by_torch(beside, "bfloat16") == 1
    assert round_to(1 + 2**-8 + 2**-20, "bfloat16") == 1 + 2**-7


@formats
def test_rounding_leaves_its_argument_and_its_own_result_alone(number_format):
    x = np.random.default_rng(0).normal(size=(3, 4))
    before = x.copy()
    rounded = round_to(x, number_format)
    rounded_again = round_to(rounded, number_format)
    assert same_bits(rounded_again, rounded)
    rounded[:] = 7
    assert same_bits(x, before)


def torch_turns(positions, frequencies, pipeline):
    """Do the steps for real: tensors of each format, each step taken in the widest that takes part."""
    step = {name: getattr(torch, getattr(pipeline, name)) for name in vars(pipeline) if name != "note"}
    m = torch.tensor(positions, dtype=torch.float64).to(step["positions"])
    rates = torch.tensor(frequencies).to(step["frequencies"])
    wide = torch.promote_types(torch.promote_types(m.dtype, rates.dtype), step["angles"])
    angles = (m.to(wide)[:, None] * rates.to(wide)).to(step["angles"])
    angles = angles.to(torch.promote_types(angles.dtype, step["cos_sin"]))
    return [f(angles).to(step["cos_sin"]).double().numpy() for f in (torch.cos, torch.sin)]


MIXED = {
    f"{a}-{b}-{c}-{d}": Pipeline(a, b, c, d)
    for a, b, c, d in np.random.default_rng(3).choice(NUMBER_FORMATS, (12, 4)).tolist()
} | {name: Pipeline(*(name,) * 4) for name in NUMBER_FORMATS}


@pytest.mark.parametrize("pipeline", [*PIPELINES.values(), *MIXED.values()], ids=[*PIPELINES, *MIXED])
def test_turns_are_those_of_torch_doing_the_same_steps(pipeline):
    turns = pipeline_cos_sin(FAR, FREQUENCIES, pipeline)
    bit = max(LAST_BIT[pipeline.cos_sin], LAST_BIT["float32"] * (pipeline.angles != "float64"))
    for ours, theirs in zip((turns.real, turns.imag), torch_turns(FAR, FREQUENCIES, pipeline), strict=True):
        assert (np.isnan(ours) == np.isnan(theirs)).all()
        # a float32 cosine may be off by its last bit, and on a tie that decides the last bit of a narrow one
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1.5 * bit)
        if pipeline.cos_sin in ("bfloat16", "float16"):
            assert (ours == theirs)[~np.isnan(ours)].mean() > 0.999


@pytest.mark.parametrize(
    ("dtype", "name"), [(torch.float32, "float32"), (torch.bfloat16, "frequencies in bfloat16")]
)
def test_transformers_module_does_what_the_pipeline_says(dtype, name):
    config = LlamaConfig(hidden_size=256, num_attention_heads=2, max_position_embeddings=2**20)
    module = LlamaRotaryEmbedding(config)
    frequencies = module.inv_freq.double().numpy()  # its own: transformers takes powers in float32
    module.to(dtype)
    cos, sin = (part[0, :, :64].double().numpy() for part in module(torch.ones(1), torch.tensor(FAR)[None]))
    turns = pipeline_cos_sin(FAR, frequencies, PIPELINES[name])
    np.testing.assert_allclose(cos, turns.real, rtol=0, atol=1e-7)
    np.testing.assert_allclose(sin, turns.imag, rtol=0, atol=1e-7)


def test_ours_are_the_turns_of_apply_rope():
    x = np.tile(np.float32([1, 0]), (len(FAR), 64))
    turned = apply_rope(x, rope_angles(FAR, FREQUENCIES)).astype(np.float64)
    turns = pipeline_cos_sin(FAR, FREQUENCIES, PIPELINES["ours"])
    assert same_bits(turned[:, 0::2], turns.real)
    assert same_bits(turned[:, 1::2], turns.imag)


def test_ours_is_within_one_ten_millionth_up_to_a_million():
    assert angle_error(FAR, FREQUENCIES, PIPELINES["ours"]).max() < 1e-7
    assert angle_error(FAR, FREQUENCIES, PIPELINES["ours"], step=1).max() < 1e-7


def test_float64_throughout_has_no_error_at_all():
    assert (angle_error(FAR, FREQUENCIES, Pipeline(*("float64",) * 4)) == 0).all()


def test_float32_is_off_by_six_hundredths_near_a_million_and_not_in_pair_0():
    error = angle_error(np.arange(10**6 - 1000, 10**6), FREQUENCIES, PIPELINES["float32"])
    assert error.max() == pytest.approx(0.06, abs=0.002)
    assert error.max(0).argmax() == 1  # θ₀ = 1 and whole positions are float32 numbers, so is their product
    assert error[:, 0].max() < 1e-7


@pytest.mark.parametrize(("number_format", "last"), [("bfloat16", 256), ("float16", 2048)])
def test_neighbours_collide_after_the_last_whole_number_that_has_a_neighbour(number_format, last):
    pipeline = Pipeline(positions=number_format)
    turns = pipeline_cos_sin(np.arange(last + 2), FREQUENCIES, pipeline)
    assert (turns[last] == turns[last + 1]).all()
    assert len(np.unique(turns[: last + 1], axis=0)) == last + 1
    assert angle_error(last + 1, FREQUENCIES, pipeline)[0] == pytest.approx(1, abs=1e-6)


def test_float16_has_no_number_from_65520_on_and_still_pairs_have_none_either():
    for frequencies in (FREQUENCIES, [1.0, 0.0]):
        error = angle_error([65_519, 65_520], frequencies, PIPELINES["float16"])
        assert np.isfinite(error[0]).all()
        assert np.isnan(error[1]).all()


def test_slow_clocks_stand_still_in_float16():
    turns = pipeline_cos_sin(60_000, inv_freq(128, 1e8), PIPELINES["float16"])
    assert turns[-1] == 1
    assert angle_error(60_000, inv_freq(128, 1e8), PIPELINES["float16"])[-1] == pytest.approx(8e-4, rel=0.01)


def test_frequencies_in_bfloat16_are_wrong_alike_everywhere():
    exact_but_for_them = replace(Pipeline(*("float64",) * 4), frequencies="bfloat16")
    steps = angle_error(FAR, FREQUENCIES, exact_but_for_them, step=1)
    wrong_rates = np.abs(round_to(FREQUENCIES, "bfloat16") - FREQUENCIES)
    np.testing.assert_allclose(steps, np.broadcast_to(wrong_rates, steps.shape), rtol=0, atol=1e-9)
    assert steps.max() > 1e-3
    assert angle_error(FAR, FREQUENCIES, exact_but_for_them).max() > 3  # and the angle itself is lost


def test_with_float32_angles_that_holds_while_these_are_fine():
    steps = angle_error(np.arange(1, 4096), FREQUENCIES, PIPELINES["frequencies in bfloat16"], step=1)
    assert np.ptp(steps, axis=0).max() < 5e-4 < 1e-3 < steps.max()


def test_positions_in_bfloat16_are_wrong_differently_everywhere():
    error = angle_error([100, 257, 258, 4112, 4113], [1.0], PIPELINES["positions in bfloat16"], step=1)[:, 0]
    # 4 112 is the tie between 4 096 and 4 128 and goes to 4 096; 4 113 is the first on the other side: 32 at once
    expected = [0, 1, 1, 1, abs(math.remainder(32 - 1, 2 * math.pi))]
    np.testing.assert_allclose(error, expected, rtol=0, atol=5e-4)


@pytest.mark.parametrize("step", [1, 7, 300])
@pytest.mark.parametrize("name", PIPELINES)
def test_error_of_a_step_is_that_of_the_product_of_turns(name, step):
    positions = np.array([300, 1000, 5000])
    later, earlier = (
        pipeline_cos_sin(m, FREQUENCIES, PIPELINES[name]) for m in (positions, positions - step)
    )
    expected = np.abs(np.angle(later * earlier.conj() * np.exp(-1j * step * FREQUENCIES)))
    found = angle_error(positions, FREQUENCIES, PIPELINES[name], step=step)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("position", [1, 777, 65_519, 999_999, 2**20])
@pytest.mark.parametrize("name", PIPELINES)
def test_errors_equal_those_of_forty_digits(name, position):
    pipeline, head = PIPELINES[name], 32
    found = angle_error(position, inv_freq(head), pipeline)
    turns = pipeline_cos_sin(position, inv_freq(head), pipeline)
    with mpmath.workdps(40):
        for i, (turn, error) in enumerate(zip(turns, found, strict=True)):
            if np.isnan(error):
                assert name == "float16"
                assert position > 65_504
                continue
            exact = position * mpmath.power(10_000, -mpmath.mpf(2 * i) / head)
            true = abs(mpmath.arg(mpmath.mpc(turn.real, turn.imag) * mpmath.expj(-exact)))
            # the frequency in float64, and its product, are off by 10⁻¹⁶ of the angle each
            assert abs(true - error) < 3e-16 * position + 1e-15


def test_shapes_and_kinds_of_positions():
    assert angle_error(5, FREQUENCIES, Pipeline()).shape == (64,)
    assert angle_error(range(5), FREQUENCIES, Pipeline(), step=2).shape == (5, 64)
    assert pipeline_cos_sin(torch.arange(6).reshape(2, 3), FREQUENCIES, Pipeline()).shape == (2, 3, 64)
    assert angle_error([0.5, -3], FREQUENCIES, Pipeline()).dtype == np.float64


def test_notes_do_not_count_and_pipelines_differ():
    assert Pipeline() == PIPELINES["float32"]
    assert len(set(PIPELINES.values())) == len(PIPELINES)
    assert all(pipeline.note.endswith(".") for pipeline in PIPELINES.values())


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: round_to([1.0], "int8"), "number_format must be 'float64' or .* got 'int8'"),
        (lambda: round_to(["a"], "float32"), "x must be real numbers"),
        (lambda: Pipeline(angles="double"), "angles must be 'float64' or .* got 'double'"),
        (
            lambda: pipeline_cos_sin([1], [[1.0]], Pipeline()),
            r"inv_freq must have one axis, .* got shape \(1, 1\)",
        ),
        (lambda: angle_error([math.inf], [1.0], Pipeline()), "positions must be finite"),
        (
            lambda: angle_error([1], [1.0], Pipeline(), step=-1),
            "step must be a whole number of at least 0, got -1",
        ),
        (
            lambda: angle_error([1], [1.0], Pipeline(), step=1.0),
            "step must be a whole number of at least 0, got 1.0",
        ),
    ],
)
def test_arguments_that_make_no_sense_are_refused(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
