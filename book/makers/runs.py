"""Long experiments: parallel runs, and a results file that is always complete."""

from __future__ import annotations

import json
import multiprocessing
import os
import platform
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch

import rope_edu
from rope_book.results.files import load
from rope_book.training.loop import pick_device, write_atomically


class RunsFile:
    r"""A JSON file of runs with the same settings. An interruption loses only the unfinished runs.

    Args:
        path: the file, read if it exists.
        format: the name of the format.
        settings: the experiment's settings.
        machine: the result of `describe_machine`.
        tables: name of a table -> the fields that identify a row.

    Raises:
        ValueError: the file has another format, or other settings.

    Chapters 13 and 18.
    """

    def __init__(
        self, path: Path, format: str, settings: dict, machine: dict, tables: dict[str, tuple[str, ...]]
    ) -> None:
        self.path, self.format, self.tables = path, format, tables
        self.meta = {**settings, **machine, "date": datetime.now(UTC).date().isoformat(), "seconds": 0.0}
        self.rows: dict[str, list[dict]] = {name: [] for name in tables}
        if path.exists():
            self._read(settings)

    def _read(self, settings: dict) -> None:
        content = load(self.path.name, self.format, self.path)
        differing = [name for name in settings if content["meta"].get(name) != settings[name]]
        if differing:
            raise ValueError(
                f"{self.path} holds runs with other settings ({', '.join(differing)}): "
                "choose another --out, or delete it"
            )
        self.meta["seconds"] = content["meta"]["seconds"]
        self.rows = {name: content[name] for name in self.rows}

    def has(self, table: str, **which: Any) -> bool:
        """Return whether a table has a row with these values."""
        return any(all(row[name] == value for name, value in which.items()) for row in self.rows[table])

    def add(self, table: str, run: dict, seconds: float) -> None:
        """Add a run to a table and write the file; `seconds` have passed since the previous run."""
        self.rows[table].append(run)
        self.meta["seconds"] = round(self.meta["seconds"] + seconds, 1)
        parts = [f'"format": {json.dumps(self.format)}', f'"meta": {json.dumps(self.meta)}']
        for name, rows in self.rows.items():
            rows.sort(key=lambda row: [row[key] for key in self.tables[name]])
            lines = ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows)
            parts.append(f'"{name}": [\n{lines}\n]')
        write_atomically(self.path, ("{" + ",\n".join(parts) + "}\n").encode())


def describe_machine(device: str, jobs: int) -> dict:
    """Return everything that times depend on: processor, cores and versions, but no host name."""
    gpu = torch.cuda.get_device_name() if pick_device(device).type == "cuda" else None
    versions = {"python": platform.python_version(), "torch": torch.__version__, "numpy": np.__version__}
    return {
        "machine": {"cpu": _cpu_name(), "cores": os.cpu_count(), "gpu": gpu},
        "jobs": jobs,
        "threads_per_job": 1,
        "versions": {**versions, "rope_edu": rope_edu.__version__},
    }


def run_parallel(work: Callable[[Any], dict], items: Iterable[Any], jobs: int) -> Iterator[dict]:
    """Map `work` over items in `jobs` processes with one thread each; yield results as they complete."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, context, initializer=_single_thread) as pool:
        futures = [pool.submit(work, item) for item in items]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _single_thread() -> None:
    torch.set_num_threads(1)


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
