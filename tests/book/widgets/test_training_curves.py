"""The whole training grid reaches the figure's script: small, in order, and rounded invisibly."""

import json

import pytest

from rope_book.results import load_grid
from rope_book.widgets import _grid
from rope_book.widgets._bundle import source

from .drawn import Drawn

GRID = load_grid()
SCRIPT = source("data/grid")
TABLE = json.loads(SCRIPT.removeprefix("export const GRID = ").rstrip(";\n"))


def unpacked(text):
    return [int(text[i : i + 2], 36) for i in range(0, len(text), 2)]


def test_every_run_of_the_grid_is_there_once():
    found = sum(
        len(runs["curves"]["accuracy"]) for task in TABLE["tasks"].values() for runs in task["runs"].values()
    )
    assert found == len(GRID.runs)


@pytest.mark.parametrize("task", GRID.tasks)
def test_curves_and_tests_are_those_of_the_grid(task):
    for name, packed in TABLE["tasks"][task]["runs"].items():
        for n, run in enumerate(GRID.select(task, name)):
            shares = [code / 1000 for code in unpacked(packed["curves"]["accuracy"][n])]
            assert shares == pytest.approx(run.curve["accuracy"].tolist(), abs=0.00051)
            losses = [10 ** (code / 200 - 4.5) for code in unpacked(packed["tests"]["loss"][n])]
            assert losses == pytest.approx([loss for loss, _ in run.tests.values()], rel=0.006, abs=4e-5)


@pytest.mark.parametrize("task", GRID.tasks)
def test_every_doubling_of_the_slider_was_tested(task):
    lengths = TABLE["tasks"][task]["lengths"]
    assert {lengths[0], 2 * lengths[0], 4 * lengths[0]} <= set(lengths)


def test_it_stays_small():
    assert len(SCRIPT) < 60_000


def test_packing_holds_what_lies_outside_its_scale():
    assert _grid.loss_code(0.0) == 0
    assert _grid.loss_code(1e9) == _grid.MOST
    assert _grid.share_code(1.0) < _grid.MOST


@pytest.fixture(scope="module")
def figure():
    drawn = Drawn("TrainingCurves")
    yield drawn
    drawn.close()


def test_before_the_guess_no_line_says_how_it_ends(figure):
    words = figure.said({})
    assert words["readout"].startswith("Where will these lines end")
    assert "ALiBi" not in {text["text"] for text in words["texts"]}
    assert "ALiBi" in {text["text"] for text in figure.said({"doublings": 2})["texts"]}


def test_a_guess_is_judged_by_the_medians(figure):
    names = ("rotary", "sinusoidal", "none")
    right = [
        round(100 * GRID.accuracy("back", name, GRID.test_lengths("back")[2]).median, 1) for name in names
    ]
    off = [height + 10 for height in right]
    assert figure.said({"guess": right, "doublings": 2})["readout"].startswith(
        "Your guess was off by 0 points"
    )
    assert figure.said({"guess": off, "doublings": 2})["readout"].startswith(
        "Your guess was off by 10 points"
    )
