"""Readers of the figures' pictures: positions, angles and lengths of what is drawn, and the numbers they must be.

`picture` has the calls of the pen for a state, and the charts in them. The other modules have one reader for each
figure: it takes a picture and the same figure in Python, and yields what is read, from the picture and from Python.
"""

from collections.abc import Callable, Iterator
from typing import Any

from .picture import Picture

Reading = (
    tuple  # what it is, as drawn, as Python computes it, and how much it may differ if not by rounding alone
)
Reader = Callable[[Picture, Any], Iterator[Reading]]
READERS: dict[str, Reader] = {}


def reads(name: str) -> Callable[[Reader], Reader]:
    """Register the reader of a figure."""
    return lambda reader: READERS.setdefault(name, reader)


from . import charts, clocks, fields, scenes  # noqa: E402, F401
