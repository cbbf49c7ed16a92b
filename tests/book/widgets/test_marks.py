"""The marks in a drawing are those that its sentence counts: they are read back from the calls of the pen."""

import json

import numpy as np
import pytest

from rope_book.widgets import LiveFigure, StateSteps, StretchedClocks
from rope_book.widgets.maths.patients import PATIENTS, matrix_at

from .drawn import Drawn

# every call of the pen, as [method, …arguments], also those inside a part
CALLS = """JSON.stringify(((values, width) => {
    const calls = [], state = madeState(values), view = only(null);
    const pen = new Proxy({}, { get: (_, name) => (...given) => {
        if (name === "part") given[0]();
        else calls.push([name, ...given]);
    } });
    figure.draw(pen, state, { width, height: figure.height(width, state, view), ...view });
    return calls;
})(%s, %d))"""


def calls(name: str, width: int = 726, **state) -> list[list]:
    """Return the pen's calls for a state of a figure."""
    drawn = Drawn(name)
    found = json.loads(drawn.engine.eval(CALLS % (json.dumps(state), width)))
    drawn.close()
    return found


def filled(found: list[list], method: str, ink: str) -> list[list]:
    """Return the shapes that a plural method draws in one ink."""
    chosen = [given[0] for name, *given in found if name == method and ink in str(given[1:])]
    return [shape for shapes in chosen for shape in shapes]


@pytest.mark.parametrize("rule", ["rope", "ntk-aware", "pi", "yarn"])
@pytest.mark.parametrize("position", [4_096, 20_000, 32_768])
def test_as_many_diamonds_as_hands_at_new_angles(rule, position):
    figure = StretchedClocks(rule=rule, position=position, pair=0)
    orange = filled(calls("StretchedClocks", rule=rule, position=position, pair=0), "areas", "--rl-other")
    in_legend = 1
    assert len([shape for shape in orange if len(shape) == 4]) == in_legend + figure.new_hands


@pytest.mark.parametrize("turned", [True, False])
@pytest.mark.parametrize(("step", "query"), [(24, 5), (64, 5), (64, 63), (1, 0)])
def test_both_memories_answer_in_bars_of_one_scale(turned, step, query):
    figure = StateSteps(step=step, query=query, turned=turned)
    answers = [x for x in filled(calls("StateSteps", **figure.values()), "rects", "--rl-text") if x[2] < 10]
    unit = 74 / 1.2  # pixels for a weight of 1
    assert [tall for _, _, _, tall in answers] == pytest.approx(
        [unit * figure.weight, unit * abs(figure.factor)], abs=0.01
    )


@pytest.mark.parametrize("patient", range(1, len(PATIENTS) + 1))
@pytest.mark.parametrize("position", [2, 257])
def test_every_wrong_entry_of_the_matrix_is_marked_and_no_other(patient, position):
    found = filled(calls("WhichBug", patient=patient, position=position), "rects", "--rl-other")
    gaps = matrix_at(PATIENTS[patient - 1], position) - matrix_at("right", position)
    rows, columns = np.nonzero(np.abs(gaps) > 0.02)
    left, top = 3, min((y for _, y, _, _ in found), default=0) - 18 * min(rows, default=0)
    places = sorted((round((y - top) / 18), round((x - left) / 23)) for x, y, _, _ in found)
    assert places == sorted(zip(rows.tolist(), columns.tolist(), strict=True))


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
