"""What figures take from Python: each entry is written into a script that imports ``../data/<name>.js``.

The module exports one constant, the name in capitals: ``import { GRID } from "../data/grid.js";``.
"""

from collections.abc import Callable
from typing import Any

from ._grid import grid_table

DATA: dict[str, Callable[[], Any]] = {
    "grid": grid_table,
}
