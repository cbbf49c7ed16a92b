"""Exercises answered with a row of numbers, each defined once for both Python and the page.

An entry in ``in_page.toml`` has these keys:

- ``values``: names for the numbers; ``where``: names for formulas that use these numbers;
- ``answer``: the right numbers, with an absolute tolerance ``within`` (default 1e-6) or a relative tolerance
  ``share``; or, if there are many right answers, one ``example``;
- ``rules``, in order: a condition and the sentence for answers that meet it (default: ``ask``). A list as a
  condition is met if the answer begins with these numbers, within the tolerance in an optional third item;
- ``otherwise``: the sentence for all other wrong answers;
- ``ask``: the sentence for answers in the wrong form, or a list of sentences: for the row, then for each number.
  Exercises without this key have a judge in chapter_NN.py that parses the answer and calls `judge_row`.

Formulas use Python syntax and are sent to the page as trees. In a formula, ``wrong`` is the index of the first
wrong number, counted from 0, and ``reordered`` is true if the numbers are right but in the wrong order.
"""

import ast
import math
import string
import tomllib
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rope_book.check.answers import number, row
from rope_book.check.exercise import Verdict, judges

FILE = Path(__file__).parent / "in_page.toml"


def first(truths: Iterable[bool]) -> float:
    """Return the index of the first true item, or infinity."""
    return next((place for place, true in enumerate(truths) if true), math.inf)


