"""Every exercise takes a right answer in every form, and meets every mistake that is known with its own sentence.

Right answers are those of the notebooks' own solution cells. `cases/`, one file a chapter, has the others: WRONG
maps an exercise to pairs (wrong answer, words of the reply that fits it), ALSO_RIGHT to more right answers.
"""

import ast
import functools
import runpy
from collections.abc import Set
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
import torch
from solutions import PATHS, answers_of

import rope_book.check
from rope_book.check import Checker, check

JUDGES = Path(rope_book.check.__file__).parent
FILES = sorted((Path(__file__).parent / "cases").glob("chapter_*.py"))
CASES = {path.stem: runpy.run_path(str(path)) for path in FILES}
ALSO = {
    exercise: answers for case in CASES.values() for exercise, answers in case.get("ALSO_RIGHT", {}).items()
}
RIGHT = {
    exercise: [answer, *ALSO.get(exercise, [])]
    for name in PATHS
    for exercise, answer in answers_of(name).items()
}
WRONG = {exercise: answers for case in CASES.values() for exercise, answers in case["WRONG"].items()}


def in_parts(form, answer):
    """Take an answer apart where its parts are functions, or of different shapes, and give each the form."""
    if answer is None or callable(answer):
        return answer
    try:
        array = np.asarray(answer)
    except ValueError:  # parts of different shapes
        return tuple(in_parts(form, part) for part in answer)
    if array.dtype.kind == "O" and array.ndim == 0:
        return answer
    if array.dtype.kind == "O":
        return tuple(in_parts(form, part) for part in answer)
    return form(array)


def plain_scalar(array):
    return array if isinstance(array, str) else array[()]


def scalars(array):
    if array.size > 10_000:  # as many objects: one list of floats is enough
        return array.tolist()
    return list(map(scalars, array)) if array.ndim else plain_scalar(array)


def tuples(value):
    return tuple(map(tuples, value)) if isinstance(value, list) else value


def floats(array):
    return (array.astype(float) if array.dtype.kind in "biu" else array).tolist()


def tensor(array):
    return array.tolist() if array.dtype.kind == "U" else torch.from_numpy(array.copy())


def whole_numbers(array):
    whole = array.dtype.kind in "fb" and np.isfinite(array).all() and (array == np.round(array)).all()
    return (array.astype(int) if whole else array).tolist()


FORMS = {
    "lists": np.ndarray.tolist,
    "tuples": lambda array: tuples(array.tolist()),
    "arrays": lambda array: array,
    "NumPy scalars": scalars,
    "tensors": tensor,
    "floats": floats,
    "ints": whole_numbers,
}


def in_form(form, answer):
    """Put an answer, or what it returns if it is a function, into a form; words and sets keep theirs."""
    if isinstance(answer, str | Set):
        return answer
    if callable(answer):
        return functools.wraps(answer)(lambda *arguments: in_parts(form, answer(*arguments)))
    if isinstance(answer, tuple) and any(map(callable, answer)):
        return tuple(in_form(form, part) for part in answer)
    return in_parts(form, answer)


def reply(exercise, answer) -> str:
    with redirect_stdout(StringIO()) as said:
        Checker()(exercise, answer)
    return said.getvalue()


@functools.cache
def replies(exercise) -> list[str]:
    """Return the replies to the wrong answers of an exercise, without hints."""
    return [reply(exercise, answer).partition("\nHint")[0] for answer, _ in WRONG[exercise]]


def test_every_exercise_has_its_cases_and_no_case_is_left_over():
    assert set(RIGHT) == set(WRONG) == set(check.exercises)
    for name, case in CASES.items():
        number = name.removeprefix("chapter_").lstrip("0").upper()
        assert all(
            exercise.startswith(f"{number}.") for exercise in {**case["WRONG"], **case.get("ALSO_RIGHT", {})}
        )
    assert set(ALSO) <= set(RIGHT)


@pytest.mark.parametrize("exercise", RIGHT)
def test_a_right_answer_is_right(exercise):
    for answer in RIGHT[exercise]:
        assert (said := reply(exercise, answer)).startswith(f"Exercise {exercise}: correct."), said


@pytest.mark.sampled
@pytest.mark.parametrize("exercise", RIGHT)
def test_a_right_answer_is_right_in_every_form(exercise):
    tried = []
    for answer in RIGHT[exercise]:
        for name, form in FORMS.items():
            said = reply(exercise, given := in_form(form, answer))
            assert said.startswith(f"Exercise {exercise}: correct."), (name, said)
            tried.append(f"{given!r} {type(given)}" if not callable(given) else f"{name} {id(answer)}")
    assert len(set(tried)) >= 3, "fewer than three forms were tried"


@pytest.mark.parametrize("exercise", WRONG)
def test_a_known_mistake_is_met_with_the_sentence_that_fits(exercise):
    assert len(WRONG[exercise]) >= 3
    sentences = set()
    for (_, expected), said in zip(WRONG[exercise], replies(exercise), strict=True):
        assert said.startswith(f"Exercise {exercise}: not yet. "), (expected, said)
        assert expected in said, said
        sentences.add(said)
    assert len(sentences) >= 3, "fewer than three different sentences"


def sentences_of(name) -> set[str]:
    """Return the texts of a chapter's judges that have three words or more, docstrings left out."""
    tree = ast.parse((JUDGES / f"{name}.py").read_text(encoding="utf-8"))
    nodes = list(ast.walk(tree))
    texts = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    documented = (node for node in nodes if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef))
    texts -= {ast.get_docstring(node, clean=False) for node in documented}
    parts = {part for text in texts for part in text.split("{}")}  # {} is filled in later
    return {part for part in parts if len(part.split()) >= 3}


UNMET = {
    # a matrix before it has its columns in another order as well, and is as hard to get right
    "axial, axes dealt in turn",
}


def test_every_chapter_with_judges_has_cases():
    assert {path.stem for path in JUDGES.glob("chapter_*.py")} == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_every_sentence_of_a_judge_is_met_by_a_known_mistake(name):
    """A sentence that no answer brings up may have a wrong formula, and nobody would notice."""
    said = "\n".join(words for exercise in CASES[name]["WRONG"] for words in replies(exercise))
    sentences = sentences_of(name)
    assert {part for part in sentences if part not in said} == UNMET & sentences


ODD = [
    None,
    "words",
    "",
    10**6,
    -1,
    0.5,
    float("nan"),
    float("inf"),
    1j,
    True,
    [],
    (1, 2, 3),
    [[1], [1, 2]],
    {},
    {1},
]
ODD += [np.zeros((2, 2)), np.array(["a", "b"]), object(), abs, [None, None], ["a", "b"], b"bytes"]


@pytest.mark.parametrize("exercise", RIGHT)
def test_odd_answers_earn_a_sentence_and_never_a_bare_error(exercise):
    asks_for_functions = callable(RIGHT[exercise][0])
    for odd in ODD:
        answers = [odd, lambda *arguments, odd=odd: odd] if asks_for_functions else [odd]
        for answer in answers:
            said = reply(exercise, answer)
            if said.startswith(f"Exercise {exercise}: correct."):
                assert not asks_for_functions, odd
            elif answer is not abs:  # abs is called, and its own error is shown
                assert said.startswith(f"Exercise {exercise}: not yet. "), (odd, said)
                assert "raised" not in said, (odd, said)


def test_a_function_of_other_arguments_is_told_what_it_is_called_with():
    for exercise, answers in RIGHT.items():
        if callable(answers[0]):
            said = reply(exercise, lambda: 1)
            assert "It is called with" in said, said
