r"""Small tasks that generate data for training and testing.

All tasks have the same interface, `batch(seed, step, batch_size, length)`. A batch is a pure function of the
arguments, so a run that resumes at step n gets the same data without storing the state of a generator. Every row
begins with a special token. Uniform attention can measure only proportions, but a token that occurs exactly once
allows it to count.
"""

import math
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np
import torch

from rope_edu.encodings.validation import check_one_of, check_positive_int

SPLITS = ("train", "test", "tune")  # "tune" is for choosing learning rates; results are reported on "test"
Drawn = tuple[np.ndarray, np.ndarray, np.ndarray]


class Batch(NamedTuple):
    """Rows of tokens, the expected output at each position, and whether the position counts."""

    tokens: torch.Tensor  # int64 (batch, seq)
    targets: torch.Tensor  # int64 (batch, seq)
    weights: torch.Tensor  # float32 (batch, seq): 1 where the target counts, otherwise 0


@dataclass(frozen=True)
class Task:
    r"""A task that generates batches, with default training settings.

    Attributes:
        name: the name for `make_task`.
        vocab_size: number of tokens, 0 … vocab_size − 1; the last begins every row.
        length: length of the training texts, in `unit`s.
        unit: the unit of `length`.
        steps: default number of training steps, for all encodings.
        learning_rate: default learning rate.

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
        """Return the test lengths: 1, 2 and 4 times the training length."""
        return self.length, 2 * self.length, 4 * self.length

    def seq_len(self, length: int) -> int:
        """Return the number of tokens in a row for a text of the given length, including the first token."""
        return length + 1

    @property
    def trained_places(self) -> int:
        """Return the number of positions that occur in training; later positions are new."""
        return self.seq_len(self.length)

    def batch(
        self, seed: int, step: int, batch_size: int, length: int | None = None, *, split: str = "train"
    ) -> Batch:
        r"""Generate a batch of tokens, targets and weights, each `(batch_size, seq)`, as a pure function.

        Args:
            seed: the run's seed, a whole number ≥ 0.
            step: the training step, a whole number ≥ 0.
            batch_size: number of rows.
            length: text length in the task's unit, or None for the training length.
            split: "train", "test" or "tune", which never share random numbers (or, in `text`, passages).

        Raises:
            ValueError: a number or `split` is out of range, or `length` is too short for the task.

        >>> batch = make_task("back", k=1).batch(seed=0, step=0, batch_size=1, length=4)
        >>> bool((batch.tokens[0, 1:-1] == batch.targets[0, 2:]).all()), batch.weights.tolist()
        (True, [[0.0, 0.0, 1.0, 1.0, 1.0]])

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
            torch.from_numpy(_led_by(self.vocab_size - 1, tokens, np.int64)),
            torch.from_numpy(_led_by(0, targets, np.int64)),
            torch.from_numpy(_led_by(0, weights, np.float32)),
        )

    def spell(self, tokens) -> str:
        """Return tokens as text, with ^ for the first token."""
        return " ".join("^" if token == self.vocab_size - 1 else self._word(int(token)) for token in tokens)

    def _word(self, token: int) -> str:
        return str(token)

    @property
    def shortest(self) -> int:
        """Return the shortest valid length."""
        return 2

    def _draw(self, rng: np.random.Generator, rows: int, length: int, split: str) -> Drawn:
        raise NotImplementedError


def _led_by(first: int, rows: np.ndarray, dtype: type) -> np.ndarray:
    """Return the rows with `first` prepended, `(batch, 1 + seq)`."""
    return np.pad(rows, ((0, 0), (1, 0)), constant_values=first).astype(dtype)


