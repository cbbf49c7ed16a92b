r"""Train at one length, test at 2, 4 and 16 times that length: every rule, zero-shot and after a short fine-tune.

    PYTHONPATH=book python -m makers.stretch                                  # all: 3 tasks × 8 seeds
    PYTHONPATH=book python -m makers.stretch --tasks text --seeds 2 --out mine.json

For every task, choices come first, by the loss on tuning texts of a model that is never reported: the learning
rate, the thresholds of the fitted rules, LongRoPE's lists (one per stretch), the learning rate of every rule's
fine-tune. Then for each of the seeds 0, 1, … a model is trained at the task's length and scored

- zero-shot with every rule, set for the length of the text, and set for the longest text at all lengths;
- after a fine-tune with every rule, set for the longest text: a tenth of the steps, on texts 4 or 16 times as
  long, with the same number of tokens per step.

A model trained from the start with a base of 500,000 (ABF) is scored too. Longer texts are scored at new positions
only. The same weights are then tested with other attention, without training: `makers.readings`. Last, two rules
are fine-tuned once more, each with a rate chosen from four, on tuning texts of the length of the fine-tune.

Stop it at any time: the file is complete after every run, and the same command resumes with the missing runs.
Read the file with `rope_book.results.load_stretch`.
"""

from __future__ import annotations

import argparse
import copy
import functools
import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
from torch import nn

import rope_book
import rope_edu
from makers.readings import FEW_KEYS, READINGS, score_readings
from makers.runs import RunsFile, describe_machine, run_parallel
from rope_book.results.stretch import FORMAT, RUN_KEY, SCORE_TABLES, TUNING_KEY, UNSTRETCHED
from rope_book.training.loop import TrainingConfig, make_model, score, train
from rope_book.training.tasks import make_task
from rope_book.training.transformer import TinyTransformer
from rope_edu.encodings import RopeSpec, plain_rope, rope_angles
from rope_edu.encodings.scaling import (
    abf,
    dynamic_ntk,
    llama3,
    longrope,
    ntk_aware,
    ntk_by_parts,
    position_interpolation,
    yarn,
)
from rope_edu.nn.encodings import Encoding, Positions, RotaryModule

DEFAULT_OUT = Path(rope_book.__file__).parent / "results" / "stretch.json"
STRETCHED_TASKS = ("text", "copy", "needle")
LEARNING_RATES = (1e-3, 3e-3, 1e-2)
TUNED_RATES = (1e-3, 3e-3)  # for fine-tunes
TUNING_SEED = 1000  # the reported seeds count from 0
SLOW, FAST = (0.125, 0.25, 0.5, 1.0), (0.5, 1.0, 2.0, 4.0)  # candidate thresholds, in turns
LIST_POWERS = (0.0, 0.25, 0.5, 0.75, 1.0)  # LongRoPE divides a pair by a power of the stretch
ADJUSTED_BASE = 500_000.0
RULES = (
    "plain", "pi", "abf", "ntk-aware", "by-parts", "by-parts-fitted", "yarn", "yarn-fitted", "llama3", "longrope",
)  # fmt: skip
RULE_VARIANTS = ("yarn-unclamped", "yarn-cool", "longrope-cool")  # zero-shot only
RETUNED = ("plain", "yarn")
RETUNED_RATES = (1e-3, 3e-3, 1e-2, 3e-2)


@dataclass(frozen=True)
class Plan:
    """Sizes of an experiment.

    Attributes:
        config: changes to `TrainingConfig`.
        steps: training steps of a base model; the task's default if None.
        share: fine-tune steps as a share of a base model's steps.
        multiples: test lengths as multiples of the trained length; the first is 1.
        tuned_on: fine-tuning lengths as multiples of the trained length.
        rows: texts per test.
    """

    config: dict = field(default_factory=dict)
    steps: int | None = None
    share: float = 0.1
    multiples: tuple[int, ...] = (1, 2, 4, 16)
    tuned_on: tuple[int, ...] = (4, 16)
    rows: int = 32

    @property
    def longest(self) -> int:
        """Return the largest stretch."""
        return self.multiples[-1]


