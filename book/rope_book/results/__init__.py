r"""Results of runs that are too long for a notebook, and their loaders, which need only NumPy.

Each file is written by the module of the same name in `book/makers`. `predictions.md` and `stretch_predictions.md`
were written before the runs.
"""

from rope_book.results.base_bound import MODELS, PUBLISHED, BaseSearch, load_base_bound
from rope_book.results.base_search import first_negative_distance, smallest_base
from rope_book.results.claims import load_claims
from rope_book.results.grid import (
    Grid,
    GridRun,
    Spread,
    best_setting,
    load_grid,
    load_predictions,
    sign_flip_p,
    spread,
)
from rope_book.results.page_models import PageModel, load_page_models
from rope_book.results.real import load_real
from rope_book.results.rotation import Rotation, load_rotation
from rope_book.results.stretch import Stretch, load_stretch, load_stretch_predictions

__all__ = [
    "MODELS",
    "PUBLISHED",
    "BaseSearch",
    "Grid",
    "GridRun",
    "PageModel",
    "Rotation",
    "Spread",
    "Stretch",
    "best_setting",
    "first_negative_distance",
    "load_base_bound",
    "load_claims",
    "load_grid",
    "load_page_models",
    "load_predictions",
    "load_real",
    "load_rotation",
    "load_stretch",
    "load_stretch_predictions",
    "sign_flip_p",
    "smallest_base",
    "spread",
]
