"""A challenge judges the state that a student has reached in a figure."""

import pytest

from rope_book import widgets
from rope_book.check.challenges import challenges
from rope_book.check.exercise import Checker

REACHED = {
    "4.c": {"position": 15, "key_position": 0},
    "6.c": {"base": 500_000.0},
    "9.c": {"head_dim": 256, "base": 100.0},
    "15.c": {"rule": "yarn"},
    "18.c": {"rule": "by-parts", "times": 16, "factor": 16.0},
}
SLIPS = {
    "4.c": [
        ({}, "makes it negative"),
        ({"q": [-1.2, -0.3]}, "Leave q and k"),
        ({"position": 12}, "point apart yet"),
    ],
    "6.c": [({}, "slow them down"), ({"base": 1e8}, "too slow"), ({"head_dim": 32}, "Keep heads of 64")],
    "9.c": [
        ({"head_dim": 16}, "More waves smooth"),
        ({}, "Now the base"),
        ({"vectors": "identical"}, "Take q = k = all ones"),
    ],
    "15.c": [
        ({"rule": "pi"}, "slows every pair"),
        ({}, "only the last pair"),
        ({"wanted": 8192}, "Keep 4,096"),
    ],
    "18.c": [
        ({"times": 16}, "choose a rule"),
        ({"times": 16, "rule": "pi"}, "fast pairs too"),
        ({"times": 16, "rule": "ntk-aware", "factor": 16.0}, "51 % at the new places"),
        ({"rule": "by-parts"}, "yours is 8 times"),
    ],
}


def said(capsys, name, values):
    capsys.readouterr()
    Checker()(name, getattr(widgets, challenges()[name]["figure"])(**values))
    return capsys.readouterr().out


@pytest.mark.parametrize("name", challenges())
def test_a_state_that_meets_the_challenge_is_reached_and_slips_have_their_sentence(name, capsys):
    assert said(capsys, name, REACHED[name]).startswith(f"Challenge {name}: reached. ")
    for values, words in SLIPS[name]:
        reply = said(capsys, name, values)
        assert reply.startswith(f"Challenge {name}: not yet. "), values
        assert words in reply, (values, reply)


def test_a_challenge_asks_for_its_own_figure(capsys):
    Checker()("18.c", 3)
    assert "Give check the figure itself, a ModelInThePage" in capsys.readouterr().out