CALLS: dict[str, Callable] = {"abs": abs, "min": min, "max": max}
LOOPS: dict[str, Callable] = {"any": any, "sum": sum, "first": first}
CALLS |= {name: getattr(math, name) for name in ("cos", "sin", "hypot", "exp", "log")}
SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%"}
SIGNS |= {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
SIGNS |= {ast.Pow: "**", ast.And: "and", ast.Or: "or"}


def judge_row(exercise_id: str, *values: float) -> Verdict:
    """Return the verdict on an answer: True, or the sentence of the first rule that applies (False if it is empty).

    >>> judge_row("4.3", 10, 6), judge_row("16.2", 1.459)
    ('There m − n is 4, and 9 − 4 = 5.', True)
    """
    if not all(map(math.isfinite, values)):
        return "The numbers must be finite."
    whole = [int(value) if value % 1 == 0 else float(value) for value in values]
    names = dict(zip(entries()[exercise_id]["values"], whole, strict=True))
    met = (sentence for condition, sentence in _rules(exercise_id) if _value(exercise_id, condition, names))
    sentence = next(met, None)
    if sentence is None:
        return True
    said = (
        part if isinstance(part, str) else format(_value(exercise_id, part[0], names), part[1])
        for part in _parts(sentence)
    )
    return "".join(said) or False


@cache
def entries() -> dict[str, dict[str, Any]]:
    """Return the file's entries by exercise id."""
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def right_numbers(exercise_id: str) -> list[float]:
    """Return one right answer to an exercise; there may be others.

    >>> right_numbers("4.2"), right_numbers("1.3")
    ([0.5], [16, 65])
    """
    entry = entries()[exercise_id]
    return [_value(exercise_id, str(value), {}) for value in entry.get("answer") or entry["example"]]


def as_trees(exercise_id: str) -> dict[str, Any]:
    """Return an exercise's rules in the format for the page, each from `as_rule`.

    A rule whose sentence is None marks right answers.
    """
    where = _where(exercise_id)

    return {
        "values": entries()[exercise_id]["values"],
        "rules": [as_rule(*both, where) for both in _rules(exercise_id)],
    }


def as_rule(
    condition: str, sentence: str | None, where: Mapping[str, str] = MappingProxyType({})
) -> list[Any]:
    """Return a rule in the format for the page: [condition tree, sentence with {0}, {1}, …, [[tree, format], …]].

    >>> as_rule("score > 0", "The score is {score:.3f}.")
    [['>', 'score', 0], 'The score is {0}.', [['score', '.3f']]]
    """
    parts = _parts(sentence or "")
    numbers = [part for part in parts if not isinstance(part, str)]
    words = "".join(part if isinstance(part, str) else f"{{{numbers.index(part)}}}" for part in parts)
    shown = [[tree(formula, where), form] for formula, form in numbers]
    return [tree(condition, where), None if sentence is None else words, shown]


def tree(formula: str, where: Mapping[str, str] = MappingProxyType({})) -> Any:
    """Return a formula as a tree: a number, a name, or a list with an operation and its operands.

    `where` maps names to their formulas. Raises ValueError for anything that the page cannot compute.

    >>> tree("abs(m - 5) < far", {"far": "2"}), tree("sum(cos(r) for r in range(3, 9))")
    (['<', ['abs', ['-', 'm', 5]], 2], ['sum', 'r', 3, 9, ['cos', 'r']])
    """
    return _tree(_syntax(formula, where))


@cache
def _rules(exercise_id: str) -> list[tuple[str, str | None]]:
    """Return an exercise's rules in order, as (condition, sentence); the sentence for right answers is None."""
    entry = entries()[exercise_id]
    rules: list[tuple[str, str | None]] = []
    for stated, *rest in entry["rules"]:
        sentence, *within = rest or [entry["ask"]]
        condition = stated if isinstance(stated, str) else " and ".join(_near(entry, stated, *within))
        rules.append((condition, sentence))
    if "answer" not in entry:
        return rules
    return [(" and ".join(_near(entry, entry["answer"])), None), *rules, ("1", entry.get("otherwise", ""))]


@cache
def _where(exercise_id: str) -> dict[str, str]:
    """Return {name: formula} for the additional names in an exercise's formulas."""
    entry = entries()[exercise_id]
    names, answer, wrong = entry["values"], entry.get("answer", []), "0"
    for near in reversed(_near(entry, answer)):
        wrong = f"({near}) * (1 + {wrong})"
    met = zip(*(_near({**entry, "values": [name] * len(names)}, answer) for name in names), strict=True)
    reordered = " and ".join(f"({' or '.join(by_some)})" for by_some in met)
    return {"wrong": wrong, "reordered": reordered, **entry.get("where", {})}


def _near(entry: Mapping[str, Any], numbers: list[float | str], within: float | None = None) -> list[str]:
    """Return one condition per number, which is met if the answer's number at the same index is close enough."""
    share = f"{entry['share']} * abs({{}})" if "share" in entry else entry.get("within", 1e-6)
    far = share if within is None else within
    bounds = far if isinstance(far, list) else [far] * len(numbers)
    return [
        f"abs({name} - ({value})) <= {str(bound).format(value)}"
        for name, value, bound in zip(entry["values"], numbers, bounds, strict=False)
    ]


def _add_judge(exercise_id: str, entry: Mapping[str, Any]) -> None:
    """Register a judge for an exercise whose entry has the key ``ask``."""
    ask, many = entry["ask"], len(entry["values"])
    shape = entry.get("shape", [many] if many > 1 else [])

    @judges(exercise_id)
    def judge(answer: object) -> Verdict:
        if isinstance(ask, str):
            return judge_row(exercise_id, *_read(answer, shape, ask))
        return judge_row(exercise_id, *map(number, row(answer, many, ask[0]), ask[1:]))


def _read(answer: object, shape: list[int], ask: str) -> list[float]:
    """Return the numbers in an answer of the given shape, in row-major order."""
    if not shape:
        return [number(answer, ask)]
    return [value for part in row(answer, shape[0], ask) for value in _read(part, shape[1:], ask)]


class _Where(ast.NodeTransformer):
    """Replaces names with their formulas."""

    def __init__(self, where: Mapping[str, str]) -> None:
        self.where = where

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Return the formula for a name, or the name itself if it has none."""
        return _syntax(self.where[node.id], self.where) if node.id in self.where else node


def _syntax(formula: str, where: Mapping[str, str]) -> ast.expr:
    """Parse a formula as Python syntax, and replace the names in `where`."""
    return _Where(where).visit(ast.parse(formula, mode="eval").body)


def _value(exercise_id: str, formula: str, names: Mapping[str, float]) -> Any:
    """Evaluate an exercise's formula."""
    known = {"__builtins__": {}, "pi": math.pi, "range": range, **CALLS, **LOOPS}
    return eval(_code(exercise_id, formula), known | names)


@cache
def _code(exercise_id: str, formula: str) -> Any:
    """Compile an exercise's formula; raise ValueError if the page could not compute it."""
    syntax = _syntax(formula, _where(exercise_id))
    _tree(syntax)
    return compile(ast.fix_missing_locations(ast.Expression(syntax)), FILE.name, "eval")


def _parts(sentence: str) -> list[Any]:
    """Split a sentence into text and (formula, format) pairs.

    >>> _parts("That is {m - n:.2f}.")
    ['That is ', ('m - n', '.2f'), '.']
    """
    parts: list[Any] = []
    for words, formula, form, _ in string.Formatter().parse(sentence):
        parts += [words] if words else []
        parts += [(formula, form or "")] if formula else []
    return parts


def _tree(node: Any) -> Any:
    """Return a Python syntax node as a tree."""
    match node:
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.Constant(value=str(text)):
            return ["'", text]
        case ast.List(elts=parts):
            return ["[", *map(_tree, parts)]
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
        case ast.Call(func=ast.Name(id=name), args=[ast.GeneratorExp() as loop]) if name in LOOPS:
            return [name, *_loop(loop)]
        case ast.Call(func=ast.Name(id=name), args=parts) if name in CALLS:
            return [name, *map(_tree, parts)]
    known = ", ".join([*CALLS, *LOOPS])
    raise ValueError(
        f"a formula of the page has numbers, words, lists, names and {known}, got {ast.unparse(node)}"
    )


def _loop(node: ast.GeneratorExp) -> list[Any]:
    """Return the variable, the bounds and the body of a loop over range(low, high)."""
    match node.generators:
        case [ast.comprehension(target=ast.Name(id=name), iter=ast.Call(args=[low, high]), ifs=[])]:
            return [name, _tree(low), _tree(high), _tree(node.elt)]
    raise ValueError(f"a loop of the page goes over one range(low, high), got {ast.unparse(node)}")


for _name, _entry in entries().items():
    if "ask" in _entry:
        _add_judge(_name, _entry)
