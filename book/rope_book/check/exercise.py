"""Collect the chapters' exercises, judge answers, and reply to the reader."""

import copy
import functools
import importlib
import pkgutil
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import EllipsisType
from typing import Any

import numpy as np

from rope_book.check.answers import Reply, native, number, of_function
from rope_book.check.challenges import challenges, reached
from rope_book.errors import short

Verdict = bool | str | EllipsisType  # True, False, a sentence about the mistake, or `...` if unanswered
Judge = Callable[[Any], Verdict]
Known = tuple[Any, Mapping[str, Any], str]  # right answer, known mistakes, sentence for any other answer
HERE = Path(__file__).parent
MISSING = object()  # no answer was given
GIVEN = re.compile(r"(?<!\w)(?:'[^']*'|[-−+]?\d+(?:[.,]\d+)*(?:e[-+]?\d+)?)")  # texts in quotes and numbers


class Unread(str):
    """A reply to an answer that could not be judged, for example because of a typo; no hint is used up."""

    __slots__ = ()


JUDGES: dict[str, Judge] = {}  # filled when chapter_NN and rows are imported


@dataclass(frozen=True)
class Exercise:
    """An exercise: its id, its judge, hints from subtle to explicit, and the lesson to show after a right answer.

    The judge `right(answer)` returns True, False or a sentence that explains the mistake. It converts the answer
    with `rope_book.check.answers`, which raises Reply to end the judging. Any other exception is attributed to the
    reader's function and shown to the reader.
    """

    id: str
    right: Judge
    hints: tuple[str, ...]
    shows: str = ""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Z]?\d+\.\d+", self.id):
            raise ValueError(f"id must be chapter.number, such as '4.1', got {self.id!r}")
        if not self.hints:
            raise ValueError(f"hints of exercise {self.id} must have at least one hint, got none")


