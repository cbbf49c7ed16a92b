"""The look at every family reports an exit status that has changed, and is silent on families that are as known."""

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from . import families
from .probes import faults, tiny


def test_a_family_that_is_as_known_gives_no_line():
    assert families.look("llama") == []
    assert {"llama", "gptj"} <= set(families.families())


def test_a_family_that_rotates_otherwise_gives_a_line(monkeypatch):
    def wrong(name):
        model = tiny.tiny(name)
        faults.turns(model).inv_freq *= 2
        return model

    monkeypatch.setattr(families, "tiny", wrong)
    (line,) = families.look("llama")
    assert line.startswith("- `model` on `llama`: exit status was 0, is 1. The model does not rotate")


def test_a_family_that_cannot_be_made_is_named(monkeypatch):
    def fails(name):
        raise ImportError("renamed")

    monkeypatch.setattr(families, "tiny", fails)
    assert families.look("llama") == ["- `llama` could not be made: ImportError: renamed"]
