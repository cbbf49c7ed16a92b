"""Settings of nbval: kernels that start again, and plots that are compared as data."""

import sys
from pathlib import Path

import nbval.kernel
import nbval.plugin
import pytest

START_ONCE = nbval.kernel.start_new_kernel
SANITIZE = nbval.plugin.IPyNbCell.sanitize
ATTEMPTS = 3
TOOLS = Path(__file__).resolve().parents[1] / "book" / "tools"
HAS_TOOLS = (
    TOOLS.is_dir()
)  # a copy of the notebooks alone is compared without its plots
STILL = "image/svg+xml"  # drawn by a browser when the notebook was written
PANELS = "application/vnd.rope-edu.panels+json"
WATCH = f"import sys; sys.path.append({str(TOOLS)!r}); import panels; panels.watch(); del sys, panels"
if HAS_TOOLS:
    sys.path.append(str(TOOLS))
    from panel_data import Panels
else:
    Panels = ()


def start_new_kernel(*args, **options):
    """Start a kernel that draws panels beside its PNGs; again if it dies before it says a word.

    It binds ports that were free a moment before; of two kernels that start together, one may come too late.
    """
    if HAS_TOOLS:
        options["extra_arguments"] = [f"--IPKernelApp.exec_lines={WATCH}"]
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return START_ONCE(*args, **options)
        except RuntimeError as error:
            if attempt == ATTEMPTS or "died before replying" not in str(error):
                raise


def sanitize(cell, value):
    """Return an output as nbval compares it: the panels of a plot as data."""
    if isinstance(value, list) and HAS_TOOLS:
        return Panels(
            value, draws_times="draws-times" in cell.cell.metadata.get("tags", [])
        )
    return SANITIZE(cell, value)


def pytest_configure() -> None:
    """Put both in the place of nbval's own."""
    nbval.kernel.start_new_kernel = start_new_kernel
    nbval.plugin.IPyNbCell.sanitize = sanitize


def pytest_itemcollected(item: pytest.Item) -> None:
    """Leave stills out of the comparison, and panels where nothing draws them."""
    item.parent.skip_compare = (
        *item.parent.skip_compare,
        STILL,
        # beside a widget, ipywidgets 7 (Colab's) shows no HTML; a table's words are compared as text too
        *([] if HAS_TOOLS else [PANELS, "text/html"]),
    )


def pytest_assertrepr_compare(left: object, right: object) -> list[str] | None:
    """Say where a plot differs from the committed one."""
    return (
        ["a plot differs from the committed one", left.difference(right)]
        if isinstance(left, Panels)
        else None
    )