def _in_solutions() -> bool:
    """Return whether the current notebook cell contains the chapter's solutions."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    cells = shell.history_manager.input_hist_raw if shell and shell.history_manager else [""]
    return cells[-1].startswith("# @title Solutions")


class Checker:
    """The callable `check`, which judges readers' answers and gives the next hint after a wrong answer."""

    def __init__(self, exercises: tuple[Exercise, ...] | None = None) -> None:
        """Use the given exercises or, by default, those of all chapters, which are imported on first use."""
        self._exercises = None if exercises is None else _by_id(exercises)
        self._wrong: defaultdict[str, list[Any]] = defaultdict(list)  # wrong answers, each once
        self._record: dict[str, dict[str, Any]] = {}

    @property
    def exercises(self) -> dict[str, Exercise]:
        """All exercises, keyed by id."""
        if self._exercises is None:
            self._exercises = _by_id(find_exercises())
        return self._exercises

    def __call__(self, exercise_id: str = "", answer: object = MISSING) -> None:
        r"""Print whether `answer` is right and, if it is wrong, the next hint.

        Arguments: `exercise_id` is "chapter.number"; `answer` is a value or a function, depending on the exercise.
        For a challenge such as "18.c", it is a figure, whose current state is judged (see challenges.toml).
        Raises: ValueError for an unknown exercise. Errors in the answer are printed, not raised.

        >>> doubled = Exercise("1.1", lambda f: f(4) == 8, hints=("Try 2 * x.",), shows="Doubling.")
        >>> Checker((doubled,))("1.1", lambda x: x + 1)
        Exercise 1.1: not yet.
        Hint 1 of 1: Try 2 * x.
        >>> Checker((doubled,))("1.1", lambda x: x + x)
        Exercise 1.1: correct. Doubling.
        >>> Checker((doubled,))("1.1")
        check takes an exercise and your answer, as in check("1.1", answer).
        """
        if answer is MISSING:
            name = exercise_id if str(exercise_id) in {*self.exercises, *challenges()} else "4.1"
            return print(f'check takes an exercise and your answer, as in check("{name}", answer).')
        if exercise_id in challenges():
            return self._challenge(exercise_id, answer)
        if exercise_id not in self.exercises:
            chapter = str(exercise_id).partition(".")[0] + "."
            known = [name for name in self.exercises if name.startswith(chapter)]
            known += [name for name in challenges() if known and name.startswith(chapter)]
            names = ", ".join(known or self.exercises)
            raise short(ValueError(f"exercise must be one of {names}; got {exercise_id!r}"))
        exercise = self.exercises[exercise_id]
        print(f"Exercise {exercise.id}: {self._reply(exercise, answer)}")

    def reset(self) -> None:
        """Forget all wrong answers, so that hints start again from the first."""
        self._wrong.clear()

    def _challenge(self, name: str, figure: object) -> None:
        """Judge a figure's current state and print the verdict. An untouched figure is no try."""
        try:
            right, why = reached(name, figure)
        except Reply as reply:
            return print(f"Challenge {name}: not yet. {reply.verdict}")
        if right or (not figure.is_untouched() and self._is_new(name, figure, why)):
            self._note(name, right or why)
        print(f"Challenge {name}: {'reached' if right else 'not yet'}. {why}")

    def record(self) -> dict[str, dict[str, Any]]:
        """Return the reader's progress for a teacher: whether each exercise is right, the number of tries, and the
        mistakes.

        An answer that cannot be judged is no try, nor is a wrong answer given again, nor anything after a right
        answer. The record contains no names, and of the replies to mistakes only the words, without numbers and
        quoted texts, which may be the reader's. ``json.dumps(check.record())`` converts it to JSON.

        >>> mine = Checker((Exercise("1.1", lambda x: x == 4 or f"{x} is the square.", hints=("Add.",)),))
        >>> mine("1.1", 9)
        Exercise 1.1: not yet. 9 is the square.
        Hint 1 of 1: Add.
        >>> mine.record()
        {'1.1': {'right': False, 'tries': 1, 'mistakes': ['… is the square.']}}
        """
        return copy.deepcopy(self._record)

    def _note(self, name: str, verdict: Verdict) -> None:
        """Add a verdict to the record, unless an earlier one was right or the solutions cell gave the answer."""
        noted = self._record.get(name, {"right": False, "tries": 0, "mistakes": []})
        if noted["right"] or _in_solutions():
            return
        noted["tries"] += 1
        noted["right"] = verdict is True
        if isinstance(verdict, str):
            noted["mistakes"].append(GIVEN.sub("…", verdict))
        self._record[name] = noted

    def _is_new(self, name: str, answer: object, verdict: Verdict) -> bool:
        """Return whether a wrong answer was not given before. Functions are the same if their code is."""
        given = getattr(answer, "__code__", None) or repr(answer), verdict
        is_new = given not in self._wrong[name]
        if is_new:
            self._wrong[name].append(given)
        return is_new

    def _reply(self, exercise: Exercise, answer: object) -> str:
        """Judge the answer and return the verdict as text."""
        verdict = ... if _is_stub(answer) else _judge(exercise, answer)
        if verdict is ...:
            return "replace the ... with your answer and run this cell again."
        if isinstance(verdict, Unread):
            return f"not yet. {verdict}"
        if verdict is True or self._is_new(exercise.id, answer, verdict):
            self._note(exercise.id, verdict)
        if verdict is True:
            return f"correct. {exercise.shows}".rstrip()
        stage = min(len(self._wrong[exercise.id]), len(exercise.hints))
        reason = f" {verdict}" if verdict else ""
        return f"not yet.{reason}\nHint {stage} of {len(exercise.hints)}: {exercise.hints[stage - 1]}"


def judges(exercise_id: str) -> Callable[[Judge], Judge]:
    """Return a decorator that registers a function as an exercise's judge.

    Raises: ValueError if the exercise already has a judge.
    """

    def note(judge: Judge) -> Judge:
        if exercise_id in JUDGES:
            raise ValueError(f"exercise ids must differ, got {exercise_id!r} twice")
        JUDGES[exercise_id] = judge
        return judge

    return note


@functools.cache
def find_exercises() -> tuple[Exercise, ...]:
    """Return all chapters' exercises in order, with their judges from `chapter_NN` and `rows` and their hints."""
    for module in pkgutil.iter_modules([str(HERE)]):
        if module.name.startswith(("chapter_", "rows")):
            importlib.import_module(f"rope_book.check.{module.name}")
    words = tomllib.loads((HERE / "hints.toml").read_text(encoding="utf-8"))
    if alone := set(words) ^ set(JUDGES):
        raise ValueError(f"an exercise needs a judge and hints; {', '.join(sorted(alone))} has only one")
    return tuple(Exercise(name, JUDGES[name], tuple(of["hints"]), of["shows"]) for name, of in words.items())


