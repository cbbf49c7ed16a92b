"""The known mistakes: the effect of each, the smallest fix, and the knowledge and axes that it needs to show."""

import tomllib
from pathlib import Path
from typing import NamedTuple


class Mistake(NamedTuple):
    """One known mistake: its effect, the smallest fix, and the knowledge and axes that it needs to show.

    >>> MISTAKES["counts_from_one"].fix
    'Count positions from 0.'

    Chapter 22.
    """

    does: str  # a sentence
    fix: str  # a sentence
    needs_spec: bool = False  # a right rotation of something else: it shows only against a RopeSpec
    takes: str = "seq head_dim"  # axes of x without which it does not show, as in `diagnose`


_TEXT = (Path(__file__).parent / "mistakes.toml").read_text(encoding="utf-8")
MISTAKES = {name: Mistake(**mistake) for name, mistake in tomllib.loads(_TEXT).items()}
