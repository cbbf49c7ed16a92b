"""A question's right answer is the one that its finding finds, and no other answer could stand in its place."""

from functools import cache

import pytest

from rope_book.widgets._questions import questions

from .findings import agrees, findings, unread

ASKED, FOUND = questions(), findings()
of_each = pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)


@cache
def found(name):
    return FOUND[name]()


def others(asked):
    """Yield the question as it would be with each of its wrong answers called right."""
    if asked["kind"] == "choices":
        yield from (asked | {"answer": n} for n in range(len(asked["choices"])) if n != asked["answer"])
    elif asked["kind"] == "place":
        yield from (asked | {"place": place} for place in asked["places"] if place != asked["place"])
    else:
        key = "order" if asked["kind"] == "order" else "number"
        yield from (asked | {key: answer} for answer, _ in asked["slips"])


def test_every_question_has_a_finding_and_every_finding_its_question():
    assert set(FOUND) == set(ASKED), "tests/book/widgets/findings has a function for every question"


@of_each
def test_the_right_answer_is_the_one_that_is_found(asked):
    finding = found(asked["id"])
    if isinstance(finding, dict):
        assert len(finding) >= 2, "a finding that can only say yes"
        assert not unread(asked, finding), (
            "words of tests/book/widgets/findings that stand in no answer, or in two"
        )
    assert agrees(asked, finding)


@of_each
def test_no_wrong_answer_can_be_called_right(asked):
    swapped = list(others(asked))
    assert len(swapped) >= (1 if asked["kind"] == "setting" else 2)
    assert not any(agrees(other, found(asked["id"])) for other in swapped)
