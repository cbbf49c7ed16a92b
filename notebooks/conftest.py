"""Settings of nbval: kernels that start again, and plots that are compared as data."""

import itertools
import sys
import tempfile
from pathlib import Path

import nbval.kernel
import nbval.plugin
import pytest

SOCKETS = tempfile.TemporaryDirectory()
NUMBER = itertools.count()
MANAGER = nbval.kernel.KernelManager
START_ONCE = nbval.kernel.start_new_kernel
SANITIZE = nbval.plugin.IPyNbCell.sanitize
ATTEMPTS = 3
TOOLS = Path(__file__).resolve().parents[1] / "book" / "tools"
HAS_TOOLS = (
    TOOLS.is_dir()
)  # a copy of the notebooks alone is compared without its plots
STILL = "image/svg+xml"  # drawn by a browser when the notebook was written
PANELS = "application/vnd.rope-book.panels+json"
WATCH = f"import sys; sys.path.append({str(TOOLS)!r}); import panels; panels.watch(); del sys, panels"
if HAS_TOOLS:
    sys.path.append(str(TOOLS))
    from panel_data import Panels
else:
    Panels = ()


def manager(**options):
    """Return a kernel manager that speaks through files of its own where the system has such sockets.

    A port that was free a moment before may be another's when the kernel binds it.
    """
    if sys.platform != "win32":
        options |= {"transport": "ipc", "ip": f"{SOCKETS.name}/{next(NUMBER)}"}
    return MANAGER(**options)


def start_new_kernel(*args, **options):
    """Start a kernel that draws panels beside its PNGs; again if it dies, or is silent, before it says a word."""
    if HAS_TOOLS:
        options["extra_arguments"] = [f"--IPKernelApp.exec_lines={WATCH}"]
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return START_ONCE(*args, **options)
        except RuntimeError:
            if attempt == ATTEMPTS:
                raise


def sanitize(cell, value):
    """Return an output as nbval compares it: the panels of a plot as data."""
    if isinstance(value, list) and HAS_TOOLS:
        return Panels(
            value, draws_times="draws-times" in cell.cell.metadata.get("tags", [])
        )
    return SANITIZE(cell, value)


def pytest_configure() -> None:
    """Put these in the place of nbval's own."""
    nbval.kernel.KernelManager = manager
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
