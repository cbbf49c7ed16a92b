r"""The interpreter of rules.json: rows of conditions and values, tried in order.

A row is an object. If the value of its "if" expression is null or false, the row is skipped. Otherwise it rejects a
field ("refuse", "at"), adds a remark ("remark", "lost"), sets the value of its fact ("is"), or does several of
these. Its other entries are inserted into messages. An expression is a literal, a reference "@name" to a fact (or
to a field of the file if there is no such fact), or a list [operator, operands …]. A second interpreter, in
JavaScript, reads the same file.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rope_doctor.config.values import RULES, Notes, Part, checked, config_error, listed, names_of, same
from rope_edu.encodings.scaling.yarn import yarn_mscale
from rope_edu.plain.scaling import ramp_ends

RESERVED = {"if", "is", "refuse", "at", "remark", "lost"}
Row = dict[str, Any]


@dataclass
class RuleTable:
    """The interpreter's state: the two parts of the config, and the facts determined so far."""

    body: Part
    notes: Notes
    facts: dict[str, Any]
    part: Part = field(default_factory=lambda: Part({}))
    used: set[str] = field(default_factory=set)

    def run(self, facts: dict[str, Any]) -> None:
        """Evaluate facts in order; later facts may use earlier ones. A string instead of rows names a group."""
        for name, rows in facts.items():
            if isinstance(rows, str):
                self.run(RULES[rows])
            else:
                self.facts[name] = self.decide(rows)

    def decide(self, rows: list[Row]) -> Any:
        """Return the "is" of the first row that applies and has one; rows may reject fields and add remarks."""
        for row in rows:
            if not holds(self.value(row.get("if", True))):
                continue
            words = {name: self.value(word) for name, word in row.items() if name not in RESERVED}
            if "refuse" in row:
                raise config_error(row["refuse"], self.path(row["at"]), **words)
            if "remark" in row:
                self.notes.add(row["remark"], **words)
            if "lost" in row:
                self.notes.lost(row["lost"], **words)
            if "is" in row:
                return self.value(row["is"])
        return None

    def places(self, name: str) -> list[tuple[str, Any]]:
        """Return (path, value) for every occurrence of a field."""
        rule = RULES["fields"][name]
        silent = None, rule.get("silent")
        places: list[tuple[str, Any]] = []
        for part, elsewhere in ((self.part, "file"), (self.body, "rotation")):
            if rule.get("place") != elsewhere and not (places and self.part.apart):
                stated = ((alias, part.raw(alias)) for alias in names_of(name))
                places += [(part.path(alias), value) for alias, value in stated if value not in silent]
        self.used.update(path for path, _ in places)
        return places

    def path(self, name: str) -> str:
        """Return the path that identifies a field in error messages."""
        if name not in RULES["fields"]:
            return self.part.path(name)
        rule, places = RULES["fields"][name], self.places(name)
        usual = self.part if "rotation" in (rule.get("place"), rule.get("missed_in")) else self.body
        return places[0][0] if places else usual.path(name)

    def get(self, name: str, *, agreed: bool = False) -> Any:
        """Return the checked value of a field, or None; ConfigError if two occurrences disagree."""
        places = [(path, checked(name, path, value)) for path, value in self.places(name)]
        for other, value in places:
            field, first = places[0]
            if same(value, first):
                continue
            if agreed or not RULES["fields"][name].get("may_differ"):
                raise config_error("contradiction", field, value=first, other=other, other_value=value)
            self.notes.add("lengths differ", field=field, other=other)
        return places[0][1] if places else None

    def default(self, name: str) -> Any:
        """Return the architecture's default for a field, or None."""
        return RULES["defaults"].get(self.facts.get("model_type"), {}).get(name)

    def taken(self, name: str, *, silently: bool = False) -> Any:
        """Return the value of a field or its default; using the default adds a remark unless `silently`."""
        stated = self.get(name) if name in RULES["fields"] else None
        value = self.default(name) if stated is None else stated
        if stated is None and value is not None and not silently:
            field, family = name.split("_of_a_bare")[0], self.facts["model_type"]
            self.notes.add("default taken", field=field, value=value, model_type=family)
        return value

    def value(self, expression: Any) -> Any:
        """Evaluate an expression."""
        if isinstance(expression, str) and expression.startswith("@"):
            name = expression[1:]
            return self.facts[name] if name in self.facts else self.get(name)
        if not isinstance(expression, list) or not expression:
            return expression
        operator, *operands = expression
        if operator in LAZY:
            return LAZY[operator](self, *operands)
        return EAGER[operator](*map(self.value, operands)) if operator in EAGER else expression


