r"""Train every encoding on every task with several seeds, and write curves and tests into one JSON file.

    python -m rope_edu.nn.grid                                     # all: 11 encodings × 6 tasks × 5 seeds
    python -m rope_edu.nn.grid --tasks back copy --encodings rotary t5 --seeds 2 --out mine.json
    python -m rope_edu.nn.grid --size large --device cuda          # a wider and deeper model, longer training

Stop it at any time (Ctrl-C, or a kill): the file is whole after every run, and the same command goes on with the
runs that it lacks. The first seed of every combination comes first. Read the file with
`rope_edu.results.load_grid`.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import torch

import rope_edu
from rope_edu.nn.encodings import ENCODINGS, OPTIONS
from rope_edu.nn.tasks import TASKS, make_task
from rope_edu.nn.training import TrainingConfig, TrainingResult, pick_device, train, write_atomically
from rope_edu.results.grid import FORMAT

SIZES = {
    "small": {},
    "large": {"d_model": 128, "n_layers": 4, "n_heads": 4, "d_ff": 512, "batch_size": 128},
}
STEPS_RATIO = {"small": 1, "large": 4}
LEARNING_RATE_RATIO = {"small": 1.0, "large": 1 / 3}
VARIES = ("task", "encoding", "seed", "steps", "learning_rate", "length", "device", "checkpoint_every")
DEFAULT_OUT = Path(rope_edu.__file__).parent / "results" / "grid.json"
Key = tuple[str, str, int]


def make_config(key: Key, size: str = "small", device: str = "cpu") -> TrainingConfig:
    """Return the configuration of one run: within a task the same for every encoding.

    >>> make_config(("back", "rotary", 0)).steps
    400
    """
    task, encoding, seed = key
    base = make_task(task)
    return TrainingConfig(
        task,
        encoding,
        seed,
        steps=STEPS_RATIO[size] * base.steps,
        learning_rate=LEARNING_RATE_RATIO[size] * base.learning_rate,
        device=device,
        **SIZES[size],
    ).resolved()


def describe_run(result: TrainingResult) -> dict:
    """Return what the file keeps of a run, rounded."""
    config = result.config
    curve = [
        [p.step, round(p.loss, 4), round(p.accuracy, 4), round(p.cpu_seconds, 2)] for p in result.history
    ]
    tests = [[n, round(loss, 4), round(accuracy, 4)] for n, (loss, accuracy) in result.tests.items()]
    return {
        "task": config.task,
        "encoding": config.encoding,
        "seed": config.seed,
        "parameters": result.parameters,
        "seconds": round(result.seconds, 2),
        "curve": curve,
        "tests": tests,
    }


def describe_settings(size: str) -> dict:
    """Return what must be the same in every run of a file."""
    shared = {
        name: value
        for name, value in vars(make_config(("copy", "none", 0), size)).items()
        if name not in VARIES
    }
    tasks = {}
    for name in TASKS:
        task, config = make_task(name), make_config((name, "none", 0), size)
        tasks[name] = {
            "unit": task.unit,
            "length": task.length,
            "test_lengths": list(task.test_lengths),
            "tokens_at_test_lengths": [task.seq_len(length) for length in task.test_lengths],
            "vocab_size": task.vocab_size,
            "steps": config.steps,
            "learning_rate": config.learning_rate,
        }
    options = {
        option: value
        for name in ENCODINGS
        for option, value in OPTIONS[name].items()
        if option != "layout"  # changes no score
    }
    return {
        "size": size,
        "tasks": tasks,
        "encodings": list(ENCODINGS),
        "encoding_options": options,
        "config": shared,
    }


def describe_machine(device: str, jobs: int) -> dict:
    """Return what the times depend on: processor, cores, versions; nothing that names the machine."""
    gpu = torch.cuda.get_device_name() if pick_device(device).type == "cuda" else None
    versions = {"python": platform.python_version(), "torch": torch.__version__, "numpy": np.__version__}
    return {
        "machine": {"cpu": _cpu_name(), "cores": os.cpu_count(), "gpu": gpu},
        "jobs": jobs,
        "threads_per_job": 1,
        "versions": {**versions, "rope_edu": rope_edu.__version__},
    }


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


class GridFile:
    """The file of results: whole at every moment, and known to belong to these settings."""

    def __init__(self, path: Path, settings: dict, machine: dict) -> None:
        self.path = path
        self.meta = {**settings, **machine, "date": datetime.now(UTC).date().isoformat(), "seconds": 0.0}
        self.runs: dict[Key, dict] = {}
        if path.exists():
            self._read(settings)

    def _read(self, settings: dict) -> None:
        content = json.loads(self.path.read_text(encoding="utf-8"))
        differ = [name for name in settings if content["meta"].get(name) != settings[name]]
        if content.get("format") != FORMAT or differ:
            raise ValueError(
                f"{self.path} holds runs with other settings ({', '.join(differ) or 'another format'}): "
                "choose another --out, or delete it"
            )
        self.meta["seconds"] = content["meta"]["seconds"]
        self.runs = {(run["task"], run["encoding"], run["seed"]): run for run in content["runs"]}

    def add(self, run: dict, seconds: float) -> None:
        """Add a run and write everything; `seconds` have passed since the last one."""
        self.runs[run["task"], run["encoding"], run["seed"]] = run
        self.meta["seconds"] = round(self.meta["seconds"] + seconds, 1)
        lines = ",\n".join(json.dumps(run, separators=(",", ":")) for _, run in sorted(self.runs.items()))
        head = f'"format": {json.dumps(FORMAT)},\n"meta": {json.dumps(self.meta)}'
        write_atomically(self.path, f'{{{head},\n"runs": [\n{lines}\n]}}\n'.encode())


def _work(config: TrainingConfig) -> dict:
    return describe_run(train(config, progress=False))


def _single_thread() -> None:
    torch.set_num_threads(1)


def results(configs: list[TrainingConfig], jobs: int) -> Iterator[dict]:
    """Train all configurations, `jobs` at a time, each on one thread, and give each result as it comes."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, context, initializer=_single_thread) as pool:
        futures = [pool.submit(_work, config) for config in configs]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def run_grid(keys: list[Key], file: GridFile, *, size: str, device: str, jobs: int) -> None:
    """Train what the file lacks, with a progress bar."""
    from tqdm.auto import tqdm

    configs = [make_config(key, size, device) for key in keys if key not in file.runs]
    with tqdm(total=len(keys), initial=len(keys) - len(configs), unit="run") as bar:
        last = time.perf_counter()
        for run in results(configs, jobs):
            now = time.perf_counter()
            file.add(run, now - last)
            last = now
            bar.set_postfix_str(f"{run['task']} {run['encoding']} {run['tests'][0][2]:.2f}")
            bar.update()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m rope_edu.nn.grid",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=list(TASKS), metavar="TASK",
                        help=f"which of {', '.join(TASKS)} (all)")  # fmt: skip
    parser.add_argument("--encodings", nargs="+", choices=ENCODINGS, default=list(ENCODINGS), metavar="ENCODING",
                        help=f"which of {', '.join(ENCODINGS)} (all)")  # fmt: skip
    parser.add_argument("--seeds", type=int, default=5, help="how many, from 0 (5)")
    parser.add_argument("--jobs", type=int, default=2, help="processes, each with one thread (2)")
    parser.add_argument(
        "--device", choices=("auto", "cpu", "cuda"), default="cpu", help="where to train (cpu)"
    )
    parser.add_argument("--size", choices=tuple(SIZES), default="small",
                        help="small: seconds a run on a laptop; large: for a GPU (small)")  # fmt: skip
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT,
                        help="the file of results (results/grid.json in the library)")  # fmt: skip
    return parser


def main(arguments: list[str] | None = None) -> None:
    """Read the command line and run the grid."""
    parser = _parser()
    chosen = parser.parse_args(arguments)
    for name in ("seeds", "jobs"):
        if getattr(chosen, name) < 1:
            parser.error(f"--{name} must be at least 1, got {getattr(chosen, name)}")
    keys = [(t, e, s) for s in range(chosen.seeds) for t in chosen.tasks for e in chosen.encodings]
    machine = describe_machine(chosen.device, chosen.jobs)
    try:
        file = GridFile(chosen.out, describe_settings(chosen.size), machine)
    except ValueError as error:
        parser.error(str(error))
    run_grid(keys, file, size=chosen.size, device=chosen.device, jobs=chosen.jobs)


if __name__ == "__main__":
    main()
