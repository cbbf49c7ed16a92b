"""nbval's settings for the notebooks."""

import nbval.kernel
import pytest

START_ONCE = nbval.kernel.start_new_kernel
ATTEMPTS = 3


def start_new_kernel(*args, **options):
    """Start a kernel, again if it dies before it says a word.

    It binds ports that were free a moment before; of two kernels that start together, one may come too late.
    """
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return START_ONCE(*args, **options)
        except RuntimeError as error:
            if attempt == ATTEMPTS or "died before replying" not in str(error):
                raise


def pytest_configure() -> None:
    """Let nbval start its kernels so."""
    nbval.kernel.start_new_kernel = start_new_kernel


def pytest_itemcollected(item: pytest.Item) -> None:
    """Leave pictures made for the page out of the comparison: stills, which a browser drew, and panels of plots."""
    made_later = ("image/svg+xml", "application/vnd.rope-edu.panels+json")
    item.parent.skip_compare = (*item.parent.skip_compare, *made_later)
