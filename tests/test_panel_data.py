"""A plot drawn from other data is told from the committed one; one from the same data is not."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from panel_data import PIXELS, Panels
from panels import panels

from rope_book import plots

HEIGHTS = np.array([1.0, 3.0, 2.0])
FIELD = np.linspace(0, 1, 12).reshape(3, 4)


def drawn(heights=HEIGHTS, field=FIELD, name="score", **options) -> Panels:
    """A curve beside a field."""
    figure = Figure(figsize=(8, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    plots.curves(left, range(len(heights)), {"a": heights}, x_label="distance (tokens)", y_label=name)
    plots.heatmap(right, field, x_label="key (token)", y_label="query (token)", value_label="weight")
    return Panels(panels(figure), **options)


def test_the_same_data_give_equal_panels():
    assert drawn() == drawn()
    assert drawn() == drawn(HEIGHTS * (1 + 1e-12), FIELD + 1e-12)


@pytest.mark.parametrize(
    ("changed", "where"),
    [
        ({"heights": HEIGHTS * [1, 1, 1.005]}, "panel 1: path's d"),
        ({"heights": HEIGHTS[:2]}, "panel 1: "),
        ({"field": FIELD + 0.05 * (FIELD[1, 1] == FIELD)}, "panel 2: image's pixels"),
        ({"name": "scores"}, "panel 1: "),
    ],
    ids=["a height", "a point", "a cell of a field", "a name"],
)
def test_other_data_give_other_panels(changed, where):
    assert drawn().difference(drawn(**changed)).startswith(where)
    assert drawn() != drawn(**changed)


def test_a_coordinate_may_move_by_less_than_can_be_seen():
    svg = '<svg xmlns="http://www.w3.org/2000/svg"><path d="M 1.5 {} L 3 4" /></svg>'
    still, near, far = (Panels([svg.format(2 + by * PIXELS)]) for by in (0, 0.9, 1.1))
    assert still == near
    assert still != far


def test_of_measured_times_only_the_number_of_panels_is_compared():
    timed = drawn(draws_times=True)
    assert timed == drawn(HEIGHTS * 2, draws_times=True)
    assert timed != Panels(timed.panels[:1], draws_times=True)
