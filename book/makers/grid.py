r"""Train every encoding on every task with several seeds, and write curves and tests into one JSON file.

    PYTHONPATH=book python -m makers.grid                             # all: 11 encodings × 5 tasks × 8 seeds
    PYTHONPATH=book python -m makers.grid --tasks back copy --seeds 2 --out mine.json
    PYTHONPATH=book python -m makers.grid --size large --device cuda   # a wider and deeper model, longer training

Each task takes two passes. First every encoding is tuned: trained with every learning rate of `LEARNING_RATES`
(and, if it has its own parameters, with `OWN_RATES` times that rate for them), on seeds and texts that
are never reported. Then the best setting, by the loss on tuning texts of the trained length, is trained with the
seeds 0, 1, … and tested. No choice depends on longer texts.

Stop it at any time (Ctrl-C, or a kill): the file is complete after every run, and the same command resumes with the
missing runs. Read the file with `rope_book.results.load_grid`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

import rope_book
from makers.runs import RunsFile, describe_machine, run_parallel
from rope_book.results.grid import FORMAT, RUN_KEY, best_setting
from rope_book.training.loop import TrainingConfig, TrainingResult, train
from rope_book.training.tasks import make_task
from rope_edu.nn.encodings import ENCODINGS, OPTIONS

GRID_TASKS = ("copy", "back", "recall", "clock", "text")
SIZES = {
    "small": {},
    "large": {"d_model": 128, "n_layers": 4, "n_heads": 4, "d_ff": 512, "batch_size": 128},
}
STEPS_RATIO = {"small": 1, "large": 4}
RATE_RATIO = {"small": 1.0, "large": 1 / 3}
LEARNING_RATES = (1e-3, 3e-3, 1e-2)
OWN_RATES = (1.0, 10.0)
WITH_PARAMETERS = ("learned", "shaw", "t5", "learned-rotary")
TUNING_SEEDS = (1000,)  # the reported seeds count from 0
VARIES = ("task", "encoding", "seed", "steps", "learning_rate", "own_rate", "evaluate_on", "length", "device",
          "checkpoint_every")  # fmt: skip
DEFAULT_OUT = Path(rope_book.__file__).parent / "results" / "grid.json"


def make_config(
    task: str, encoding: str, seed: int, *, size: str = "small", device: str = "cpu", **changes
) -> TrainingConfig:
    """Return the configuration of one run; all encodings of a task take the same number of steps.

    >>> make_config("back", "rotary", 0, learning_rate=1e-3).steps
    400
    """
    steps = STEPS_RATIO[size] * make_task(task).steps
    return TrainingConfig(
        task, encoding, seed, steps=steps, device=device, **SIZES[size], **changes
    ).resolved()


def tuning_settings(encoding: str, size: str = "small") -> list[dict[str, float]]:
    """Return the pairs of learning rate and own rate with which an encoding is tuned.

    >>> len(tuning_settings("rotary")), len(tuning_settings("t5"))
    (3, 6)
    """
    own_rates = OWN_RATES if encoding in WITH_PARAMETERS else OWN_RATES[:1]
    return [
        {"learning_rate": RATE_RATIO[size] * rate, "own_rate": own}
        for rate in LEARNING_RATES
        for own in own_rates
    ]


def describe_run(result: TrainingResult) -> dict:
    """Return a row of the table "runs", rounded."""
    config = result.config
    curve = [
        [p.step, round(p.loss, 4), round(p.accuracy, 4), round(p.cpu_seconds, 2)] for p in result.history
    ]
    tests = [[n, round(loss, 4), round(accuracy, 4)] for n, (loss, accuracy) in result.tests.items()]
    return {
        "task": config.task,
        "encoding": config.encoding,
        "seed": config.seed,
        "learning_rate": config.learning_rate,
        "own_rate": config.own_rate,
        "parameters": result.parameters,
        "seconds": round(result.seconds, 2),
        "curve": curve,
        "tests": tests,
    }


def describe_settings(size: str) -> dict:
    """Return the settings shared by all runs in a file."""
    shared = {
        name: value
        for name, value in vars(make_config("copy", "none", 0, size=size)).items()
        if name not in VARIES
    }
    tasks = {}
    for name in GRID_TASKS:
        task = make_task(name)
        tasks[name] = {
            "unit": task.unit,
            "length": task.length,
            "test_lengths": list(task.test_lengths),
            "tokens_at_test_lengths": [task.seq_len(length) for length in task.test_lengths],
            "vocab_size": task.vocab_size,
            "steps": make_config(name, "none", 0, size=size).steps,
        }
    options = {
        option: value
        for name in ENCODINGS
        for option, value in OPTIONS[name].items()
        if option != "layout"  # the layout changes no score
    }
    tuning = {
        "learning_rates": [RATE_RATIO[size] * rate for rate in LEARNING_RATES],
        "own_rates": list(OWN_RATES),
        "with_parameters": list(WITH_PARAMETERS),
        "seeds": list(TUNING_SEEDS),
    }
    return {
        "size": size,
        "tasks": tasks,
        "encodings": list(ENCODINGS),
        "encoding_options": options,
        "config": shared,
        "tuning": tuning,
    }


class GridFile(RunsFile):
    """The results file for a grid."""

    def __init__(self, path: Path, settings: dict, machine: dict) -> None:
        super().__init__(path, FORMAT, settings, machine, {"tuning": RUN_KEY, "runs": RUN_KEY})

    def has(self, table: str, config: TrainingConfig) -> bool:
        """Return whether a table, "tuning" or "runs", has this configuration's run."""
        return super().has(table, **{name: getattr(config, name) for name in RUN_KEY})


