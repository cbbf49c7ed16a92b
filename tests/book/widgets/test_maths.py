"""The computations of figures outside the library have the properties that they promise."""

import itertools

import numpy as np
import pytest

from rope_book.widgets.maths import decoding, derivation, error_curve, gained, order, stretch
from rope_doctor.precision import NUMBER_FORMATS, PIPELINES, Pipeline, angle_error, round_to
from rope_edu import inv_freq
from rope_edu.encodings import mean_cosine

POSITIONS = [1, 2, 255, 257, 1023, 2049, 4100, 65_519, 99_999, 2**20 - 1]


@pytest.mark.parametrize(
    ("formats", "step"), list(itertools.product(itertools.product(NUMBER_FORMATS, repeat=4), [0, 1]))
)
def test_no_pair_is_off_by_more_than_the_bound(formats, step):
    rates, pipeline = inv_freq(64, 500_000.0), Pipeline(*formats)
    for position in POSITIONS:
        bound = error_curve.error_bound(position, rates, pipeline, step)
        if bound is not None:
            errors = angle_error(position, rates, pipeline, step=step)
            # 16 bits are rounded by way of float32: 2⁻¹³ of their own rounding more; the exact angle is a float64
            assert (errors <= np.minimum(bound * (1 + 2**-12), np.pi) + 1e-9).all()


@pytest.mark.parametrize("number_format", NUMBER_FORMATS)
def test_half_the_last_bit_is_where_rounding_turns(number_format):
    half = error_curve.roundoff(number_format)
    assert float(round_to([1 + half], number_format)[0]) == 1
    assert float(round_to([1 + half * 1.001], number_format)[0]) == 1 + 2 * half


def test_a_curve_never_falls_and_ends_where_there_is_no_number():
    positions, largest = error_curve.error_curve(inv_freq(64), PIPELINES["float16"])
    assert positions[-1] == 65_519
    assert (np.diff(largest) >= 0).all()


def test_only_turning_by_equal_steps_keeps_all_six_lines():
    whole = [
        name
        for name in derivation.CANDIDATES
        if max(derivation.breaks(derivation.encoder(name, 0.3), 1.2 + 0.3j, 0.8 + 0.8j)) < 1e-9
    ]
    assert whole == ["turn"]


@pytest.mark.parametrize("name", derivation.CANDIDATES)
@pytest.mark.parametrize(("q", "k"), [(0j, 0.8 + 0.8j), (1.2 + 0.3j, 0j), (0j, 0j)])
def test_a_zero_vector_has_no_angle_that_could_break_a_line(name, q, k):
    lines = derivation.breaks(derivation.encoder(name, 0.3), q, k)
    assert lines[3:5] == [0.0, 0.0]
    assert np.isfinite(lines).all()


def test_without_a_mask_another_order_gives_the_same_outputs():
    words = ["the", "dog", "chases", "a", "pig"]
    _, outputs = order.read_words(words, causal=False, layers=2)
    _, moved = order.read_words(words[::-1], causal=False, layers=2)
    np.testing.assert_allclose(moved[::-1], outputs, rtol=0, atol=1e-12)


def test_a_cache_turns_each_key_once_and_never_does_more_work():
    for capacity, step in itertools.product([2, 5, 16], range(1, 17)):
        work = decoding.decoding_work("rotated", capacity, step)
        assert work["turned"][0] == step
        assert all(kept <= anew for kept, anew in (work["turned"], work["products"]))
        assert work["bytes"][0] > work["bytes"][1] == 0  # the cost


@pytest.mark.parametrize("rule", stretch.RULES)
def test_the_trend_of_the_score_is_its_mean_over_the_distances_around(rule):
    spec = stretch.stretched(rule, 64, 10_000.0, 4096, 32_768)
    for distance in (3.0, 500.0):
        # midpoint rule, with steps far smaller than a wavelength
        middles = distance * (1 + 0.1 * (np.arange(-4000, 4000) + 0.5) / 4000)
        exact = spec.attention_factor**2 * mean_cosine(spec.inv_freq, middles).mean()
        trend = stretch.score_trend(spec.inv_freq, spec.attention_factor, distance, 0.1)
        assert trend == pytest.approx(exact, abs=1e-4)


def test_gains_after_the_turn_let_the_score_swing_by_what_the_parts_say():
    q, k, distance, theta, gains = (1.1, 0.3), (0.7, -0.8), 4, 0.37, (1.6, 0.7)
    stays, swing = gained.gained_parts(q, k, distance, theta, gains)
    turn = np.exp(1j * theta * (np.arange(2000)[:, None] + [distance, 0]))  # of the query, of the key
    q_turned, k_turned = (complex(*pair) * turn[:, i] for i, pair in enumerate((q, k)))
    squares = np.square(gains)
    scores = squares[0] * q_turned.real * k_turned.real + squares[1] * q_turned.imag * k_turned.imag
    found = [gained.gained_score(q, k, n, distance, theta, gains, after=True) for n in range(2000)]
    np.testing.assert_allclose(found, scores, rtol=0, atol=1e-12)
    # 2000 angles spread over the circle: one comes within 0.01 rad of each end
    assert [scores.min(), scores.max()] == pytest.approx([stays - swing, stays + swing], abs=1e-4)


@pytest.mark.parametrize(("pair", "gains"), [((1.0,), (1.0, 1.0)), ((1.0, 2.0), (1.0, 1.0, 3.0))])
@pytest.mark.parametrize("after", [True, False])
def test_a_pair_and_gains_have_two_members(pair, gains, after):
    with pytest.raises(ValueError, match="pair and gains must have 2 members each"):
        gained.gained_pair(pair, 0.1, gains, after)
