"""The worked examples of book/add_your_own.md work as they are printed."""

import json
import re
import tomllib
from pathlib import Path

import pytest
import traitlets
from py_mini_racer import MiniRacer

from rope_book.check import Checker, Exercise, exercise
from rope_book.widgets import _bundle

PAGE = (Path(__file__).resolve().parents[1] / "book" / "add_your_own.md").read_text(encoding="utf-8")


def blocks(heading: str, language: str) -> list[str]:
    """Return the blocks of one language under a heading."""
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(rf"^```{language}\n(.*?)^```", section, re.MULTILINE | re.DOTALL)


def run(sources: list[str], **names: object) -> dict:
    """Run blocks of Python one after the other; return their names."""
    for source in sources:
        exec(source, names)
    return names


def test_an_encoding_is_its_formula_behind_a_front_door():
    names = run(blocks("An encoding", "python"))
    assert names["power_scaled_rope"](8, 1.0).inv_freq[0] == 1
    with pytest.raises(ValueError, match="power must be"):
        names["power_scaled_rope"](8, -1.0)


def test_a_figure_refuses_values_out_of_range_and_its_script_is_bundled(monkeypatch):
    names = run(blocks("A figure", "python"), __name__="one_hand")
    assert names["OneHand"].controls()["position"].high == 64
    with pytest.raises(traitlets.TraitError, match="a whole number from 0 to 64"):
        names["OneHand"](position=65)
    (script,) = blocks("A figure", "js")
    module = _bundle.module
    monkeypatch.setattr(
        _bundle,
        "module",
        lambda name: _bundle.read(name, script) if name == "figures/one_hand" else module(name),
    )
    page = _bundle.page_script("one_hand", "OneHand")
    assert (
        MiniRacer().eval(
            f"globalThis.RopeLive = {{ define: (name, figure) => (globalThis.made = name) }};{page}; made"
        )
        == "OneHand"
    )


def test_a_chapters_exercise_meets_known_mistakes_with_its_sentences(monkeypatch, capsys):
    monkeypatch.setattr(exercise, "JUDGES", dict(exercise.JUDGES))
    judge, cases = blocks("A chapter", "python")
    run([judge])
    (words,) = (tomllib.loads(text)["25.1"] for text in blocks("A chapter", "toml"))
    checker = Checker((Exercise("25.1", exercise.JUDGES["25.1"], tuple(words["hints"]), words["shows"]),))
    checker("25.1", 628.3)
    assert "correct. λ = 2π/θ" in capsys.readouterr().out
    for answer, expected in run([cases])["WRONG"]["25.1"]:
        checker("25.1", answer)
        assert f"not yet. {expected}" in capsys.readouterr().out


def test_a_model_is_an_entry_that_the_reader_reads():
    (entry,) = map(json.loads, blocks("A model", "json"))
    assert set(entry) == {"name", "source", "config"}
    run(blocks("A model", "python"), model=entry)


def test_every_file_that_the_page_names_is_there():
    root = Path(__file__).resolve().parents[1]
    named = set(re.findall(r"`((?:book|rope_edu|tests)/[\w/.]+|[A-Z]+\.md|_toc\.yml)`", PAGE))
    new = {"book/rope_book/widgets/one_hand.py", "book/rope_book/widgets/js/figures/one_hand.js"}
    new |= {"book/rope_book/check/chapter_NN.py", "tests/book/check/cases/chapter_25.py"}
    new |= {"book/zh/06_read_many_clocks", "book/zh/questions/06.json"}
    assert len(named) > 8
    assert [name for name in sorted(named - new) if not (root / name).exists()] == []
