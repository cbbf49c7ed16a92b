"""The exercise checkers say one thing at a time, always the same, and never swallow an error."""

import math
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from rope_book.check import Checker, Exercise, check, close
from rope_book.check.exercise import judges
from rope_book.check.rows import entries

FIRST = "Exercise 1.1: "


def say(capsys, checker, exercise_id, answer):
    capsys.readouterr()
    assert checker(exercise_id, answer) is None
    return capsys.readouterr().out


@pytest.fixture
def small():
    return Checker((Exercise("1.1", lambda answer: answer() == 2, hints=("Faint.", "Plain."), shows="Two."),))


def test_a_right_answer_is_confirmed_with_what_it_shows(small, capsys):
    assert say(capsys, small, "1.1", lambda: 2) == FIRST + "correct. Two.\n"
    silent = Checker((Exercise("1.1", lambda answer: np.bool_(True), hints=("Faint.",)),))
    assert say(capsys, silent, "1.1", 0) == FIRST + "correct.\n"


def test_each_failure_earns_the_next_hint_and_the_last_repeats(small, capsys):
    replies = [say(capsys, small, "1.1", wrong) for wrong in (lambda: 3, lambda: 4, lambda: 5)]
    first, last = "not yet.\nHint 1 of 2: Faint.\n", "not yet.\nHint 2 of 2: Plain.\n"
    assert replies == [FIRST + first, FIRST + last, FIRST + last]
    small.reset()
    assert say(capsys, small, "1.1", lambda: 3) == FIRST + first


@pytest.mark.parametrize("stub", [..., (..., ...), [5, ...], ((1, ...), (2, 3)), {...}])
def test_an_untouched_stub_is_no_failure(small, stub, capsys):
    asked = FIRST + "replace the ... with your answer and run this cell again.\n"
    assert say(capsys, small, "1.1", stub) == asked
    assert "Hint 1" in say(capsys, small, "1.1", lambda: 3)


def test_an_error_in_the_answer_is_shown_without_addresses(small, capsys):
    def broken():
        raise TypeError(f"cannot add {object()!r}")

    reply = say(capsys, small, "1.1", broken)
    assert reply.startswith(FIRST + "not yet. Your answer raised TypeError: cannot add <object object>\n")


def test_a_typo_takes_no_hint_and_counts_as_no_mistake(small, capsys):
    assert "NameError" in say(capsys, small, "1.1", lambda: undefined_name)  # noqa: F821
    assert "Hint 1 of 2" in say(capsys, small, "1.1", lambda: 3)
    assert small.record()["1.1"]["tries"] == 1
    say(capsys, small, "1.1", lambda: 2)
    assert small.record() == {"1.1": {"right": True, "tries": 2, "mistakes": []}}
    say(capsys, small, "1.1", lambda: 3)
    assert small.record()["1.1"]["tries"] == 2  # nothing counts after the right answer


def test_the_same_wrong_answer_costs_one_hint_and_counts_once(small, capsys):
    def run_again():
        return [say(capsys, small, "1.1", wrong) for wrong in (lambda: 3, lambda: 4)]

    assert "Hint 1 of 2" in run_again()[0]
    assert all("Hint 2 of 2" in reply for reply in run_again())
    assert small.record()["1.1"]["tries"] == 2
    three = Checker((Exercise("1.1", lambda n: n == 2, hints=("Faint.", "Plain.")),))
    assert all("Hint 1 of 2" in say(capsys, three, "1.1", np.array([3])) for _ in range(2))


@pytest.mark.parametrize(
    "answer",
    [None, "0.5", lambda: 0.5, [1, 2], math.nan],
    ids=["None", "text", "function", "list", "nan"],
)
def test_what_is_no_answer_at_all_is_no_try(answer, capsys):
    mine = Checker()
    say(capsys, mine, "4.2", answer)
    assert mine.record() == {}
    say(capsys, mine, "4.2", 0.3)
    assert mine.record()["4.2"]["tries"] == 1


