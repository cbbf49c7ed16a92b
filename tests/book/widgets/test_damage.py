"""What SmolLM2 writes under mistakes: each is known, classed by its words, and found by what is said to find it."""

from collections import Counter

import pytest
import torch

from rope_book.real.mistakes import MISTAKES
from rope_book.widgets.maths.damage import CASES, COMMANDS, LOOKS, PROMPTS, SHOWN, damage, looks
from rope_doctor.__main__ import COMMANDS as TOOL
from rope_doctor.clinic import diagnose
from rope_edu.attention.encoding import Rotary
from rope_edu.encodings import plain_rope

SPEC = plain_rope(64, 100_000.0)
SHOW = damage()
LENGTH = 4  # tokens of a prompt


def test_every_mistake_is_a_known_one():
    assert set(CASES) <= set(SHOWN) <= set(MISTAKES)
    assert [mistake["name"] for mistake in SHOW["mistakes"]] == list(SHOWN)


def written(what, prompt="recipe"):
    """Return each mistake's text, or its look, after a prompt."""
    return {mistake["name"]: mistake["written"][prompt][what] for mistake in SHOW["mistakes"]}


def test_every_look_is_somebodys_and_the_eight_cases_show_six():
    looked = written("looks")
    assert set(looked.values()) == set(LOOKS)
    assert len(Counter(looked[name] for name in CASES)) == len(LOOKS)


@pytest.mark.parametrize("prompt", PROMPTS)
def test_the_eight_texts_differ(prompt):
    texts = written("text", prompt)
    assert len({texts[name] for name in CASES}) == len(CASES)


@pytest.mark.parametrize("prompt", PROMPTS)
def test_the_right_text_looks_right(prompt):
    right = SHOW["right"]["written"][prompt]["text"]
    assert looks(right, right) == "same"
    assert looks(right + " And so on.", right) == "fluent"


def test_padding_counted_everywhere_changes_no_score():
    q, k = torch.randn(2, 1, 9, 64, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    right, shifted = Rotary(SPEC), MISTAKES["padding_counted"].make(SPEC, LENGTH)
    scores = [each.rotate_q(q, range(9)) @ each.rotate_k(k, range(9)).mT for each in (right, shifted)]
    torch.testing.assert_close(scores[1], scores[0], rtol=0, atol=1e-9)


def rotated(name, door):
    """Return the function that a mistake makes of a head's queries or keys."""
    encoding = MISTAKES[name].make(SPEC, LENGTH)

    def rotate(x, positions):
        return getattr(encoding, door)(torch.as_tensor(x)[None], torch.as_tensor(positions))[0].numpy()

    return rotate


ROTATIONS = [name for name, (_, where) in SHOWN.items() if where in ("config", "rotation", "halves")]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", ROTATIONS)
def test_diagnose_finds_a_rotation_that_differs(name):
    found = [diagnose(rotated(name, door), 64, against=SPEC).mistakes for door in ("rotate_q", "rotate_k")]
    assert any(found)
    if SHOWN[name][1] == "halves":
        assert found[0] != found[1]


def test_the_commands_are_the_tools():
    lines = [command.split() for command in COMMANDS.values() if command]
    assert {tool for tool, *_ in lines} == {"rope-doctor"}
    assert {name for _, name, *_ in lines} <= set(TOOL)
