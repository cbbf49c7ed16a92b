r"""What new angles, new combinations and many keys cost, while ever fewer pairs are slow.

    PYTHONPATH=book python -m makers.causes                      # 72 small models, 25 minutes on one core

Base and trained length are chosen so that 2 to 6 of the 8 pairs complete a turn in training. In every setting and
task the learning rate comes first, by the loss at home of a model that is never reported, on tuning texts; then
three seeds are trained and read at 2 and 4 times their length with `READINGS`: as trained, slow pairs held at half
the trained length, fast pairs held, all held, and all held with log-n. Longer texts are scored at new positions.
"far" has the models that were trained on 33 tokens at 16 times their length.

Stop it at any time; the same command resumes.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import torch

import rope_book
from makers.runs import RunsFile, describe_machine
from rope_book.results.real import FORMATS
from rope_book.training.loop import TrainingConfig, make_model, score, train
from rope_book.training.tasks import make_task
from rope_book.training.transformer import TinyTransformer
from rope_book.training.variants import AttentionVariant, with_attention
from rope_edu.encodings import RopeSpec, completes_turn, plain_rope
from rope_edu.nn.encodings import RotaryModule

DEFAULT_OUT = Path(rope_book.__file__).parent / "results" / "causes.json"
FORMAT = FORMATS["causes"]
RUN = ("task", "base", "length", "seed")
TABLES = {"rates": RUN[:3], "runs": RUN, "far": RUN}
SHORT = 32
SETTINGS = ((10_000, 32), (100, 32), (30, 32), (100, 64), (100, 128), (10, 32))  # base, length
TASKS, RATES, SEEDS, TUNING_SEED = ("needle", "text"), (3e-3, 1e-2, 3e-2), 3, 1000
MULTIPLES, FAR, ROWS, TOKENS = (1, 2, 4), (1, 16), 64, 1024  # tokens in a training step
READINGS = ("plain", "slow-held", "fast-held", "all-held", "all-held-logn")


def make_rope(base: float) -> RopeSpec:
    """Return the rotation of a setting."""
    return plain_rope(16, base, layout="half_split")


def trained(task: str, base: float, length: int, seed: int, rate: float) -> TinyTransformer:
    """Train a model."""
    config = TrainingConfig(
        task, "rotary", seed, device="cpu", points=1, rows=2, length=length, learning_rate=rate,
        batch_size=TOKENS // length, steps=make_task(task).steps,
    )  # fmt: skip
    model = make_model(config)
    model.encodings = torch.nn.ModuleList([RotaryModule(make_rope(base))])
    return train(config, model=model, test_lengths=(), progress=False).model


def make_reading(name: str, base: float, trained_tokens: int) -> AttentionVariant:
    """Return a reading; held pairs see no distance beyond half the trained length."""
    rope = make_rope(base)
    complete = completes_turn(rope.inv_freq, trained_tokens)
    kind, _, logn = name.partition("-held")
    held = [n for n, fast in enumerate(complete) if kind == "all" or fast == (kind == "fast")]
    if name == "plain":
        return AttentionVariant(rope)
    return AttentionVariant(
        rope, window=trained_tokens // 2, held=held, trained=trained_tokens if logn else None
    )


def run(task: str, base: float, length: int, seed: int, rate: float, multiples: tuple[int, ...]) -> dict:
    """Return the losses and the shares of right answers of one seed: reading -> multiple -> number."""
    model, changed = trained(task, base, length, seed, rate), make_task(task, length=length)
    result: dict = {"losses": {}, "right": {}}
    for name in READINGS:
        read = with_attention(model, make_reading(name, base, changed.trained_places))
        scores = [score(read, changed, m * length, ROWS) for m in multiples]
        for key, values in zip(result, zip(*scores, strict=True), strict=True):
            result[key][name] = [round(value, 4) for value in values]
    return result


def tune(task: str, base: float, length: int) -> dict[str, float]:
    """Return rate -> loss at home on tuning texts."""
    changed = make_task(task, length=length)
    models = {rate: trained(task, base, length, TUNING_SEED, rate) for rate in RATES}
    return {
        f"{rate:g}": round(score(m, changed, length, ROWS, split="tune")[0], 4) for rate, m in models.items()
    }


def main() -> None:
    """Run what is missing in the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", nargs="+", default=TASKS, choices=TASKS)
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT)
    options = parser.parse_args()
    torch.set_num_threads(1)
    turning = [
        [base, length, int(completes_turn(make_rope(base).inv_freq, length + 1).sum())]
        for base, length in SETTINGS
    ]
    settings = {"settings": turning, "pairs": 8, "multiples": MULTIPLES, "rows": ROWS, "rates_tried": RATES}
    settings = {key: list(value) if isinstance(value, tuple) else value for key, value in settings.items()}
    file = RunsFile(options.out, FORMAT, settings, describe_machine("cpu", 1), TABLES)
    for base, length in SETTINGS:
        for task in options.tasks:
            key, started = {"task": task, "base": base, "length": length}, time.monotonic()
            if not file.has("rates", **key):
                losses = tune(task, base, length)
                best = float(min(losses, key=losses.__getitem__))
                file.add("rates", key | {"losses": losses, "rate": best}, time.monotonic() - started)
            rate = next(row["rate"] for row in file.rows["rates"] if key.items() <= row.items())
            for seed in range(SEEDS):
                add_run(file, "runs", key, seed, rate, MULTIPLES)
    for base, length in reversed(SETTINGS):
        for task in options.tasks if length == SHORT else ():
            key = {"task": task, "base": base, "length": length}
            rate = next(row["rate"] for row in file.rows["rates"] if key.items() <= row.items())
            for seed in range(SEEDS):
                add_run(file, "far", key, seed, rate, FAR)


def add_run(
    file: RunsFile, table: str, key: dict, seed: int, rate: float, multiples: tuple[int, ...]
) -> None:
    """Train and read one seed, if the file lacks it."""
    if not file.has(table, **key, seed=seed):
        started = time.monotonic()
        row = run(**key, seed=seed, rate=rate, multiples=multiples)
        file.add(table, key | {"seed": seed, **row}, time.monotonic() - started)


if __name__ == "__main__":
    main()