def test_the_record_has_the_kind_of_a_mistake_and_nothing_of_the_answer(capsys):
    def judge(answer):
        return f"It is not {answer!r}, as in float32: layer 2's score is one of {[answer, -1.5e-7]}."

    mine = Checker((Exercise("1.1", judge, hints=("Faint.",)),))
    for answer in (0.3, -1_000.25, "yes it is"):
        say(capsys, mine, "1.1", answer)
    kind = "It is not …, as in float32: layer …'s score is one of […, …]."
    assert mine.record()["1.1"]["mistakes"] == [kind] * 3


def test_an_unknown_exercise_is_named_with_the_known_ones(small):
    with pytest.raises(ValueError, match=r"exercise must be one of 1\.1; got '9\.9'"):
        small("9.9", 1)
    with pytest.raises(ValueError, match=r"one of .*4\.1, 4\.2, 4\.3.*got '0\.0'"):
        check("0.0", 1)


def test_exercises_must_be_well_formed():
    with pytest.raises(ValueError, match=r"id must be chapter\.number, such as '4\.1', got '4'"):
        Exercise("4", bool, hints=("Hint.",))
    with pytest.raises(ValueError, match=r"hints of exercise 4\.1 must have at least one hint, got none"):
        Exercise("4.1", bool, hints=())
    with pytest.raises(ValueError, match=r"exercise ids must differ, got '4\.1' twice"):
        judges("4.1")(bool)
    twin = Exercise("4.1", bool, hints=("Hint.",))
    with pytest.raises(ValueError, match=r"exercise ids must differ, got '4\.1' twice"):
        Checker((twin, twin))


def test_an_exercise_has_its_judge_in_its_chapter_or_among_the_rows():
    for name, exercise in check.exercises.items():
        chapter = name.partition(".")[0].lower().zfill(2)
        home = "rows" if "ask" in entries().get(name, {}) else f"chapter_{chapter}"
        assert exercise.right.__module__ == f"rope_book.check.{home}"


@pytest.mark.parametrize(
    ("a", "b"),
    [(1, 1.0), ([1, 2], (1.0, 2.0)), (np.ones(3), torch.ones(3, requires_grad=True)), (1 + 1j, 1 + 1j)],
)
def test_close_takes_every_form_of_numbers(a, b):
    assert close(a, b) is True


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (1, 1.00001),
        ([1, 2], [1, 2, 3]),
        ([1], 1),
        ([[1, 2]], [1, 2]),
        ([1, [2, 3]], [1, 2]),
        ("1", 1),
        (None, 0),
        (math.nan, math.nan),
        (lambda: 1, 1),
    ],
)
def test_close_is_false_and_never_raises(a, b):
    assert close(a, b) is False


def test_close_uses_its_tolerance():
    assert close(1.0, 1.05, tol=0.1)
    assert not close(1.0, 1.05, tol=0.01)


def test_the_book_s_own_solutions_leave_no_trace_in_the_record(monkeypatch):
    cells = [""]
    history = SimpleNamespace(input_hist_raw=cells)
    shell = SimpleNamespace(history_manager=history)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    mine = Checker((Exercise("1.1", lambda x: x == 4, hints=("Add.",)),))
    cells.append("# @title Solutions\ncheck('1.1', 4)")
    mine("1.1", 4)
    assert mine.record() == {}
    cells.append("check('1.1', 4)")
    mine("1.1", 4)
    assert mine.record()["1.1"]["right"]


def test_an_unknown_number_is_answered_with_those_of_its_chapter():
    with pytest.raises(
        ValueError, match=r"^exercise must be one of 4\.1, 4\.2, 4\.3, 4\.c; got '4\.9'$"
    ) as said:
        Checker()("4.9", 3)
    line, _, sentence = said.value._render_traceback_()
    assert line.endswith('Checker()("4.9", 3)')
    assert sentence.startswith("ValueError: exercise must be one of 4.1")
