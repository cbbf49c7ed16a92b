"""Long experiments: runs side by side, and a file of results that is whole at every moment."""

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
from rope_book.training.loop import pick_device, write_atomically


class RunsFile:
    r"""A JSON file of runs, known to belong to these settings: who stops loses what was under way, nothing else.

    Args:
        path: read if it is there.
        format: name of the format.
        settings: of the experiment; a file with other settings is refused.
        machine: of `describe_machine`.
        tables: name of a table -> the fields that tell its rows apart.

    Raises:
        ValueError: the file holds another format or runs with other settings.

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
        content = json.loads(self.path.read_text(encoding="utf-8"))
        differ = [name for name in settings if content["meta"].get(name) != settings[name]]
        if content.get("format") != self.format or differ:
            raise ValueError(
                f"{self.path} holds runs with other settings ({', '.join(differ) or 'another format'}): "
                "choose another --out, or delete it"
            )
        self.meta["seconds"] = content["meta"]["seconds"]
        self.rows = {name: content[name] for name in self.rows}

    def has(self, table: str, **which: Any) -> bool:
        """Tell whether a table holds a row with these values."""
        return any(all(row[name] == value for name, value in which.items()) for row in self.rows[table])

    def add(self, table: str, run: dict, seconds: float) -> None:
        """Add a run to a table and write everything; `seconds` have passed since the last one."""
        self.rows[table].append(run)
        self.meta["seconds"] = round(self.meta["seconds"] + seconds, 1)
        parts = [f'"format": {json.dumps(self.format)}', f'"meta": {json.dumps(self.meta)}']
        for name, rows in self.rows.items():
            rows.sort(key=lambda row: [row[key] for key in self.tables[name]])
            lines = ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows)
            parts.append(f'"{name}": [\n{lines}\n]')
        write_atomically(self.path, ("{" + ",\n".join(parts) + "}\n").encode())


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


def side_by_side(work: Callable[[Any], dict], items: Iterable[Any], jobs: int) -> Iterator[dict]:
    """Do `work` on all items, `jobs` at a time, each in a process with one thread; give results as they come."""
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
