"""What is drawn is where the library has it: pictures of random states are read back as numbers."""

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from rope_book.widgets import LiveFigure

from .drawn import Drawn, moved
from .marks import READERS
from .marks.picture import Pictured

KEPT = {"ModelInThePage": {"times": 2}, "TrainInThePage": {"steps": 0}}  # a longer run takes minutes


def states_of(name: str, count: int) -> Iterator[dict[str, Any]]:
    """Yield the first state and `count` random ones, in which every choice takes its options in turn.

    Controls are moved from the first to the last, then from the last to the first, since one may change another.
    """
    chance, controls = random.Random(f"marks of {name}"), LiveFigure.figures[name].controls()
    yield {}
    for n in range(count):
        turns = {
            trait: list(control.options)[n % len(control.options)]
            for trait, control in controls.items()
            if control.kind == "choice"
        }
        turns |= {trait: n % 2 == 1 for trait, control in controls.items() if control.kind == "toggle"}
        yield {
            trait: turns.get(trait, moved(control, chance))
            for trait, control in (list(controls.items())[::-1] if n % 2 else controls.items())
            if control.kind != "paste" and chance.random() < 0.7  # a file that nobody knows is refused
        }


@pytest.mark.parametrize("name", sorted(READERS))
@pytest.mark.parametrize("count", [6, pytest.param(20, marks=pytest.mark.nightly)])
def test_the_marks_of_a_picture_are_where_python_has_them(name, count):
    drawn, figure = Pictured(name), LiveFigure.figures[name]
    for state in states_of(name, count):
        picture = drawn.picture(state | KEPT.get(name, {}))
        shown = figure(**picture.state)
        for what, found, wanted, *within in READERS[name](picture, shown):
            about = f"{what} in {shown!r}"
            assert np.shape(found) == np.shape(wanted), about
            near = {"rtol": 1e-6, "atol": within[0] if within else 1e-6}
            np.testing.assert_allclose(found, wanted, **near, err_msg=about)
        for pressed in picture.pressed:
            assert pressed.keys() <= figure.controls().keys(), pressed
    drawn.close()


def test_every_figure_that_draws_has_a_reader():
    assert READERS.keys() == LiveFigure.figures.keys() - {"Question", "Review"}


UNDRAGGED = {"Question", "Review", "ModelInThePage", "TrainInThePage"}
KNEES = {("Ramps", "beta_fast"), ("Ramps", "beta_slow")}  # they lie at whole pairs


def test_what_can_be_dragged_stands_where_its_control_is():
    """What a hand would set where a thing lies is the value that the thing shows."""
    lie = {}
    for name in LiveFigure.figures.keys() - UNDRAGGED:
        drawn = Drawn(name)
        words = drawn.said({})
        drawn.close()
        lie |= {(name, trait): (words["state"][trait], value) for trait, value in words["held"].items()}
    assert lie.keys() > KNEES
    wrong = {key: pair for key, pair in lie.items() if pair[1] != pytest.approx(pair[0], rel=0.01)}
    assert wrong.keys() <= KNEES, wrong
