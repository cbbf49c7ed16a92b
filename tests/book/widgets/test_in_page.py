"""Exercises in the page: it judges answers as `check` does, and both by the numbers that the library computes."""

import json
import math
import re
import runpy
from pathlib import Path

import numpy as np
import pytest
from challenge_states import REACHED, SLIPS
from solutions import PATHS, answers_of

from rope_book import widgets
from rope_book.check import check
from rope_book.check.challenges import challenges, reached
from rope_book.check.exercise import _judge
from rope_book.check.in_page import challenges_in_page, in_page
from rope_book.check.rows import FILE, entries, judge_row, right_numbers, tree
from rope_book.results import first_negative_distance, smallest_base
from rope_edu.encodings import (
    alibi_slopes,
    completes_turn,
    inv_freq,
    llama3,
    mean_cosine,
    ntk_aware,
    t5_bucket,
    wavelength,
)
from rope_edu.plain import rotate_pair

from .drawn import Drawn
from .v8 import scripts

EXERCISES = in_page()
ROWS = {name: asked for name, asked in EXERCISES.items() if asked["kind"] == "row"}
TABLES = {name: asked for name, asked in EXERCISES.items() if asked["kind"] != "row"}
of_each_row = pytest.mark.parametrize("name", ROWS)
of_each_table = pytest.mark.parametrize("asked", TABLES.values(), ids=TABLES)
KNOWN = Path(__file__).parents[1] / "check" / "cases"
BOOK = Path(__file__).parents[3] / "book"
SOLVED = {name: answer for chapter in PATHS for name, answer in answers_of(chapter).items()}


@pytest.fixture(scope="module")
def page():
    """The judge of the page, in V8."""
    with scripts("lib/judge") as started:
        yield started


def verdict(page, name, numbers) -> dict:
    return page.answer([("judge", [EXERCISES[name], [float(value) for value in numbers]])])[0]


def judged(name, numbers):
    """Return what `check` says to these numbers, in the form of the exercise."""
    shape = entries()[name].get("shape", [len(numbers)][len(numbers) == 1 :])
    return _judge(check.exercises[name], np.reshape(numbers, shape).tolist())


@of_each_table
def test_every_choice_of_names_or_order_of_words_has_the_verdict_of_check(asked, page):
    exercise = check.exercises[asked["id"]]
    form = set if asked["kind"] == "several" else " ".join
    for key in asked["verdicts"]:
        said = _judge(exercise, form(key.split()))
        found = page.answer([("judge", [asked, key.split()])])[0]
        assert found["right"] == (said is True)
        assert found["why"] == (said if isinstance(said, str) else "" if said is True else found["why"])
        assert found["right"] or found["why"].endswith((".", "?"))
    solution = SOLVED[asked["id"]]
    key = " ".join(item for item in asked["items"] if item in solution)
    assert asked["verdicts"][solution if isinstance(solution, str) else key] == ""
    count, words = len(asked["items"]), {tuple(key.split()) for key in asked["verdicts"]}
    assert len(words) == (2**count if asked["kind"] == "several" else math.factorial(count))
    assert {word for key in words for word in key} == set(asked["items"])


def test_what_cannot_be_answered_in_the_page_is_named_and_no_more():
    numbers_or_names = {name for name, answer in SOLVED.items() if not callable(answer)}
    named = set(re.findall(r"\d+\.\d", FILE.read_text(encoding="utf-8").partition("answered in Python")[0]))
    assert named == numbers_or_names - set(EXERCISES)


RANGES = {"4.3": (0, 40), "5.2": (-3, 110), "5.4": (-5, 5), "8.4": (-1, 70), "20.3": (-7, 7)}
RANGES |= {"9.3": (-1, 5e6), "17.4": (5_000, 40_000)}  # of numbers, where many answers are right


def known_answers(name) -> list[list[float]]:
    """Return the known answers to an exercise, right and wrong, as rows of numbers."""
    module = runpy.run_path(str(KNOWN / f"chapter_{name.partition('.')[0].lower().zfill(2)}.py"))
    right, wrong = module.get("ALSO_RIGHT", {}).get(name, []), [answer for answer, _ in module["WRONG"][name]]
    many = len(entries()[name]["values"])
    return [
        right_numbers(name),
        *(numbers for numbers in map(flat, [SOLVED[name], *right, *wrong]) if len(numbers) == many),
    ]


def answers_to(name) -> list[list[float]]:
    """Return the known answers to an exercise and many others, whole and broken, most of them near known ones."""
    rng, known = np.random.default_rng(7), known_answers(name)
    if name == "10.2":  # truth values
        return [*known, [0, 0], [0, 1], [1, 1]]
    many, count = len(known[0]), 30 if len(known[0]) == 1 else 200
    if name in RANGES:
        drawn = rng.uniform(*RANGES[name], (count, many))
        drawn[::4, 1:] = drawn[::4, :1] * rng.choice([-1, 1, 0.25, 2], drawn[::4, 1:].shape)
    else:
        drawn = np.array(known)[rng.integers(len(known), size=count)]
        apart = rng.normal(size=drawn.shape) * 10.0 ** rng.integers(-7, 2, drawn.shape)
        drawn += apart * rng.integers(0, 2, drawn.shape)
    drawn[::2] = np.round(drawn[::2])
    return known + drawn.tolist()


