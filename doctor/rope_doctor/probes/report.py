r"""Reports of checks that compare a decoder or a server with itself."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace

from rope_doctor.probes.bench import DIFFERS, DOCUMENTED, NOT_JUDGED, SAME, Check
from rope_doctor.probes.causes import Cause
from rope_doctor.verdict import DIFFERS as WRONG
from rope_doctor.verdict import HOLDS, NOT_RUN, Judged, Verdict

OUTCOMES = {SAME: HOLDS, DOCUMENTED: HOLDS, DIFFERS: WRONG, NOT_JUDGED: NOT_RUN}


@dataclass(frozen=True)
class Report(ABC):
    """Checks, their verdict, and the causes of differences, likeliest first; `print` shows them as text."""

    checks: tuple[Check, ...]
    verdict: Verdict
    causes: tuple[Cause, ...]
    tolerance: str  # the largest difference attributed to rounding, and the reason

    @property
    def right(self) -> bool | None:
        """Return True if every central check ran and nothing differs, False if something does, otherwise None."""
        return self.verdict.right

    def of(self, name: str) -> Check:
        """Return the check with this name."""
        return next(check for check in self.checks if check.name == name)

    def __str__(self) -> str:
        lines = [self._headline(), *map(str, self.causes[:1])]
        if self.causes[1:]:
            lines.append("Also seen: " + "; ".join(cause.seen for cause in self.causes[1:]) + ".")
        ran = (str(check) for check in self.checks if check.outcome != NOT_JUDGED)
        return "\n".join([*lines, str(self.verdict), self.tolerance, *self._cost(), *ran])

    @abstractmethod
    def _headline(self) -> str: ...

    def _cost(self) -> tuple[str, ...]:
        return ()


def run_chosen(chosen: Verdict, run: Callable[[str], Check]) -> tuple[Check, ...]:
    """Run the chosen checks by name; the others count as not judged."""
    return tuple(
        replace(run(judged.name), central=judged.central)
        if judged.outcome == HOLDS
        else Check(judged.name, NOT_JUDGED, judged.reason, central=judged.central)
        for judged in chosen.checks
    )


def verdict_of(checks: tuple[Check, ...]) -> Verdict:
    """Return the verdict on checks that have been run."""
    return Verdict(tuple(map(_judged, checks)))


def _judged(check: Check) -> Judged:
    outcome = OUTCOMES[check.outcome]
    return Judged(check.name, outcome, check.words if outcome == NOT_RUN else "", check.central)
