r"""The interpreter of rules.json: rows of conditions and values, tried in order.

A row is an object. Its "if" is an expression; a row whose condition is null or false is passed over. Then the row
refuses ("refuse", "missing"), remarks ("remark", "lost"), gives its fact's value ("is"), or several of these. An
expression is a literal, a reference "@name" (a fact, else a field of the file), or a list [operator, operands …].
JavaScript has its own interpreter of the same file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from rope_edu.config.values import (
    FIELDS,
    RULES,
    ConfigError,
    Part,
    checked,
    config_error,
    format_value,
    missing,
    names_of,
    same,
)
from rope_edu.encodings.scaling.yarn import ramp_ends, yarn_mscale

ABSENT: dict[str, Any] = {"no_rope_layers": []}  # a value that says nothing
RESERVED = {"if", "is", "refuse", "missing", "remark", "lost", "at"}
Row = dict[str, Any]


class Notes(list[tuple[str, dict[str, str]]]):
    """Remarks as (kind, words), each once."""

    def add(self, kind: str, **words: str) -> None:
        """Note a remark."""
        if (kind, words) not in self:
            self.append((kind, words))

    def lost(self, how: str, **words: str) -> None:
        """Note a base that transformers 5 loses."""
        self.add("theta lost by 5", detail=RULES["how_lost"][how].format(**words))


@dataclass
class Table:
    """The state of one reading: the file's two parts, and the facts found so far."""

    body: Part
    part: Part
    notes: Notes
    facts: dict[str, Any] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)

    def run(self, facts: dict[str, list[Row]]) -> None:
        """Evaluate facts in order; each stays for those behind it."""
        for name, rows in facts.items():
            if isinstance(rows, str):
                self.run(RULES[rows])
            else:
                self.facts[name] = self.decide(rows)

    def decide(self, rows: Iterable[Row]) -> Any:
        """Return the value of the first row that holds and has one."""
        for row in rows:
            if "if" in row and not holds(self.value(row["if"])):
                continue
            self._speak(row)
            if "is" in row:
                return self.value(row["is"])
        return None

    def holding(self, rows: Iterable[Row]) -> Row | None:
        """Return the first row that holds."""
        return next((row for row in rows if "if" not in row or holds(self.value(row["if"]))), None)

    def _speak(self, row: Row) -> None:
        if "refuse" in row or "missing" in row:
            raise self._error(row)
        words = {name: self._word(name, word) for name, word in row.items() if name not in RESERVED}
        if "remark" in row:
            self.notes.add(row["remark"], **words)
        if "lost" in row:
            self.notes.lost(row["lost"], model_type=str(self.facts.get("model_type")), **words)

    def _error(self, row: Row) -> ConfigError:
        if "missing" in row:
            place = self.part if self.place_of(row["missing"]) == "rotation" else self.body
            return missing(place.path(row["missing"]), row["missing"])
        words = {name: self.value(word) for name, word in row.items() if name not in RESERVED}
        if "other" in words:
            words.setdefault("other_value", self.get(row["other"]))
            words["other"] = self.path(row["other"])
        return config_error(row["refuse"], self.path(row["at"]), **words)

    def _word(self, name: str, word: Any) -> str:
        if isinstance(word, str) and word.startswith("path "):
            return self.path(word[5:])
        if isinstance(word, str) and word.startswith("="):
            return word[1:]
        return format_value(self.value(word))

    @staticmethod
    def place_of(name: str) -> str | None:
        """Return where a field stands: "rotation", "file", or None for both."""
        return FIELDS[name].get("place") or ("rotation" if name.startswith("original_") else None)

    def candidates(self, name: str) -> list[tuple[Part, str]]:
        """Return each place of a field, as the part and the name there."""
        place = FIELDS[name].get("place")
        found: list[tuple[Part, str]] = []
        for part, elsewhere in ((self.part, "file"), (self.body, "rotation")):
            if place == elsewhere or (found and self.part.apart):
                continue
            silent = None, ABSENT.get(name)
            found += [(part, each) for each in names_of(name) if part.raw(each) not in silent]
        self.used |= {part.path(each) for part, each in found}
        return found

    def path(self, name: str) -> str:
        """Return how an error names a field."""
        if name not in FIELDS:
            return self.part.path(name)
        usual = self.part if FIELDS[name].get("place") == "rotation" else self.body
        part, each = next(iter(self.candidates(name)), (usual, name))
        return part.path(each)

    def get(self, name: str, *, agreed: bool = False) -> Any:
        """Return a field under any of its names, checked, or None; an error where two places disagree."""
        found = self.candidates(name)
        values = [checked(name, part.path(each), part.raw(each)) for part, each in found]
        for (part, each), value in zip(found, values, strict=True):
            if same(value, values[0]):
                continue
            first = found[0][0].path(found[0][1])
            words = {"value": values[0], "other": part.path(each), "other_value": value}
            if agreed or not FIELDS[name].get("may_differ"):
                raise config_error("contradiction", first, **words)
            self.notes.add("lengths differ", field=first, other=part.path(each))
        return values[0] if values else None

    def default(self, name: str) -> Any:
        """Return the architecture's own value of a field, or None."""
        return RULES["defaults"].get(self.facts.get("model_type"), {}).get(name)

    def taken(self, name: str, *, silently: bool = False) -> Any:
        """Return a field, or the architecture's own value of it with a remark."""
        stated = self.get(name) if name in FIELDS else None
        value = self.default(name) if stated is None else stated
        if stated is None and value is not None and not silently:
            words = {"field": name.split("_of_a_bare")[0], "value": format_value(value)}
            self.notes.add("default taken", **words, model_type=self.facts["model_type"])
        return value

    def value(self, expression: Any) -> Any:
        """Return the value of an expression."""
        if isinstance(expression, str) and expression.startswith("@"):
            name = expression[1:]
            return self.facts[name] if name in self.facts else self.get(name)
        if not isinstance(expression, list) or not expression or expression[0] not in OPERATORS:
            return expression
        operator, *operands = expression
        if operator in LAZY:
            return LAZY[operator](self, *operands)
        return EAGER[operator](*map(self.value, operands))


