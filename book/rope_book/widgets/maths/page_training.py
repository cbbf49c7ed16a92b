"""Generate batches and initial weights for the models that the page trains, identical to those from JavaScript.

The counterparts in ``js/maths`` are ``page_tasks.js``, ``page_weights.js`` and ``page_look.js``. The tasks are
those of `rope_book.training.tasks`, with random numbers from `draws`.
"""

from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .draws import normal, uniform, whole

WIDTH, HEADS, HIDDEN = 32, 2, 64
BUCKETS = 32  # number of buckets in T5's table
BACK = 5  # the token to repeat is this many positions back
LETTERS, FAR, ASKS = 8, 8, 0.25  # in "recall": number of letters, largest distance, probability of a question
VOCABULARY = {"back": 17, "copy": 18, "recall": 17, "text": 76}
PLANNED = {"back": 400, "copy": 600, "recall": 400, "text": 500}  # number of training steps
PARTS = {"train": (0, 8), "test": (9, 10)}  # start and end, in tenths of the prose
PROSE = Path(__file__).parents[2] / "training" / "prose.txt"  # importing its package needs torch
# The challenge: the mean percentage of right answers to reach at new positions, and settings that reach it.
RECORD = {"task": "back", "length": 24, "times": 4, "percent": 92}
RECORD_SETTINGS = {"encoding": "rotary", "base": 100.0, "last_pair": 4, "steps": 400}
SPLITS = ("train", "test")
LONGEST = 4  # rows of a learned table, as a multiple of the trained length


class Texts(NamedTuple):
    """Input tokens, the right output at each position, and whether the position counts, each `(rows, seq)`."""

    tokens: np.ndarray
    targets: np.ndarray
    counts: np.ndarray


def places_of(task: str, length: int) -> int:
    """Return the number of tokens in a text, including the first one."""
    return 2 * length + 1 if task == "copy" else length + 1


def draw_texts(task: str, split: str, seed: int, step: int, rows: int, length: int) -> Texts:
    """Return a batch, as a pure function of the arguments.

    >>> draw_texts("back", "train", 0, 0, 1, 7).tokens.tolist()
    [[16, 3, 12, 8, 3, 0, 8, 8]]
    """
    keys = [SPLITS.index(split), seed, step, length]
    if task == "copy":
        half = length // 2
        n = half + int(whole([*keys, 3], 1, length - half + 1)[0]) if split == "train" else length
        parts = _copy(keys, rows, n)
    elif task == "text":
        parts = _text(keys, rows, length, split)
    else:
        parts = {"back": _back, "recall": _recall}[task](keys, rows, length)
    first = (VOCABULARY[task] - 1, 0, 0)
    padded = [
        np.pad(part, ((0, 0), (1, 0)), constant_values=value)
        for part, value in zip(parts, first, strict=True)
    ]
    return Texts(*padded)


def _back(keys: list[int], rows: int, length: int) -> tuple[np.ndarray, ...]:
    tokens = whole([*keys, 0], rows * length, 16).reshape(rows, length)
    counts = np.broadcast_to(np.arange(length) >= BACK, tokens.shape)
    return tokens, np.where(counts, np.roll(tokens, BACK, axis=1), 0), counts


def _copy(keys: list[int], rows: int, n: int) -> tuple[np.ndarray, ...]:
    letters = whole([*keys, 0], rows * n, 16).reshape(rows, n)
    tokens = np.concatenate([letters, np.full((rows, 1), 16), letters[:, :-1]], axis=1)
    targets = np.concatenate([letters, letters], axis=1)
    return tokens, targets, np.broadcast_to(np.arange(2 * n) >= n, tokens.shape)


def _recall(keys: list[int], rows: int, length: int) -> tuple[np.ndarray, ...]:
    count, shape = rows * length, (rows, length)
    letters = whole([*keys, 0], count, LETTERS).reshape(shape)
    far = 1 + whole([*keys, 1], count, FAR).reshape(shape)
    asks = uniform([*keys, 2], count).reshape(shape) < ASKS
    tokens = np.where(asks, LETTERS + far - 1, letters)
    source = np.arange(length) - far
    targets = np.take_along_axis(tokens, source.clip(0), axis=1)
    counts = asks & (source >= 0) & (targets < LETTERS)
    return tokens, np.where(counts, targets, 0), counts


