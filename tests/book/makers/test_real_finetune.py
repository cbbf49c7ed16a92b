"""Windows and skips of the fine-tune: what the model reads, where it reads it, and that a stop changes nothing."""

import numpy as np
import pytest
import torch

from makers import real_finetune
from makers.real_finetune import REACH, WINDOW, Tuned, docstrings, positions_at, window_at
from rope_book.real import MissingPackageError
from rope_book.real.file import find_weights

KINDS = [list(range(kind, 7 * 3 * WINDOW, 3)) for kind in range(3)]


def test_kinds_take_turns_and_no_window_comes_twice():
    windows = [window_at(step, KINDS) for step in range(18)]
    assert [int(window[0]) % 3 for window in windows] == [0, 1, 2] * 6
    assert all(len(window) == WINDOW + 1 for window in windows)
    assert len({int(window[0]) for window in windows}) == 18


def test_positions_have_one_skip_and_reach_nearly_twice_the_trained_length():
    every = [positions_at(step).numpy() for step in range(45)]
    for positions in every:
        assert positions[0] == 0
        assert positions[-1] < REACH
        assert (np.diff(positions) >= 1).all()
        assert (np.diff(positions) > 1).sum() <= 1
    last = [positions[-1] for positions in every]
    assert max(last) > 0.95 * REACH
    assert min(last) < 0.3 * REACH


def test_docstrings_are_those_of_modules_classes_and_functions():
    module = '"""One."""\nx = "not this"\nclass A:\n    """Two."""\n    def f(self):\n        """Three."""\n'
    assert list(docstrings(module)) == ["One.", "Two.", "Three."]


@pytest.mark.makers
def test_a_stop_between_steps_changes_nothing(tmp_path, monkeypatch):
    """All weights move, and two steps in a row are one, a file, and another."""
    try:
        find_weights()
    except MissingPackageError as error:
        pytest.skip(str(error))
    monkeypatch.setattr(real_finetune, "WINDOW", 16)
    in_a_row, stopped = (Tuned("yarn-2", tmp_path / name) for name in ("a", "b"))
    before = [weight.detach().clone() for weight in in_a_row.real.model.parameters()]
    losses = [in_a_row.train(KINDS), in_a_row.train(KINDS)]
    (tmp_path / "b").mkdir()
    first = stopped.train(KINDS)
    stopped.save()
    resumed = Tuned("yarn-2", tmp_path / "b")
    assert resumed.step == 1
    assert [first, resumed.train(KINDS)] == pytest.approx(losses, rel=1e-5)
    after = list(in_a_row.real.model.parameters())
    assert not any(map(torch.equal, before, after))
    assert all(
        torch.allclose(a, b, atol=1e-6) for a, b in zip(after, resumed.real.model.parameters(), strict=True)
    )
