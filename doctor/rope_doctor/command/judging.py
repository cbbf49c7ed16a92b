"""Apply the options --only, --skip and --require, and convert a verdict to JSON."""

import argparse
from typing import Any

from rope_doctor.verdict import COULD_NOT_TELL, RIGHT, Verdict, choose

WORDS = {RIGHT: "holds", COULD_NOT_TELL: "could not tell"}


def chosen_checks(verdict: Verdict, chosen: argparse.Namespace) -> Verdict:
    """Return the verdict after applying the options; ValueError for an unknown name."""
    options = {name: names_in(getattr(chosen, name, None)) for name in ("only", "skip", "require")}
    return choose(verdict.checks, **options)


def names_in(values: list[str] | None) -> list[str]:
    """Return the names given to a repeatable option, whose values may be comma-separated lists.

    >>> names_in(["layout, kinds", "windows"])
    ['layout', 'kinds', 'windows']
    """
    split = (name.strip() for value in values or [] for name in value.split(","))
    return [name for name in split if name]


def in_json(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as JSON: its status, and each check with its outcome."""
    checks = [
        {"name": each.name, "outcome": each.outcome, "reason": each.reason, "central": each.central}
        for each in verdict.checks
    ]
    return {"status": verdict.status, "said": WORDS.get(verdict.status, "differs"), "checks": checks}
