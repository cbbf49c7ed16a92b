r"""Measure what chapter 23 claims: attention times, learned rows, switched encodings, linear attention.

    PYTHONPATH=book python -m makers.claims                   # about 25 minutes on one core
    PYTHONPATH=book python -m makers.claims times rows        # only these parts, into the same file

Expected before the first run: T5's bias costs less than twice attention without position at 2,048 tokens, and RoPE
written with `rotate_half` less than a tenth more; training makes learned rows of neighbouring positions similar; a
model trained with sinusoids and switched to RoPE falls to chance and recovers after a tenth of its training; linear
attention learns *back* earlier with RoPE than without position, and *text* a little earlier.

Observed: T5's bias costs far more than twice if recomputed, a little less if precomputed; neighbouring rows became
similar on *copy* and *text*, not on *back*; switched models fell far but stayed above chance, and *text* recovered
in part; linear attention learned *back* earlier than without position, and with sinusoids earlier still. *text*,
run later: the same order in every seed, RoPE 3 points above no position and at most 1.2 below sinusoids.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional

import rope_book
from makers.runs import RunsFile, describe_machine
from rope_book.results.claims import FORMAT
from rope_book.training import TrainingConfig, make_task, train
from rope_book.training.loop import make_model, score
from rope_book.training.transformer import TinyTransformer
from rope_edu.attention import linear_attention, merge_heads, split_heads
from rope_edu.encodings import alibi_bias, inv_freq, rope_angles, t5_bucket
from rope_edu.fast import RotaryTable, rotate
from rope_edu.nn import make_encoding

DEFAULT_OUT = Path(rope_book.__file__).parent / "results" / "claims.json"
ROW_KEYS = {  # the fields that identify a row
    "times": ("length", "way"),
    "rows": ("task", "seed", "offset"),
    "swaps": ("task", "trained", "seed"),
    "linear": ("task", "encoding", "seed"),
}
HEADS, HEAD_DIM = 8, 64
LENGTHS = (128, 512, 2048)
REPEATS = 15
SEEDS = range(4)
RATES = (1e-3, 3e-3, 1e-2)
Row = dict[str, object]


def attentions(length: int) -> dict[str, Callable[[], torch.Tensor]]:
    """Return causal attentions, without position and with each encoding, as libraries compute them per call."""
    q, k, v = torch.randn(3, 1, HEADS, length, HEAD_DIM, generator=torch.Generator().manual_seed(0))
    angles = torch.from_numpy(rope_angles(range(length), inv_freq(HEAD_DIM))).float().repeat(1, 2)
    cos, sin = angles.cos(), angles.sin()  # (seq, head_dim), half_split
    table = RotaryTable(inv_freq(HEAD_DIM), layout="half_split")
    learned = torch.randn(32, HEADS, generator=torch.Generator().manual_seed(1))
    positions = torch.arange(length)
    future = torch.ones(length, length, dtype=torch.bool).triu(1)
    alibi = torch.from_numpy(alibi_bias(HEADS, length, length)).float().masked_fill(future, -torch.inf)[None]
    attend = functional.scaled_dot_product_attention

    def rotated(x: torch.Tensor) -> torch.Tensor:
        first, second = x.chunk(2, dim=-1)
        return x * cos + torch.cat((-second, first), dim=-1) * sin

    def t5_bias() -> torch.Tensor:
        bucket = t5_bucket(positions[None, :] - positions[:, None], bidirectional=False)
        return learned[bucket].permute(2, 0, 1)[None].masked_fill(future, -torch.inf)  # (1, heads, seq, seq)

    precomputed = t5_bias()

    return {
        "none": lambda: attend(q, k, v, is_causal=True),
        "mask as an array": lambda: attend(q, k, v, attn_mask=~future),
        "rotary, rotate_half": lambda: attend(rotated(q), rotated(k), v, is_causal=True),
        "rotary, fused": lambda: attend(*rotate(q, k, table=table), v, is_causal=True),
        "t5, bias held": lambda: attend(q, k, v, attn_mask=precomputed),
        "t5, bias made anew": lambda: attend(q, k, v, attn_mask=t5_bias()),
        "alibi": lambda: attend(q, k, v, attn_mask=alibi),
    }


def times() -> Iterator[Row]:
    """Yield the median processor time of each attention, measured round-robin so that load affects all equally."""
    for length in LENGTHS:
        runs = attentions(length)
        seconds: dict[str, list[float]] = {name: [] for name in runs}
        for _ in range(REPEATS + 1):
            for name, run in runs.items():
                began = time.thread_time()
                run()
                seconds[name].append(time.thread_time() - began)
        median = {name: statistics.median(taken[1:]) for name, taken in seconds.items()}
        for name, taken in median.items():
            ratio = round(taken / median["none"], 2)
            yield {"length": length, "way": name, "milliseconds": round(1e3 * taken, 2), "ratio": ratio}


def rows() -> Iterator[Row]:
    """Yield the mean cosine of learned rows `offset` apart: before training, after it, and for the change."""
    for task in ("copy", "back", "text"):
        for seed in SEEDS:
            config = TrainingConfig(task, "learned", seed, device="cpu", points=1, rows=2).resolved()
            start = make_model(config).encodings[0].table.detach().numpy()
            end = train(config, progress=False, test_lengths=()).model.encodings[0].table.detach().numpy()
            used = slice(1, make_task(task).seq_len(config.length) - 1)
            for offset in (1, 2, 4, 8, 16):
                yield {
                    "task": task, "seed": seed, "offset": offset,
                    "start": _similarity(start[used], offset), "trained": _similarity(end[used], offset),
                    "added": _similarity((end - start)[used], offset),
                }  # fmt: skip


def _similarity(table: np.ndarray, offset: int) -> float:
    """Return the mean cosine of rows that are `offset` apart."""
    unit = table / np.linalg.norm(table, axis=1, keepdims=True)
    return round(float((unit[offset:] * unit[:-offset]).sum(axis=1).mean()), 3)


def swaps() -> Iterator[Row]:
    """Yield shares of right answers as trained, after the switch to RoPE, and after a tenth more training."""
    for task in ("back", "text"):
        for trained in ("sinusoidal", "learned"):
            for seed in SEEDS:
                config = TrainingConfig(task, trained, seed, device="cpu", points=1, rows=2).resolved()
                model = train(config, progress=False, test_lengths=()).model
                at_home = _right(model, config)
                head_dim = config.d_model // config.n_heads
                model.encodings = nn.ModuleList(
                    [make_encoding("rotary", d_model=config.d_model, n_heads=config.d_model // head_dim)]
                )
                switched = _right(model, config)
                more = replace(config, steps=config.steps // 10, warmup=config.warmup // 10)
                tuned = _right(train(more, model=model, progress=False, test_lengths=()).model, config)
                yield {"task": task, "trained": trained, "seed": seed,
                       "home": at_home, "switched": switched, "tuned": tuned}  # fmt: skip


def _right(model: TinyTransformer, config: TrainingConfig) -> float:
    return round(score(model, make_task(config.task), config.length)[1], 4)


class LinearAttention(nn.Module):
    """RoFormer's linear attention with the projections of an `Attention`."""

    def __init__(self, attention: nn.Module, angles: torch.Tensor | None) -> None:
        super().__init__()
        self.w_qkv, self.w_o, self.n_heads, self.angles = (
            attention.w_qkv,
            attention.w_o,
            attention.n_heads,
            angles,
        )

    def forward(self, x, encoding, positions, cache=None):
        q, k, v = (split_heads(part, self.n_heads) for part in self.w_qkv(x).chunk(3, dim=-1))
        angles = None if self.angles is None else self.angles[: x.shape[-2]]
        return self.w_o(merge_heads(linear_attention(q, k, v, angles=angles)))


