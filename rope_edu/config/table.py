r"""The interpreter of rules.json: rows of conditions and values, tried in order.

A row is an object. Its "if" is an expression; a row whose condition is null or false is passed over. Then the row
refuses ("refuse", "missing"), remarks ("remark", "lost"), gives its fact's value ("is"), or several of these. Its
other entries are words of the sentence. An expression is a literal, a reference "@name" (a fact, else a field of
the file), or a list [operator, operands …]. JavaScript has its own interpreter of the same file.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rope_edu.config.operators import EAGER, LAZY, holds
from rope_edu.config.values import FIELDS, RULES, Part, checked, config_error, names_of, same, shown

RESERVED = {"if", "is", "refuse", "missing", "remark", "lost", "at"}
Row = dict[str, Any]


@dataclass(frozen=True)
class Remark:
    """A fact about a config that a reader should know: its kind in rules.json, and the sentence."""

    kind: str
    text: str


class Notes(list[Remark]):
    """Remarks, each once."""

    def add(self, kind: str, **words: Any) -> None:
        """Note a remark."""
        remark = Remark(kind, RULES["remarks"][kind].format(**shown(words)))
        if remark not in self:
            self.append(remark)

    def lost(self, how: str, **words: Any) -> None:
        """Note a base that transformers 5 loses."""
        self.add("theta lost by 5", detail=RULES["how_lost"][how].format(**shown(words)))


@dataclass
class Table:
    """The state of one reading: the file's two parts, and the facts found so far."""

    body: Part
    part: Part
    notes: Notes
    facts: dict[str, Any] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)

    def run(self, facts: dict[str, Any]) -> None:
        """Evaluate facts in order, each for those behind it; a name in place of rows is a group of facts."""
        for name, rows in facts.items():
            if isinstance(rows, str):
                self.run(RULES[rows])
            else:
                self.facts[name] = self.decide(rows)

    def decide(self, rows: list[Row]) -> Any:
        """Return the value of the first row that holds and has one."""
        for row in rows:
            if holds(self.value(row.get("if", True))):
                self._speak(row)
                if "is" in row:
                    return self.value(row["is"])
        return None

    def _speak(self, row: Row) -> None:
        """Refuse or remark, if the row does."""
        if "missing" in row:
            why = RULES["why_missing"]
            name = row["missing"]
            raise config_error("missing", self.path(name), why=why.get(name, why["rule"]))
        words = {name: self.value(word) for name, word in row.items() if name not in RESERVED}
        if "refuse" in row:
            raise config_error(row["refuse"], self.path(row["at"]), **words)
        if "remark" in row:
            self.notes.add(row["remark"], **words)
        if "lost" in row:
            self.notes.lost(row["lost"], **words)

    def places(self, name: str) -> list[tuple[Part, str]]:
        """Return each place of a field, as the part and the name there."""
        rule = FIELDS[name]
        found: list[tuple[Part, str]] = []
        for part, elsewhere in ((self.part, "file"), (self.body, "rotation")):
            if rule.get("place") != elsewhere and not (found and self.part.apart):
                silent = None, rule.get("silent")
                found += [(part, each) for each in names_of(name) if part.raw(each) not in silent]
        self.used |= {part.path(each) for part, each in found}
        return found

    def path(self, name: str) -> str:
        """Return how an error names a field."""
        if name not in FIELDS:
            return self.part.path(name)
        rule = FIELDS[name]
        usual = self.part if "rotation" in (rule.get("place"), rule.get("missed_in")) else self.body
        part, each = next(iter(self.places(name)), (usual, name))
        return part.path(each)

    def get(self, name: str, *, agreed: bool = False) -> Any:
        """Return a field under any of its names, checked, or None; an error where two places disagree."""
        found = [(part.path(each), part.raw(each)) for part, each in self.places(name)]
        values = [checked(name, path, value) for path, value in found]
        for (other, _), value in zip(found, values, strict=True):
            if same(value, values[0]):
                continue
            field = found[0][0]
            if agreed or not FIELDS[name].get("may_differ"):
                raise config_error("contradiction", field, value=values[0], other=other, other_value=value)
            self.notes.add("lengths differ", field=field, other=other)
        return values[0] if values else None

    def default(self, name: str) -> Any:
        """Return the architecture's own value of a field, or None."""
        return RULES["defaults"].get(self.facts.get("model_type"), {}).get(name)

    def taken(self, name: str, *, silently: bool = False) -> Any:
        """Return a field, or the architecture's own value of it with a remark."""
        stated = self.get(name) if name in FIELDS else None
        value = self.default(name) if stated is None else stated
        if stated is None and value is not None and not silently:
            field, family = name.split("_of_a_bare")[0], self.facts["model_type"]
            self.notes.add("default taken", field=field, value=value, model_type=family)
        return value

    def value(self, expression: Any) -> Any:
        """Return the value of an expression."""
        if isinstance(expression, str) and expression.startswith("@"):
            name = expression[1:]
            return self.facts[name] if name in self.facts else self.get(name)
        if not isinstance(expression, list) or not expression:
            return expression
        operator, *operands = expression
        if operator in LAZY:
            return LAZY[operator](self, *operands)
        return EAGER[operator](*map(self.value, operands)) if operator in EAGER else expression
