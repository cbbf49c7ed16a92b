"""Baselines without positions: right where a text repeats itself, at chance where positions decide."""

import numpy as np
import pytest

from rope_book.training import make_task
from rope_book.training.baselines import SIDES, chance, match_last, rule_accuracy


def reference(row, n, side):
    """The rule by brute force: the longest match first, then the latest."""
    answers = []
    for i in range(len(row)):
        answer = -1
        for m in range(n, 0, -1):
            ends = [e for e in range(m - 1, i) if row[e - m + 1 : e + 1] == row[i - m + 1 : i + 1]]
            if i >= m - 1 and ends:
                source = ends[-1] + 1 if side == "after" else ends[-1] - m
                answer = row[source] if source >= 0 else -1
                break
        answers.append(answer)
    return answers


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_rule_equals_brute_force(n, side):
    rows = np.random.default_rng(0).integers(4, size=(30, 24))
    assert match_last(rows, n, side).tolist() == [reference(row, n, side) for row in rows.tolist()]


@pytest.mark.parametrize("n", [1, 2])
def test_the_rule_ignores_positions_and_the_names_of_tokens(n):
    rows = np.random.default_rng(1).integers(5, size=(20, 16))
    names = np.random.default_rng(2).permutation(5)  # renamed letters get renamed answers
    answers, renamed = match_last(rows, n), match_last(names[rows], n)
    assert (renamed == np.where(answers < 0, -1, names[answers])).all()
    moved = match_last(np.pad(rows, ((0, 0), (7, 0)), constant_values=9), n)  # further back in a longer text
    at_home = answers[:, n:]
    assert (moved[:, 7 + n :] == at_home).all()


def test_match_the_last_two_does_most_of_copy_and_no_other_task():
    two = {name: rule_accuracy(make_task(name), 2) for name in ("copy", "back", "recall", "clock", "text")}
    assert two["copy"] > 0.8
    assert max(two["back"], two["recall"], two["clock"]) < 0.15
    assert two["text"] < 0.25


@pytest.mark.parametrize("times", [1, 2, 4])
def test_match_the_last_three_does_nine_tenths_of_copy_at_any_length(times):
    task = make_task("copy")
    assert rule_accuracy(task, 3, length=times * task.length) > 0.88


def test_longer_texts_are_scored_at_new_positions_only():
    task = make_task("copy", length=8)
    batch = task.batch(0, 0, 192, 16, split="test")
    right = match_last(batch.tokens.numpy(), 2) == batch.targets.numpy()
    counts = batch.weights.numpy() > 0
    assert not counts[:, : task.trained_places].any()  # in copy, all answers are at new positions
    assert rule_accuracy(task, 2, length=16) == right[counts].mean()
    back = make_task("back", k=1)
    batch = back.batch(0, 0, 192, 64, split="test")
    right = (match_last(batch.tokens.numpy(), 1) == batch.targets.numpy())[:, back.trained_places :]
    assert rule_accuracy(back, 1, length=64) == right.mean()


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda rows: match_last(rows, 0), "n must be"),
        (lambda rows: match_last(rows, 1, "left"), "side must be .*got 'left'"),
    ],
)
def test_invalid_arguments_are_refused(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call(np.zeros((1, 3), dtype=int))


def test_chance_is_the_share_of_the_most_common_training_answer():
    task = make_task("text")
    batch = task.batch(0, 0, 192, 64, split="test")
    spaces = batch.targets[:, 1:] == task.spell(range(75)).index(" ")
    assert chance(task, length=64) == spaces.float().mean().item()
    for name, letters in (("copy", 16), ("needle", 16)):
        errors = (letters / 192) ** 0.5 / letters  # of a mean over 192 texts with at least one answer each
        assert abs(chance(make_task(name)) - 1 / letters) < 3 * errors
