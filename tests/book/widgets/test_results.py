"""What a figure shows can be read in Python: its results are the numbers that its readout says."""

import math
import re

import pytest
import traitlets

from rope_book.widgets import ComplexPlane, ConfigInspector, LiveFigure, ModelInThePage, RotatePair
from rope_book.widgets._follow import outputs_of

from .drawn import Drawn, states

WITH_RESULTS = sorted(name for name, figure in LiveFigure.figures.items() if figure.results())


TRAINED = ("ModelInThePage", "TrainInThePage")  # a model has to run before they speak
SELDOM = {  # results that only some settings have, or that are told as a word where nothing changes
    *(
        "alike",
        "extra",
        "extra_trained",
        "loss",
        "moved",
        "most",
        "right_words",
        "score of Fern",
        "score_llama3",
    ),
    *("sharing", "sharing_plain", "shift", "stale"),
}


def numbers(readout: str) -> list[tuple[float, float]]:
    """Return the numbers in a readout, each with half a unit of its last digit."""
    found = re.findall(r"[−-]?\d[\d,\u202f]*(?:\.\d+)?", readout)
    plain = [re.sub(r"[,\u202f]", "", text).replace("−", "-") for text in found]
    return [(float(text), 0.5000001 * 10.0 ** -len(text.partition(".")[2])) for text in plain]


def angles(readout: str) -> list[tuple[float, float]]:
    """Return the numbers that a readout gives in radians."""
    return numbers(" ".join(re.findall(r"[−-]?[\d,.\u202f]+ rad\b", readout)))


@pytest.mark.sampled
@pytest.mark.parametrize("name", [name for name in WITH_RESULTS if name not in TRAINED])
def test_the_readout_says_the_results(name):
    drawn, figure, of_it = Drawn(name), LiveFigure.figures[name], f" of {name}"
    said, in_radians = (dict.fromkeys(figure.results(), 0) for _ in range(2))
    every = list(states(name, 12))
    for values in every:
        words = drawn.said(values)
        for name, each in figure.results().items():
            value = each.at(words["state"])
            for count, read in ((said, numbers), (in_radians, angles)):
                count[name] += any(abs(value - number) <= half for number, half in read(words["readout"]))
    drawn.close()
    for name, count in said.items():
        seldom = not SELDOM.isdisjoint({name, name + of_it})
        assert count >= (3 if seldom else len(every) / 2), (said, len(every))
    for name, each in figure.results().items():
        assert (2 * in_radians[name] > said[name]) == (each.unit == "rad"), (name, in_radians, said)


@pytest.mark.parametrize(
    "values", [{"times": 2}, {"times": 2, "rule": "yarn", "factor": 2.0, "measure": "loss"}]
)
def test_the_model_in_the_page_answers_as_in_python(values):
    drawn, figure = Drawn("ModelInThePage"), ModelInThePage(**values)
    told = numbers(drawn.said(values)["readout"])
    drawn.close()
    kind = "loss" if "measure" in values else "share_right"
    for name in (kind, f"{kind}_beyond"):
        assert any(abs(getattr(figure, name) - number) <= half + 1e-9 for number, half in told), (name, told)


def test_a_line_of_the_derivation_fails_by_radians_only_if_it_compares_angles():
    drawn, control = Drawn("ComplexPlane"), ComplexPlane.controls()
    units = {line: set() for line in control["line"].options}
    for line, found in units.items():
        for candidate in control["candidate"].options:
            readout = drawn.said({"line": line, "candidate": candidate})["readout"]
            found.update(re.findall(r"off by up to [\d.]+( rad)?\b", readout))
    drawn.close()
    assert units == {line: {" rad" if line in (4, 5) else ""} for line in units}


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("ConfigInspector", {"length": 500_000}),
        ("ConfigInspector", {"preset": "Gemma 3 4B", "layers": "second"}),
        ("ConfigInspector", {"config": "{"}),
        ("TrainInThePage", {"task": "copy", "length": 12}),
        ("TrainInThePage", {"task": "text"}),
    ],
)
def test_the_script_has_the_results_of_python(name, values):
    drawn, figure = Drawn(name), LiveFigure.figures[name](**values)
    found = {
        key: math.nan if value is None else value for key, value in drawn.said(values)["results"].items()
    }
    drawn.close()
    assert found == pytest.approx({key: getattr(figure, key) for key in figure.results()}, nan_ok=True)


