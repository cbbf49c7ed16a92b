"""Every figure class by its name: a class enters when it is defined, and the scripts' data is written from here."""

from typing import Any

FIGURES: dict[str, type[Any]] = {}
