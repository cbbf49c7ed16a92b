"""Questions: complete, accepted by their figures, correct in Python, and judged by the page as in their file."""

import json
import math
import re
from contextlib import suppress

import pytest
from traitlets import TraitError

from rope_book.widgets import Clocks, LiveFigure, PatchScores, Question, RotatePair
from rope_book.widgets._questions import KINDS, chapters, questions
from rope_book.widgets.patch_scores import score_of
from rope_book.widgets.question import answer_of, as_list, rich

from .v8 import scripts

ASKED = questions()
of_each = pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
WITH_FIGURE = {name: asked for name, asked in ASKED.items() if asked["figure"]}
of_each_with_figure = pytest.mark.parametrize("asked", WITH_FIGURE.values(), ids=WITH_FIGURE)
FIELDS = {"id", "ask", "because", "show", "figure", *KINDS, "places", "wrong", "within", "unit", "slips"}
FIELDS |= {"otherwise"}


@pytest.fixture(scope="module")
def page():
    """The page's judge in V8."""
    with scripts("lib/judge", "lib/rich") as started:
        yield started


def judged(page, asked, given):
    return page.answer([("judge", [asked, given])])[0]


def test_files_hold_nothing_that_nobody_reads_and_ids_begin_with_their_chapter():
    for chapter, file in chapters().items():
        assert set(file) <= {"figure", "page", "question"}
        assert file["page"].startswith(f"{chapter}_")
        for entry in file["question"]:
            assert set(entry) <= FIELDS, entry["id"]
            assert re.fullmatch(rf"{chapter}-[a-z0-9-]+", entry["id"])
    assert len(ASKED) == sum(len(file["question"]) for file in chapters().values())


@of_each
def test_a_question_says_why_and_every_wrong_answer_has_a_sentence_of_its_own(asked):
    assert asked["ask"].rstrip().endswith(("?", ".", ":"))
    assert asked["because"].endswith((".", "?", ".)"))
    replies = asked.get("choices", asked.get("slips", []))
    sentences = [why for answer, why in replies if answer != asked.get("answer") and why]
    assert len(set(sentences)) == len(sentences) >= (2 if asked["kind"] != "setting" else 1)
    assert all(re.search(r"[.?!]\)?$", why) for why in sentences)
    if asked["kind"] == "choices":
        assert len(asked["choices"]) - len(sentences) == 1
        assert len({answer for answer, _ in asked["choices"]}) == len(asked["choices"]) >= 3
    else:
        assert asked["otherwise"].endswith((".", "?"))
        assert len({str(answer) for answer, _ in asked["slips"]}) == len(asked["slips"])


def test_the_longest_choice_and_the_place_of_a_choice_tell_nothing():
    choices = [asked for asked in ASKED.values() if asked["kind"] == "choices"]
    longest = [max(asked["choices"], key=lambda choice: len(choice[0]))[1] == "" for asked in choices]
    assert sum(longest) / len(choices) < 0.4
    for place in range(4):
        assert sum(asked["answer"] == place for asked in choices) / len(choices) < 0.4


def test_a_question_names_its_figure_or_says_that_it_has_none():
    for asked in ASKED.values():
        assert ("show" in asked) == bool(asked["figure"]), asked["id"]
        assert asked["kind"] not in ("setting", "place") or asked["figure"], asked["id"]


@pytest.mark.parametrize("kind", ["setting", "place"])
def test_what_a_figure_answers_is_asked_in_chapters_enough(kind):
    assert len({asked["chapter"] for asked in ASKED.values() if asked["kind"] == kind}) >= 5


def test_every_other_place_to_click_has_its_sentence():
    for asked in (asked for asked in ASKED.values() if asked["kind"] == "place"):
        assert {asked["place"], *(place for place, _ in asked["slips"])} == set(asked["places"])
        assert len(asked["places"]) == len(asked["slips"]) + 1 >= 4


