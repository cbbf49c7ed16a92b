"""The known mistakes: their effects, the smallest fixes, and the inputs needed to detect them."""

import tomllib
from pathlib import Path
from typing import NamedTuple


class Mistake(NamedTuple):
    """A known mistake: its effect, the smallest fix, and the inputs needed to detect it.

    >>> MISTAKES["counts_from_one"].fix
    'Count positions from 0.'

    Chapter 22.
    """

    does: str  # a sentence
    fix: str  # a sentence
    needs_spec: bool = False  # True for a valid but unexpected rotation, found only with a RopeSpec
    takes: str = "seq head_dim"  # axes of x needed to find it, as in `diagnose`


_TEXT = (Path(__file__).parent / "mistakes.toml").read_text(encoding="utf-8")
MISTAKES = {name: Mistake(**mistake) for name, mistake in tomllib.loads(_TEXT).items()}
