"""What the instructors' page promises: sessions that fit, figures that take their states, right answers."""

import importlib.util
import math
import re

import pytest
import yaml
from dist import ROOT

from rope_book.widgets import LiveFigure
from rope_edu import inv_freq, wavelength

SPEC = importlib.util.spec_from_file_location("teach", ROOT / "book" / "extensions" / "teach.py")
teach = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(teach)
DATA = teach.data()
NUMBERS = [entry for entry in DATA["exam"] if "value" in entry]
SESSIONS = [(course["name"], session) for course in DATA["syllabi"] for session in course["sessions"]]


@pytest.mark.parametrize(
    ("course", "session"), SESSIONS, ids=[f"{name}-{s['about'][:20]}" for name, s in SESSIONS]
)
def test_the_reading_and_the_exercises_of_a_session_fit_into_its_time(course, session):
    assert teach.minutes(ROOT, session) + teach.practice(ROOT, session) <= session["slot"]


def test_a_course_of_half_a_term_has_every_chapter_but_one():
    (course,) = (course for course in DATA["syllabi"] if course["name"] == "Half a term")
    pages = [page for session in course["sessions"] for page in session["pages"]]
    assert sorted(pages) == [f"{number:02}" for number in range(1, 24) if number != 20]
    assert len(course["sessions"]) == 14


def test_there_are_twenty_misconceptions_and_none_twice():
    assert len({entry["wrong"] for entry in DATA["misconceptions"]}) == 20


@pytest.mark.parametrize("number", range(1, 21))
def test_the_figure_of_a_misconception_is_in_its_chapter_and_takes_its_state(number):
    entry = DATA["misconceptions"][number - 1]
    path = teach.chapter(ROOT, entry["page"])
    assert f'.{entry["figure"]}"' in path.read_text(encoding="utf-8")
    LiveFigure.figures[entry["figure"]](**entry.get("state", {}))  # TraitError where it is out of range
    _, page, place = teach.figure_state(ROOT, number)
    assert page == f"notebooks/{path.stem}"
    assert place.startswith(f"live={entry['figure']}")
    assert entry["ask"].endswith("?")


@pytest.mark.parametrize("entry", NUMBERS, ids=lambda entry: entry["ask"][:30])
def test_the_number_of_an_answer_is_what_the_library_computes(entry):
    value = eval(entry["compute"], {"inv_freq": inv_freq, "wavelength": wavelength, "math": math})
    assert value == pytest.approx(entry["value"], rel=1e-3)
    said = [float(number.replace(",", "")) for number in re.findall(r"\d[\d,]*(?:\.\d+)?", entry["answer"])]
    ways = (entry["value"], round(entry["value"]), 1 / entry["value"])
    assert (
        any(number == pytest.approx(way, rel=1e-3) for number in said for way in ways) or entry["value"] == 64
    )


def test_every_goal_of_a_chapter_is_on_the_page():
    text = "\n".join(teach.goals(ROOT))
    for path in (ROOT / "notebooks").glob("[0-9A]*.ipynb"):
        assert path.name in text or "you will be able to" not in path.read_text(encoding="utf-8")


def test_both_pages_are_in_the_contents():
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    files = [entry["file"] for part in toc["parts"] for entry in part["chapters"]]
    assert {"book/teach", "book/teach_answers", "book/accessibility"} <= set(files)
