r"""Results of runs that take too long for a notebook, and how to read them; needs NumPy only.

`grid.json` is written by `python -m rope_edu.nn.grid`, and `predictions.md` was written before it was;
`rotation.json` by `python book/tools/bench_rotation.py`.
"""

from rope_edu.results.grid import (
    Grid,
    GridRun,
    Spread,
    best_setting,
    load_grid,
    load_predictions,
    sign_flip_p,
    spread,
)
from rope_edu.results.rotation import Rotation, load_rotation

__all__ = [
    "Grid",
    "GridRun",
    "Rotation",
    "Spread",
    "best_setting",
    "load_grid",
    "load_predictions",
    "load_rotation",
    "sign_flip_p",
    "spread",
]