@of_each
def test_a_value_to_leave_is_one_that_the_control_takes_and_not_where_it_is(asked):
    if asked["kind"] == "setting":
        control = LiveFigure.figures[asked["figure"]].controls()[asked["control"]]
        assert control.validate(None, asked["number"]) == asked["number"]
        assert abs(control.default_value - asked["number"]) > asked["within"]


@of_each_with_figure
def test_the_figure_takes_the_state_that_shows_why(asked):
    figure = LiveFigure.figures[asked["figure"]](**asked["show"])
    assert {name: getattr(figure, name) for name in asked["show"]} == asked["show"]
    assert set(asked["show"]) <= set(figure.controls())
    if asked["kind"] == "setting":
        assert asked["control"] in figure.controls()


@of_each
def test_the_page_finds_the_right_answer_right_and_gives_each_wrong_one_its_sentence(asked, page):
    if asked["kind"] == "choices":
        right, others = asked["answer"], [(n, why) for n, (_, why) in enumerate(asked["choices"]) if why]
    else:
        right, others = asked.get("order", asked.get("place", asked.get("number"))), asked["slips"]
        away = asked.get("items", "nowhere" if asked["kind"] == "place" else 1e9)
        assert judged(page, asked, away) in (
            {"right": False, "why": asked["otherwise"]},
            {"right": False, "why": dict(map(str, pair) for pair in others).get(str(away))},
        )
    assert judged(page, asked, right) == {"right": True, "why": ""}
    for given, why in others:
        assert judged(page, asked, given) == {"right": False, "why": why}


TYPED = [("15.9", 15.9), ("15,9", 15.9), ("1,707", 1707), ("70,700.5", 70700.5), ("1/3", 1 / 3), ("−2", -2)]
TYPED += [
    ("50 %", 50),
    (" 16 cells", 16),
    ("1e-3", 1e-3),
    ("none", math.nan),
    ("", math.nan),
    ("1/2/3", math.nan),
]


@pytest.mark.parametrize(("text", "number"), TYPED)
def test_a_number_is_read_as_people_type_it(text, number, page):
    found = page.answer([("numberOf", [text])])[0]
    assert found == ("NaN" if math.isnan(number) else pytest.approx(number))  # JSON has no NaN


@of_each
def test_the_list_without_a_script_has_the_answer_in_a_fold_and_says_what_the_page_says(asked, page):
    text = as_list([asked])
    before, fold = text.split("<details>")
    assert rich(asked["because"]) in fold
    assert rich(asked["because"]) not in before
    assert page.answer([("answerOf", [asked])])[0] == answer_of(asked)


def test_an_answer_sets_the_figure_that_was_given_and_nothing_else():
    first, second = RotatePair(position=3), RotatePair(position=4)
    asked = Question("04-lock", figure=first)
    asked.set_state({"_show": {"id": "04-lock", "state": {"position": 16, "lock": True}, "turn": 1}})
    assert (first.position, first.lock, second.position) == (16, True, 4)
    asked.set_state({"_show": {"id": "04-move", "state": {}, "turn": 2}})
    assert (first.position, first.lock) == (3, False)


@of_each_with_figure
def test_in_a_kernel_the_figure_goes_to_that_state_from_wherever_a_hand_left_it(asked):
    figure = LiveFigure.figures[asked["figure"]]()
    for name, control in figure.controls().items():  # to the other end, as far as the rules allow
        with suppress(TraitError):
            setattr(figure, name, control.describe().get("high"))
    question = Question(asked["id"], figure=figure)
    question.set_state({"_show": {"id": asked["id"], "state": asked["show"], "turn": 1}})
    fresh = LiveFigure.figures[asked["figure"]](**asked["show"])
    assert repr(figure) == repr(fresh)


