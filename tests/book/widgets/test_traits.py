"""Every trait of every figure accepts its range, refuses the rest with a sentence, and can be reset."""

import contextlib
import copy
import io
import math
import pickle
import random
import warnings
from contextlib import suppress

import numpy as np
import pytest
import traitlets
from IPython.core.interactiveshell import InteractiveShell

from rope_book import widgets
from rope_book.widgets import LiveFigure, RotatePair, ScoreDistance
from rope_book.widgets._rules import AtMost

CASES = [
    pytest.param(figure, name, control, id=f"{figure.__name__}.{name}")
    for figure in LiveFigure.figures.values()
    for name, control in figure.controls().items()
]


def allowed(control) -> list:
    """Some values that the control accepts: both ends, and random ones between."""
    draw = random.Random(control.name)
    if control.kind == "slider":
        between = [draw.uniform(control.low, control.high) for _ in range(20)]
        return [control.low, control.high, *(map(round, between) if control.whole else between)]
    if control.kind == "point":
        return [[draw.uniform(-control.limit, control.limit) for _ in range(2)] for _ in range(10)]
    if control.kind == "choice":
        return list(control.options)
    if control.kind == "toggle":
        return [True, False]
    if control.kind == "text":
        return ["", "It is, isn't it?", control.letters[-1] * control.most]
    if control.kind == "paste":
        return ["", '{"rope_theta": 1e4}', "x" * control.most]
    if control.kind == "sketch":
        return [[], [0.5], [draw.uniform(-1, 1) for _ in range(control.most)]]
    if control.kind == "numbers":
        return [[], [1.0], [draw.uniform(control.low, control.high) for _ in range(control.most)]]
    return ["one", " ".join(["word"] * control.max_words)]


def around(figure, name) -> dict:
    """The widest limits of a control whose limits depend on another."""
    controls = figure.controls()
    limits = [rule.limit for rule in controls[name].rules if isinstance(rule, AtMost) and not rule.either]
    return {
        limit: max(allowed(controls[limit]), key=lambda v: len(v) if isinstance(v, str) else v)
        for limit in limits
    }


def refused(control) -> list:
    """Some values that the control refuses."""
    if control.kind == "slider":
        far = [control.low - 1, control.high + 1, math.nan, math.inf, "7", None, True, [1]]
        return [*far, control.low + 0.5] if control.whole else far
    if control.kind == "point":
        return [
            [0],
            [0, 0, 0],
            [2 * control.limit, 0],
            [math.nan, 0],
            "ab",
            "11",
            [True, False],
            ["1", "1"],
            None,
            3,
        ]
    if control.kind == "choice":
        return ["no such option", None, -12345, True]
    if control.kind == "toggle":
        return [1, "True", None]
    if control.kind == "text":
        return [control.letters[-1] * (control.most + 1), "na\u00efve", "two\nlines", None, 3]
    if control.kind == "paste":
        return ["x" * (control.most + 1), None, 3]
    if control.kind == "sketch":
        return [[0.0] * (control.most + 1), [1.5], [math.nan], ["1"], [True], "0.5", "", None, 0.5]
    if control.kind == "numbers":
        far = [[control.low - 1], [2 * control.high], [1.0] * (control.most + 1)]
        return [*far, [math.nan], ["1"], [True], "1", "", None, 1.0]
    return ["", "  ", " ".join(["word"] * (control.max_words + 1)), "x" * 17, None, 3]


@pytest.mark.sampled
@pytest.mark.parametrize(("figure", "name", "control"), CASES)
def test_trait_takes_its_range_and_the_python_line_makes_the_state(figure, name, control):
    assert control.label
    others = around(figure, name)
    for value in allowed(control):
        made = figure(**others, **{name: value})
        assert getattr(made, name) == value
        assert getattr(eval(repr(made), vars(widgets)), name) == value
        made = figure(**others)
        setattr(made, name, value)
        assert made.get_state()[name] == value


@pytest.mark.parametrize(("figure", "name", "control"), CASES)
def test_trait_refuses_the_rest_with_a_sentence(figure, name, control):
    made = figure()
    before = getattr(made, name)
    for value in refused(control):
        with pytest.raises(traitlets.TraitError, match=rf"^{figure.__name__}\.{name} must be .+, got .+\.$"):
            setattr(made, name, value)
        assert getattr(made, name) == before
        with pytest.raises(traitlets.TraitError, match="must be"):
            figure(**{name: value})


