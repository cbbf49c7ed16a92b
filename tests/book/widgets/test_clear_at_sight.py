"""A first look at a figure: its first slider moves the picture, guesses are the reader's, and names can be read."""

import json
from itertools import pairwise

import pytest

from rope_book.widgets import LiveFigure

from .drawn import along
from .marks.picture import Pictured

PHONE = 324  # the width of a picture on a phone that is 390 px wide


@pytest.fixture
def pictured():
    """Open figures by name; they are closed at the end."""
    made = []

    def opened(name):
        made.append(Pictured(name))
        return made[-1]

    yield opened
    for each in made:
        each.close()


def sliding() -> list[str]:
    """Return the figures whose first control beside the picture is a slider."""
    figures = LiveFigure.figures.items()
    return [name for name, each in figures if each.controls()[each.leads()[0]].kind == "slider"]


OTHERS = {"TrainInThePage", "ReadTheDamage"}  # the one waits for Train, the other draws words alone


@pytest.mark.parametrize("name", sorted(set(sliding()) - OTHERS))
def test_the_first_slider_moves_more_than_words(pictured, name):
    drawn, figure = pictured(name), LiveFigure.figures[name]
    lead = figure.leads()[0]
    slider = figure.controls()[lead]
    pictures = set()
    for share in (0.1, 0.5, 0.9):
        value = along(slider, share)
        picture = drawn.picture({lead: round(value) if slider.whole else value})
        shapes = json.dumps([call for call in picture.calls if call[0] != "text"])
        pictures.add(str(json.loads(shapes, parse_float=lambda pixels: round(float(pixels)))))
    assert len(pictures) > 1


def test_the_guesses_start_level_and_far_enough_apart_to_be_taken(pictured):
    rings = pictured("TrainingCurves").picture({}).shapes("circle", fill="paper")
    assert len(rings) == 3
    assert len({y for _, y, *_ in rings}) == 1
    assert min(abs(one[0] - two[0]) for one, two in pairwise(rings)) >= 24


def test_no_line_runs_through_the_call_to_draw_which_goes_with_the_first_step(pictured):
    drawn = pictured("ScoreDistance")
    picture = drawn.picture({"guess_first": True})
    ((_, y, *_),) = [text for text in picture.texts if text[2].startswith("Draw the sum")]
    levels = [line[1] for line in picture.shapes("line", stroke="grid") if line[1] == line[3]]
    assert all(level < y - 14 or level > y + 4 for level in levels)
    begun = drawn.picture({"guess_first": True, "guess": [0.5]})
    assert not any(words.startswith("Draw the sum") for words in begun.words)


@pytest.mark.parametrize("name", ["Fern", "ScoreUnderRules"])
def test_the_field_beyond_training_has_a_name_on_a_phone(pictured, name):
    picture = pictured(name).picture({}, width=PHONE)
    assert {"beyond", "beyond training"} & set(picture.words)


def test_the_state_draws_as_many_cells_as_it_counts(pictured):
    picture = pictured("StateSteps").picture({})
    shades = [given for given in picture.styled("rects", fill="var(--rl-text)") if "opacity" in given[-1]]
    (counted,) = [words for words in picture.words if words.endswith("numbers, always")]
    assert counted == "64 + 8 numbers, always"
    assert sum(len(boxes) for boxes, _ in shades) == 72