PLANS = {
    "small": Plan(),
    "tiny": Plan(
        {"d_model": 8, "n_layers": 1, "n_heads": 1, "d_ff": 8, "batch_size": 4, "warmup": 1},
        steps=10, multiples=(1, 2), tuned_on=(2,), rows=2,
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Fit:
    """Choices made on tuning texts.

    Attributes:
        learning_rate: the rate for base models.
        slow, fast: thresholds of the fitted rules, in turns.
        lists: stretch -> LongRoPE's long list, one divisor per pair.
        tuned_rates: rule -> learning rate of its fine-tune.
    """

    learning_rate: float = 3e-3
    slow: float = 1.0
    fast: float = 32.0
    lists: dict[int, list[float]] = field(default_factory=dict)
    tuned_rates: dict[str, float] = field(default_factory=dict)


def make_rule(
    name: str, head_dim: int, factor: float, trained_length: int, fit: Fit, *, length: int | None = None
) -> RopeSpec:
    r"""Return a rule set for texts `factor` times as long as the trained ones.

    Thresholds are those of the papers except in fitted rules; the model's base is 10,000.

    Args:
        name: one of `RULES` or `RULE_VARIANTS`.
        head_dim: width of a head.
        factor: target length over trained length.
        trained_length: tokens.
        fit: thresholds and lists.
        length: text length in tokens, for LongRoPE, which leaves short texts alone; None means long.

    >>> make_rule("pi", 4, 16, 33, Fit()).inv_freq.tolist()
    [0.0625, 0.000625]

    Chapter 18.
    """
    base, setting = {"base": 10_000.0}, (head_dim, factor, trained_length, fit)
    fitted = {**base, "beta_slow": fit.slow, "beta_fast": fit.fast}
    rules: dict[str, Callable[[], RopeSpec]] = {
        "plain": lambda: plain_rope(head_dim, **base),
        "pi": lambda: position_interpolation(head_dim, factor, **base),
        "abf": lambda: abf(head_dim, ADJUSTED_BASE),
        "ntk-aware": lambda: ntk_aware(head_dim, factor, **base),
        "by-parts": lambda: ntk_by_parts(head_dim, factor, trained_length, **base),
        "by-parts-fitted": lambda: ntk_by_parts(head_dim, factor, trained_length, **fitted),
        "yarn": lambda: yarn(head_dim, factor, trained_length, **base),
        "yarn-fitted": lambda: yarn(head_dim, factor, trained_length, ramp="turns", **fitted),
        "llama3": lambda: llama3(head_dim, factor, trained_length, **base),
        "longrope": lambda: listed(fit.lists.get(factor), head_dim, factor, trained_length, length),
        "yarn-unclamped": lambda: unclamped_yarn(head_dim, factor, trained_length),
        "yarn-cool": lambda: make_rule("yarn", *setting, length=length).replace(attention_factor=1.0),
        "longrope-cool": lambda: make_rule("longrope", *setting, length=length).replace(attention_factor=1.0),
    }
    return rules[name]().replace(layout="half_split")


def unclamped_yarn(head_dim: int, factor: float, trained_length: int) -> RopeSpec:
    r"""Return released YaRN without its clamp: the ramp may begin before pair 0.

    With few turns in the trained length the ramp's lower end is negative; the released code clamps it to 0, which
    leaves the first pair unchanged.

    >>> released = make_rule("yarn", 16, 4, 33, Fit())
    >>> (released.inv_freq / unclamped_yarn(16, 4, 33).inv_freq)[:2].round(2).tolist()
    [1.6, 1.43]

    Chapter 18.
    """
    plain = plain_rope(head_dim, 10_000.0, layout="half_split").inv_freq
    low, high = (
        rounded(head_dim * math.log(trained_length / (turns * 2 * math.pi)) / (2 * math.log(10_000.0)))
        for rounded, turns in ((math.floor, 32.0), (math.ceil, 1.0))
    )
    unscaled = 1 - np.clip((np.arange(len(plain)) - low) / (high - low), 0.0, 1.0)
    released = yarn(head_dim, factor, trained_length, base=10_000.0).replace(layout="half_split")
    return released.replace(inv_freq=(1 - unscaled) * plain / factor + unscaled * plain)


def listed(
    divisors: list[float] | None, head_dim: int, factor: float, trained_length: int, length: int | None = None
) -> RopeSpec:
    """Return LongRoPE with this long list and a short list of ones."""
    ones = [1.0] * (head_dim // 2)
    length = trained_length + 1 if length is None else length
    lists = {"short_factor": ones, "long_factor": divisors or ones}
    return longrope(head_dim, factor, trained_length, length=length, **lists).replace(layout="half_split")


@functools.lru_cache(maxsize=1)
def _growing_angles(head_dim: int, trained_length: int, positions: range) -> torch.Tensor:
    specs = (dynamic_ntk(head_dim, trained_length, length=m + 1) for m in positions)
    rows = [rope_angles([m], spec.inv_freq) for m, spec in zip(positions, specs, strict=True)]
    return torch.as_tensor(np.concatenate(rows))


class GrowingNTK(Encoding):
    r"""Dynamic NTK with a cache: every key keeps the frequencies of the length at which it was cached.

        angle(m, i) = m · θ_i(m + 1),   θ(l): `dynamic_ntk` for a text of l tokens

    Args:
        head_dim: width of a head.
        trained_length: tokens.

    >>> x, plain = torch.ones(1, 3, 4), RotaryModule(plain_rope(4, layout="half_split"))
    >>> bool((GrowingNTK(4, 3).rotate_q(x, range(3)) == plain.rotate_q(x, range(3))).all())
    True

    Source: transformers' rope type "dynamic", with a cache. Chapters 15 and 18.
    """

    def __init__(self, head_dim: int, trained_length: int) -> None:
        super().__init__()
        self.head_dim, self.trained_length = head_dim, trained_length

    def rotate_q(self, q: torch.Tensor, positions: Positions) -> torch.Tensor:
        angles = _growing_angles(self.head_dim, self.trained_length, positions)
        return rope_edu.apply_rope(q, angles.to(q.device), layout="half_split")

    def rotate_k(self, k: torch.Tensor, positions: Positions) -> torch.Tensor:
        return self.rotate_q(k, positions)


def with_encoding(model: TinyTransformer, encoding: RopeSpec | Encoding) -> TinyTransformer:
    r"""Return a copy of a model with another rotation and its own copy of the weights.

    >>> model = TinyTransformer(10, d_model=8, n_heads=1)
    >>> with_encoding(model, position_interpolation(8, 4)).encodings[0].rope.kind
    'pi'

    Chapter 18.
    """
    changed = copy.deepcopy(model)
    changed.encodings = nn.ModuleList(
        [RotaryModule(encoding) if isinstance(encoding, RopeSpec) else encoding]
    )
    return changed


def make_config(
    task: str, seed: int, plan: Plan, learning_rate: float, *, multiple: int = 1, share: float = 1.0
) -> TrainingConfig:
    """Return the configuration of a run on texts `multiple` times as long, with the same tokens per step."""
    config = TrainingConfig(task, "rotary", seed, device="cpu", points=1, rows=2, **plan.config)
    trained = make_task(task)
    steps = plan.steps or trained.steps
    return TrainingConfig(**{
        **vars(config),
        "steps": max(1, round(share * steps)),
        "warmup": max(1, round(share * config.warmup)),
        "learning_rate": learning_rate,
        "length": multiple * trained.length,
        "batch_size": max(1, config.batch_size // multiple),
    })  # fmt: skip


class Bench:
    """A task with a plan and a fit: trains models and scores them.

    The folder `weights`, if given, caches the base models of the reported seeds.
    """

    def __init__(
        self, task: str, plan: Plan, fit: Fit | None = None, split: str = "test", weights: Path | None = None
    ) -> None:
        self.name, self.task, self.plan, self.split = task, make_task(task), plan, split
        self.fit, self.weights = fit or Fit(), weights
        config = make_config(task, 0, plan, 1.0)
        self.head_dim = config.d_model // config.n_heads

    def rule(self, name: str, factor: float, multiple: int | None = None) -> RopeSpec:
        """Return a rule for a stretch, for texts `multiple` times as long as in training (None means long)."""
        length = None if multiple is None else self.task.seq_len(multiple * self.task.length)
        return make_rule(name, self.head_dim, factor, self.task.trained_places, self.fit, length=length)

    def base(self, seed: int, *, rule: str = "plain") -> TinyTransformer:
        """Train a model from scratch at the task's length."""
        config = make_config(self.name, seed, self.plan, self.fit.learning_rate)
        model = with_encoding(make_model(config), self.rule(rule, 1))
        path = self.weights and self.weights / f"{self.name}-{rule}-{seed}.pt"
        return train(config, checkpoint=path, model=model, test_lengths=(), progress=False).model

    def tuned(
        self, model: TinyTransformer, seed: int, rule: str, multiple: int, rate: float | None = None
    ) -> TinyTransformer:
        """Fine-tune a copy on texts `multiple` times as long, with a rule set for the longest texts."""
        rate = rate or self.fit.tuned_rates.get(rule, TUNED_RATES[0])
        config = make_config(self.name, seed, self.plan, rate, multiple=multiple, share=self.plan.share)
        changed = with_encoding(model, self.rule(rule, self.plan.longest))
        return train(config, model=changed, test_lengths=(), progress=False).model

    def score(
        self, model: TinyTransformer, multiple: int, encoding: RopeSpec | Encoding | None = None
    ) -> tuple[float, float]:
        """Return (loss, accuracy) on texts `multiple` times as long, with this encoding if given."""
        model = model if encoding is None else with_encoding(model, encoding)
        return score(model, self.task, multiple * self.task.length, self.plan.rows, split=self.split)


def zero_shot(bench: Bench, model: TinyTransformer) -> list[list]:
    """Score a model zero-shot with every rule: rows of way, rule, factor, multiple, loss, accuracy."""
    multiples, longest = bench.plan.multiples, bench.plan.longest
    growing = GrowingNTK(bench.head_dim, bench.task.trained_places)
    rows = [_row("zero-shot", "dynamic-cached", 1, m, bench.score(model, m, growing)) for m in multiples]
    for name in RULES:
        pairs = {(1, m) for m in multiples}
        if name not in UNSTRETCHED:
            pairs = {(m, m) for m in multiples[1:]} | {(m, 1) for m in multiples[1:]}
            pairs |= {(longest, m) for m in multiples}
        rows += [
            _row("zero-shot", name, factor, m, bench.score(model, m, bench.rule(name, factor, m)))
            for factor, m in sorted(pairs)
        ]
    return rows


def at_all_lengths(bench: Bench, model: TinyTransformer, way: str, rule: str) -> list[list]:
    """Score a model trained with a rule, at all lengths."""
    factor = 1 if rule in UNSTRETCHED else bench.plan.longest
    return [
        _row(way, rule, factor, m, bench.score(model, m, bench.rule(rule, bench.plan.longest, m)))
        for m in bench.plan.multiples
    ]


def _row(way: str, rule: str, factor: int, multiple: int, scored: tuple[float, float]) -> list:
    return [way, rule, factor, multiple, round(scored[0], 4), round(scored[1], 4)]


def run_seed(bench: Bench, seed: int) -> list[list]:
    """Return all scores of one seed."""
    model = bench.base(seed)
    rows = zero_shot(bench, model)
    for multiple in bench.plan.tuned_on:
        for rule in RULES:
            tuned = bench.tuned(model, seed, rule, multiple)
            rows += at_all_lengths(bench, tuned, f"tuned-{multiple}", rule)
    return rows + at_all_lengths(bench, bench.base(seed, rule="abf"), "from-start", "abf")


def read_seed(bench: Bench, seed: int) -> list[list]:
    """Return the scores of one seed with variants of rules and of attention."""
    model, multiples = bench.base(seed), bench.plan.multiples
    settings = [(m, m) for m in multiples[1:]] + [(bench.plan.longest, 1)]
    rows = [
        _row("zero-shot", name, factor, m, bench.score(model, m, bench.rule(name, factor, m)))
        for name in RULE_VARIANTS
        for factor, m in settings
    ]
    ropes = {m: bench.rule("by-parts-fitted", m) for m in multiples}
    results = score_readings(
        bench.score, model, bench.task, ropes, bench.head_dim, rows=bench.plan.rows, split=bench.split
    )
    return rows + [_row(way, name, 1, m, scored) for way, name, m, scored in results]


def retune_seed(bench: Bench, seed: int, rates: dict[str, dict[str, float]]) -> list[list]:
    """Return the scores of one seed after fine-tunes at these rates: multiple -> rule -> rate."""
    model, rows = bench.base(seed), []
    for multiple, by_rule in rates.items():
        for rule, rate in by_rule.items():
            tuned = bench.tuned(model, seed, rule, int(multiple), rate)
            rows += at_all_lengths(bench, tuned, f"retuned-{multiple}", rule)
    return rows


def choose(task: str, plan: Plan) -> Fit:
    """Make all choices, on the tuning seed and tuning texts."""

    def bench(**fit) -> Bench:
        return Bench(task, plan, Fit(**fit), "tune")

    models = {rate: bench(learning_rate=rate).base(TUNING_SEED) for rate in LEARNING_RATES}
    rate = min(models, key=lambda rate: bench().score(models[rate], 1))
    model = models[rate]
    slow, fast = choose_thresholds(bench(), model)
    chosen = {"learning_rate": rate, "slow": slow, "fast": fast}
    lists = {factor: choose_list(bench(**chosen), model, factor) for factor in plan.multiples[1:]}
    tuned_rates = {rule: choose_rate(bench(**chosen, lists=lists), model, rule) for rule in RULES}
    return Fit(**chosen, lists=lists, tuned_rates=tuned_rates)


def choose_thresholds(bench: Bench, model: TinyTransformer) -> tuple[float, float]:
    """Return the thresholds, in turns, that minimise the by-parts loss, summed over all stretches."""

    def loss(pair: tuple[float, float]) -> float:
        trial = Bench(bench.name, bench.plan, Fit(slow=pair[0], fast=pair[1]), bench.split)
        multiples = bench.plan.multiples[1:]
        return math.fsum(trial.score(model, m, trial.rule("by-parts-fitted", m))[0] for m in multiples)

    return min(((slow, fast) for slow in SLOW for fast in FAST if slow < fast), key=loss)


def choose_list(bench: Bench, model: TinyTransformer, factor: int) -> list[float]:
    """Return LongRoPE's list for a stretch: coordinate descent over pairs, starting from by-parts."""
    start = bench.rule("plain", 1).inv_freq / bench.rule("by-parts-fitted", factor).inv_freq
    best = [round(float(divisor), 4) for divisor in start]

    def loss(divisors: list[float]) -> float:
        rope = listed(divisors, bench.head_dim, factor, bench.task.trained_places)
        return bench.score(model, factor, rope)[0]

    lowest = loss(best)
    for pair in range(len(best)):
        for power in LIST_POWERS:
            trial = [*best[:pair], round(factor**power, 4), *best[pair + 1 :]]
            if trial != best and (trial_loss := loss(trial)) < lowest:
                best, lowest = trial, trial_loss
    return best


def choose_rate(bench: Bench, model: TinyTransformer, rule: str) -> float:
    """Return the learning rate whose fine-tune on the longest texts has the lowest loss on them."""
    longest = bench.plan.longest

    def loss(rate: float) -> float:
        trial = Bench(bench.name, bench.plan, replace(bench.fit, tuned_rates={rule: rate}), bench.split)
        return bench.score(trial.tuned(model, TUNING_SEED, rule, longest), longest)[0]

    return min(TUNED_RATES, key=loss)


def choose_rates(bench: Bench) -> dict[str, dict[str, float]]:
    """Return the best rates for second fine-tunes, by tuning texts of that length: multiple -> rule -> rate."""
    model = bench.base(TUNING_SEED)

    def loss(rule: str, multiple: int, rate: float) -> float:
        return bench.score(
            bench.tuned(model, TUNING_SEED, rule, multiple, rate),
            multiple,
            bench.rule(rule, bench.plan.longest, multiple),
        )[0]

    return {
        str(m): {rule: min(RETUNED_RATES, key=lambda rate: loss(rule, m, rate)) for rule in RETUNED}
        for m in bench.plan.tuned_on
    }


def tuning_row(task: str, fit: Fit, seconds: float) -> dict:
    """Return a row of the table "tuning"."""
    lists = [[factor, *divisors] for factor, divisors in fit.lists.items()]
    return {**vars(fit), "task": task, "lists": lists, "seconds": round(seconds, 1)}


def fit_of(row: dict) -> Fit:
    """Return the fit stored in a row of the table "tuning"."""
    lists = {int(factor): divisors for factor, *divisors in row["lists"]}
    return Fit(row["learning_rate"], row["slow"], row["fast"], lists, row["tuned_rates"])


def _tune(item: tuple[str, str]) -> dict:
    task, size = item
    began = time.process_time()
    fit = choose(task, PLANS[size])
    return tuning_row(task, fit, time.process_time() - began)


def _choose_rates(item: tuple[str, str, dict]) -> dict:
    task, size, row = item
    began = time.process_time()
    rates = choose_rates(Bench(task, PLANS[size], fit_of(row), "tune"))
    return {"task": task, "rates": rates, "seconds": round(time.process_time() - began, 1)}


def _work(item: tuple) -> dict:
    """Run `run_seed`, `read_seed` or `retune_seed`, chosen by name, for one seed."""
    name, task, size, seed, row, weights, *more = item
    began = time.process_time()
    bench = Bench(task, PLANS[size], fit_of(row), weights=weights)
    scores = {"run": run_seed, "read": read_seed, "retune": retune_seed}[name](bench, seed, *more)
    return {"task": task, "seed": seed, "seconds": round(time.process_time() - began, 1), "scores": scores}


def describe_settings(size: str) -> dict:
    """Return the settings shared by all runs in a file."""
    plan = PLANS[size]

    def of_task(name: str) -> dict:
        task, steps = make_task(name), make_config(name, 0, plan, 1.0).steps
        tuned = make_config(name, 0, plan, 1.0, share=plan.share).steps
        lengths = {"length": task.length, "tokens": task.trained_places, "unit": task.unit}
        return {**lengths, "steps": steps, "tuned_steps": tuned}

    chosen = {
        "seed": TUNING_SEED,
        "learning_rates": list(LEARNING_RATES),
        "tuned_rates": list(TUNED_RATES),
        "slow": list(SLOW),
        "fast": list(FAST),
        "powers": list(LIST_POWERS),
    }
    varying = ("task", "seed", "steps", "learning_rate", "length", "device")
    config = vars(make_config("copy", 0, plan, 1.0))
    return {
        "size": size,
        "tasks": {name: of_task(name) for name in STRETCHED_TASKS},
        "multiples": list(plan.multiples),
        "tuned_on": list(plan.tuned_on),
        "rows": plan.rows,
        "rules": list(RULES),
        "variants": list(RULE_VARIANTS),
        "readings": list(READINGS),
        "few_keys": list(FEW_KEYS),
        "retuned": {"rules": list(RETUNED), "rates": list(RETUNED_RATES)},
        "config": {name: value for name, value in config.items() if name not in varying},
        "tuning": chosen,
    }


def run(
    tasks: Iterable[str], seeds: int, file: RunsFile, *, size: str = "small", jobs: int = 2,
    weights: Path | None = None,
) -> None:  # fmt: skip
    """Choose, then train and score the missing runs, seed by seed."""
    tasks = list(tasks)
    add_missing(file, "tuning", _tune, {(task,): (task, size) for task in tasks}, jobs)
    fits = {row["task"]: row for row in file.rows["tuning"]}
    keys = [(task, seed) for seed in range(seeds) for task in tasks]

    def items(name: str, more: dict[str, tuple]) -> dict[tuple, tuple]:
        return {
            (task, seed): (name, task, size, seed, fits[task], weights, *more.get(task, ()))
            for task, seed in keys
        }

    add_missing(file, "readings", _work, items("read", {}), jobs)
    add_missing(file, "runs", _work, items("run", {}), jobs)
    add_missing(file, "rates", _choose_rates, {(task,): (task, size, fits[task]) for task in tasks}, jobs)
    rates = {row["task"]: (row["rates"],) for row in file.rows["rates"]}
    add_missing(file, "retuned", _work, items("retune", rates), jobs)


def add_missing(file: RunsFile, table: str, work: Callable, wanted: dict[tuple, tuple], jobs: int) -> None:
    """Add the missing rows of a table; `wanted` maps each row's key to its work item."""
    from tqdm.auto import tqdm

    names = file.tables[table]
    missing = [
        item for key, item in wanted.items() if not file.has(table, **dict(zip(names, key, strict=True)))
    ]
    with tqdm(total=len(wanted), initial=len(wanted) - len(missing), unit="run", desc=table) as bar:
        previous = time.perf_counter()
        for row in run_parallel(work, missing, jobs):
            now = time.perf_counter()
            file.add(table, row, now - previous)
            previous = now
            bar.update()


def main(arguments: list[str] | None = None) -> None:
    """Read the command line and run the experiment."""
    parser = argparse.ArgumentParser(
        "makers.stretch",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = STRETCHED_TASKS
    parser.add_argument("--tasks", nargs="+", choices=names, default=list(names),
                        metavar="TASK", help=f"which of {', '.join(names)} (all)")  # fmt: skip
    parser.add_argument("--seeds", type=int, default=8, help="number of seeds, from 0 (8)")
    parser.add_argument("--jobs", type=int, default=2, help="processes with one thread each (2)")
    parser.add_argument(
        "--size", choices=tuple(PLANS), default="small", help="tiny: a trial that takes seconds (small)"
    )
    parser.add_argument(
        "--weights", type=Path, help="folder that caches base models (none: train them again)"
    )
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT,
                        help="results file (rope_book/results/stretch.json)")  # fmt: skip
    options = parser.parse_args(arguments)
    for name in ("seeds", "jobs"):
        if getattr(options, name) < 1:
            parser.error(f"--{name} must be at least 1, got {getattr(options, name)}")
    tables = {"tuning": TUNING_KEY, "rates": TUNING_KEY, **dict.fromkeys(SCORE_TABLES, RUN_KEY)}
    try:
        file = RunsFile(
            options.out,
            FORMAT,
            describe_settings(options.size),
            describe_machine("cpu", options.jobs),
            tables,
        )
    except ValueError as error:
        parser.error(str(error))
    run(options.tasks, options.seeds, file, size=options.size, jobs=options.jobs, weights=options.weights)


if __name__ == "__main__":
    main()
