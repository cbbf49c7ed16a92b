"""The scorecard's experiments tell encodings apart."""

import numpy as np
import pytest

from rope_book.check.five_wishes import scorecard, wishes
from rope_edu import Rotary, alibi_bias, dynamic_ntk, inv_freq, sinusoidal
from rope_edu.attention import Additive, DynamicRotary, NoPosition, PositionEncoding, ScoreBias
from rope_edu.encodings import fire_bias, learned_table

ALIBI = ScoreBias(lambda q, k_len: alibi_bias(8, q.shape[-2], k_len)[:1])
FIRE = ScoreBias(lambda q, k_len: fire_bias(lambda x: -9.0 * x, q.shape[-2], k_len, threshold=16.0))


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [
        (NoPosition(), "no yes yes yes 0"),
        (Additive(lambda positions: learned_table(1024, 64)[positions]), "yes no no yes 64000"),
        (Additive(lambda positions: sinusoidal(positions, 64)), "yes no yes yes 64000"),
        (ALIBI, "yes yes yes yes 1000000"),
        (FIRE, "yes no yes yes 1000000"),
        (Rotary(inv_freq(64)), "yes yes yes yes 128000"),
        (DynamicRotary(lambda n: dynamic_ntk(64, 4, length=n)), "yes no yes no 128000"),
    ],
    ids=["nothing", "learned", "sinusoidal", "ALiBi", "FIRE", "RoPE", "dynamic NTK"],
)
def test_each_encoding_fulfils_the_wishes_that_it_is_known_for(encoding, expected):
    found = wishes(encoding)
    order, distance, any_length, cache, cost = expected.split()
    assert (found.order, found.distance) == (order == "yes", distance == "yes")
    assert (found.any_length, found.cache) == (any_length == "yes", cache == "yes")
    assert found.cost == int(cost)


def test_rotating_queries_alone_is_not_relative():
    class QueriesAlone(PositionEncoding):
        def rotate_q(self, q, positions):
            return Rotary(inv_freq(64)).rotate_q(q, positions)

    assert not wishes(QueriesAlone()).distance


def test_scorecard_has_a_row_for_each_encoding_that_says_its_wishes():
    encodings = {"nothing": NoPosition(), "rotation": Rotary(np.ones(32))}
    names, *columns = scorecard(encodings).values()
    assert names == list(encodings)
    for encoding, row in zip(encodings.values(), zip(*columns, strict=True), strict=True):
        found = wishes(encoding)
        said = (found.order, found.distance, found.any_length, found.cache)
        assert row == (*("yes" if wish else "no" for wish in said), found.cost)
