"""Every figure class by name: defining a class registers it, and the scripts' data is written from this table."""

from typing import Any

FIGURES: dict[str, type[Any]] = {}
