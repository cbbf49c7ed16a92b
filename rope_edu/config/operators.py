r"""The operators of the rules' expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rope_edu.config.values import RULES, checked, listed, same
from rope_edu.encodings.scaling.yarn import ramp_ends, yarn_mscale


def holds(value: Any) -> bool:
    """Tell whether a condition is neither null nor false; 0 holds."""
    return value is not None and value is not False


def pair_axes(sections: list[int], order: str) -> tuple[int, ...]:
    """Return the coordinate by which each pair turns, for sections in an order of rules.json."""
    if order == "interleaved":  # dealt in turn; axis 0 takes those left
        axes = len(sections)
        return tuple(i % axes if i // axes < sections[i % axes] else 0 for i in range(sum(sections)))
    if order == "contiguous":
        return tuple(axis for axis, section in enumerate(sections) for _ in range(section))
    rows, columns, times = sections  # ERNIE: rows and columns take turns, then times
    return tuple(1 + i % 2 for i in range(rows + columns)) + (0,) * times


def _dealt(sections: list[int]) -> bool:
    dealt = pair_axes(sections, "interleaved")
    return [dealt.count(axis) for axis in range(len(sections))] == sections


def _backwards(rotary_dim: int, base: float, trained: int, fast: float, slow: float, truncate: bool) -> bool:
    low, high = ramp_ends(rotary_dim, base, trained, beta_fast=fast, beta_slow=slow, truncate=truncate)
    return low > high


def _first(table: Any, *operands: Any) -> Any:
    values = (table.value(operand) for operand in operands)
    return next((value for value in values if value is not None), None)


LAZY: dict[str, Callable[..., Any]] = {  # take their operands as they are written
    "all": lambda table, *each: all(holds(table.value(one)) for one in each),
    "any": lambda table, *each: any(holds(table.value(one)) for one in each),
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
    "names": lambda table, *names: listed(each for name in names for each in RULES[name]),
    "checked": lambda table, name, item, at=None: checked(name, table.path(at or name), table.value(item)),
}
EAGER: dict[str, Callable[..., Any]] = {  # take their values
    "not": lambda value: not holds(value),
    "=": same,
    "<": lambda a, b: a < b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a // b if isinstance(a, int) and isinstance(b, int) and a % b == 0 else a / b,
    "int": int,
    "divides": lambda a, b: b % a == 0,
    "sum": lambda values: None if values is None else sum(values),
    "length": len,
    "unless": lambda value, usual: None if same(value, usual) else value,
    "axes": pair_axes,
    "dealt": _dealt,
    "softmax scale": lambda factor, mscale: round(yarn_mscale(factor, mscale) ** 2, 4),
    "backwards": _backwards,
}