@pytest.mark.parametrize("figure", LiveFigure.figures.values())
def test_reset_brings_back_what_the_figure_was_made_with(figure):
    made = figure()
    for name, control in figure.controls().items():
        with suppress(traitlets.TraitError):  # an earlier control may rule it out
            setattr(made, name, allowed(control)[0])
    made.reset()
    assert repr(made) == f"{figure.__name__}()"


def test_numpy_numbers_are_numbers():
    assert RotatePair(position=np.int64(3)).position == 3
    assert RotatePair(inv_freq=np.float32(0.5)).inv_freq == 0.5
    assert RotatePair(q=np.array([0.5, 1.0])).q == [0.5, 1.0]


def test_a_misspelt_name_is_refused():
    with pytest.raises(
        TypeError, match=r"RotatePair has no positoin\. Did you mean position\? It takes position"
    ):
        RotatePair(positoin=3)
    with pytest.raises(TypeError, match=r"has no theta\. Did you mean inv_freq\?"):
        RotatePair(theta=0.5)
    with pytest.raises(AttributeError, match=r"'positoin'\. Did you mean position\? It has position"):
        RotatePair().positoin = 3


def test_what_is_no_attribute_is_answered_with_one_that_is_alike():
    with pytest.raises(AttributeError, match=r"RotatePair has no attribute 'scor'\. Did you mean score\?"):
        RotatePair().scor  # noqa: B018
    with pytest.raises(ValueError, match=r"no result 'share_rihgt'\. Did you mean share_right\? It has"):
        widgets.ModelInThePage().sweep("times", [1], "share_rihgt")
    assert [*RotatePair().sweep("position", [1], "score")] == ["position", "score"]


@pytest.mark.parametrize("figure", LiveFigure.figures.values(), ids=LiveFigure.figures)
def test_a_result_names_the_controls_that_move_it(figure):
    made = figure()
    for name in set(made.results()) - {"share_right", "share_right_beyond", "loss", "loss_beyond"}:  # torch
        with pytest.raises(traitlets.TraitError, match=r"is a result: set the controls .* from \(\w"):
            setattr(made, name, 1)


def test_the_score_follows_from_all_controls_but_the_lock():
    follows = RotatePair.results()["score"].follows(RotatePair().values())
    assert follows == [name for name in RotatePair.controls() if name != "lock"]


def test_a_control_that_a_limit_moves_is_told():
    figure = widgets.ModelInThePage(rule="by-parts")
    figure.ramp_to = 4
    figure.ramp_from = 3
    said = r"ramp_from moved from 3\.0 to 0\.9, since it must be at most 0\.9 \(ramp_to − 0\.1\)\."
    with pytest.warns(UserWarning, match=said):
        figure.ramp_to = 1


def test_a_long_value_is_cut_in_the_sentence():
    with pytest.raises(traitlets.TraitError, match=r"got 'ä{76}\.\.\.\.$"):
        widgets.ModelInThePage().own = "ä" * 500


def test_settings_without_names_are_told_their_names():
    with pytest.raises(TypeError, match=r"as in ScoreDistance\(distance=128\)"):
        ScoreDistance(128)
    with pytest.raises(TypeError, match=r"as in ModelInThePage\(rule='yarn'\)"):
        widgets.ModelInThePage("yarn")
    with pytest.raises(TypeError, match=r"by name, which are position, key_position, "):
        RotatePair("left")
    with pytest.raises(TypeError, match=r"by name, as in RotatePair\(position=6, key_position=2\)"):
        RotatePair(6, 2)


def test_a_part_of_a_vector_cannot_be_set_alone():
    figure = RotatePair()
    before = list(figure.q)
    changes = [
        lambda q: q.__setitem__(0, -0.5),
        lambda q: q.append(1.0),
        lambda q: q.sort(),
        lambda q: q.__iadd__([1.0]),
    ]
    for change in changes:
        with pytest.raises(TypeError, match="set the whole list"):
            change(figure.q)
    assert figure.q == before == copy.deepcopy(figure.q) == pickle.loads(pickle.dumps(figure.q))
    figure.reset()
    assert figure.q == before


