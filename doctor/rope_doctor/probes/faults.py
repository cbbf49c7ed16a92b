r"""Faults in a live model's rotation, and their causes, likeliest first."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from rope_doctor.clinic.mistakes import MISTAKES


class Cause(NamedTuple):
    """A cause, its fix, and the chapter that explains it; `fix` may contain placeholders for names, such as {0}."""

    does: str
    fix: str
    chapter: str = "Diagnose a rotation"


_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
OWN = {name: Cause(**cause) for name, cause in _TABLE.items()}  # likeliest first
FROM_CLINIC_BEFORE = "ignores_positions"  # the clinic's mistakes rank just ahead of this cause


def cause_of(name: str) -> Cause:
    """Return the cause with this name, from `OWN` or from the clinic's mistakes."""
    return OWN[name] if name in OWN else Cause(MISTAKES[name].does, MISTAKES[name].fix)


@dataclass(frozen=True)
class Fault:
    """A difference between a live model's rotation and its config, as text."""

    where: str  # name of the module
    layers: str  # the affected layers, as text: "all layers"
    found: str
    wanted: str
    cause: str  # a name in `OWN` or in the clinic's `MISTAKES`
    check: str  # the check that differs
    named: tuple[str, ...] = ()  # names to insert into the fix
    pair: int | None = None  # first pair that differs
    position: int | None = None  # first position at which it differs

    @property
    def means(self) -> str:
        """Return the cause as a sentence."""
        return cause_of(self.cause).does

    @property
    def fix(self) -> str:
        """Return the smallest change that fixes the fault."""
        return cause_of(self.cause).fix.format(*self.named) if self.named else cause_of(self.cause).fix

    @property
    def seen(self) -> str:
        """Return the evidence as one line."""
        first = {"pair": self.pair, "position": self.position}
        known = ", ".join(f"{name} {value}" for name, value in first.items() if value is not None)
        at = f" First difference: {known}." if known else ""
        return f"{self.where} ({self.layers}): Found {self.found}, expected {self.wanted}.{at}"

    def __str__(self) -> str:
        cause = cause_of(self.cause)
        return (
            f"Cause: {cause.does}\n    Evidence: {self.seen}\n    Fix: {self.fix} Chapter “{cause.chapter}”."
        )


def ranked(faults: Sequence[Fault]) -> tuple[Fault, ...]:
    """Sort faults by cause, likeliest first.

    A cause comes before those that it may explain: frequencies before the queries that they rotate, and faults in
    all layers before faults in one layer kind.
    """
    order = list(OWN)
    clinic = order.index(FROM_CLINIC_BEFORE) - 0.5
    return tuple(sorted(faults, key=lambda fault: order.index(fault.cause) if fault.cause in OWN else clinic))