def flat(answer) -> list[float]:
    """Return the numbers of an answer in a row, a complex number's parts one after the other; none of words."""
    try:
        numbers = np.ravel(np.array(answer, dtype=complex if np.iscomplexobj(answer) else float))
    except (TypeError, ValueError):
        return []
    return numbers.view(float).tolist()


@pytest.mark.sampled
@of_each_row
def test_the_page_says_what_check_says_to_known_and_to_many_other_answers(name, page):
    verdicts = set()
    for numbers in answers_to(name):
        said = judged(name, numbers)
        assert verdict(page, name, numbers) == {
            "right": said is True,
            "why": "" if said is True else said or "",
        }, numbers
        verdicts.add(said if said is True else re.sub(r"[\d.,−-]+", "", said))
    assert {True} < verdicts
    assert len(verdicts) > len(entries()[name]["rules"]) / 2, "most rules were met"


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
    for numbers in answers_to(name):
        assert (judged(name, numbers) is True) == LIBRARY[name](*numbers), numbers


BACK = np.array([0, 15, 16, 32, 64, 1000])  # tokens, in 3.1
TURN = wavelength(inv_freq(128))[55]
SLOWER = (inv_freq(128) / ntk_aware(128, 8).inv_freq)[[0, 31, 63]]
KEPT = llama3(64, 32, 8192).inv_freq / inv_freq(64, 500_000)
KEPT, DIVIDED = (KEPT > 1 - 1e-9).sum(), (KEPT < 1 / 32 + 1e-9).sum()
COMPUTED = {
    "1.3": [2**4, sum(math.perm(4, before) for before in range(5))],
    "3.1": t5_bucket(-BACK, bidirectional=False),
    "3.3": alibi_slopes(6),
    "4.2": [turned_score((1, 0), 5, (0, 1), 4)],
    "6.2": [completes_turn(inv_freq(128, 500_000), 8192).sum()],
    "10.3": [*rotate_pair((2, 0), 5 * math.pi / 10), *rotate_pair((2, 0), -3 * math.pi / 10)],
    "14.3": [math.ceil(TURN), 20_000 - TURN],
    "15.3": SLOWER,
    "16.4": [KEPT, 32 - KEPT - DIVIDED, DIVIDED],
    "17.2": [100_000 * math.exp(np.euler_gamma)],
    "17.3": [smallest_base(2000, 64)],
}
MISTAKEN = [
    ("3.1", t5_bucket(-BACK, bidirectional=True), "Those are the buckets of an encoder"),
    ("3.3", alibi_slopes(8)[:6], "Those are the first six of eight heads"),
    ("3.3", np.log2(alibi_slopes(6)), "Those are the exponents"),
    ("6.2", [completes_turn(inv_freq(128), 8192).sum()], "That is the count for a base of 10,000"),
    ("14.3", [20_000 - TURN, 0], "The other way round"),
    ("15.3", 1 / SLOWER, "You give what the speeds are multiplied by"),
    ("17.3", [smallest_base(2000)], "That is for heads of 128"),
]


@pytest.mark.parametrize("name", COMPUTED)
def test_the_answer_of_an_entry_is_what_the_library_computes(name):
    assert right_numbers(name) == pytest.approx(COMPUTED[name], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("name", "numbers", "words"), MISTAKEN)
def test_the_slip_of_an_entry_is_what_the_library_computes(name, numbers, words):
    assert judge_row(name, *numbers).startswith(words)


def test_from_a_width_of_16_on_neighbours_are_the_nearest_look_alikes():
    offsets = np.arange(1, 100_000)
    for width in (*range(2, 34, 2), 64, 128, 512):  # in 6.4
        alike = sum(np.cos(offsets * 10_000 ** (-2 * i / width)) for i in range(width // 2))
        assert (alike.argmax() == 0) == (width >= right_numbers("6.4")[0])


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
        asked = ROWS[name]
        sentences = {rule[1] for rule in asked["rules"]["rules"]}
        assert {asked["ask"], asked["because"], *asked["hints"], *sentences} <= words.keys()
    page.evaluate(f"((words) => (globalThis.RopeWords = words))({json.dumps(words)})")
    assert verdict(page, "4.3", [10, 6])["why"] == "这时 m − n 是 4，而 9 − 4 = 5。"
    page.evaluate("(globalThis.RopeWords = undefined) ?? 0")


@pytest.mark.sampled
@pytest.mark.parametrize("name", challenges())
def test_a_challenge_has_the_same_reply_in_the_page(page, name):
    asked = challenges_in_page()[name]
    drawn = Drawn(asked["figure"])
    for values in [REACHED[name], *(values for values, _ in SLIPS[name])]:
        words = drawn.said(values)
        figure = getattr(widgets, asked["figure"])()
        with figure.hold_trait_notifications():
            figure.set_state(words["state"])  # in the page some controls follow others
        results = {
            each: math.nan if n is None else n for each, n in words["results"].items()
        }  # JSON has no NaN
        for result, value in results.items():
            assert value == pytest.approx(getattr(figure, result), rel=1e-9, nan_ok=True), result
        right, why = reached(name, figure)
        given = words["state"] | results
        assert page.answer([("judge", [asked, given])]) == [{"right": right, "why": why}], values
    drawn.close()
