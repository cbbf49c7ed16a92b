"""Tasks: pure functions of their arguments, right answers, train and test apart."""

import numpy as np
import pytest
import torch

from rope_edu.nn import TASKS, make_task


def rows(name, seed=0, length=None, split="test", n=32, **options):
    task = make_task(name, **options)
    batch = task.batch(seed, 0, n, length, split=split)
    assert batch.tokens.dtype == batch.targets.dtype == torch.int64
    assert batch.weights.dtype == torch.float32
    return task, zip(*(part.tolist() for part in batch), strict=True)


@pytest.mark.parametrize("name", TASKS)
def test_a_batch_depends_on_its_arguments_alone(name):
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
def test_every_length_has_the_shape_that_it_promises_and_tokens_of_the_vocabulary(name):
    task = make_task(name)
    seen = set()
    for length in task.test_lengths:
        batch = task.batch(0, 0, 64, length, split="test")
        assert batch.tokens.shape == batch.targets.shape == batch.weights.shape == (64, task.seq_len(length))
        assert batch.weights.sum(1).min() >= 1
        seen |= set(batch.tokens.flatten().tolist())
    assert min(seen) == 0
    assert max(seen) == task.vocab_size - 1
    assert task.test_lengths == tuple(int(ratio * task.length) for ratio in (1, 1.5, 2, 4))


@pytest.mark.parametrize(("name", "sign"), [("copy", 1), ("reverse", -1)])
@pytest.mark.parametrize("split", ["train", "test"])
def test_copy_and_reverse_say_what_stood_before_the_separator(name, sign, split):
    task, found = rows(name, split=split)
    for tokens, targets, weights in found:
        n = tokens.index(task.vocab_size - 1)
        assert targets[n:] == tokens[:n][::sign]
        assert tokens[n + 1 :] == targets[n:-1]  # every answer is given before the next is asked
        assert weights == [0.0] * n + [1.0] * n


def test_copy_trains_on_lengths_from_half_to_all():
    lengths = {make_task("copy").batch(0, step, 1).tokens.shape[1] // 2 for step in range(200)}
    assert lengths == set(range(8, 17))


def test_back_wants_the_token_k_places_before():
    task, found = rows("back", k=3)
    for tokens, targets, weights in found:
        assert [t for t, w in zip(targets, weights, strict=True) if w] == tokens[:-3]
        assert sum(weights) == task.length - 3


def test_induction_counts_keys_seen_before_and_wants_their_partner():
    task, found = rows("induction", length=48)
    for tokens, targets, weights in found:
        partner, counted = {}, []
        for place, token in enumerate(tokens):
            if token < task.n_keys:
                counted.append(token in partner)
                assert partner.setdefault(token, tokens[place + 1]) == tokens[place + 1]
                assert weights[place] == counted[-1]
                assert targets[place] == tokens[place + 1]
            else:
                assert weights[place] == 0
        assert {task.n_keys <= value < task.n_keys + task.n_values for value in partner.values()} == {True}


def test_induction_has_no_fixed_place_for_its_pairs():
    batch = make_task("induction").batch(0, 0, 256, split="test")
    first = (batch.tokens < 6).int().argmax(1)
    assert len(first.unique()) > 2


@pytest.mark.parametrize("length", [9, 16, 64])
def test_chases_wants_the_animal_before_the_verb(length):
    task, found = rows("chases", length=length)
    for tokens, targets, weights in found:
        words = [task.words[token] for token in tokens]
        told, asked = words[:length], words[length + 1 :]
        assert words[length] == "."
        assert sorted(asked[1::3]) == ["chases", "hears", "sees"]
        assert asked[0::3] == ["who"] * 3
        for n, verb in enumerate(asked[1::3]):
            here = told.index(verb)
            assert told.count(verb) == 1
            assert told[here - 1] == asked[3 * n + 2] == task.words[targets[length + 2 + 3 * n]]
            assert told[here - 1] != told[here + 1]
        assert [place for place, w in enumerate(weights) if w] == [length + 2, length + 5, length + 8]


def test_the_answer_of_chases_is_not_in_the_words_without_their_order():
    _, found = rows("chases", length=9, n=20_000)
    answers = {}
    for tokens, targets, weights in found:
        bag, first = tuple(sorted(tokens[:9])), weights.index(1.0)
        answers.setdefault((bag, tokens[first]), set()).add(targets[first])
    assert max(len(found) for found in answers.values()) > 1


def test_text_wants_the_next_character_and_tests_on_lines_never_trained_on():
    task = make_task("text")
    parts = {}
    for split in ("train", "test"):
        batch = task.batch(0, 0, 64, split=split)
        assert torch.equal(batch.tokens[:, 1:], batch.targets[:, :-1])
        parts[split] = {task.spell(row) for row in batch.tokens}
    from rope_edu.nn.tasks import _prose

    text = task.spell(_prose()[0])
    cut = len(text) * 9 // 10
    assert all(row in text[:cut] for row in parts["train"])
    assert all(row in text[cut:] for row in parts["test"])


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: make_task("sort"), "task must be one of copy, reverse.*got 'sort'"),
        (lambda: make_task("copy", size=3), "'copy' has the fields .*length.*got size"),
        (lambda: make_task("back").batch(-1, 0, 1), "seed must be a whole number from 0, got -1"),
        (lambda: make_task("back").batch(0, 0, 0), "batch_size must be"),
        (lambda: make_task("back").batch(0, 0, 1, 5), "length must be at least 6 for 'back', got 5"),
        (lambda: make_task("chases").batch(0, 0, 1, 8), "length must be at least 9"),
        (lambda: make_task("text").batch(0, 0, 1, 10**6), "length must be below"),
        (lambda: make_task("text").batch(0, 0, 1, split="dev"), "split must be 'train' or 'test', got 'dev'"),
    ],
)
def test_what_is_not_allowed_is_refused_with_what_is(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