def test_a_click_in_the_figure_reaches_the_questions_by_way_of_python(monkeypatch):
    figure, sent = Clocks(), []
    asked = Question("06-whole", figure=figure)
    monkeypatch.setattr(figure, "send", lambda content: sent.append(("figure", content)))
    monkeypatch.setattr(asked, "send", lambda content: sent.append(("question", content)))
    wanted = {"pick": {"id": "06-whole", "names": ["pair 0", "pair 23"]}}
    asked._handle_custom_msg(wanted, [])
    picked = {"picked": {"id": "06-whole", "name": "pair 23"}}
    figure._handle_custom_msg(picked, [])
    asked._handle_custom_msg({"other": 1}, [])
    assert sent == [("figure", wanted), ("question", picked)]


def test_without_a_figure_the_newest_displayed_of_its_class_is_set_and_its_values_are_known():
    figure = RotatePair(position=5)
    figure._repr_mimebundle_()
    other = RotatePair(position=8)  # never displayed
    asked = Question("04-lock")
    assert asked.figure is figure
    figure.position = 9
    assert asked._now["position"] == 9
    RotatePair(position=50)._repr_mimebundle_()  # a later cell's
    asked.set_state({"_show": {"id": "04-lock", "state": {"position": 16}, "turn": 1}})
    assert (figure.position, other.position) == (16, 8)


PAGE = """(() => {
    globalThis.Node = { DOCUMENT_POSITION_FOLLOWING: 4 };
    globalThis.CustomEvent = class { constructor(type) { this.type = type; } };
    const heard = [];
    const figure = (name, place) => ({
        place, compareDocumentPosition: (other) => (other.place > place ? 4 : 2),
        dispatchEvent: ({ type }) => heard.push(`${name} ${type}`),
    });
    const all = %s.map(([name, place]) => figure(name, place));
    globalThis.document = { querySelectorAll: () => all };
    const values = { _named: %s, _now: { position: 6 } };
    const set = (name) => heard.push(`Python ${name}`);
    const model = { get: (name) => values[name], set, save_changes() {}, on() {} };
    askedFigure({ place: 2, closest: () => null }, model).show({ id: "a", figure: "RotatePair", show: {} });
    return heard;
})()"""


@pytest.mark.parametrize(
    ("figures", "named", "heard"),
    [
        ([["old", 0], ["above", 1], ["below", 3]], "false", "above rl-show"),
        ([["above", 1]], "true", "Python _show"),
        ([["below", 3]], "false", "Python _show"),  # as in Colab, where no other output is in the document
    ],
)
def test_in_a_notebook_an_answer_sets_the_nearest_figure_above_the_question(figures, named, heard):
    with scripts("lib/asked_figure") as page:
        assert page.evaluate(PAGE % (json.dumps(figures), named)) == [heard]


def test_a_question_tells_the_page_whether_its_figure_was_named():
    assert Question("04-lock", figure=RotatePair()).get_state()["_named"]
    assert not Question("04-lock").get_state()["_named"]


def test_a_question_without_any_figure_still_asks():
    LiveFigure.newest.clear()
    asked = Question("04-lock")
    asked.set_state({"_show": {"id": "04-lock", "state": {"position": 16}, "turn": 1}})
    assert asked.figure is None


def test_wrong_arguments_get_a_sentence():
    with pytest.raises(ValueError, match="name one question or more"):
        Question()
    with pytest.raises(ValueError, match="figure must be one of AngleChart"):
        Question("04-lock", figure="Rotate")
    with pytest.raises(ValueError, match="a question must be one of 04-move"):
        Question("04-look")


def test_the_scores_told_of_four_patches_are_those_of_the_figure():
    asked = ASKED["20-mixed"]
    figure = PatchScores(**asked["show"])
    right, farther, down, both = asked["places"]
    away = {right: (0, 5), farther: (0, 8), down: (5, 0), both: (5, 5)}
    scores = {place: f"{score_of(figure, *steps):.2f}" for place, steps in away.items()}
    assert (max(scores, key=scores.get), min(scores, key=scores.get)) == (asked["place"], farther)
    assert re.findall(r"0\.\d\d", asked["because"]) == [scores[both], scores[right]]
    assert {place: re.findall(r"0\.\d\d", why) for place, why in asked["slips"]} == {
        place: [score] for place, score in scores.items() if place != both
    }
