"""What SmolLM2 writes under its mistakes: every one is a known mistake, is classed by its words, and is found as stated."""

from collections import Counter

import numpy as np
import pytest
from rope_doctor.command.main import make_parser

from rope_book.real.mistakes import MISTAKES
from rope_book.widgets.maths.damage import CASES, COMMANDS, LOOKS, SHOWN, damage, looks
from rope_doctor.clinic import diagnose
from rope_edu.encodings import plain_rope

SPEC = plain_rope(64, 100_000.0)
SHOW = damage()
PROMPT = 4


def test_every_mistake_is_a_known_one():
    assert set(CASES) <= set(SHOWN) <= set(MISTAKES)
    assert [mistake["name"] for mistake in SHOW["mistakes"]] == list(SHOWN)


def test_every_look_is_somebodys_and_the_eight_cases_show_six():
    looked = {mistake["name"]: mistake["looks"] for mistake in SHOW["mistakes"]}
    assert set(looked.values()) == set(LOOKS)
    assert len(Counter(looked[name] for name in CASES)) == len(LOOKS)


def test_the_eight_texts_differ():
    texts = {mistake["name"]: mistake["text"] for mistake in SHOW["mistakes"]}
    assert len({texts[name] for name in CASES}) == len(CASES)


def test_the_right_text_looks_right():
    right = SHOW["right"]["text"]
    assert looks(right, right) == "same"
    assert looks(right + " And so on.", right) == "fluent"


def rotated(name, door):
    """Return the function that a mistake makes of a head's queries or keys."""
    encoding = MISTAKES[name].make(SPEC, PROMPT)
    torch = pytest.importorskip("torch")

    def rotate(x, positions):
        return getattr(encoding, door)(torch.as_tensor(x)[None], torch.as_tensor(positions))[0].numpy()

    return rotate


@pytest.mark.parametrize("name", [name for name, (_, where) in SHOWN.items() if where != "count"])
def test_diagnose_finds_it_unless_it_is_a_matter_of_counting_or_of_nothing(name):
    found = [diagnose(rotated(name, door), 64, against=SPEC).mistakes for door in ("rotate_q", "rotate_k")]
    assert any(found) == (SHOWN[name][1] != "nowhere") or name == "padding_counted"
    if SHOWN[name][1] == "halves":
        assert found[0] != found[1]


def test_the_commands_are_the_tools():
    known = set(make_parser()._subparsers._group_actions[0].choices)
    assert {command.split()[1] for command in COMMANDS.values() if command} <= known
    assert np.all([command.startswith("rope-doctor ") for command in COMMANDS.values() if command])
