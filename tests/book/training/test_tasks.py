"""Tasks: pure functions with right answers, a first token, and separate train, tuning and test texts."""

import numpy as np
import pytest
import torch

from rope_book.training import TASKS, make_task
from rope_book.training.tasks import SPLITS, _prose, longest


def rows(name, seed=0, length=None, split="test", n=32, **options):
    """The task, and tokens, targets and weights of every text after the first token."""
    task = make_task(name, **options)
    batch = task.batch(seed, 0, n, length, split=split)
    assert batch.tokens.dtype == batch.targets.dtype == torch.int64
    assert batch.weights.dtype == torch.float32
    return task, zip(*(part[:, 1:].tolist() for part in batch), strict=True)


@pytest.mark.parametrize("name", TASKS)
def test_a_batch_is_a_pure_function_of_its_arguments(name):
    task = make_task(name)
    first, again = (task.batch(3, 5, 4) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    wide = {"length": task.length, "split": "test"}
    base = task.batch(3, 5, 4, **wide).tokens
    for other in (task.batch(4, 5, 4, **wide), task.batch(3, 6, 4, **wide)):
        assert not torch.equal(base, other.tokens)


@pytest.mark.parametrize("name", TASKS)
def test_batches_leave_every_global_generator_alone(name):
    np.random.seed(1)  # noqa: NPY002
    torch.manual_seed(1)
    before = torch.random.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    make_task(name).batch(0, 0, 4)
    assert torch.equal(before[0], torch.random.get_rng_state())
    assert (before[1] == np.random.get_state()[1]).all()  # noqa: NPY002


@pytest.mark.parametrize("name", TASKS)
def test_every_length_has_the_stated_shape_and_tokens_of_the_vocabulary(name):
    task = make_task(name)
    seen = set()
    for length in task.test_lengths:
        batch = task.batch(0, 0, 64, length, split="test")
        assert batch.tokens.shape == batch.targets.shape == batch.weights.shape == (64, task.seq_len(length))
        assert batch.weights[:, task.trained_places if length > task.length else 0 :].sum(1).min() >= 1
        seen |= set(batch.tokens.flatten().tolist())
    assert min(seen) == 0
    assert max(seen) == task.vocab_size - 1
    assert task.test_lengths == tuple(ratio * task.length for ratio in (1, 2, 4))
    assert longest(task) == task.seq_len(4 * task.length)


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("split", SPLITS)
def test_every_text_begins_with_a_token_that_occurs_once_and_does_not_count(name, split):
    task = make_task(name)
    batch = task.batch(0, 0, 64, split=split)
    first = batch.tokens == task.vocab_size - 1
    assert first[:, 0].all()
    assert not first[:, 1:].any()
    assert not batch.weights[:, 0].any()
    assert task.spell(batch.tokens[0])[0] == "^"


@pytest.mark.parametrize("name", TASKS)
def test_training_tuning_and_testing_draw_different_texts(name):
    task = make_task(name)
    texts = {}
    for split in SPLITS:
        batch = task.batch(0, 0, 64, task.length, split=split).tokens
        texts[split] = {tuple(row[: task.length // 2 + 1]) for row in batch.tolist()}
    assert not texts["train"] & texts["test"]
    assert not texts["train"] & texts["tune"]
    assert not texts["tune"] & texts["test"]


@pytest.mark.parametrize("split", ["train", "test"])
def test_copy_repeats_the_sequence_before_the_separator(split):
    task, texts = rows("copy", split=split)
    for tokens, targets, weights in texts:
        n = tokens.index(task.vocab_size - 2)
        assert targets[n:] == tokens[:n]
        assert tokens[n + 1 :] == targets[n:-1]  # every answer is the next input
        assert weights == [0.0] * n + [1.0] * n


def test_copy_trains_on_lengths_from_half_to_all():
    lengths = {make_task("copy").batch(0, step, 1).tokens.shape[1] // 2 for step in range(200)}
    assert lengths == set(range(8, 17))


def test_back_expects_the_token_k_positions_before():
    task, texts = rows("back", k=3)
    for tokens, targets, weights in texts:
        assert [t for t, w in zip(targets, weights, strict=True) if w] == tokens[:-3]
        assert sum(weights) == task.length - 3


def test_recall_expects_the_letter_at_the_stated_distance():
    task, texts = rows("recall", length=40, n=200)
    distances = set()
    for tokens, targets, weights in texts:
        for place, token in enumerate(tokens):
            far = token - task.n_letters + 1  # 1 … farthest for numbers, below for letters
            source = place - far
            asked = far >= 1 and source >= 0 and tokens[source] < task.n_letters
            assert weights[place] == asked
            if asked:
                assert targets[place] == tokens[source]
                distances.add(far)
    assert distances == set(range(1, task.farthest + 1))


def test_recall_asks_at_a_quarter_of_the_positions():
    batch = make_task("recall").batch(0, 0, 2000, split="test")
    numbers = (batch.tokens[:, 1:] >= 8).double().mean().item()
    assert abs(numbers - 0.25) < 5 * (0.25 * 0.75 / (2000 * 32)) ** 0.5  # five standard errors


def test_clock_counts_positions_for_any_tokens():
    task, texts = rows("clock", m=3)
    for _, targets, weights in texts:
        assert targets == [place % 3 for place in range(task.length)]
        assert set(weights) == {1.0}


def test_text_expects_the_next_character_and_splits_the_prose():
    task = make_task("text")
    text = task.spell(_prose()[0])
    cuts = [len(text) * tenth // 10 for tenth in (0, 8, 9, 10)]
    for split, part in zip(("train", "tune", "test"), range(3), strict=True):
        batch = task.batch(0, 0, 64, split=split)
        assert torch.equal(batch.tokens[:, 2:], batch.targets[:, 1:-1])
        own = text[cuts[part] : cuts[part + 1]]
        assert all(task.spell(row[1:]) in own for row in batch.tokens)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: make_task("sort"), "task must be one of copy, back, recall.*got 'sort'"),
        (lambda: make_task("copy", size=3), "'copy' has the fields .*length.*got size"),
        (lambda: make_task("back").batch(-1, 0, 1), "seed must be a whole number from 0, got -1"),
        (lambda: make_task("back").batch(0, 0, 0), "batch_size must be"),
        (lambda: make_task("back").batch(0, 0, 1, 5), "length must be at least 6 for 'back', got 5"),
        (lambda: make_task("recall").batch(0, 0, 1, 8), "length must be at least 9"),
        (lambda: make_task("text").batch(0, 0, 1, 10**6), "length must be below .* of the train part"),
        (lambda: make_task("text").batch(0, 0, 1, split="dev"), "split must be .*'tune'.*got 'dev'"),
    ],
)
def test_errors_name_the_allowed_values(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


@pytest.mark.parametrize("length", [16, 32, 500])
def test_needle_hides_each_key_once_with_its_letter_and_asks_for_all_at_the_end(length):
    task, texts = rows("needle", length=length)
    depths = []
    for tokens, targets, weights in texts:
        haystack, asked = tokens[: length - 8], tokens[length - 8 :: 2]
        assert sorted(asked) == sorted(token for token in haystack if token >= 16) == [16, 17, 18, 19]
        assert [n for n, weight in enumerate(weights) if weight] == list(range(length - 8, length, 2))
        for n, key in zip(range(length - 8, length, 2), asked, strict=True):
            letter = haystack[haystack.index(key) + 1]
            assert targets[n] == tokens[n + 1] == letter < 16
            depths.append(haystack.index(key) / (length - 8))
    assert 0.35 < np.mean(depths) < 0.65  # anywhere in the haystack
    assert task.shortest == 16
