"""AngleError in Python: a known pipeline and the four formats never contradict each other."""

import pytest
from traitlets import TraitError

from rope_book.widgets import AngleError
from rope_doctor.precision import PIPELINES, Pipeline


def shown(figure) -> Pipeline:
    return Pipeline(figure.frequencies_in, figure.positions_in, figure.angles_in, figure.cos_sin_in)


@pytest.mark.parametrize("name", PIPELINES)
def test_a_known_pipeline_sets_the_formats_when_made_and_when_set(name):
    made = AngleError(pipeline=name)
    later = AngleError()
    later.pipeline = name
    for figure in (made, later):
        assert shown(figure) == PIPELINES[name]
        assert figure.pipeline == name


def test_a_format_that_differs_makes_it_own_and_keeps_the_others():
    figure = AngleError(pipeline="ours")
    figure.cos_sin_in = "bfloat16"
    assert figure.pipeline == "own"
    assert shown(figure) == PIPELINES["cos and sin in bfloat16"]


def test_a_format_that_does_not_differ_changes_nothing():
    figure = AngleError(pipeline="float16")
    figure.cos_sin_in = "float16"
    assert figure.pipeline == "float16"


def test_reset_brings_back_a_known_pipeline():
    figure = AngleError(pipeline="ours")
    before = repr(figure)
    figure.angles_in = "float16"
    assert repr(figure) != before
    figure.reset()
    assert repr(figure) == before


def test_a_contradiction_is_refused():
    with pytest.raises(TraitError, match="angles_in must be that of pipeline 'float16', got 'float64'"):
        AngleError(pipeline="float16", angles_in="float64")


def test_every_known_pipeline_is_offered():
    assert list(AngleError.controls()["pipeline"].options) == [*PIPELINES, "own"]