def holds(value: Any) -> bool:
    """Tell whether a condition is neither null nor false; 0 holds."""
    return value is not None and value is not False


def dealt_in_turn(sections: list[int]) -> list[int]:
    """Return the axis of each pair where the pairs are dealt in turn, and axis 0 takes those left."""
    axes = len(sections)
    return [i % axes if i // axes < sections[i % axes] else 0 for i in range(sum(sections))]


def pair_axes(sections: list[int], order: str) -> tuple[int, ...]:
    """Return the coordinate by which each pair turns, for sections in an order of rules.json."""
    if order == "interleaved":
        return tuple(dealt_in_turn(sections))
    if order == "contiguous":
        return tuple(axis for axis, section in enumerate(sections) for _ in range(section))
    rows, columns, times = sections  # ERNIE: rows and columns take turns, then times
    return tuple(1 + i % 2 for i in range(rows + columns)) + (0,) * times


def _backwards(rotary_dim: int, base: float, trained: int, fast: float, slow: float, truncate: bool) -> bool:
    low, high = ramp_ends(rotary_dim, base, trained, beta_fast=fast, beta_slow=slow, truncate=truncate)
    return low > high


def _first(table: Table, *operands: Any) -> Any:
    values = (table.value(operand) for operand in operands)
    return next((value for value in values if value is not None), None)


LAZY: dict[str, Callable[..., Any]] = {
    "all": lambda table, *each: all(holds(table.value(one)) for one in each),
    "any": lambda table, *each: any(holds(table.value(one)) for one in each),
    "if": lambda table, test, then, other: table.value(then if holds(table.value(test)) else other),
    "or": _first,
    "has": lambda table, name: bool(table.candidates(name)),
    "given": lambda table, name: table.taken(name, silently=True) is not None,
    "default": lambda table, name: table.taken(name),
    "ours": lambda table, name: table.taken(name, silently=True),
    "agreed": lambda table, name: table.get(name, agreed=True),
    "inside": lambda table, name: name in table.part,
    "named": lambda table, name: name in table.body,
    "list": lambda table, name: isinstance(table.body.raw(name), list),
    "in": lambda table, item, name: table.value(item) in RULES[name],
    "checked": lambda table, name, item, at=None: checked(name, table.path(at or name), table.value(item)),
}
EAGER: dict[str, Callable[..., Any]] = {
    "not": lambda value: not holds(value),
    "known": lambda value: value is not None,
    "=": same,
    "<": lambda a, b: a < b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a // b if isinstance(a, int) and isinstance(b, int) and a % b == 0 else a / b,
    "int": int,
    "divides": lambda a, b: b % a == 0,
    "sum": lambda values: None if values is None else sum(values),
    "length": len,
    "unless": lambda value, usual: None if same(value, usual) else value,
    "dealt": lambda dealt: [dealt_in_turn(dealt).count(axis) for axis in range(len(dealt))] == dealt,
    "mscale": yarn_mscale,
    "square": lambda value: round(value**2, 4),
    "backwards": _backwards,
}
OPERATORS = LAZY.keys() | EAGER.keys()
