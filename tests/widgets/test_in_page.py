"""Exercises in the page: their answers and mistakes are judged by the page as `check` judges them."""

import re
import tomllib

import numpy as np
import pytest
from solutions import PATHS, answers_of

from rope_edu.check import check
from rope_edu.check.answers import plain
from rope_edu.check.in_page import FILE, in_page, judged

from .v8 import scripts

EXERCISES = in_page()
ROWS = {name: asked for name, asked in EXERCISES.items() if asked["kind"] == "row"}
TABLES = {name: asked for name, asked in EXERCISES.items() if asked["kind"] != "row"}
of_each = pytest.mark.parametrize("asked", ROWS.values(), ids=ROWS)
of_each_table = pytest.mark.parametrize("asked", TABLES.values(), ids=TABLES)
ENTRIES = tomllib.loads(FILE.read_text(encoding="utf-8"))
SOLVED = {name: answer for chapter in PATHS for name, answer in answers_of(chapter).items()}
TINY = 1e-12


@pytest.fixture(scope="module")
def page():
    """The judge of the page, in V8."""
    with scripts("lib/judge") as started:
        yield started


def verdict(page, asked, numbers) -> dict:
    return page.answer([("judge", [asked, [float(value) for value in numbers]])])[0]


@of_each
def test_the_answer_is_that_of_the_solution_and_check_takes_it_as_far_off_as_the_page_does(asked, page):
    solution = plain(SOLVED[asked["id"]])
    solution = solution.tolist() if hasattr(solution, "tolist") else solution
    wanted = np.ravel(solution).tolist()
    assert asked["numbers"] == pytest.approx(wanted, rel=1e-9)
    for sign in (1, -1, 0):
        off = [
            value if isinstance(value, bool) or not sign else value * (1 + sign * (asked["within"] - TINY))
            for value in asked["numbers"]
        ]
        if asked["within"] or not sign:
            assert judged(check.exercises[asked["id"]], off, ENTRIES[asked["id"]].get("shape")) is True
            assert verdict(page, asked, off) == {"right": True, "why": ""}


@of_each
def test_a_known_mistake_gets_the_sentence_of_check(asked, page):
    assert asked["slips"]
    for slip, why in asked["slips"]:
        said = judged(check.exercises[asked["id"]], slip, ENTRIES[asked["id"]].get("shape"))
        assert said is not True
        assert (
            verdict(page, asked, slip) == {"right": False, "why": said or ""} == {"right": False, "why": why}
        )


@of_each_table
def test_every_choice_of_names_or_order_of_words_has_the_verdict_of_check(asked, page):
    exercise = check.exercises[asked["id"]]
    form = set if asked["kind"] == "several" else " ".join
    for key in asked["verdicts"]:
        said = judged(exercise, [form(key.split())])
        found = page.answer([("judge", [asked, key.split()])])[0]
        assert found["right"] == (said is True)
        assert found["why"] == (said if isinstance(said, str) else "" if said is True else found["why"])
        assert found["right"] or found["why"].endswith((".", "?"))
    solution = SOLVED[asked["id"]]
    key = " ".join(each for each in asked["items"] if each in solution)
    assert asked["verdicts"][solution if isinstance(solution, str) else key] == ""
    assert set(asked["items"]) == {word for key in asked["verdicts"] for word in key.split()}


def test_what_cannot_be_answered_in_the_page_is_named_and_no_more():
    numbers_or_names = {name for name, answer in SOLVED.items() if not callable(answer)}
    named = set(re.findall(r"\d+\.\d", FILE.read_text(encoding="utf-8").partition("answered in Python")[0]))
    assert named == numbers_or_names - set(EXERCISES)


TYPED = [("16, 65", [16, 65]), ("(16 65)", [16, 65]), ("16;65", [16, 65]), ("True, False", [1, 0])]
TYPED += [("17,206, 2,794", [17206, 2794]), ("8/3 16/3", [8 / 3, 16 / 3]), ("", []), ("[1, 2.5,]", [1, 2.5])]


@pytest.mark.parametrize(("text", "numbers"), TYPED)
def test_several_numbers_are_read_as_people_type_them(text, numbers, page):
    assert page.answer([("numbersOf", [text])])[0] == pytest.approx(numbers)
