r"""Load and summarise a grid of training runs, one per encoding, task and seed, with curves and tests."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rope_book.results.files import load, numbered, read

FORMAT = "rope_book grid 2"
CURVE = ("step", "loss", "accuracy", "cpu_seconds")
RUN_KEY = ("task", "encoding", "seed", "learning_rate", "own_rate")  # the fields that identify a run


class Spread(NamedTuple):
    """Median, range and quartiles over several runs."""

    median: float
    low: float  # minimum
    high: float  # maximum
    lower_quartile: float
    upper_quartile: float
    n: int


@dataclass(frozen=True)
class GridRun:
    """One training run.

    Attributes:
        task, encoding, seed: the task, the encoding and the seed that were trained.
        learning_rate, own_rate: tuned values; their product is the learning rate of the encoding's own parameters.
        parameters: number of trainable parameters.
        seconds: wall time, including evaluations.
        curve: column name -> array, for step, loss and accuracy (on unseen texts of the training length), and
            cpu_seconds (training only).
        tests: length -> (loss, accuracy); on texts longer than in training, only new positions count.
    """

    task: str
    encoding: str
    seed: int
    learning_rate: float
    own_rate: float
    parameters: int
    seconds: float
    curve: dict[str, np.ndarray]
    tests: dict[int, tuple[float, float]]


@dataclass(frozen=True)
class Grid:
    r"""All runs and settings of a grid.

    Attributes:
        meta: versions, machine, date, seconds, and the settings for each task and for tuning.
        runs: all runs, in no particular order.
        tuning: one dict per tuning run: task, encoding, seed, learning_rate, own_rate, and loss on tuning texts.
    """

    meta: dict[str, Any]
    runs: tuple[GridRun, ...]
    tuning: tuple[dict[str, Any], ...] = ()

    @property
    def tasks(self) -> tuple[str, ...]:
        """Return the tasks that have runs, in the order of the settings."""
        return tuple(name for name in self.meta["tasks"] if any(run.task == name for run in self.runs))

    @property
    def encodings(self) -> tuple[str, ...]:
        """Return the encodings that have runs, in the order of the settings."""
        return tuple(
            name for name in self.meta["encodings"] if any(run.encoding == name for run in self.runs)
        )

    def test_lengths(self, task: str) -> tuple[int, ...]:
        """Return the test lengths of a task; the first is the training length."""
        return tuple(self.select(task)[0].tests)

    def select(self, task: str, encoding: str | None = None) -> list[GridRun]:
        r"""Return a task's runs, or only those with the given encoding, sorted by encoding and seed.

        Raises:
            ValueError: no run matches.
        """
        runs = [run for run in self.runs if run.task == task and encoding in (None, run.encoding)]
        if not runs:
            raise ValueError(
                f"no run of task {task!r} with encoding {encoding!r}: the grid has the tasks "
                f"{', '.join(self.tasks)} and the encodings {', '.join(self.encodings)}"
            )
        return sorted(runs, key=lambda run: (run.encoding, run.seed))

    def accuracy(self, task: str, encoding: str, length: int | None = None) -> Spread:
        """Return the spread of the accuracy over seeds at a test length (by default the training length)."""
        return self._tested(task, encoding, length, 1)

    def loss(self, task: str, encoding: str, length: int | None = None) -> Spread:
        """Return the spread of the loss over seeds at a test length (by default the training length)."""
        return self._tested(task, encoding, length, 0)

    def curve(self, task: str, encoding: str, column: str = "accuracy") -> dict[str, np.ndarray]:
        r"""Return an encoding's learning curve on a task, summarised over seeds.

        Returns:
            step, median, low, high, lower_quartile, upper_quartile, cpu_seconds (median), each `(points,)`.

        Raises:
            ValueError: there is no such run or column.
        """
        if column not in CURVE[1:]:
            raise ValueError(f"column must be one of {', '.join(CURVE[1:])}, got {column!r}")
        runs = self.select(task, encoding)
        rows = [spread(values) for values in np.stack([run.curve[column] for run in runs], axis=1)]
        names = ("median", "low", "high", "lower_quartile", "upper_quartile")
        result = {name: np.array([getattr(row, name) for row in rows]) for name in names}
        seconds = np.median(np.stack([run.curve["cpu_seconds"] for run in runs]), axis=0)
        return {"step": runs[0].curve["step"], **result, "cpu_seconds": seconds}

    def reached(self, task: str, encoding: str, accuracy: float, column: str = "step") -> list[float]:
        """Return each seed's first step (or cpu_seconds) with at least this accuracy, or ∞ if it is not reached."""
        values = []
        for run in self.select(task, encoding):
            points = np.flatnonzero(run.curve["accuracy"] >= accuracy)
            values.append(float(run.curve[column][points[0]]) if points.size else float("inf"))
        return values

    def paired_p(self, task: str, encoding: str, other: str, length: int | None = None) -> float:
        """Return the p-value of `sign_flip_p` for the accuracies of two encodings, paired by seed."""
        first, second = ({run.seed: run for run in self.select(task, name)} for name in (encoding, other))
        seeds = sorted(first.keys() & second.keys())
        length = self.test_lengths(task)[0] if length is None else length
        return sign_flip_p([first[s].tests[length][1] - second[s].tests[length][1] for s in seeds])

    def _tested(self, task: str, encoding: str, length: int | None, index: int) -> Spread:
        runs = self.select(task, encoding)
        lengths = self.test_lengths(task)
        length = lengths[0] if length is None else length
        if length not in lengths:
            raise ValueError(
                f"{task!r} was tested at the lengths {', '.join(map(str, lengths))}, got {length!r}"
            )
        return spread(run.tests[length][index] for run in runs)


