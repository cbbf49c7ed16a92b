r"""Infer the cause and the fix from the pattern of checks that differ."""

import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rope_doctor.probes.bench import DIFFERS, NOT_JUDGED, Check

Patterns = list[dict[str, Any]]  # likeliest first
Meanings = dict[str, dict[str, str]]


def read_table(name: str) -> tuple[Patterns, Meanings]:
    """Return the cause patterns, and the meaning of each check, from a TOML file in this folder."""
    table = tomllib.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))
    return table["cause"], table["check"]


PATTERNS, MEANINGS = read_table("causes.toml")


SHORT = 12  # length, in tokens, of the short text, on which all checks run


@dataclass(frozen=True)
class Cause:
    """A likely cause, its evidence, and one fix."""

    name: str
    means: str
    evidence: str
    fix: str
    chapter: str
    seen: str = ""  # short description for the list of further causes

    def __str__(self) -> str:
        return f"Cause: {self.means}\n    Evidence: {self.evidence}\n    Fix: {self.fix} Chapter “{self.chapter}”."


def explained(check: Check, meanings: Meanings = MEANINGS) -> Check:
    """Return a check, with its meaning, fix and chapter added if it differs."""
    if check.outcome != DIFFERS:
        return check
    meaning = meanings[check.name]
    return replace(check, meaning=meaning["means"], fix=meaning["fix"], chapter=meaning["chapter"])


def causes_of(
    checks: tuple[Check, ...],
    patterns: Patterns = PATTERNS,
    meanings: Meanings = MEANINGS,
    *,
    state: bool = False,
) -> tuple[Cause, ...]:
    """Return the causes of differences, likeliest first: one from a matching pattern, then one per remaining check.

    `state` is True if some layers carry a state from token to token in addition to the cached keys.
    """
    by_name = {check.name: check for check in checks}
    wrong = [check for check in checks if check.outcome == DIFFERS]
    if not wrong:
        return ()
    pattern = next((pattern for pattern in patterns if _fits(pattern, by_name, state)), None)
    if pattern is None:
        first, *rest = sorted(wrong, key=lambda check: list(meanings).index(check.name))
        cause = Cause(first.name, first.meaning, _evidence(first), _capital(first.fix), first.chapter)
        return cause, *map(_seen, rest)
    first = by_name[pattern["differ"][0]]
    holding = [name for name in pattern.get("hold", ()) if by_name[name].outcome != NOT_JUDGED]
    also = f" {_capital(_listed(holding))} {'hold' if len(holding) > 1 else 'holds'}." if holding else ""
    cause = Cause(
        pattern["name"],
        pattern["means"],
        _evidence(first) + also,
        _capital(pattern["fix"]),
        pattern["chapter"],
    )
    return cause, *(_seen(check) for check in wrong if check is not first)


def _fits(pattern: dict[str, Any], checks: dict[str, Check], state: bool) -> bool:
    differ = all(checks[name].outcome == DIFFERS for name in pattern["differ"])
    hold = all(checks[name].outcome != DIFFERS for name in pattern.get("hold", ()))
    judged = all(checks[name].outcome != NOT_JUDGED for name in pattern.get("judged", ()))
    first = checks[pattern["differ"][0]]
    far = len(first.lengths) == 1 and first.lengths[0] > SHORT
    facts = {"far": far, "edge": first.edge, "state": state}
    return differ and hold and judged and all(facts[key] is pattern[key] for key in facts if key in pattern)


def _evidence(check: Check) -> str:
    return f"{check.name} differs ({check.words.rstrip('.')})."


def _seen(check: Check) -> Cause:
    seen = f"{check.name} ({check.off:.3g} apart)" if check.off is not None else check.name
    return Cause(check.name, check.meaning, check.words, _capital(check.fix), check.chapter, seen)


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]
