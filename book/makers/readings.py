r"""Readings of a trained model for `makers.stretch`: other distances, windows, sharper scores, texts with a gap.

The weights stay as training left them. There are three sets:

- remedies: ReRoPE, leaky ReRoPE, a window mask, log-n;
- causes, on long texts: the slow pairs held at the farthest trained distance (no angle is new, combinations are),
  the fast ones held (the other way round), all held or spread over trained distances (only the keys are many);
- causes, on texts of the trained length with a gap: as far apart as long texts, with as few keys as short ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch

from rope_book.training.loop import TEST_SEED, answer_loss
from rope_book.training.reading import Reading, read_with
from rope_book.training.tasks import Task
from rope_book.training.transformer import TinyTransformer
from rope_edu.encodings import RopeSpec, completes_turn, plain_rope

WINDOWS, MASKS = (8, 16, 24), (17, 33, 66)
GAPS = 8  # lengths of a gap, over which its scores are averaged
REMEDIES = (
    *(f"rerope-{w}" for w in WINDOWS), "leaky-16", *(f"window-{w}" for w in MASKS),
    "plain-logn", "rerope-16-logn", "by-parts-fitted-logn",
)  # fmt: skip
CAUSES = ("slow-held", "fast-held", "all-held", "spread", "slow-held-logn", "all-held-logn", "spread-logn")
FEW_KEYS = ("plain", "slow-held", "fast-held", "all-held", "spread")
READINGS = REMEDIES + CAUSES


def make_reading(name: str, head_dim: int, trained: int, multiple: int, fitted: RopeSpec) -> Reading:
    r"""Return a reading for texts `multiple` times as long as the trained one.

    Args:
        name: of `READINGS`, or "plain".
        head_dim: width of a head.
        trained: tokens of a training text.
        multiple: length of the text, in trained lengths.
        fitted: by parts with fitted thresholds, set for these texts.

    >>> make_reading("rerope-8", 4, 33, 16, plain_rope(4)).window
    8

    Chapter 18.
    """
    rope = plain_rope(head_dim, 10_000.0, layout="half_split")
    complete = completes_turn(rope.inv_freq, trained)
    slow, fast = ([n for n, done in enumerate(complete) if done == wanted] for wanted in (False, True))
    farthest = trained - 1
    if name.endswith("-logn"):
        plain = name.removesuffix("-logn")
        return replace(make_reading(plain, head_dim, trained, multiple, fitted), trained=trained)
    windows = {f"rerope-{w}": Reading(rope, window=w) for w in WINDOWS}
    masks = {f"window-{w}": Reading(rope, sees=w) for w in MASKS}
    leak = max(1.0, (multiple * trained - 1 - 16) / (farthest - 16))
    return {
        "plain": Reading(rope),
        "by-parts-fitted": Reading(fitted),
        "leaky-16": Reading(rope, window=16, leak=leak),
        "slow-held": Reading(rope, window=farthest, held=slow),
        "fast-held": Reading(rope, window=farthest, held=fast),
        "all-held": Reading(rope, window=farthest),
        "spread": Reading(rope, window=16, fold=farthest - 15),
        **windows,
        **masks,
    }[name]


@torch.no_grad()
def score_with_gap(
    model: TinyTransformer, reading: Reading, task: Task, multiple: int, rows: int, *, split: str
) -> tuple[float, float]:
    r"""Return (loss, accuracy) on texts of the trained length whose later part stands farther on.

    The gap falls before the first answer, and not before the middle; answers behind it count. The mean of eight
    gaps, which bring the length, in positions, to between half of `multiple` trained lengths and all of it; at 1
    there is no gap.
    """
    batch = task.batch(TEST_SEED, 0, rows, task.length, split=split)
    first = int(batch.weights.argmax(-1).min())
    place = max(first, batch.tokens.shape[-1] // 2 + 1)
    batch.weights[:, :place] = 0
    found = []
    for gap in gaps(task.trained_places, multiple):
        logits = read_with(model, replace(reading, gap=(place, gap)))(batch.tokens)
        right = ((logits.argmax(-1) == batch.targets) * batch.weights).sum() / batch.weights.sum()
        found.append((float(answer_loss(logits, batch)), float(right)))
    losses, shares = zip(*found, strict=True)
    return sum(losses) / len(found), sum(shares) / len(found)


def gaps(trained: int, multiple: int) -> list[int]:
    """Return the gaps of texts that are to be as long as `multiple` trained ones.

    >>> gaps(33, 1), gaps(33, 4)
    ([0], [49, 56, 63, 70, 78, 85, 92, 99])
    """
    longest = (multiple - 1) * trained
    return [0] if multiple == 1 else [round(longest * (1 + n / (GAPS - 1)) / 2) for n in range(GAPS)]


def score_readings(
    score: Callable[[TinyTransformer, int], tuple[float, float]],
    model: TinyTransformer,
    task: Task,
    ropes: dict[int, RopeSpec],
    head_dim: int,
    *,
    rows: int,
    split: str,
) -> list[tuple[str, str, int, tuple[float, float]]]:
    r"""Score all readings at all lengths.

    Args:
        score: of a model, on texts so many times as long.
        model: as trained.
        task: its task.
        ropes: length -> by parts with fitted thresholds, set for it.
        head_dim: width of a head.
        rows, split: of the texts with a gap.

    Returns:
        Rows (way, reading, multiple, (loss, accuracy)); the way is "zero-shot" or "few-keys".
    """
    found = []
    for multiple, fitted in ropes.items():
        made = {
            name: make_reading(name, head_dim, task.trained_places, multiple, fitted)
            for name in ("plain", *READINGS)
        }
        found += [
            ("zero-shot", name, multiple, score(read_with(model, made[name]), multiple)) for name in READINGS
        ]
        found += [
            ("few-keys", name, multiple, score_with_gap(model, made[name], task, multiple, rows, split=split))
            for name in FEW_KEYS
        ]
    return found
