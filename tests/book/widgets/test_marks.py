"""What is drawn is where the library has it: pictures of random states are read back as numbers."""

import random
from typing import Any

import numpy as np
import pytest

from rope_book.widgets import LiveFigure

from .drawn import Drawn, moved
from .marks import READERS
from .marks.picture import Pictured

KEPT = {"ModelInThePage": {"times": 2}, "TrainInThePage": {"steps": 0}}  # a longer run takes minutes


def state_of(name: str, chance: random.Random) -> dict[str, Any]:
    """Return a random state, of files only the known ones."""
    controls = LiveFigure.figures[name].controls()
    some = [trait for trait, control in controls.items() if control.kind != "paste" and chance.random() < 0.6]
    return {trait: moved(controls[trait], chance) for trait in some}


@pytest.mark.parametrize("name", sorted(READERS))
@pytest.mark.parametrize("count", [3, pytest.param(20, marks=pytest.mark.nightly)])
def test_the_marks_of_a_picture_are_where_python_has_them(name, count):
    drawn, chance, figure = Pictured(name), random.Random(f"marks of {name}"), LiveFigure.figures[name]
    states = [{}, *(state_of(name, chance) for _ in range(count))]
    for state in states:
        picture = drawn.picture(state | KEPT.get(name, {}))
        shown = figure(**picture.state)
        for what, found, wanted, *within in READERS[name](picture, shown):
            about = f"{what} in {shown!r}"
            assert np.shape(found) == np.shape(wanted), about
            near = {"rtol": 1e-6, "atol": within[0] if within else 1e-6}
            np.testing.assert_allclose(found, wanted, **near, err_msg=about)
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
