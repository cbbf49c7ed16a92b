"""The figure classes by name; defining a class registers it."""

from typing import Any

FIGURES: dict[str, type[Any]] = {}