def test_training_says_its_places_and_what_guessing_reaches():
    drawn, figure = Drawn("TrainInThePage"), LiveFigure.figures["TrainInThePage"](steps=2, times=3)
    (before, after) = (numbers(drawn.said(values)["readout"]) for values in ({}, {"steps": 2, "times": 3}))
    drawn.close()
    assert (figure.trained_places, 0.5000001) in before
    assert any(abs(figure.guessing - number) <= half for number, half in before)
    assert {(figure.trained_places, 0.5000001), (figure.new_places, 0.5000001)} <= set(after)


def test_a_result_is_observed_only_when_it_changes_and_cannot_be_set():
    figure, heard = RotatePair(), []
    figure.observe(lambda change: heard.append((change.old, change.new)), names="score")
    first = figure.score
    figure.position += 3
    second = figure.score
    figure.key_position += 3  # the same distance
    assert [pytest.approx(pair) for pair in heard[:2]] == [(first, second), (second, first)]
    with pytest.raises(traitlets.TraitError, match="score is a result: set the controls"):
        figure.score = 1.0


def test_controls_that_move_together_tell_of_a_result_once_and_only_if_it_changed():
    figure, heard = RotatePair(lock=True), []
    figure.observe(lambda change: heard.append((change.old, change.new)), names="distance")
    figure.position = 20  # the key moves along
    with figure.hold_trait_notifications():
        figure.set_state({"position": 30, "key_position": 26})
    assert heard == []
    figure.set_state({"position": 31, "key_position": 24})
    figure.reset()
    assert heard == [(4, 7), (7, 4)]


def test_a_result_that_stays_undefined_is_not_told():
    figure, heard = ConfigInspector(config="{"), []  # a file that is refused
    figure.observe(heard.append, names=["pairs", "slow"])
    figure.length = 100
    assert math.isnan(figure.slow)
    assert heard == []


def test_a_sweep_is_a_table_by_columns_and_moves_nothing():
    figure = ModelInThePage(times=1)
    table = figure.sweep("times", [1, 16])
    assert list(table) == ["times", "share_right", "share_right_beyond", "loss", "loss_beyond"]
    assert table["times"] == [1, 16]
    assert math.isnan(table["share_right_beyond"][0])
    assert table["share_right_beyond"][1] < table["share_right"][1]
    assert repr(figure) == "ModelInThePage(times=1)"
    with pytest.raises(traitlets.TraitError, match="times must be a whole number from 1 to 16"):
        figure.sweep("times", [99])
    with pytest.raises(ValueError, match="Did you mean times"):
        figure.sweep("time", [1])


def test_a_students_function_follows_the_figure(capsys):
    figure, heard = RotatePair(), []

    @figure.follow
    def note(shown):
        heard.append(shown.position)

    figure.position = 12
    figure.follow(note)  # the cell is run again: one follower, not two
    figure.position = 13
    assert heard == [6, 12, 12, 13]


def test_a_followers_error_is_a_sentence_below_the_figure():
    (said,) = outputs_of(lambda figure: figure.speed, RotatePair())
    assert said["text"].startswith("AttributeError: RotatePair has no attribute 'speed'. It has position,")


def test_every_result_has_words_and_the_docstring_names_it():
    for name in WITH_RESULTS:
        figure = LiveFigure.figures[name]
        for each, result in figure.results().items():
            assert result.__doc__, (name, each)
            in_words = repr(getattr(figure, each))  # as a student reads who asks for `figure.results()`
            assert in_words.startswith(result.__doc__.partition("\n")[0].rstrip("."))
            assert in_words.endswith(f"({result.unit})" if result.unit else in_words[-1])
            assert f"``{each}``" in figure.__doc__, (name, each)