def close(a: object, b: object, tol: float = 1e-6) -> bool:
    """Return whether two numbers, lists or arrays have the same shape and differ by at most `tol` in each entry.

    Any values are accepted; the result is False for text, different shapes or NaN.

    >>> close([1, 2], np.array([1.0, 2.0])), close([1, 2], [[1, 2]]), close("1", 1)
    (True, False, False)
    """
    try:
        a, b = (np.asarray(native(x)) for x in (a, b))
        return a.shape == b.shape and bool(np.all(np.abs(a - b) <= tol))
    except (TypeError, ValueError):  # ragged lists, text, None
        return False


def slip_of(
    result: Any, slips: Mapping[str, Any], otherwise: str = "", *, tol: float = 1e-6, ratio: bool = False
) -> str:
    """Return the sentence about the known mistake that leads to `result`, or `otherwise` if no known mistake does.

    Arguments: `slips` is {sentence: result of the mistake}; `tol` is as in `close`; with `ratio`, result / slip is
    compared with 1.

    >>> slip_of(3.0, {"That is the inverse.": 1 / 3, "Add the one.": 3}, "It is not 4.")
    'Add the one.'
    """
    return next((why for why, slip in slips.items() if _same(result, slip, tol, ratio)), otherwise)


def against(
    result: Any,
    right: Any,
    slips: Mapping[str, Any],
    otherwise: str,
    *,
    tol: float = 1e-6,
    ratio: bool = False,
) -> Verdict:
    """Return True if `result` is right, or else the sentence from `slip_of`.

    >>> against(4, 4, {}, "It is not 4.")
    True
    """
    return _same(result, right, tol, ratio) or slip_of(result, slips, otherwise, tol=tol, ratio=ratio)


def of_cases(
    cases: Iterable[tuple], ask: str = "It must return one number.", *, tol: float = 1e-6, ratio: bool = False
) -> Callable[[Callable[..., Known]], Judge]:
    """Return a decorator that makes a judge, which calls the reader's function on every case and expects one
    number.

    The decorated function receives the result and the arguments of a case, and returns (right, slips, otherwise)
    for `against`.

    >>> @of_cases([(1,), (4,)])
    ... def doubled(found, x):
    ...     return 2 * x, {"That is the square.": x * x}, f"{found} is not twice {x}."
    >>> doubled(lambda x: x + 1), doubled(lambda x: 2 * x)
    ('5 is not twice 4.', True)
    """

    def make(known: Callable[..., Known]) -> Judge:
        @of_function
        @functools.wraps(known)
        def judged(called: Callable[..., Any]) -> Verdict:
            for case in cases:
                result = number(called(*copy.deepcopy(case)), ask)
                if (verdict := against(result, *known(result, *case), tol=tol, ratio=ratio)) is not True:
                    return verdict
            return True

        return judged

    return make


def _same(result: Any, value: Any, tol: float, ratio: bool) -> bool:
    """Return whether result ≈ value or, with `ratio`, whether result / value ≈ 1."""
    return close(result / value, 1, tol) if ratio else close(result, value, tol)


def _by_id(exercises: tuple[Exercise, ...]) -> dict[str, Exercise]:
    """Return exercises by id; raise ValueError if two have the same id."""
    index: dict[str, Exercise] = {}
    for exercise in exercises:
        if exercise.id in index:
            raise ValueError(f"exercise ids must differ, got {exercise.id!r} twice")
        index[exercise.id] = exercise
    return index


def _is_stub(answer: object) -> bool:
    """Return whether the answer is `...`, or a tuple, list or set that still contains `...`."""
    return answer is ... or (isinstance(answer, tuple | list | set) and any(map(_is_stub, answer)))


def _judge(exercise: Exercise, answer: object) -> Verdict:
    """Return the verdict on an answer. An exception becomes a reply that contains its message."""
    try:
        verdict = exercise.right(answer)
    except Reply as reply:
        return Unread(reply.verdict) if isinstance(reply.verdict, str) else reply.verdict
    except Exception as error:  # a reader's function may raise anything
        message = re.sub(r" at 0x[0-9a-f]+", "", str(error))  # addresses change from run to run
        return Unread(f"Your answer raised {type(error).__name__}: {message}")
    return verdict if isinstance(verdict, str) or verdict is ... else bool(verdict)