def _work(config: TrainingConfig) -> dict:
    return describe_run(train(config, progress=False))


def results(configs: list[TrainingConfig], jobs: int) -> Iterator[dict]:
    """Train all configurations, `jobs` at a time, one thread each; yield results as they complete."""
    return run_parallel(_work, configs, jobs)


def tuning_row(run: dict) -> dict:
    """Return a row of the table "tuning": settings, and the loss on tuning texts of the trained length."""
    return {**{name: run[name] for name in RUN_KEY}, "loss": run["curve"][-1][1]}


def run_grid(
    tasks: list[str],
    encodings: list[str],
    seeds: int,
    file: GridFile,
    *,
    size: str = "small",
    device: str = "cpu",
    jobs: int = 2,
) -> None:
    """Tune, train and test the missing runs, task by task."""
    shared = {"size": size, "device": device}
    for task in tasks:
        tuning = [
            make_config(task, encoding, seed, evaluate_on="tune", **setting, **shared)
            for seed in TUNING_SEEDS
            for encoding in encodings
            for setting in tuning_settings(encoding, size)
        ]
        _train_missing(tuning, "tuning", file, jobs)
        best = {encoding: best_setting(file.rows["tuning"], task, encoding) for encoding in encodings}
        final = [
            make_config(task, encoding, seed, **best[encoding], **shared)
            for seed in range(seeds)
            for encoding in encodings
        ]
        _train_missing(final, "runs", file, jobs)


def _train_missing(configs: list[TrainingConfig], table: str, file: GridFile, jobs: int) -> None:
    from tqdm.auto import tqdm

    missing = [config for config in configs if not file.has(table, config)]
    label = f"{configs[0].task}, {table}"
    with tqdm(total=len(configs), initial=len(configs) - len(missing), unit="run", desc=label) as bar:
        previous = time.perf_counter()
        for run in results(missing, jobs):
            now = time.perf_counter()
            file.add(table, tuning_row(run) if table == "tuning" else run, now - previous)
            previous = now
            bar.update()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "makers.grid",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--tasks", nargs="+", choices=list(GRID_TASKS), default=list(GRID_TASKS), metavar="TASK",
                        help=f"which of {', '.join(GRID_TASKS)} (all)")  # fmt: skip
    parser.add_argument("--encodings", nargs="+", choices=ENCODINGS, default=list(ENCODINGS), metavar="ENCODING",
                        help=f"which of {', '.join(ENCODINGS)} (all)")  # fmt: skip
    parser.add_argument("--seeds", type=int, default=8, help="number of seeds, from 0 (8)")
    parser.add_argument("--jobs", type=int, default=2, help="processes with one thread each (2)")
    parser.add_argument(
        "--device", choices=("auto", "cpu", "cuda"), default="cpu", help="where to train (cpu)"
    )
    parser.add_argument("--size", choices=tuple(SIZES), default="small",
                        help="small: seconds per run on a laptop; large: for a GPU (small)")  # fmt: skip
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT,
                        help="results file (rope_book/results/grid.json)")  # fmt: skip
    return parser


def main(arguments: list[str] | None = None) -> None:
    """Read the command line and run the grid."""
    parser = _parser()
    options = parser.parse_args(arguments)
    for name in ("seeds", "jobs"):
        if getattr(options, name) < 1:
            parser.error(f"--{name} must be at least 1, got {getattr(options, name)}")
    machine = describe_machine(options.device, options.jobs)
    try:
        file = GridFile(options.out, describe_settings(options.size), machine)
    except ValueError as error:
        parser.error(str(error))
    sizes = {"size": options.size, "device": options.device, "jobs": options.jobs}
    run_grid(options.tasks, options.encodings, options.seeds, file, **sizes)


if __name__ == "__main__":
    main()