@dataclass(frozen=True)
class Copy(Task):
    r"""Repeat a sequence after a separator; in training, its length varies from half of `length` to `length`.

        ^ a₁ … a_n | a₁ … a_n

    Positions hardly matter, because matching the last three tokens gives the right answer nine times in ten.

    >>> task = make_task("copy")
    >>> batch = task.batch(seed=0, step=0, batch_size=1, length=4, split="test")
    >>> task.spell(batch.tokens[0])
    '^ 13 5 11 7 | 13 5 11'

    Chapter 13.
    """

    name: str = "copy"
    steps: int = 600
    vocab_size: int = 18
    length: int = 16
    unit: str = "tokens to copy"

    def seq_len(self, length: int) -> int:
        return 2 * length + 1

    def _word(self, token: int) -> str:
        return "|" if token == self.vocab_size - 2 else str(token)

    def _draw(self, rng, rows, length, split):
        n = int(rng.integers(length // 2, length, endpoint=True)) if split == "train" else length
        sequence = rng.integers(self.vocab_size - 2, size=(rows, n))
        separator = np.full((rows, 1), self.vocab_size - 2)
        tokens = np.concatenate([sequence, separator, sequence[:, :-1]], axis=1)  # (rows, 2n)
        targets = np.concatenate([sequence, sequence], axis=1)
        return tokens, targets, np.broadcast_to(np.arange(2 * n) >= n, tokens.shape)


@dataclass(frozen=True)
class Back(Task):
    r"""At every position, repeat the token from k positions earlier, so that only one distance matters.

        target_i = token_{i−k},   for i ≥ k

    >>> make_task("back", k=2).batch(seed=0, step=0, batch_size=1, length=4).weights.tolist()
    [[0.0, 0.0, 0.0, 1.0, 1.0]]

    Chapter 13.
    """

    name: str = "back"
    steps: int = 400
    vocab_size: int = 17
    length: int = 32
    k: int = 5

    @property
    def shortest(self) -> int:
        return self.k + 1

    def _draw(self, rng, rows, length, split):
        tokens = rng.integers(self.vocab_size - 1, size=(rows, length))
        targets = np.roll(tokens, self.k, axis=1)
        return tokens, targets, np.broadcast_to(np.arange(length) >= self.k, tokens.shape)


@dataclass(frozen=True)
class Recall(Task):
    r"""Recall the letter at the distance given by the current token, so that content determines the distance.

        … c b a 3 → c        (numbers are distances: 1 is the previous letter)

    Attributes:
        n_letters, farthest: tokens are `n_letters` letters, then the numbers 1 … `farthest`.

    >>> task = make_task("recall")
    >>> batch = task.batch(seed=1, step=0, batch_size=1, length=12, split="test")
    >>> task.spell(batch.tokens[0])
    '^ d a g 6 4 a h 3 1 a a h'
    >>> [task.spell([target]) for target in batch.targets[0][batch.weights[0] > 0]]  # where 4 leads
    ['d']

    Chapter 13.
    """

    name: str = "recall"
    steps: int = 400
    length: int = 32
    n_letters: int = 8
    farthest: int = 8
    vocab_size: int = 17

    @property
    def shortest(self) -> int:
        return self.farthest + 1

    def _word(self, token: int) -> str:
        return chr(ord("a") + token) if token < self.n_letters else str(token - self.n_letters + 1)

    def _draw(self, rng, rows, length, split):
        letters = rng.integers(self.n_letters, size=(rows, length))
        far = rng.integers(1, self.farthest, size=(rows, length), endpoint=True)
        asks = rng.random((rows, length)) < 0.25
        tokens = np.where(asks, self.n_letters + far - 1, letters)
        source = np.arange(length) - far
        targets = np.take_along_axis(tokens, source.clip(0), axis=1)
        counts = asks & (source >= 0) & (targets < self.n_letters)
        return tokens, np.where(counts, targets, 0), counts


@dataclass(frozen=True)
class Needle(Task):
    r"""Recall the letter after each key, where the keys are hidden in letters and asked for at the end.

        ^ … B e … A h … … A h B e        (B is followed by e both times; the keys are asked for in random order)

    Only the haystack grows with the length, so a model with a limited window has to guess.

    Attributes:
        n_letters, n_keys: tokens are `n_letters` letters, then `n_keys` keys.

    >>> task = make_task("needle")
    >>> batch = task.batch(seed=2, step=0, batch_size=1, length=20, split="test")
    >>> task.spell(batch.tokens[0])
    '^ C a h D j p p o B i A m B i D j A m C a'
    >>> [task.spell([target]) for target in batch.targets[0][batch.weights[0] > 0]]
    ['i', 'j', 'm', 'a']

    Chapter 18.
    """

    name: str = "needle"
    steps: int = 600
    length: int = 32
    n_letters: int = 16
    n_keys: int = 4
    vocab_size: int = 21

    @property
    def shortest(self) -> int:
        return 4 * self.n_keys

    def _word(self, token: int) -> str:
        return chr(ord("a") + token) if token < self.n_letters else chr(ord("A") + token - self.n_letters)

    def _draw(self, rng, rows, length, split):
        n, haystack = self.n_keys, length - 2 * self.n_keys
        tokens = rng.integers(self.n_letters, size=(rows, length))
        slots = np.sort(rng.random((rows, haystack - n)).argsort(axis=1)[:, :n], axis=1)
        positions = slots + np.arange(n)  # positions of the keys in the haystack: a letter follows each
        keys = rng.random((rows, n)).argsort(axis=1)
        np.put_along_axis(tokens, positions, self.n_letters + keys, axis=1)
        asked = rng.random((rows, n)).argsort(axis=1)  # order of the questions
        sources = np.take_along_axis(positions, asked, axis=1)
        tokens[:, haystack::2] = np.take_along_axis(tokens, sources, axis=1)
        tokens[:, haystack + 1 :: 2] = np.take_along_axis(tokens, sources + 1, axis=1)
        asks = (np.arange(length) >= haystack) & ((np.arange(length) - haystack) % 2 == 0)
        return tokens, np.roll(tokens, -1, axis=1), np.broadcast_to(asks, tokens.shape)


@dataclass(frozen=True)
class Clock(Task):
    r"""Count positions modulo m.

        target_i = i mod m,   for any tokens

    This is the only task that requires absolute positions rather than distances.

    >>> make_task("clock").batch(seed=0, step=0, batch_size=1, length=6).targets.tolist()
    [[0, 0, 1, 2, 3, 0, 1]]

    Chapter 13.
    """

    name: str = "clock"
    steps: int = 400
    vocab_size: int = 9
    length: int = 32
    m: int = 4

    def _draw(self, rng, rows, length, split):
        tokens = rng.integers(self.vocab_size - 1, size=(rows, length))
        targets = np.broadcast_to(np.arange(length) % self.m, tokens.shape)
        return tokens, targets, np.ones(tokens.shape)


@dataclass(frozen=True)
class Text(Task):
    r"""Predict the next character in the book's prose (prose.txt, a fixed copy of the first nine chapters).

    The last tenth of the text is for testing, and the tenth before that is for tuning.

    >>> task = make_task("text")
    >>> len(task.spell(task.batch(seed=0, step=0, batch_size=1).tokens[0]))
    33

    Chapter 13.
    """

    name: str = "text"
    steps: int = 500
    length: int = 32
    unit: str = "characters"
    vocab_size: int = 76

    def spell(self, tokens) -> str:
        return "".join((*_prose()[1], "^")[int(token)] for token in tokens)

    def _draw(self, rng, rows, length, split):
        numbers, _ = _prose()
        low, high = {"train": (0, 8), "tune": (8, 9), "test": (9, 10)}[split]
        part = numbers[len(numbers) * low // 10 : len(numbers) * high // 10]
        if length >= len(part):
            raise ValueError(
                f"length must be below {len(part)}, the characters of the {split} part, got {length}"
            )
        starts = rng.integers(len(part) - length, size=(rows, 1))
        window = part[starts + np.arange(length + 1)]
        return window[:, :-1], window[:, 1:], np.ones((rows, length))


@cache
def _prose() -> tuple[np.ndarray, str]:
    """Return the text as token numbers, and the alphabet."""
    text = files("rope_book.training").joinpath("prose.txt").read_text(encoding="ascii")
    alphabet = "".join(sorted(set(text)))
    index = {character: n for n, character in enumerate(alphabet)}
    return np.array([index[character] for character in text]), alphabet


TASKS = {task.name: task for task in (Copy, Back, Recall, Clock, Text, Needle)}


def make_task(name: str, **changes) -> Task:
    r"""Return the named task, with some settings changed.

    Args:
        name: copy, back, recall, clock, text or needle.
        changes: new values for the task's fields, such as `length=24`.

    Raises:
        ValueError: the task or a field does not exist.

    >>> make_task("copy").test_lengths
    (16, 32, 64)

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
    """Return the number of tokens in a task's longest training or test text."""
    return max(math.ceil(task.seq_len(length)) for length in (task.length, *task.test_lengths))
