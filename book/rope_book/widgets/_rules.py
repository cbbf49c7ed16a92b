"""Rules between a figure's controls. Python rejects values that break a rule; the page adjusts them.

Each rule belongs to a control (see :meth:`Control.under`) and is sent to the page in the control's description.
``js/lib/rules.js`` implements the same four kinds: at_most, at_least, only_if, preset.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

State = dict[str, Any]
TINY = 1e-9  # more than the rounding error in a sum of tenths


@dataclass(frozen=True)
class Rule:
    """A constraint between a control and one or more others."""

    word: ClassVar[str] = ""

    def describe(self) -> dict[str, Any]:
        """Return the rule as a dict for the page."""
        return {"rule": self.word} | asdict(self)

    def settle(self, name: str, now: State, held: Iterable[str], controls: Mapping[str, Any]) -> State:
        """Return the changes that make ``now`` satisfy the rule; ``held`` contains the controls just set."""
        return {}

    def allowed(self, name: str, now: State) -> str:
        """Return the allowed values as text that completes "x must be …, got …"."""
        raise NotImplementedError


@dataclass(frozen=True)
class AtMost(Rule):
    """An upper bound of ``times`` · ``limit`` + ``plus``; if ``limit`` is a sentence, the number of its words is
    used.

    Lowering the limit also lowers the control. Setting the control above the limit is an error or, with ``either``,
    raises the limit.
    """

    word = "at_most"
    limit: str
    times: float = 1
    plus: float = 0
    either: bool = False

    def most(self, now: State) -> float:
        """Return the largest allowed value."""
        limit = now[self.limit]
        return tidy(self.times * (len(limit.split()) if isinstance(limit, str) else limit) + self.plus)

    def settle(self, name: str, now: State, held: Iterable[str], controls: Mapping[str, Any]) -> State:
        """Lower the control to the limit, or raise the limit to the control."""
        most = self.most(now)
        if now[name] <= most + TINY:
            return {}
        if self.either and name in held and self.limit not in held:
            return {self.limit: controls[self.limit].enough(tidy((now[name] - self.plus) / self.times))}
        return {name: most}

    def allowed(self, name: str, now: State) -> str:
        """Describe the bound and how it is computed."""
        count = "words of " if isinstance(now[self.limit], str) else ""
        times = {1: "", 0.5: "half of "}.get(self.times, f"{self.times} × ")
        plus = f" {'−' if self.plus < 0 else '+'} {abs(self.plus)}" if self.plus else ""
        return f"at most {self.most(now):g} ({times}{count}{self.limit}{plus})"


@dataclass(frozen=True)
class AtLeast(Rule):
    """A lower bound, ``least``, that applies while the control named ``where`` is set to ``value``."""

    word = "at_least"
    least: float
    where: str
    value: Any

    def settle(self, name: str, now: State, held: Iterable[str], controls: Mapping[str, Any]) -> State:
        """Raise the control to the bound if it is lower."""
        return {name: self.least} if now[self.where] == self.value and now[name] < self.least else {}

    def allowed(self, name: str, now: State) -> str:
        """Describe the bound and its condition."""
        return f"at least {self.least} while {self.where} is {self.value!r}"


@dataclass(frozen=True)
class OnlyIf(Rule):
    """A condition: the control has an effect only while ``where`` is one of ``values``.

    Otherwise, the page hides the control unless it has focus; moving the control sets ``where`` to the first of
    ``values``. This rule never rejects a value.
    """

    word = "only_if"
    where: str
    values: tuple[Any, ...]

    def describe(self) -> dict[str, Any]:
        """Return the rule with its values as a list, as in JSON."""
        return super().describe() | {"values": list(self.values)}


@dataclass(frozen=True)
class Preset(Rule):
    """Named options that set other controls; when one of these controls changes later, the option becomes
    ``own``."""

    word = "preset"
    table: Mapping[str, State]
    own: str = "own"

    def settle(self, name: str, now: State, held: Iterable[str], controls: Mapping[str, Any]) -> State:
        """Apply the option's values, or fall back to ``own``."""
        values = self.table.get(now[name], {})
        differing = {other: value for other, value in values.items() if now[other] != value}
        return differing if name in held or not differing else {name: self.own}

    def allowed(self, name: str, now: State) -> str:
        """Describe the allowed value, which is the one that the current option sets."""
        return f"that of {name} {now[name]!r}"


def settle(
    controls: Mapping[str, Any], before: State, held: State
) -> tuple[State, tuple[str, Rule, State] | None]:
    """Return the changes that rules require after ``held`` is set in the state ``before``, and any broken rule.

    The broken rule is (name of its control, rule, state in which it was applied), or None if ``held`` breaks no
    rule.
    """
    now, implied = {**before, **held}, {}
    for name, control in controls.items():
        for rule in control.rules:
            changes = rule.settle(name, now, held, controls)
            if any(other in held for other in changes):
                return {}, (name, rule, now)
            now |= changes
            implied |= changes
    return implied, None


def tidy(value: float) -> float:
    """Round to twelve significant digits, so that sums of tenths are equal in Python and JavaScript."""
    return float(f"{value:.12g}")
