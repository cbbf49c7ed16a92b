"""nbval's settings for the notebooks."""

import pytest


def pytest_itemcollected(item: pytest.Item) -> None:
    """Leave the stills out of the comparison: a browser drew them, and the book's own tests hold them fresh."""
    item.parent.skip_compare = (*item.parent.skip_compare, "image/svg+xml")
