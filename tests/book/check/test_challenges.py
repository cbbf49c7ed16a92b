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


def test_an_untouched_figure_is_no_try_and_nothing_counts_again_or_after_it_was_reached(capsys):
    mine, figure = Checker(), widgets.RotatePair()
    mine("4.c", figure)
    mine("4.c", 3)
    assert mine.record() == {}
    figure.position = 9
    for _ in range(2):  # run again, nothing changed
        mine("4.c", figure)
    assert (mine.record()["4.c"]["tries"], len(mine.record()["4.c"]["mistakes"])) == (1, 1)
    for state in (REACHED["4.c"], {"position": 9}):
        with figure.hold_trait_notifications():
            for name, value in state.items():
                setattr(figure, name, value)
        mine("4.c", figure)
    noted = mine.record()["4.c"]
    assert (noted["right"], noted["tries"], len(noted["mistakes"])) == (True, 2, 1)
