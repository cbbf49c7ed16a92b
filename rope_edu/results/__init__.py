r"""Results of runs that take too long for a notebook, and how to read them; needs NumPy only.

`grid.json` is written by `python -m rope_edu.nn.grid`.
"""

from rope_edu.results.grid import Grid, GridRun, Spread, load_grid, spread

__all__ = ["Grid", "GridRun", "Spread", "load_grid", "spread"]
