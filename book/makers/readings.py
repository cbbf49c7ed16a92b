r"""Attention variants of a trained model, which `makers.stretch` scores in its table "readings".

The weights stay fixed. There are three sets:

- remedies: ReRoPE, leaky ReRoPE, a window mask, log-n;
- causes, on long texts: slow pairs held at the farthest trained distance (no new angles, new combinations), fast
  pairs held (the reverse), all pairs held or spread over trained distances (nothing new but the number of keys);
- causes, on texts of the trained length with a gap: distances of long texts, keys of short texts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch

from rope_book.training.loop import TEST_SEED, answer_loss
from rope_book.training.tasks import Task
from rope_book.training.transformer import TinyTransformer
from rope_book.training.variants import AttentionVariant, with_attention
from rope_edu.encodings import RopeSpec, completes_turn, plain_rope

WINDOWS, MASKS = (8, 16, 24), (17, 33, 66)
GAPS = 8  # number of gap lengths over which scores are averaged
REMEDIES = (
    *(f"rerope-{w}" for w in WINDOWS), "leaky-16", *(f"window-{w}" for w in MASKS),
    "plain-logn", "rerope-16-logn", "by-parts-fitted-logn",
)  # fmt: skip
CAUSES = ("slow-held", "fast-held", "all-held", "spread", "slow-held-logn", "all-held-logn", "spread-logn")
FEW_KEYS = ("plain", "slow-held", "fast-held", "all-held", "spread")
READINGS = REMEDIES + CAUSES


def make_variant(name: str, head_dim: int, trained: int, multiple: int, fitted: RopeSpec) -> AttentionVariant:
    r"""Return a variant for texts `multiple` times as long as the training texts.

    Args:
        name: one of `READINGS`, or "plain".
        head_dim: width of a head.
        trained: tokens in a training text.
        multiple: length of the text, in trained lengths.
        fitted: rope by parts with fitted thresholds, set for these texts.

    >>> make_variant("rerope-8", 4, 33, 16, plain_rope(4)).window
    8

    Chapter 18.
    """
    rope = plain_rope(head_dim, 10_000.0, layout="half_split")
    complete = completes_turn(rope.inv_freq, trained)
    slow, fast = ([n for n, done in enumerate(complete) if done == fast] for fast in (False, True))
    farthest = trained - 1
    if name.endswith("-logn"):
        plain = name.removesuffix("-logn")
        return replace(make_variant(plain, head_dim, trained, multiple, fitted), trained=trained)
    windows = {f"rerope-{w}": AttentionVariant(rope, window=w) for w in WINDOWS}
    masks = {f"window-{w}": AttentionVariant(rope, sees=w) for w in MASKS}
    leak = max(1.0, (multiple * trained - 1 - 16) / (farthest - 16))
    return {
        "plain": AttentionVariant(rope),
        "by-parts-fitted": AttentionVariant(fitted),
        "leaky-16": AttentionVariant(rope, window=16, leak=leak),
        "slow-held": AttentionVariant(rope, window=farthest, held=slow),
        "fast-held": AttentionVariant(rope, window=farthest, held=fast),
        "all-held": AttentionVariant(rope, window=farthest),
        "spread": AttentionVariant(rope, window=16, fold=farthest - 15),
        **windows,
        **masks,
    }[name]


@torch.no_grad()
def score_with_gap(
    model: TinyTransformer, variant: AttentionVariant, task: Task, multiple: int, rows: int, *, split: str
) -> tuple[float, float]:
    r"""Return (loss, accuracy) on texts of the trained length with a gap in their positions.

    The gap is before the first answer, but not in the first half; only answers after it count. Scores are means
    over eight gaps, which stretch the text to between about half of `multiple` trained lengths and all of them;
    at 1 there is no gap.
    """
    batch = task.batch(TEST_SEED, 0, rows, task.length, split=split)
    first_answer = int(batch.weights.argmax(-1).min())
    index = max(first_answer, batch.tokens.shape[-1] // 2 + 1)
    batch.weights[:, :index] = 0
    scores = []
    for gap in gaps(task.trained_places, multiple):
        logits = with_attention(model, replace(variant, gap=(index, gap)))(batch.tokens)
        right = ((logits.argmax(-1) == batch.targets) * batch.weights).sum() / batch.weights.sum()
        scores.append((float(answer_loss(logits, batch)), float(right)))
    losses, shares = zip(*scores, strict=True)
    return sum(losses) / len(scores), sum(shares) / len(scores)


def gaps(trained: int, multiple: int) -> list[int]:
    """Return the gaps that stretch a text to at most `multiple` trained lengths.

    >>> gaps(33, 1), gaps(33, 4)
    ([0], [50, 57, 64, 71, 78, 85, 92, 99])
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
    r"""Score all variants at all lengths.

    Args:
        score: function of a model and `multiple`, which scores on texts that many times as long.
        model: the trained model.
        task: the model's task.
        ropes: multiple -> rope by parts with fitted thresholds, set for that multiple.
        head_dim: width of a head.
        rows, split: number and split of the texts with a gap.

    Returns:
        Rows (way, name, multiple, (loss, accuracy)); the way is "zero-shot" or "few-keys".
    """
    results = []
    for multiple, fitted in ropes.items():
        variants = {
            name: make_variant(name, head_dim, task.trained_places, multiple, fitted)
            for name in ("plain", *READINGS)
        }
        results += [
            ("zero-shot", name, multiple, score(with_attention(model, variants[name]), multiple))
            for name in READINGS
        ]
        results += [
            (
                "few-keys",
                name,
                multiple,
                score_with_gap(model, variants[name], task, multiple, rows, split=split),
            )
            for name in FEW_KEYS
        ]
    return results