def holds(value: Any) -> bool:
    """Return True unless a condition is null or false; 0 counts as true."""
    return value is not None and value is not False


def pair_axes(sections: list[int], order: str) -> tuple[int, ...]:
    """Return the coordinate that rotates each pair, given sections in one of the orders in rules.json."""
    if order == "interleaved":  # round robin, with leftover pairs on axis 0
        axes = len(sections)
        return tuple(i % axes if i // axes < sections[i % axes] else 0 for i in range(sum(sections)))
    if order == "contiguous":
        return tuple(axis for axis, section in enumerate(sections) for _ in range(section))
    rows, columns, times = sections  # ERNIE: rows and columns alternate, followed by times
    return tuple(1 + i % 2 for i in range(rows + columns)) + (0,) * times


def _dealt(sections: list[int]) -> bool:
    dealt = pair_axes(sections, "interleaved")
    return [dealt.count(axis) for axis in range(len(sections))] == sections


def _backwards(rotary_dim: int, base: float, trained: int, fast: float, slow: float, truncate: bool) -> bool:
    low, high = ramp_ends(rotary_dim, trained, base, slow, fast, truncate)
    return low > high


def _first(table: RuleTable, *operands: Any) -> Any:
    values = (table.value(operand) for operand in operands)
    return next((value for value in values if value is not None), None)


LAZY: dict[str, Callable[..., Any]] = {  # operators that receive unevaluated operands
    "all": lambda table, *operands: all(holds(table.value(operand)) for operand in operands),
    "any": lambda table, *operands: any(holds(table.value(operand)) for operand in operands),
    "if": lambda table, test, then, other: table.value(then if holds(table.value(test)) else other),
    "or": _first,
    "has": lambda table, name: bool(table.places(name)),
    "default": lambda table, name: table.taken(name),
    "ours": lambda table, name: table.taken(name, silently=True),
    "agreed": lambda table, name: table.get(name, agreed=True),
    "path": lambda table, name: table.path(name),
    "inside": lambda table, name: name in table.part,
    "named": lambda table, name: name in table.body,
    "list": lambda table, name: isinstance(table.body.raw(name), list),
    "in": lambda table, item, name: table.value(item) in RULES[name],
    "entry": lambda table, name, item: RULES[name][table.value(item)],
    "names": lambda table, *groups: listed(name for group in groups for name in RULES[group]),
    "checked": lambda table, name, item, at=None: checked(name, table.path(at or name), table.value(item)),
}
EAGER: dict[str, Callable[..., Any]] = {  # operators that receive values
    "not": lambda value: not holds(value),
    "=": same,
    "<": lambda a, b: a < b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a // b if isinstance(a, int) and isinstance(b, int) and a % b == 0 else a / b,
    "int": int,
    "divides": lambda a, b: b % a == 0,
    "sum": lambda values: None if values is None else sum(values),
    "length": len,
    "axes": pair_axes,
    "dealt": _dealt,
    "softmax factor": lambda factor, mscale: yarn_mscale(factor, mscale) ** 2,
    "softmax scale": lambda factor, mscale: round(yarn_mscale(factor, mscale) ** 2, 4),
    "backwards": _backwards,
}
