"""A figure draws, says and answers in many states what it did when somebody last looked."""

import pytest

from .looks import DRAWN, looks, news, noted


@pytest.mark.parametrize("name", DRAWN)
def test_a_figure_is_what_it_was_when_somebody_last_looked(name):
    new = list(news(list(looks(name)), noted().get(name, [])))
    assert not new, f"look at it, then run `python -m tests.book.widgets.looks {name}`"


def test_no_fingerprints_are_left_of_a_figure_that_is_gone():
    assert list(noted()) == DRAWN
