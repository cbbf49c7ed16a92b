"""Exercises to which any of many answers is right: rules that Python and the page read from one file.

An entry of ``in_page.toml`` with ``rules`` names the numbers of an answer (``values``), gives names to what is
computed from them (``where``), and has the rules in order: a condition, and the sentence for an answer that
meets it. An answer that meets none is right. Formulas are Python's, of numbers; the page has each as a tree.
"""

import ast
import math
import string
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rope_book.check.exercise import Verdict

FILE = Path(__file__).parent / "in_page.toml"
CALLS = {"abs": abs, "min": min, "max": max, "any": any, "sum": sum, "range": range}
CALLS |= {name: getattr(math, name) for name in ("cos", "sin", "hypot")}
SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%"}
SIGNS |= {
    ast.Pow: "**",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
SIGNS |= {ast.And: "and", ast.Or: "or"}


def ruled(exercise_id: str, *values: float) -> Verdict:
    """Return the verdict on an answer: True, or the sentence of the first rule that it meets.

    >>> ruled("4.3", 10, 6)
    'There m − n is 4, and 9 − 4 = 5.'
    """
    entry = entries()[exercise_id]
    if not all(map(math.isfinite, values)):
        return "The numbers must be finite."
    whole = [int(value) if value % 1 == 0 else float(value) for value in values]
    names = dict(zip(entry["values"], whole, strict=True))

    def value(formula: str) -> Any:
        return eval(_code(exercise_id, formula), {"__builtins__": {}, "pi": math.pi, **CALLS, **names})

    met = next((sentence for condition, sentence in entry["rules"] if value(condition)), None)
    if met is None:
        return True
    return "".join(part if isinstance(part, str) else format(value(part[0]), part[1]) for part in _parts(met))


@cache
def entries() -> dict[str, dict[str, Any]]:
    """Return what the file says of each exercise."""
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def as_trees(exercise_id: str) -> dict[str, Any]:
    """Return the rules of an exercise for the page: a tree, a sentence with {0}, {1}, …, and these numbers."""
    entry = entries()[exercise_id]

    def told(formula: str) -> Any:
        return tree(formula, entry.get("where", {}))

    def rule(condition: str, sentence: str) -> list[Any]:
        parts = _parts(sentence)
        numbers = [part for part in parts if not isinstance(part, str)]
        words = "".join(part if isinstance(part, str) else f"{{{numbers.index(part)}}}" for part in parts)
        return [told(condition), words, [[told(formula), form] for formula, form in numbers]]

    return {"values": entry["values"], "rules": [rule(*both) for both in entry["rules"]]}


def tree(formula: str, where: Mapping[str, str] = MappingProxyType({})) -> Any:
    """Return a formula as a tree: a number, a name, or a list of what is done and to what.

    Arguments: `where` the formulas behind some names. ValueError names what the page cannot compute.

    >>> tree("abs(m - 5) < far", {"far": "2"}), tree("sum(cos(r) for r in range(3, 9))")
    (['<', ['abs', ['-', 'm', 5]], 2], ['sum', 'r', 3, 9, ['cos', 'r']])
    """
    return _tree(_syntax(formula, where))


class _Where(ast.NodeTransformer):
    """Puts formulas in the place of the names that they have."""

    def __init__(self, where: Mapping[str, str]) -> None:
        self.where = where

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Return the formula of a name, or the name."""
        return _syntax(self.where[node.id], self.where) if node.id in self.where else node


def _syntax(formula: str, where: Mapping[str, str]) -> ast.expr:
    """Return a formula as Python's syntax, without the names that `where` has."""
    return _Where(where).visit(ast.parse(formula, mode="eval").body)


@cache
def _code(exercise_id: str, formula: str) -> Any:
    """Return a formula of an exercise compiled; ValueError where the page could not compute it."""
    syntax = _syntax(formula, entries()[exercise_id].get("where", {}))
    _tree(syntax)
    return compile(ast.fix_missing_locations(ast.Expression(syntax)), FILE.name, "eval")


def _parts(sentence: str) -> list[Any]:
    """Return a sentence as words, and between them (formula, format).

    >>> _parts("That is {m - n:.2f}.")
    ['That is ', ('m - n', '.2f'), '.']
    """
    parts: list[Any] = []
    for words, formula, form, _ in string.Formatter().parse(sentence):
        parts += [words] if words else []
        parts += [(formula, form or "")] if formula else []
    return parts


def _tree(node: Any) -> Any:
    """Return a node of Python's syntax as a tree."""
    match node:
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.Name(id="pi"):
            return math.pi
        case ast.Name(id=name):
            return name
        case ast.UnaryOp(op=ast.USub(), operand=part):
            return ["-", 0, _tree(part)]
        case ast.UnaryOp(op=ast.Not(), operand=part):
            return ["not", _tree(part)]
        case (
            ast.BinOp(left=left, op=sign, right=right)
            | ast.Compare(left=left, ops=[sign], comparators=[right])
        ):
            return [SIGNS[type(sign)], _tree(left), _tree(right)]
        case ast.BoolOp(op=sign, values=parts):
            return [SIGNS[type(sign)], *map(_tree, parts)]
        case ast.Call(func=ast.Name(id="any" | "sum" as name), args=[ast.GeneratorExp() as loop]):
            return [name, *_loop(loop)]
        case ast.Call(func=ast.Name(id=name), args=parts) if name in CALLS:
            return [name, *map(_tree, parts)]
    raise ValueError(
        f"a formula of the page has numbers, names and {', '.join(CALLS)}, got {ast.unparse(node)}"
    )


def _loop(node: ast.GeneratorExp) -> list[Any]:
    """Return the name, the ends and the body of a loop over whole numbers."""
    match node.generators:
        case [ast.comprehension(target=ast.Name(id=name), iter=ast.Call(args=[low, high]), ifs=[])]:
            return [name, _tree(low), _tree(high), _tree(node.elt)]
    raise ValueError(f"a loop of the page goes over one range(low, high), got {ast.unparse(node)}")
