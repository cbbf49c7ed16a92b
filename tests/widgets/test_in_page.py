"""Exercises in the page: their answers and mistakes are judged by the page as `check` judges them."""

import pytest
from solutions import PATHS, answers_of

from rope_edu.check import check
from rope_edu.check.answers import plain
from rope_edu.check.in_page import in_page, judged

from .v8 import scripts

EXERCISES = in_page()
of_each = pytest.mark.parametrize("asked", EXERCISES.values(), ids=EXERCISES)
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
    wanted = solution if isinstance(solution, list) else [solution]
    assert asked["numbers"] == pytest.approx(wanted, rel=1e-9)
    for sign in (1, -1, 0):
        off = [
            value if isinstance(value, bool) or not sign else value * (1 + sign * (asked["within"] - TINY))
            for value in asked["numbers"]
        ]
        if asked["within"] or not sign:
            assert judged(check.exercises[asked["id"]], off) is True
            assert verdict(page, asked, off) == {"right": True, "why": ""}


@of_each
def test_a_known_mistake_gets_the_sentence_of_check(asked, page):
    assert asked["slips"]
    for slip, why in asked["slips"]:
        said = judged(check.exercises[asked["id"]], slip)
        assert said is not True
        assert (
            verdict(page, asked, slip) == {"right": False, "why": said or ""} == {"right": False, "why": why}
        )


TYPED = [("16, 65", [16, 65]), ("(16 65)", [16, 65]), ("16;65", [16, 65]), ("True, False", [1, 0])]
TYPED += [("17,206, 2,794", [17206, 2794]), ("8/3 16/3", [8 / 3, 16 / 3]), ("", []), ("[1, 2.5,]", [1, 2.5])]


@pytest.mark.parametrize(("text", "numbers"), TYPED)
def test_several_numbers_are_read_as_people_type_them(text, numbers, page):
    assert page.answer([("numbersOf", [text])])[0] == pytest.approx(numbers)
