"""The review: it repeats missed questions, spaces out known ones, and writes a deck for Anki."""

import pytest

from rope_book.widgets._questions import questions

from .v8 import scripts

DAYS = 30
MOST = 10
NAMES = list(questions())[:40]
HARD = NAMES[::8]  # the reader misses these the first three times


@pytest.fixture(scope="module")
def page():
    """The page's storage and shuffling of the review, in V8."""
    with scripts("lib/memory", "lib/deck") as started:
        yield started


@pytest.fixture(scope="module")
def diary(page):
    """Return the days on which each question came, at ten a day; a missed one returns in the same sitting."""
    cards, met = {}, {name: [] for name in NAMES}
    for day in range(DAYS):
        queue = page.answer([("dueOn", [NAMES, cards, day, MOST])])[0]
        while queue:
            name = queue.pop(0)
            right = name not in HARD or len(met[name]) >= 3
            met[name].append(day)
            cards[name] = page.answer([("after", [cards.get(name), right, day])])[0]
            queue += [] if right else [name]
    return met


def test_every_question_comes_within_the_month(diary):
    assert all(diary.values())


def test_what_was_missed_comes_back_in_the_same_sitting_and_at_intervals_that_double(diary):
    for name in HARD:
        first = diary[name][0]
        assert diary[name][:4] == [first] * 4, "missed three times, right at the fourth"
        waits = [later - before for before, later in zip(diary[name][3:], diary[name][4:], strict=False)]
        assert waits[0] == 1
        assert all(wait >= plan for wait, plan in zip(waits, [1, 2, 4, 8, 16], strict=False))
        assert len(waits) >= 3, "it came back too seldom"


def test_what_was_right_at_first_sight_is_spared(diary):
    for name in set(NAMES) - set(HARD):
        waits = [later - before for before, later in zip(diary[name], diary[name][1:], strict=False)]
        assert all(wait >= plan for wait, plan in zip(waits, [4, 8, 16], strict=False))
        assert len(diary[name]) <= 4


def test_hard_questions_are_met_more_often_than_others(diary):
    often = [len(diary[name]) for name in HARD]
    seldom = [len(diary[name]) for name in NAMES if name not in HARD]
    assert min(often) > max(seldom)


def test_no_day_brings_more_than_a_sitting_and_days_are_mixed_differently(page):
    today, tomorrow = page.answer([("dueOn", [NAMES, {}, 5, MOST]), ("dueOn", [NAMES, {}, 6, MOST])])
    assert len(today) == len(tomorrow) == MOST
    assert today != tomorrow
    assert len({name[:2] for name in today}) >= 4, "chapters are mixed"


def test_an_answer_before_its_day_changes_nothing_unless_it_is_wrong(page):
    card = {"days": 8, "due": 20}
    early, wrong, in_time, first = page.answer(
        [
            ("after", [card, True, 15]),
            ("after", [card, False, 15]),
            ("after", [card, True, 21]),
            ("after", [None, True, 3]),
        ]
    )
    assert early == card
    assert wrong == {"days": 0, "due": 15}
    assert in_time == {"days": 16, "due": 37}
    assert first == {"days": 4, "due": 7}


@pytest.mark.parametrize(
    "text", [None, "", "null", "[1]", '"a"', "{", '{"a": 1}', '{"a": {"days": "x", "due": 1}}']
)
def test_a_store_that_somebody_spoilt_is_empty(page, text):
    assert page.answer([("readCards", [text])])[0] == {}


def test_the_deck_has_a_line_for_each_question_and_says_no_answer_on_the_front(page):
    lines = page.answer([("deckOf", [list(questions().values())])])[0].splitlines()
    head = [line for line in lines if line.startswith("#")]
    notes = [line.split("\t") for line in lines[len(head) :]]
    assert {len(note) for note in notes} == {4}
    assert [note[0] for note in notes] == [f"rope-turn-{name}" for name in questions()]
    for (_, front, back, _), asked in zip(notes, questions().values(), strict=True):
        assert asked["because"].split(" ")[0].strip("*`") in back
        for answer, why in asked.get("choices", []):
            assert not why or why[:30] not in front, answer