def spread(values: Iterable[float]) -> Spread:
    r"""Return the median, range and quartiles of some numbers.

    Raises:
        ValueError: `values` is empty.

    >>> spread([0.5, 0.9, 0.7])[:3]
    (0.7, 0.5, 0.9)
    """
    values = np.array([float(value) for value in values])
    if not values.size:
        raise ValueError("values must hold at least one number, got none")
    low, q1, median, q3, high = np.percentile(values, (0, 25, 50, 75, 100)).tolist()
    return Spread(median, low, high, q1, q3, values.size)


def sign_flip_p(differences: Iterable[float]) -> float:
    r"""Return the two-sided p-value of an exact sign-flip test on paired differences.

    If two encodings are equally good, each difference could just as well have the opposite sign. The p-value is the
    fraction of all 2ⁿ choices of signs whose sum is at least as far from 0. The test cannot account for anything
    that all seeds share, such as tuned rates and test texts.

    Args:
        differences: 1 to 20 numbers, one per seed.

    Returns:
        A probability, at least 2 / 2ⁿ for n differences.

    Raises:
        ValueError: `differences` is empty or has more than 20 numbers.

    >>> sign_flip_p([0.1, 0.2, 0.3, 0.1, 0.2, 0.1, 0.3, 0.2])  # eight of eight on one side: 2 in 256
    0.0078125

    Source: Fisher's randomisation test (The Design of Experiments, 1935, §21). Chapter A3.
    """
    values = np.array([float(value) for value in differences])
    if not 1 <= values.size <= 20:
        raise ValueError(f"differences must hold 1 to 20 numbers, got {values.size}")
    sums = np.zeros(1)
    for value in np.abs(values):
        sums = np.concatenate((sums + value, sums - value))
    return float((np.abs(sums) >= abs(values.sum()) - 1e-9 * np.abs(values).sum()).mean())


def best_setting(tuning: Iterable[dict], task: str, encoding: str) -> dict[str, float]:
    r"""Return the learning rates with the lowest mean loss over the tuning seeds.

    Args:
        tuning: rows with task, encoding, learning_rate, own_rate and loss.
        task, encoding: the rows to compare.

    Returns:
        {"learning_rate": …, "own_rate": …}.

    Raises:
        ValueError: no row has this task and encoding.

    >>> row = {"task": "back", "encoding": "t5", "own_rate": 1.0}
    >>> best_setting([{**row, "learning_rate": rate, "loss": 1 - rate} for rate in (0.1, 0.3)], "back", "t5")
    {'learning_rate': 0.3, 'own_rate': 1.0}

    Chapter A3.
    """
    losses: dict[tuple[float, float], list[float]] = {}
    for row in tuning:
        if (row["task"], row["encoding"]) == (task, encoding):
            losses.setdefault((row["learning_rate"], row["own_rate"]), []).append(row["loss"])
    if not losses:
        raise ValueError(f"no tuning run of task {task!r} with encoding {encoding!r}")
    rate, own = min(losses, key=lambda setting: (np.mean(losses[setting]), setting))
    return {"learning_rate": rate, "own_rate": own}


def load_grid(path: str | Path | None = None) -> Grid:
    r"""Load a grid of training runs.

    Args:
        path: a file written by `python -m makers.grid`, or None for the committed file.

    Raises:
        ValueError: the file has a different format.

    >>> grid = load_grid()
    >>> grid.accuracy("back", "rotary").n
    8

    Chapter 13.
    """
    return make_grid(load("grid.json", FORMAT, path))


def load_predictions() -> dict[int, str]:
    r"""Return the predictions written before the grid was run, {number: prediction}.

    >>> load_predictions()[6].split(":")[0]
    '*clock*, 2×'

    Chapter A3.
    """
    return numbered(read("predictions.md"))


def make_grid(content: dict[str, Any]) -> Grid:
    """Build a grid from a file's content."""
    return Grid(content["meta"], tuple(map(_make_run, content["runs"])), tuple(content["tuning"]))


def _make_run(run: dict[str, Any]) -> GridRun:
    columns = np.array(run["curve"], dtype=float).T
    curve = dict(zip(CURVE, columns, strict=True))
    tests = {length: (loss, accuracy) for length, loss, accuracy in run["tests"]}
    return GridRun(**run | {"curve": curve, "tests": tests})
