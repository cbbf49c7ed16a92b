r"""Six small tasks with generated data: what a model is trained on, and how its answers are counted.

Every task has the same face, `batch(seed, step, batch_size, length)`, and a batch is a pure function of its
arguments: a run that resumes at step n sees what it would have seen, and no state of a generator is stored.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np
import torch

from rope_edu.encodings._checks import check_one_of, check_positive_int

SPLITS = ("train", "test")
Drawn = tuple[np.ndarray, np.ndarray, np.ndarray]


class Batch(NamedTuple):
    """Rows of tokens, the token that should come out at each place, and whether that place counts."""

    tokens: torch.Tensor  # int64 (batch, seq)
    targets: torch.Tensor  # int64 (batch, seq)
    weights: torch.Tensor  # float32 (batch, seq): 1 where the target counts, else 0


@dataclass(frozen=True)
class Task:
    r"""A task: how to draw a batch, and the setting in which the grid trains on it.

    Attributes:
        name: how `make_task` calls it.
        vocab_size: tokens are 0 … vocab_size − 1.
        length: of the training texts, in the unit that `unit` states.
        unit: what `length` counts.
        steps, learning_rate: the grid's, the same for every encoding.

    Chapter 13.
    """

    name: str = ""
    vocab_size: int = 0
    length: int = 0
    unit: str = "tokens"
    steps: int = 1000
    learning_rate: float = 3e-3

    @property
    def test_lengths(self) -> tuple[int, ...]:
        """Return the lengths of testing: 1, 1.5, 2 and 4 times the training length."""
        return tuple(int(ratio * self.length) for ratio in (1, 1.5, 2, 4))

    def seq_len(self, length: int) -> int:
        """Return how many tokens a row of this `length` has."""
        return length

    def batch(
        self, seed: int, step: int, batch_size: int, length: int | None = None, *, split: str = "train"
    ) -> Batch:
        r"""Draw one batch; the same arguments give the same batch.

        Args:
            seed: of the run, a whole number from 0.
            step: of the training, a whole number from 0.
            batch_size: rows.
            length: in the task's unit; the training length if not given.
            split: "train" or "test", which never share a generator (nor, in `text`, a line).

        Returns:
            `Batch(tokens, targets, weights)`, each `(batch_size, seq)`.

        Raises:
            ValueError: a number or `split` is out of range, or `length` is too short for the task.

        >>> batch = make_task("back", k=1).batch(seed=0, step=0, batch_size=1, length=4)
        >>> bool((batch.tokens[0, :-1] == batch.targets[0, 1:]).all()), batch.weights.tolist()
        (True, [[0.0, 1.0, 1.0, 1.0]])

        Chapter 13.
        """
        length = self.length if length is None else check_positive_int("length", length)
        check_positive_int("batch_size", batch_size)
        check_one_of("split", split, SPLITS)
        for name, value in (("seed", seed), ("step", step)):
            if not isinstance(value, int | np.integer) or value < 0:
                raise ValueError(f"{name} must be a whole number from 0, got {value!r}")
        if length < self.shortest:
            raise ValueError(f"length must be at least {self.shortest} for {self.name!r}, got {length}")
        rng = np.random.default_rng([SPLITS.index(split), seed, step, length])
        tokens, targets, weights = self._draw(rng, batch_size, length, split)
        return Batch(
            torch.from_numpy(np.ascontiguousarray(tokens, dtype=np.int64)),
            torch.from_numpy(np.ascontiguousarray(targets, dtype=np.int64)),
            torch.from_numpy(np.ascontiguousarray(weights, dtype=np.float32)),
        )

    def spell(self, tokens) -> str:
        """Return tokens as a reader sees them."""
        return " ".join(str(int(token)) for token in tokens)

    @property
    def shortest(self) -> int:
        """Return the shortest length that makes sense."""
        return 2

    def _draw(self, rng: np.random.Generator, rows: int, length: int, split: str) -> Drawn:
        raise NotImplementedError


@dataclass(frozen=True)
class Copy(Task):
    r"""Say a sequence again after the separator; while training, its length varies from half to all.

        a₁ … a_n | a₁ … a_n        (the last token, the separator, is number vocab_size − 1)

    >>> task = make_task("copy")
    >>> batch = task.batch(seed=0, step=0, batch_size=1, length=4, split="test")
    >>> task.spell(batch.tokens[0])
    '13 5 11 7 | 13 5 11'

    Chapter 13.
    """

    name: str = "copy"
    steps: int = 1000
    vocab_size: int = 17
    length: int = 16
    unit: str = "tokens to copy"
    backwards: bool = False

    def seq_len(self, length: int) -> int:
        return 2 * length

    def spell(self, tokens) -> str:
        return " ".join("|" if token == self.vocab_size - 1 else str(int(token)) for token in tokens)

    def _draw(self, rng, rows, length, split):
        n = int(rng.integers(length // 2, length, endpoint=True)) if split == "train" else length
        given = rng.integers(self.vocab_size - 1, size=(rows, n))
        wanted = given[:, ::-1] if self.backwards else given
        separator = np.full((rows, 1), self.vocab_size - 1)
        tokens = np.concatenate([given, separator, wanted[:, :-1]], axis=1)  # (rows, 2n)
        targets = np.concatenate([given, wanted], axis=1)
        return tokens, targets, np.broadcast_to(np.arange(2 * n) >= n, tokens.shape)


@dataclass(frozen=True)
class Reverse(Copy):
    r"""Say a sequence backwards after the separator.

        a₁ … a_n | a_n … a₁

    >>> task = make_task("reverse")
    >>> batch = task.batch(seed=0, step=0, batch_size=1, length=4, split="test")
    >>> task.spell(batch.tokens[0])
    '13 5 11 7 | 7 11 5'

    Chapter 13.
    """

    name: str = "reverse"
    steps: int = 1000
    unit: str = "tokens to reverse"
    backwards: bool = True


@dataclass(frozen=True)
class Back(Task):
    r"""Say at every place the token that stood k places before.

        target_i = token_{i−k},   from i = k on

    >>> make_task("back", k=2).batch(seed=0, step=0, batch_size=1, length=4).weights.tolist()
    [[0.0, 0.0, 1.0, 1.0]]

    Chapter 13.
    """

    name: str = "back"
    steps: int = 400
    vocab_size: int = 16
    length: int = 32
    k: int = 5

    @property
    def shortest(self) -> int:
        return self.k + 1

    def _draw(self, rng, rows, length, split):
        tokens = rng.integers(self.vocab_size, size=(rows, length))
        targets = np.roll(tokens, self.k, axis=1)
        return tokens, targets, np.broadcast_to(np.arange(length) >= self.k, tokens.shape)


@dataclass(frozen=True)
class Induction(Task):
    r"""Complete a pair that was seen before: … a b … a → b.

    Every row has its own partner b for each key a; tokens that mean nothing stand between the pairs, so that no
    fixed distance helps. Counted are the keys that occurred before.

    Attributes:
        n_keys, n_values, n_noise: how many tokens of each kind, numbered in this order.

    >>> task = make_task("induction")
    >>> batch = task.batch(seed=3, step=0, batch_size=1, length=12, split="test")
    >>> task.spell(batch.tokens[0])  # keys are capitals, values small letters, noise a dot
    'C g D d . E h . . . D d'
    >>> [task.spell([target]) for target in batch.targets[0][batch.weights[0] > 0]]  # after the second D
    ['d']

    Source: Olsson 2022, arXiv 2209.11895 (induction heads). Chapter 13.
    """

    name: str = "induction"
    steps: int = 400
    length: int = 32
    n_keys: int = 6
    n_values: int = 8
    n_noise: int = 1
    vocab_size: int = 15

    def spell(self, tokens) -> str:
        letters = [chr(ord("A") + n) for n in range(self.n_keys)]
        letters += [chr(ord("a") + n) for n in range(self.n_values)] + ["."] * self.n_noise
        return " ".join(letters[int(token)] for token in tokens)

    def _draw(self, rng, rows, length, split):
        pairs = max(1, (2 * length) // 5)  # four fifths of the tokens belong to a pair
        units = pairs + length - 2 * pairs
        is_pair = rng.permuted(np.broadcast_to(np.arange(units) < pairs, (rows, units)), axis=1)
        starts = np.cumsum(1 + is_pair, axis=1) - (1 + is_pair)  # where each pair or single begins
        partner = rng.integers(self.n_values, size=(rows, self.n_keys)) + self.n_keys
        keys = rng.integers(self.n_keys, size=(rows, pairs))
        first_noise = self.n_keys + self.n_values
        tokens = first_noise + rng.integers(self.n_noise, size=(rows, length))
        targets, weights = np.zeros_like(tokens), np.zeros_like(tokens)
        at, row = starts[is_pair].reshape(rows, pairs), np.arange(rows)[:, None]
        values = partner[row, keys]
        tokens[row, at], tokens[row, at + 1], targets[row, at] = keys, values, values
        weights[row, at] = _seen_before(keys)
        return tokens, targets, weights


def _seen_before(keys: np.ndarray) -> np.ndarray:
    """Tell for every entry of every row whether it equals an earlier one."""
    same = keys[:, :, None] == keys[:, None, :]  # (rows, here, there)
    return np.tril(same, -1).any(axis=-1)


ANIMALS = ("dog", "pig", "cow", "cat", "hen", "fox")
VERBS = ("chases", "sees", "hears")
FILLERS = ("today", "slowly", "again", "there", "perhaps", "quietly")


@dataclass(frozen=True)
class Chases(Task):
    r"""Tell who does what: the same words in another order have another answer.

    Three clauses such as "dog chases pig", each with a verb of its own, in any order, with words that mean nothing
    before, between and after them. Then, for each verb, "who chases", and the one who acts is wanted.

    >>> task = make_task("chases")
    >>> batch = task.batch(seed=1, step=0, batch_size=1, length=16, split="test")
    >>> told, asked = task.spell(batch.tokens[0]).split(".")
    >>> told
    'hen hears cat perhaps slowly perhaps pig sees hen there cow chases hen slowly again again '
    >>> asked
    ' who chases cow who hears hen who sees pig'
    >>> [task.spell([target]) for target in batch.targets[0][batch.weights[0] > 0]]  # after each of the verbs
    ['cow', 'hen', 'pig']

    Chapter 13.
    """

    name: str = "chases"
    steps: int = 500
    length: int = 16
    unit: str = "words before the questions"
    words: tuple[str, ...] = field(default=(*ANIMALS, *VERBS, *FILLERS, ".", "who"), repr=False)
    vocab_size: int = len(ANIMALS) + len(VERBS) + len(FILLERS) + 2

    @property
    def shortest(self) -> int:
        return 3 * len(VERBS)

    def seq_len(self, length: int) -> int:
        return length + 1 + 3 * len(VERBS)

    def spell(self, tokens) -> str:
        return " ".join(self.words[int(token)] for token in tokens)

    def _draw(self, rng, rows, length, split):
        n, row = len(VERBS), np.arange(rows)[:, None]
        verb, filler, question = len(ANIMALS), len(ANIMALS) + n, self.vocab_size - 1
        who = rng.integers(len(ANIMALS), size=(rows, n))
        whom = (who + rng.integers(1, len(ANIMALS), size=(rows, n))) % len(ANIMALS)  # another animal
        order = _orders(rng, rows, n)
        clauses = np.stack([who, verb + np.arange(n) + 0 * who, whom], axis=-1)[row, order]  # (rows, n, 3)
        told = filler + rng.integers(len(FILLERS), size=(rows, length))
        fillers_before = np.sort(rng.integers(length - 3 * n, size=(rows, n), endpoint=True), axis=1)
        starts = fillers_before + 3 * np.arange(n)
        told[row, (starts[..., None] + np.arange(3)).reshape(rows, 3 * n)] = clauses.reshape(rows, 3 * n)
        asked = _orders(rng, rows, n)
        answers = who[row, asked]
        questions = np.stack([question + 0 * asked, verb + asked, answers], axis=-1)  # (rows, n, 3)
        stop = np.full((rows, 1), question - 1)
        tokens = np.concatenate([told, stop, questions.reshape(rows, 3 * n)], axis=1)
        targets, weights = np.zeros_like(tokens), np.zeros(tokens.shape)
        targets[:, length + 2 :: 3], weights[:, length + 2 :: 3] = answers, 1
        return tokens, targets, weights


def _orders(rng: np.random.Generator, rows: int, n: int) -> np.ndarray:
    """Draw an order of 0 … n − 1 for each row."""
    return rng.permuted(np.tile(np.arange(n), (rows, 1)), axis=1)


@dataclass(frozen=True)
class Text(Task):
    r"""Predict the next character of the book's own prose (a fixed copy of its first nine chapters, nn/prose.txt).

    The last tenth is kept for testing.

    >>> task = make_task("text")
    >>> len(task.spell(task.batch(seed=0, step=0, batch_size=1).tokens[0]))
    32

    Chapter 13.
    """

    name: str = "text"
    steps: int = 500
    length: int = 32
    unit: str = "characters"
    vocab_size: int = 75

    def spell(self, tokens) -> str:
        return "".join(_prose()[1][int(token)] for token in tokens)

    def _draw(self, rng, rows, length, split):
        numbers, _ = _prose()
        cut = len(numbers) * 9 // 10
        part = numbers[:cut] if split == "train" else numbers[cut:]
        if length >= len(part):
            raise ValueError(
                f"length must be below {len(part)}, the characters of the {split} part, got {length}"
            )
        starts = rng.integers(len(part) - length, size=(rows, 1))
        window = part[starts + np.arange(length + 1)]
        return window[:, :-1], window[:, 1:], np.ones((rows, length))


@cache
def _prose() -> tuple[np.ndarray, str]:
    """Return the text as numbers, and the characters that they stand for."""
    text = files("rope_edu.nn").joinpath("prose.txt").read_text(encoding="ascii")
    alphabet = "".join(sorted(set(text)))
    number = {character: n for n, character in enumerate(alphabet)}
    return np.array([number[character] for character in text]), alphabet


TASKS = {task.name: task for task in (Copy, Reverse, Back, Induction, Chases, Text)}


def make_task(name: str, **changes) -> Task:
    r"""Return a task by name, its setting changed where wanted.

    Args:
        name: copy, reverse, back, induction, chases or text.
        changes: fields of the task, such as `length=24`.

    Returns:
        A `Task`.

    Raises:
        ValueError: there is no such task, or it has no such field.

    >>> make_task("copy").test_lengths
    (16, 24, 32, 64)

    Chapter 13.
    """
    if name not in TASKS:
        raise ValueError(f"task must be one of {', '.join(TASKS)}, got {name!r}")
    try:
        return TASKS[name](**changes)
    except TypeError:
        fields = ", ".join(TASKS[name].__dataclass_fields__)
        raise ValueError(f"task {name!r} has the fields {fields}, got {', '.join(changes)}") from None


def longest(task: Task) -> int:
    """Return the tokens of the longest text on which a task is trained or tested."""
    return max(math.ceil(task.seq_len(length)) for length in (task.length, *task.test_lengths))