def test_an_error_in_a_cell_is_its_line_and_one_sentence():
    shell = InteractiveShell()
    shell.run_cell("from rope_book.widgets import RotatePair\nfigure = RotatePair()", silent=True)
    for line, sentence in {
        "figure.position = 1000": "TraitError: RotatePair.position must be a whole number from 0 to 64",
        "RotatePair(6, 2)": "TypeError: RotatePair takes its settings by name",
        "figure.q[0] = 2": "TypeError: set the whole list, figure.q = [...]",
        "figure.scor": "AttributeError: RotatePair has no attribute 'scor'. Did you mean score?",
    }.items():
        with io.StringIO() as said, contextlib.redirect_stdout(said):
            shell.run_cell(f"import math\n{line}")
            lines = said.getvalue().strip().splitlines()
        assert lines[0] == f"line 2: {line}", lines
        assert len(lines) <= 3
        assert lines[-1].startswith(sentence), lines


def test_a_warning_in_a_cell_is_one_line():
    shell = InteractiveShell()
    shell.run_cell("from rope_book.widgets import ScoreDistance\nfigure = ScoreDistance()")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        shell.run_cell("import math\nfigure.peak = 300")
    (each,) = told
    said = warnings.formatwarning(each.message, each.category, each.filename, each.lineno)
    assert said.startswith("line:2: UserWarning: ScoreDistance.peak has no effect while ")
    assert said.count("\n") == 1


def test_observers_hear_a_change():
    heard = []
    made = RotatePair()
    made.observe(heard.append, "position")
    made.position = 12
    made.position = 12
    assert [change["new"] for change in heard] == [12]


def test_two_figures_share_nothing():
    first, second = RotatePair(), RotatePair()
    first.q = [0.1, 0.2]
    assert second.q == RotatePair().q != first.q


def test_an_embedded_state_is_whole():
    figure = RotatePair(position=7)
    state = figure.get_state(drop_defaults=True)
    assert {name: state[name] for name in figure.controls()} == {
        name: getattr(figure, name) for name in figure.controls()
    }
    assert {"_esm", "_css", "_controls"} <= set(state)


@pytest.mark.parametrize("figure", LiveFigure.figures.values(), ids=LiveFigure.figures)
def test_at_most_three_controls_lead(figure):
    assert 1 <= len(figure.leads()) <= 3
    assert len(set(figure.leads())) == len(figure.leads())
    assert set(figure.leads()) <= set(figure.controls())


@pytest.mark.parametrize("figure", LiveFigure.figures.values(), ids=LiveFigure.figures)
def test_few_options_are_options_and_parts_are_no_controls(figure):
    for name, few in figure.few.items():
        assert set(few) < set(figure.controls()[name].options)
    assert not set(figure.parts) & set(figure.controls())


@pytest.mark.parametrize("figure", LiveFigure.figures.values(), ids=LiveFigure.figures)
def test_a_small_form_is_asked_for_by_names_of_controls_and_parts(figure):
    names = (next(iter(figure.controls())), *figure.parts)
    made = figure(only=names)
    assert made.only == list(names)
    assert eval(repr(made), vars(widgets)).only == list(names)
    for wrong in ((), ("no such control",), names[0], (names[0], names[0]), 7):
        with pytest.raises(traitlets.TraitError, match=rf"{figure.__name__}\.only must list controls"):
            figure(only=wrong)


def test_a_whole_figure_keeps_no_word_of_its_small_form():
    assert "only" not in RotatePair().get_state()
    assert "only" not in repr(RotatePair())
    assert RotatePair(only=("lock",)).get_state()["only"] == ["lock"]
    later = RotatePair()
    later.only = ["lock"]
    assert later.get_state("only") == {"only": ["lock"]}


def test_a_setting_without_effect_warns_unless_a_hand_or_a_reset_moves_it():
    said = r"ScoreDistance\.peak has no effect while vectors is 'constant'; it needs vectors='rotated'"
    with pytest.warns(UserWarning, match=said):
        figure = ScoreDistance(peak=300)
    with pytest.warns(UserWarning, match=said):
        figure.peak = 200
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ScoreDistance(peak=300, only=("vectors",))  # the reader is to choose the vectors
    figure.reset()
    figure.set_state({"peak": 77})
    assert figure.peak == 77
    figure.vectors = "rotated"
    figure.peak = 30
