"""Encode the training grid for the figures' scripts, with all curves of all seeds in two characters per number.

The bundler embeds the data in the script, so that the page makes no request.
"""

import math
from collections.abc import Iterable
from statistics import median

from rope_book.results import Grid, GridRun, load_grid

ENCODINGS = {
    "none": "NoPE",
    "learned": "learned",
    "sinusoidal": "sinusoidal",
    "shaw": "Shaw",
    "t5": "T5 bias",
    "alibi": "ALiBi",
    "rotary": "rotary",
    "partial": "partial rotary",
    "p-rope": "p-RoPE",
    "learned-rotary": "learned rotary",
    "xpos": "xPos",
}
LEVELS = {"text": 0.4}  # accuracy at which a task counts as learned; `LEVEL` for other tasks
LEVEL = 0.75
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
MOST = len(DIGITS) ** 2 - 1


def share_code(share: float) -> int:
    """Encode a share between 0 and 1 in thousandths."""
    return round(1000 * share)


def loss_code(loss: float) -> int:
    """Encode a loss as 200 · log₁₀(loss / 10^−4.5), in steps of 1.2 %, clamped to losses of at most 93."""
    return min(MOST, max(0, round(200 * (math.log10(max(loss, 1e-9)) + 4.5))))


def packed(codes: Iterable[int]) -> str:
    """Encode integers from 0 to 1,295 as two base-36 digits each.

    >>> packed([0, 36, 1295])
    '0010zz'
    """
    return "".join(DIGITS[code // 36] + DIGITS[code % 36] for code in codes)


def grid_table() -> dict:
    """Return the encodings' names, and the curves and tests for each task."""
    grid = load_grid()
    return {"names": ENCODINGS, "tasks": {task: _task(grid, task) for task in grid.tasks}}


def _task(grid: Grid, task: str) -> dict:
    """Return the settings, curves and tests for a task."""
    runs = {name: [run for run in grid.select(task) if run.encoding == name] for name in ENCODINGS}
    return {
        "level": LEVELS.get(task, LEVEL),
        "unit": grid.meta["tasks"][task]["unit"],
        "lengths": grid.test_lengths(task),
        "steps": grid.select(task)[0].curve["step"].astype(int).tolist(),
        "runs": {name: _encoding(seeds) for name, seeds in runs.items() if seeds},
    }


def _encoding(runs: list[GridRun]) -> dict:
    """Return an encoding's curves and tests for all seeds, and the median CPU time per step in milliseconds."""
    tests = [list(run.tests.values()) for run in runs]
    return {
        "ms": round(1000 * median(run.curve["cpu_seconds"][-1] / run.curve["step"][-1] for run in runs), 3),
        "curves": {
            "accuracy": [packed(map(share_code, run.curve["accuracy"])) for run in runs],
            "loss": [packed(map(loss_code, run.curve["loss"])) for run in runs],
        },
        "tests": {
            "accuracy": [packed(share_code(accuracy) for _, accuracy in of_run) for of_run in tests],
            "loss": [packed(loss_code(loss) for loss, _ in of_run) for of_run in tests],
        },
    }