@cache
def prose() -> tuple[np.ndarray, str]:
    """Return the prose as token numbers, and its alphabet in order."""
    text = PROSE.read_text(encoding="ascii")
    alphabet = "".join(sorted(set(text)))
    number = {character: n for n, character in enumerate(alphabet)}
    return np.array([number[character] for character in text]), alphabet


def part_of(split: str) -> np.ndarray:
    """Return the characters in a split, as token numbers."""
    numbers, _ = prose()
    low, high = PARTS[split]
    return numbers[len(numbers) * low // 10 : len(numbers) * high // 10]


def _text(keys: list[int], rows: int, length: int, split: str) -> tuple[np.ndarray, ...]:
    part = part_of(split)
    starts = whole([*keys, 0], rows, len(part) - length)[:, None]
    window = part[starts + np.arange(length + 1)]
    return window[:, :-1], window[:, 1:], np.ones((rows, length), bool)


def guess_of(task: str) -> tuple[float, float]:
    """Return the accuracy and loss (nats) of guessing uniformly or, for "text", from the character frequencies."""
    if task == "text":
        shares = np.bincount(part_of("train")) / len(part_of("train"))
        shares = shares[shares > 0]
        return float(shares.max()), float(-(shares * np.log(shares)).sum())
    letters = LETTERS if task == "recall" else 16
    return 1 / letters, float(np.log(letters))


def sway_of_pairs(q: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Return the influence of each of a head's pairs on the scores, given q and k `(seq, head_dim)`.

    The influence is the standard deviation of the pair's contribution over a query's visible keys, averaged over
    all queries but the first. Pairs are (i, i + half).
    """
    half = q.shape[-1] // 2
    parts = q[:, None] * k[None, :] / np.sqrt(q.shape[-1])  # (queries, keys, features)
    parts = parts[..., :half] + parts[..., half:]
    return np.mean([parts[i, : i + 1].std(axis=0) for i in range(1, len(q))], axis=0)


def weights_of(
    task: str, encoding: str, layers: int, length: int
) -> list[tuple[str, tuple[int, ...], str, float]]:
    """Return each weight's name in torch, shape, distribution and scale, with the encoding's weights last."""
    thin, thick, adds = WIDTH**-0.5, HIDDEN**-0.5, (2 * layers) ** -0.5
    named: list[tuple[str, tuple[int, ...], str, float]] = [
        ("embedding.weight", (VOCABULARY[task], WIDTH), "normal", 1.0)
    ]
    for n in range(layers):
        block = f"blocks.{n}"
        named += [*_norm(f"{block}.norm_1"), *_norm(f"{block}.norm_2")]
        named += [
            (f"{block}.attention.w_qkv.weight", (3 * WIDTH, WIDTH), "normal", thin),
            (f"{block}.attention.w_o.weight", (WIDTH, WIDTH), "normal", thin * adds),
            (f"{block}.mlp.0.weight", (HIDDEN, WIDTH), "normal", thin),
            (f"{block}.mlp.0.bias", (HIDDEN,), "uniform", thin),
            (f"{block}.mlp.2.weight", (WIDTH, HIDDEN), "normal", thick * adds),
            (f"{block}.mlp.2.bias", (WIDTH,), "uniform", thick),
        ]
    named += [*_norm("norm"), ("head.weight", (VOCABULARY[task], WIDTH), "normal", thin)]
    if encoding == "learned":
        named.append(("encodings.0.table", (places_of(task, LONGEST * length), WIDTH), "normal", 0.3))
    if encoding == "t5":
        named.append(("encodings.0.table", (BUCKETS, HEADS), "same", 0.0))
    return named


def _norm(name: str) -> list[tuple[str, tuple[int, ...], str, float]]:
    return [(f"{name}.weight", (WIDTH,), "same", 1.0), (f"{name}.bias", (WIDTH,), "same", 0.0)]


def draw_weights(task: str, encoding: str, layers: int, length: int, seed: int) -> dict[str, np.ndarray]:
    """Return the initial weights for a seed as float64 arrays, keyed by their names in torch."""
    drawn = {}
    for n, (name, shape, kind, spread) in enumerate(weights_of(task, encoding, layers, length)):
        count, keys = int(np.prod(shape)), [1000 + n, seed]
        if kind == "normal":
            values = normal(keys, count)
        else:
            values = 2 * uniform(keys, count) - 1 if kind == "uniform" else np.ones(count)
        drawn[name] = (spread * values).reshape(shape)
    return drawn
