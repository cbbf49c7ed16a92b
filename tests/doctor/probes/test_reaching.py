"""The reach of losses with a known change, and of a model's own."""

import numpy as np
import pytest

from rope_doctor.probes import Specimen
from rope_doctor.probes.reaching import LEAST, START, reach_of, token_losses

from .serving import course


@pytest.mark.parametrize("seed", range(6))
def test_a_loss_that_keeps_its_level_does_not_leave_it(seed):
    found = reach_of(course(3000, seed), claim=3000)
    assert (found.token, found.verdict.status) == (None, 0)
    assert str(found).startswith("The loss keeps its level (perplexity ")
    assert found.level == pytest.approx(2.0, abs=0.2)


def test_a_change_lies_in_its_interval_as_often_as_stated():
    """In 20 texts 90 % are 18; 14 or fewer have a probability of 1 %."""
    found = [reach_of(course(3000, seed, rise=2.0)) for seed in range(20)]
    assert all(each.token is not None and abs(each.token - 2000) < 150 for each in found)
    assert sum(each.low <= 2000 <= each.high for each in found) >= 15


@pytest.mark.parametrize("last", [70, 105, 255, 256])
def test_a_change_near_the_end_is_found(last):
    found = reach_of(course(2000, rise=6.0, at=2000 - last))
    assert abs(found.token - (2000 - last)) < 64
    assert found.low <= found.token <= found.high <= 2000


def test_a_slow_rise_is_found_where_it_exceeds_half_a_nat():
    found = [reach_of(course(4000, seed, rise=4.0, slope=1000)) for seed in range(6)]
    assert np.median([each.token for each in found]) == pytest.approx(2125, abs=100)


@pytest.mark.parametrize(
    ("rise", "claim", "status", "says"),
    [
        (3.0, 2500, 1, "It claims 2,500 tokens."),
        (3.0, 1500, 0, "leaves its level at token"),
        (3.0, None, 2, "no claimed context is known"),
        (3.0, 2000, 2, "2,000 lies between"),
        (0.0, 8192, 2, "ends at token 3,000 of the 8,192 claimed"),
    ],
)
def test_the_claim_is_held_to_the_interval(rise, claim, status, says):
    found = reach_of(course(3000, rise=rise), claim)
    assert found.verdict.status == status
    assert says in str(found)


def test_a_level_leaves_also_by_numbers_that_are_none():
    losses = course(3000)
    losses[2000:] = np.nan
    assert reach_of(losses, 2500).token == pytest.approx(2000, abs=60)


@pytest.mark.parametrize("losses", [[1.0] * (START + LEAST - 1), "text", [[1.0]], [1.0, [2.0]]])
def test_what_has_no_level_is_refused(losses):
    with pytest.raises(ValueError, match="losses must be"):
        reach_of(losses)


def test_losses_are_the_same_in_pieces_and_at_once():
    specimen = Specimen()
    tokens = np.random.default_rng(1).integers(8, 40, size=90)
    logits, _ = specimen(tokens[None, :-1])
    logs = logits[0] - np.log(np.exp(logits[0]).sum(axis=-1, keepdims=True))
    expected = -logs[np.arange(89), tokens[1:]]
    for decoder in (specimen.decoder(), lambda tokens: specimen(tokens)[0]):
        assert np.allclose(token_losses(decoder, tokens, chunk=16), expected, atol=1e-12)
