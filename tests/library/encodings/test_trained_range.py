"""The trained range: the pairs that it names are those whose angles a search through training does not find."""

import math

import numpy as np
import pytest

from rope_edu.encodings import (
    abf,
    completes_turn,
    inv_freq,
    meets_new_angle,
    ntk_aware,
    position_interpolation,
    reach,
    wavelength,
)

LLAMA_2 = inv_freq(128)


@pytest.mark.parametrize(
    ("base", "length", "complete"), [(1e4, 4096, 46), (5e5, 8192, 35), (1e6, 32_768, 40)]
)
def test_the_pairs_that_complete_a_turn_are_those_with_short_wavelengths(base, length, complete):
    rates = inv_freq(128, base)
    found = completes_turn(rates, length)
    assert found.sum() == complete
    assert (found == (wavelength(rates) <= length)).all()


@pytest.mark.parametrize("rule", [None, 2.0, 8.0])
def test_an_angle_is_new_where_no_distance_of_training_comes_near_it(rule):
    now = LLAMA_2 if rule is None else ntk_aware(128, rule).inv_freq
    distances = np.array([1, 100, 511, 600, 900, 1500, 4000, 20_000])
    found = meets_new_angle(distances, now, 512, LLAMA_2)
    seen = np.exp(
        1j * np.arange(0, 512.01, 0.25)[:, None] * LLAMA_2
    )  # (training, pairs): four places a token
    for r, row in zip(distances, found, strict=True):
        nearest = np.abs(np.angle(seen * np.exp(-1j * r * now))).min(axis=0)
        assert (nearest[~row] <= LLAMA_2[~row] / 8 + 1e-9).all()  # half the step between two places
        edge = 512 * LLAMA_2[row]
        angle = np.mod(r * now[row], 2 * math.pi)
        assert (nearest[row] > 0).all()
        assert np.allclose(nearest[row], np.minimum(angle - edge, 2 * math.pi - angle))


def test_no_angle_is_new_up_to_the_reach_and_one_is_just_beyond_it():
    for spec in (position_interpolation(128, 8), ntk_aware(128, 8), abf(128, 500_000.0)):
        far = reach(spec.inv_freq, 4096, LLAMA_2)
        within = np.linspace(0, far, 3000)
        assert not meets_new_angle(within, spec.inv_freq, 4096, LLAMA_2).any()
        assert meets_new_angle([far * (1 + 1e-9)], spec.inv_freq, 4096, LLAMA_2).any()


def test_pi_reaches_its_factor_and_ntk_aware_scaling_less():
    assert reach(LLAMA_2, 4096) == 4096
    for s in (2, 8, 16):
        assert reach(position_interpolation(128, s).inv_freq, 4096, LLAMA_2) == pytest.approx(
            4096 * s, rel=1e-14
        )
        assert reach(ntk_aware(128, s).inv_freq, 4096, LLAMA_2) == pytest.approx(
            4096 * s ** (46 / 63), rel=1e-12
        )


def test_where_all_pairs_complete_a_turn_nothing_is_ever_new():
    rates = inv_freq(8, 100.0)
    assert reach(rates, 4096) == math.inf
    assert not meets_new_angle(np.arange(0, 10**6, 777), rates, 4096).any()
    assert reach([1.0, 0.0], 100) == math.inf  # a still pair meets no angle but 0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: completes_turn(LLAMA_2, 0), "trained_length must be a whole number"),
        (lambda: completes_turn([-1.0], 10), "inv_freq must not be negative"),
        (lambda: meets_new_angle([-1], LLAMA_2, 10), "distances must not be negative"),
        (lambda: reach(LLAMA_2, 10, LLAMA_2[1:]), "as many pairs, got 64 and 63"),
        (lambda: reach([1.0], 10, [-1.0]), "trained_inv_freq must not be negative"),
    ],
)
def test_bad_input_is_answered_with_the_name_of_what_is_bad(call, words):
    with pytest.raises(ValueError, match=words):
        call()
