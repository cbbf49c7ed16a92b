"""Every figure by its name: classes enter when they are made, and what is written for the scripts reads them."""

from typing import Any

FIGURES: dict[str, type[Any]] = {}
