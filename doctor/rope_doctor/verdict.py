r"""A verdict: the outcome of every check, whether it is central, and the resulting exit status.

>>> window = Judged("window", NOT_RUN, "neither file states it", central=True)
>>> verdict = Verdict((Judged("layout", HOLDS, central=True), window))
>>> verdict.status, str(verdict)
(2, '1 of 2 checks ran. Not judged: window (neither file states it).')
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Literal

Outcome = Literal["holds", "differs", "not run"]
HOLDS: Outcome = "holds"
DIFFERS: Outcome = "differs"
NOT_RUN: Outcome = "not run"
RIGHT, WRONG, COULD_NOT_TELL = 0, 1, 2  # exit status


@dataclass(frozen=True)
class Judged:
    """A check, its outcome and, if it did not run, the reason."""

    name: str
    outcome: Outcome
    reason: str = ""
    central: bool = False  # if True, the exit status is 0 only if the check ran and passed


@dataclass(frozen=True)
class Verdict:
    """All checks of a command; `print` shows the closing sentence of its report."""

    checks: tuple[Judged, ...]

    @property
    def status(self) -> int:
        """Return 1 if a check differs, 0 if every central check ran and passed, and 2 otherwise."""
        if any(check.outcome == DIFFERS for check in self.checks):
            return WRONG
        central = [check for check in self.checks if check.central]
        return RIGHT if central and all(check.outcome == HOLDS for check in central) else COULD_NOT_TELL

    @property
    def right(self) -> bool | None:
        """Return True for status 0, False for 1 and None for 2."""
        return {RIGHT: True, WRONG: False, COULD_NOT_TELL: None}[self.status]

    @property
    def not_judged(self) -> dict[str, str]:
        """Return {check name: reason} for the checks that did not run."""
        return {check.name: check.reason for check in self.checks if check.outcome == NOT_RUN}

    def __str__(self) -> str:
        ran = len(self.checks) - len(self.not_judged)
        count = f"{ran} of {len(self.checks)} checks ran."
        reasons = "; ".join(f"{name} ({reason})" for name, reason in self.not_judged.items())
        return f"{count} Not judged: {reasons}." if reasons else count


def choose(
    checks: Collection[Judged],
    *,
    only: Collection[str] = (),
    skip: Collection[str] = (),
    require: Collection[str] = (),
) -> Verdict:
    """Return the verdict on the checks after applying `--only`, `--skip` and `--require`.

    A skipped check stays in the verdict as one that did not run, so skipping a central check rules out status 0. A
    required check becomes central. ValueError for an unknown name.
    """
    known = [check.name for check in checks]
    unknown = next((name for name in (*only, *skip, *require) if name not in known), None)
    if unknown is not None:
        raise ValueError(f"{unknown!r} is not a check of this command; its checks are {', '.join(known)}")
    dropped = set(skip) | (set(known) - set(only) if only else set())
    chosen = [replace(check, central=check.central or check.name in require) for check in checks]
    return Verdict(tuple(_skipped(check) if check.name in dropped else check for check in chosen))


def _skipped(check: Judged) -> Judged:
    return replace(check, outcome=NOT_RUN, reason="skipped")
