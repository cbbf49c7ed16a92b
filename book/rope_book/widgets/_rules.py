"""Rules between the controls of a figure, declared once: Python refuses what breaks them, the page clamps it.

Each rule belongs to one control (see :meth:`Control.under`) and travels with its description to
``js/lib/rules.js``, which reads the same four words: at_most, at_least, only_if, preset.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

State = dict[str, Any]
TINY = 1e-9  # two sums of tenths differ by less


@dataclass(frozen=True)
class Rule:
    """What the value of one control demands of another, or another of it."""

    word: ClassVar[str] = ""

    def describe(self) -> dict[str, Any]:
        """Return the rule as the page reads it."""
        return {"rule": self.word} | asdict(self)

    def settle(self, name: str, now: State, held: Iterable[str], controls: Mapping[str, Any]) -> State:
        """Return what must change in ``now``; ``held`` are the controls that have just been set."""
        return {}

    def allowed(self, name: str, now: State) -> str:
        """Return what the rule allows, as the middle of the sentence "x must be …, got …"."""
        raise NotImplementedError


@dataclass(frozen=True)
class AtMost(Rule):
    """The control is at most ``times`` · ``limit`` + ``plus``; a sentence counts as its number of words.

    A new limit takes the control along. A new value beyond the limit is refused, or, where ``either`` may give
    way, takes the limit along.
    """

    word = "at_most"
    limit: str
    times: float = 1
    plus: float = 0
    either: bool = False

    def most(self, now: State) -> float:
        """Return the greatest value allowed."""
        limit = now[self.limit]
        return tidy(self.times * (len(limit.split()) if isinstance(limit, str) else limit) + self.plus)

    def settle(self, name: str, now: State, held: Iterable[str], controls: Mapping[str, Any]) -> State:
        """Bring the control under the limit, or the limit above the control."""
        most = self.most(now)
        if now[name] <= most + TINY:
            return {}
        if self.either and name in held and self.limit not in held:
            return {self.limit: controls[self.limit].enough(tidy((now[name] - self.plus) / self.times))}
        return {name: most}

    def allowed(self, name: str, now: State) -> str:
        """Name the limit and where it comes from."""
        count = "words of " if isinstance(now[self.limit], str) else ""
        times = {1: "", 0.5: "half of "}.get(self.times, f"{self.times} × ")
        plus = f" {'−' if self.plus < 0 else '+'} {abs(self.plus)}" if self.plus else ""
        return f"at most {self.most(now):g} ({times}{count}{self.limit}{plus})"


@dataclass(frozen=True)
class AtLeast(Rule):
    """The control is at least ``least`` while ``where`` is ``value``."""

    word = "at_least"
    least: float
    where: str
    value: Any

    def settle(self, name: str, now: State, held: Iterable[str], controls: Mapping[str, Any]) -> State:
        """Raise the control."""
        return {name: self.least} if now[self.where] == self.value and now[name] < self.least else {}

    def allowed(self, name: str, now: State) -> str:
        """Name the bound and its condition."""
        return f"at least {self.least} while {self.where} is {self.value!r}"


@dataclass(frozen=True)
class OnlyIf(Rule):
    """The control means something only while ``where`` is one of ``values``.

    Otherwise the page hides it once the keyboard has left it, and a hand that still moves it turns ``where`` to the
    first of them. Any value is accepted at any time, so this rule refuses nothing.
    """

    word = "only_if"
    where: str
    values: tuple[Any, ...]

    def describe(self) -> dict[str, Any]:
        """Return the rule with its values as a list, as JSON keeps them."""
        return super().describe() | {"values": list(self.values)}


@dataclass(frozen=True)
class Preset(Rule):
    """Each named option of the control sets other controls; once one of those differs, the option is ``own``."""

    word = "preset"
    table: Mapping[str, State]
    own: str = "own"

    def settle(self, name: str, now: State, held: Iterable[str], controls: Mapping[str, Any]) -> State:
        """Take an option's values, or give the option up."""
        values = self.table.get(now[name], {})
        differing = {other: value for other, value in values.items() if now[other] != value}
        return differing if name in held or not differing else {name: self.own}

    def allowed(self, name: str, now: State) -> str:
        """Name the option whose values these are."""
        return f"that of {name} {now[name]!r}"


def settle(
    controls: Mapping[str, Any], before: State, held: State
) -> tuple[State, tuple[str, Rule, State] | None]:
    """Return what else changes once ``held`` is set in the state ``before``, and the first rule that it breaks.

    The broken rule comes as (name of its control, rule, the state in which it was read), or None.
    """
    now, more = {**before, **held}, {}
    for name, control in controls.items():
        for rule in control.rules:
            moved = rule.settle(name, now, held, controls)
            if any(other in held for other in moved):
                return {}, (name, rule, now)
            now |= moved
            more |= moved
    return more, None


def tidy(value: float) -> float:
    """Return the value with twelve digits, so that sums of tenths are tenths in both languages."""
    return float(f"{value:.12g}")
