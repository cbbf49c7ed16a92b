"""Exercises in the page: their answers and mistakes are judged by the page as `check` judges them."""

import json
import re
import runpy
from pathlib import Path

import numpy as np
import pytest
from solutions import PATHS, answers_of

from rope_book.check import check
from rope_book.check.answers import plain
from rope_book.check.in_page import in_page, judged
from rope_book.check.ruled import FILE, entries, tree
from rope_edu.encodings import first_negative_distance, inv_freq, mean_cosine, smallest_base
from rope_edu.plain import rotate_pair

from .v8 import scripts

EXERCISES = in_page()
RULED = {name: asked for name, asked in EXERCISES.items() if "rules" in asked}
ROWS = {name: asked for name, asked in EXERCISES.items() if asked["kind"] == "row" and name not in RULED}
TABLES = {name: asked for name, asked in EXERCISES.items() if asked["kind"] != "row"}
of_each_ruled = pytest.mark.parametrize("name", RULED)
of_each = pytest.mark.parametrize("asked", ROWS.values(), ids=ROWS)
of_each_table = pytest.mark.parametrize("asked", TABLES.values(), ids=TABLES)
ENTRIES = entries()
KNOWN = Path(__file__).parents[1] / "check" / "cases"
BOOK = Path(__file__).parents[3] / "book"
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


CASES = {"4.3": (0, 40, 2), "5.2": (-3, 110, 4), "5.4": (-5, 5, 4), "8.4": (-1, 70, 2), "20.3": (-7, 7, 2)}
CASES |= {"9.3": (-1, 5e6, 1), "17.4": (5_000, 40_000, 1)}  # numbers from, to, and how many


def given(name) -> list[list[float]]:
    """Return the known answers to an exercise, right and wrong, and many others, whole and broken."""
    module = f"chapter_{int(name.partition('.')[0]):02}.py"
    known = runpy.run_path(str(KNOWN / module))
    answers = [
        SOLVED[name],
        *known["ALSO_RIGHT"].get(name, []),
        *(answer for answer, _ in known["WRONG"][name]),
    ]
    rng, (low, high, many) = np.random.default_rng(7), CASES[name]
    drawn = rng.uniform(low, high, (30 if many == 1 else 200, many))
    drawn[::2] = np.round(drawn[::2])
    drawn[::4, 1:] = drawn[::4, :1] * rng.choice([-1, 1, 0.25, 2], drawn[::4, 1:].shape)
    return [numbers for numbers in map(flat, answers) if len(numbers) == many] + drawn.tolist()


def flat(answer) -> list[float]:
    """Return the numbers of an answer in a row, a complex number's parts one after the other; none of words."""
    try:
        numbers = np.ravel(np.array(answer, dtype=complex if np.iscomplexobj(answer) else float))
    except (TypeError, ValueError):
        return []
    return numbers.view(float).tolist()


@of_each_ruled
def test_rules_say_in_the_page_and_in_check_the_same_of_known_and_of_many_other_answers(name, page):
    shape, verdicts = entries()[name].get("shape"), set()
    for numbers in given(name):
        said = judged(check.exercises[name], numbers, shape)
        right = said is True
        assert verdict(page, RULED[name], numbers) == {"right": right, "why": "" if right else said}, numbers
        verdicts.add(said if right else said[:12])
    assert {True} < verdicts
    assert len(verdicts) > len(entries()[name]["rules"]) / 2, "most rules were met"
    assert verdict(page, RULED[name], RULED[name]["numbers"])["right"]


def turned_score(q, m, k, n) -> float:
    """Score q at position m and k at n, which turn by a twelfth of a turn per token."""
    a, b = (np.array(rotate_pair(pair, place * np.pi / 6)) for pair, place in ((q, m), (k, n)))
    return float(a @ b)


def keeps_the_score(m, n) -> bool:
    pairs = ((1.0, 0.0), (0.0, 1.0))
    same = (turned_score(q, m, k, n) - turned_score(q, 9, k, 4) for q in pairs for k in pairs)
    return m != 9 and n != 4 and max(map(abs, same)) < 1e-6


def hides_the_sign(a, b, c, d) -> bool:
    q, k = complex(a, b), complex(c, d)
    turns = np.exp(0.25j * np.array([1, 5, 12]))
    gap = (q * k.conjugate() * turns).real - (q.conjugate() * k * turns).real
    return abs(q) > 1e-3 and abs(k) > 1e-3 and abs(q - k) > 1e-6 and max(abs(gap)) <= 1e-9 * abs(q) * abs(k)


def far_average(base) -> float:
    return float(mean_cosine(inv_freq(128, base), np.arange(800, 1201)).mean())


def sees_a_diagonal(height, width) -> bool:
    steps = np.arange(1, 9)
    scores = [np.cos(dy * height + dx * width) for dy, dx in ((steps, steps), (1, 0), (0, 1))]
    return np.ptp(np.append(scores[0], 1)) <= 1e-6 and max(scores[1:]) <= 0.99


LIBRARY = {
    "4.3": lambda m, n: m >= 0 <= n and m % 1 == n % 1 == 0 and keeps_the_score(m, n),
    "5.4": hides_the_sign,
    "9.3": lambda base: base > 1 and 0.28 <= far_average(base) <= 0.32,
    "17.4": lambda base: (
        base > smallest_base(2048) and first_negative_distance(inv_freq(128, base), 2048) is not None
    ),
    "20.3": sees_a_diagonal,
}


@pytest.mark.parametrize("name", LIBRARY)
def test_rules_take_for_right_what_the_library_computes_as_right(name):
    for numbers in given(name):
        said = judged(check.exercises[name], numbers, entries()[name].get("shape"))
        assert (said is True) == LIBRARY[name](*numbers), numbers


def test_a_formula_that_the_page_cannot_compute_is_refused():
    for formula in ("open('x')", "m.real", "[m for m in n]", "1 < m < 2", "any(r for r in range(2, 3) if r)"):
        with pytest.raises(ValueError, match="of the page"):
            tree(formula)


TYPED = [("16, 65", [16, 65]), ("(16 65)", [16, 65]), ("16;65", [16, 65]), ("True, False", [1, 0])]
TYPED += [("17,206, 2,794", [17206, 2794]), ("8/3 16/3", [8 / 3, 16 / 3]), ("", []), ("[1, 2.5,]", [1, 2.5])]


@pytest.mark.parametrize(("text", "numbers"), TYPED)
def test_several_numbers_are_read_as_people_type_them(text, numbers, page):
    assert page.answer([("numbersOf", [text])])[0] == pytest.approx(numbers)


def test_sentences_of_rules_are_found_in_the_language_of_the_page_with_their_numbers(page):
    words = json.loads((BOOK / "zh" / "questions" / "exercises.json").read_text(encoding="utf-8"))
    holes = re.compile(r"\{\d\}")
    assert {
        english: chinese
        for english, chinese in words.items()
        if holes.findall(english) != holes.findall(chinese)
    } == {}
    for name in ("4.3", "5.2", "5.4"):  # those of chapters that have a Chinese page
        asked = RULED[name]
        said = {
            asked["ask"],
            asked["because"],
            *asked["hints"],
            *(rule[1] for rule in asked["rules"]["rules"]),
        }
        assert said <= words.keys()
    page.evaluate(f"((words) => (globalThis.RopeWords = words))({json.dumps(words)})")
    assert verdict(page, RULED["4.3"], [10, 6])["why"] == "这时 m − n 是 4，而 9 − 4 = 5。"
    page.evaluate("(globalThis.RopeWords = undefined) ?? 0")
