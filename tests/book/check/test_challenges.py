"""A challenge judges the state that a student has reached in a figure."""

import pytest
from challenge_states import REACHED, SLIPS

from rope_book import widgets
from rope_book.check.challenges import challenges
from rope_book.check.exercise import Checker


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