def linear_model(config: TrainingConfig, with_rope: bool) -> TinyTransformer:
    """Return a configuration's model, with linear attention in every block."""
    model, head_dim = make_model(config), config.d_model // config.n_heads
    angles = torch.from_numpy(rope_angles(range(128), inv_freq(head_dim))).float() if with_rope else None
    for block in model.blocks:
        block.attention = LinearAttention(block.attention, angles)
    return model


def linear() -> Iterator[Row]:
    """Yield learning-curve areas of linear attention with each encoding, at the best of three tuned rates."""
    for task in ("back", "text"):
        for encoding in ("none", "sinusoidal", "rotary"):
            rate = max(RATES, key=lambda rate: _linear_run(task, encoding, 100, rate, "tune")["area"])
            for seed in SEEDS:
                yield _linear_run(task, encoding, seed, rate, "test")


def _linear_run(task: str, encoding: str, seed: int, rate: float, split: str) -> Row:
    name = "none" if encoding == "rotary" else encoding  # linear attention rotates by itself
    config = TrainingConfig(
        task, name, seed, steps=600, learning_rate=rate, device="cpu", points=13, rows=32, evaluate_on=split
    ).resolved()
    model = linear_model(config, encoding == "rotary")
    curve = [point.accuracy for point in train(config, model=model, progress=False, test_lengths=()).history]
    return {
        "task": task, "encoding": encoding, "seed": seed, "learning_rate": rate,
        "area": round(statistics.fmean(curve), 4), "last": round(curve[-1], 4),
    }  # fmt: skip


PARTS = {"times": times, "rows": rows, "swaps": swaps, "linear": linear}


def main() -> None:
    """Measure the requested parts, and write each row as soon as it is measured."""
    parser = argparse.ArgumentParser("makers.claims", description="Measure for the claims of chapter 23.")
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="all if none is given")
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT, help="the file to write")
    options = parser.parse_args()
    torch.set_num_threads(1)
    settings = {"heads": HEADS, "head_dim": HEAD_DIM, "repeats": REPEATS}
    file = RunsFile(options.out, FORMAT, settings, {"machine": describe_machine("cpu", 1)}, ROW_KEYS)
    for part in options.parts or PARTS:
        file.rows[part].clear()
        began = time.perf_counter()
        for row in PARTS[part]():
            file.add(part, row, time.perf_counter() - began)
            began = time.perf_counter()


if __name__ == "__main__":
    main()
