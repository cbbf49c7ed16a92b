"""Whatever a reader types into a parameters cell within its range works; all else is answered with a sentence.

The ranges are read from the cells' own `allow` calls. A chapter is run in this process, without Jupyter: once with
its own values, and then, for each set of values, only the cells that depend on them. Cells that no parameter
reaches, and that none of these needs, are left to nbval.
"""

import ast
import inspect
import re
import symtable
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pytest

from rope_book.check import allow

NOTEBOOKS = sorted((Path(__file__).resolve().parents[1] / "notebooks").glob("*.ipynb"))
NOTEBOOKS = [path for path in NOTEBOOKS if not path.name.startswith(("00_", "P"))]  # a page has no parameters
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in (1, 2, 3))]
MOST = {"steps": 5}  # of training, beyond the fewest allowed: more take minutes and run the same lines


@dataclass
class Rule:
    """One `allow` call: the parameter, the function's name, its other arguments by name."""

    name: str
    kind: str
    allowed: dict[str, Any]

    def draw(self, rng: np.random.Generator, pick: str, chosen: dict) -> Any:
        """Return an allowed value: `pick` is "low" or "high" (the ends), "whole" (whole numbers) or "random"."""
        has = self.allowed
        match self.kind:
            case "number":
                return one_number(rng, pick, has["low"], has["high"])
            case "whole":
                step = 2 if has.get("even") else 1
                return step * int(one_number(rng, pick, has["low"] // step, has["high"] // step))
            case "vector":
                return numbers(
                    rng, pick, has["size"], has["low"], has["high"], has.get("shortest", 0)
                ).tolist()
            case "vectors":
                return {
                    key: numbers(rng, pick, has["size"], has["low"], has["high"]).tolist()
                    for key in has["keys"]
                }
            case "matrix":
                many = numbers(rng, pick, has["rows"] * has["columns"], has["low"], has["high"])
                return many.reshape(has["rows"], has["columns"])
            case "complex_number":
                length = one_number(rng, pick, has["shortest"], has["longest"])
                return length if pick == "whole" else length * np.exp(1j * rng.uniform(0, 2 * np.pi))
            case "choice":
                return has["options"][{"low": 0, "high": -1}.get(pick, rng.integers(len(has["options"])))]
            case "flag":
                return {"low": False, "high": True}.get(pick, bool(rng.integers(2)))
            case "sentence":
                return self.draw_words(rng, pick, chosen)
        raise NotImplementedError(f"say here how to draw for allow.{self.kind}")

    def draw_words(self, rng: np.random.Generator, pick: str, chosen: dict) -> str:
        """Return a sentence; where it must be another's words in any order, those of the value chosen for it."""
        if "order_of" in self.allowed:
            return " ".join(rng.permutation(chosen[self.allowed["order_of"]].split()))
        known = list(self.allowed.get("known") or ["nobody", "could", "foresee", "these", "words"])
        least, most = self.allowed["least"], self.allowed["most"]
        count = {"low": least, "high": most}.get(pick, rng.integers(least, most + 1))
        return " ".join(rng.choice(known, size=count))

    def refused(self) -> list:
        """Return five values or more that are not allowed."""
        has = self.allowed
        match self.kind:
            case "number" | "whole":
                return [has["low"] - 1, has["high"] + 1, float("nan"), "seven", None, [1], True, 1j]
            case "vector":
                good = [has["high"]] * has["size"]
                return [
                    good[1:],
                    [*good, 1],
                    [*good[1:], has["high"] + 1],
                    [*good[1:], np.nan],
                    "seven",
                    1,
                    None,
                ]
            case "vectors":
                good = dict.fromkeys(has["keys"], [has["high"]] * has["size"])
                first = next(iter(good))
                lacking = {key: row for key, row in good.items() if key != first}
                wrong_rows = ([], [has["high"] + 1] * has["size"], "seven")
                return [lacking, None, [1, 2], *({**good, first: row} for row in wrong_rows)]
            case "matrix":
                good = np.full((has["rows"], has["columns"]), has["high"])
                return [good[1:], good[0], good + 1, good * np.nan, "seven", None]
            case "complex_number":
                return [0j, 2 * has["longest"], complex("nan"), "1 + 2j", None, [1, 2]]
            case "choice" | "flag":
                return ["no such thing", 17, None, 0.5, ["copy"]]
            case "sentence":
                longest = ["word"] * (has["most"] + 1)
                return ["", " ".join(longest), None, 7, longest, "the" if has["least"] > 1 else " "]
        raise NotImplementedError(f"say here what allow.{self.kind} refuses")


def one_number(rng: np.random.Generator, pick: str, low: float, high: float) -> float:
    """Return a number from `low` to `high`, evenly by size where the range is wide."""
    if pick in ("low", "high"):
        return low if pick == "low" else high
    value = np.exp(rng.uniform(np.log(low), np.log(high))) if 0 < 100 * low < high else rng.uniform(low, high)
    return int(np.clip(np.ceil(value), low, high)) if pick == "whole" else float(value)


def numbers(
    rng: np.random.Generator, pick: str, size: int, low: float, high: float, shortest: float = 0
) -> np.ndarray:
    """Return `size` numbers from `low` to `high`, together no shorter than `shortest`."""
    while True:
        found = np.array([one_number(rng, pick, low, high) for _ in range(size)])
        if np.linalg.norm(found) >= shortest:
            return found


class Asker:
    """Stand in for `allow` in a chapter, and keep its rules."""

    def __init__(self) -> None:
        self.rules: dict[str, Rule] = {}
        self.values: dict[str, Any] = {}

    def __getattr__(self, kind: str):
        function = getattr(allow, kind)

        def ask(name: str, value: object, *args, **options) -> object:
            allowed = inspect.signature(function).bind(name, value, *args, **options).arguments
            cleaned = function(name, value, *args, **options)
            if name in MOST:
                cleaned = min(cleaned, allowed["low"] + MOST[name])
            if name not in self.rules:  # the first run, with the chapter's own values
                others = {k: v for k, v in allowed.items() if k not in ("name", "value")}
                if "order_of" in others:  # a sentence there; here the name of its parameter
                    others["order_of"] = next(n for n, v in self.values.items() if v is others["order_of"])
                self.rules[name], self.values[name] = Rule(name, kind, others), cleaned
            return cleaned

        return ask


class Given(ast.NodeTransformer):
    """Replace what a parameters cell assigns, except by its `allow` lines, by what is given."""

    def __init__(self, names: set[str]) -> None:
        self.names = names

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        asked = any(isinstance(part, ast.Name) and part.id == "allow" for part in ast.walk(node.value))
        targets = node.targets[0].elts if isinstance(node.targets[0], ast.Tuple) else node.targets
        named = {getattr(target, "id", "") for target in targets}  # others are a figure's controls
        if not asked and named & self.names:
            new = [f"given[{t.id!r}]" if t.id in self.names else t.id for t in targets]
            node.value = ast.parse(f"({', '.join(new)},)" if len(new) > 1 else new[0], mode="eval").body
        return node


class Chapter:
    """A notebook's code cells, run in one namespace."""

    def __init__(self, path: Path) -> None:
        notebook = nbformat.read(path, as_version=4)
        cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
        self.trees = [
            ast.parse(re.sub(r"^( *)%pip.*", r"\1pass", cell.source, flags=re.MULTILINE)) for cell in cells
        ]
        self.named = [names_in(tree) for tree in self.trees]
        self.is_parameters = ["parameters" in cell.metadata.get("tags", []) for cell in cells]
        self.start = self.is_parameters.index(True)
        self.needed = self.reached_or_needed()
        self.asker = Asker()
        self.names: dict[str, Any] = {"display": lambda *shown: None}
        self.before: list[dict] = []  # the namespace before each cell of the first run
        for number, tree in enumerate(self.trees):
            self.before.append(dict(self.names))
            if number in self.needed:
                self.execute(tree)
            if number == 0:
                self.names["allow"] = self.asker
        self.before.append(dict(self.names))
        self.rules = self.asker.rules

    def reached_or_needed(self) -> set[int]:
        """Return the first cell, those that the parameters may reach, and those above that these need."""
        draws = set().union(*map(generators, self.trees))
        needed, changed = {0}, set()
        for number in range(self.start, len(self.trees)):
            reads, writes = self.named[number]
            if self.is_parameters[number] or reads & changed:
                needed.add(number)
                changed |= writes | reads & draws
        missing: set[str] = set()
        for number in reversed(range(len(self.trees))):
            reads, writes = self.named[number]
            if number in needed or (writes | reads & draws) & missing:
                needed.add(number)
                missing |= reads
        return needed

    def execute(self, tree: ast.Module) -> None:
        """Run one cell; a numerical warning is an error, and figures are closed."""
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            try:
                exec(compile(tree, "cell", "exec"), self.names)
            except Exception as error:
                error.add_note(f"in the cell\n{ast.unparse(tree)}\nwith {self.names.get('given')}")
                raise
        plt.close("all")

    def parameters(self, values: dict, number: int) -> ast.Module:
        """Return the parameters cell with `values` in place of its own."""
        tree = ast.parse(ast.unparse(self.trees[number]))
        return ast.fix_missing_locations(Given(set(values)).visit(tree))

    def rewind(self, values: dict) -> None:
        """Stand before the first parameters cell again."""
        self.names.clear()
        self.names |= self.before[self.start] | {"given": values}

    def ask(self, values: dict) -> None:
        """Run the parameters cells alone."""
        self.rewind(values)
        for number in np.flatnonzero(self.is_parameters):
            self.execute(self.parameters(values, number))

    def run(self, values: dict) -> None:
        """Run the parameters cell with `values`, and all cells that depend on what it changes."""
        self.rewind(values)
        changed: set[str] = set()
        for number in range(self.start, len(self.trees)):
            tree, after = self.trees[number], self.before[number + 1]
            reads, writes = (set(names) for names in self.named[number])
            if self.is_parameters[number]:
                self.execute(self.parameters(values, number))
            elif reads & changed:
                assert number in self.needed
                self.execute(tree)
                # what draws random numbers draws others from now on
                writes |= {n for n in reads if isinstance(self.names.get(n), np.random.Generator)}
            else:  # nothing that it reads has changed: what it made in the first run
                self.names |= {name: after[name] for name in writes if name in after}
                continue
            changed |= {name for name in writes if not same(self.names.get(name), after.get(name))}


def same(a: Any, b: Any) -> bool:
    """Tell whether two values are equal arrays, numbers or words, or hold nothing else; all else may differ."""
    if type(a) is not type(b):
        return False
    match a:
        case np.ndarray():
            return a.dtype == b.dtype and np.array_equal(a, b)
        case list() | tuple():
            return len(a) == len(b) and all(map(same, a, b))
        case dict():
            return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return isinstance(a, int | float | complex | str) and a == b


def names_in(tree: ast.Module) -> tuple[set[str], set[str]]:
    """Return the global names that a cell takes from above, and those that it binds or writes into.

    What a function reads counts too. A name that the cell binds before it reads it is its own.
    """
    writes = symbols(tree)[1] - counters(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            writes |= {part.id for part in ast.walk(node.value) if isinstance(part, ast.Name)}
    return taken(tree.body, set()), writes


def taken(statements: list[ast.stmt], own: set[str]) -> set[str]:
    """Return the names that statements read before they bind them; `own` are bound already."""
    found, own = set(), set(own)
    for node in statements:
        match node:
            case ast.For():
                target = symbols(ast.Assign([node.target], ast.Constant(0), lineno=0))
                found |= (symbols(ast.Expr(node.iter))[0] | target[0]) - own
                found |= taken(node.body, own | target[1]) | taken(node.orelse, own)
            case ast.If():
                found |= symbols(ast.Expr(node.test))[0] - own
                found |= taken(node.body, own) | taken(node.orelse, own)
            case _:
                reads, binds = symbols(node)
                found |= reads - own
                if isinstance(
                    node, ast.Assign | ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom
                ):
                    own |= binds - counters(node)
    return found


def symbols(tree: ast.AST) -> tuple[set[str], set[str]]:
    """Return the global names that code reads, in functions too, and those that it binds."""
    cell = symtable.symtable(ast.unparse(tree), "cell", "exec")
    reads = {symbol.get_name() for symbol in cell.get_symbols() if symbol.is_referenced()}
    binds = {
        symbol.get_name() for symbol in cell.get_symbols() if symbol.is_assigned() or symbol.is_imported()
    }
    inner = list(cell.get_children())
    while inner:
        table = inner.pop()
        reads |= {symbol.get_name() for symbol in table.get_symbols() if symbol.is_global()}
        inner += table.get_children()
    grown = (node.target for node in ast.walk(tree) if isinstance(node, ast.AugAssign))
    return reads | {target.id for target in grown if isinstance(target, ast.Name)}, binds


def generators(tree: ast.Module) -> set[str]:
    """Return the names to which a cell binds a generator of random numbers."""
    made = (node for node in ast.walk(tree) if isinstance(node, ast.Assign))
    return {
        part.id
        for node in made
        if "default_rng" in ast.unparse(node.value)
        for target in node.targets
        for part in ast.walk(target)
        if isinstance(part, ast.Name)
    }


def counters(tree: ast.AST) -> set[str]:
    """Return the names that comprehensions alone bind; from Python 3.12 on symtable has them too."""
    stored = [
        node for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
    loops = [node for node in ast.walk(tree) if isinstance(node, ast.comprehension)]
    within = [part for loop in loops for part in ast.walk(loop.target)]
    return {name.id for name in stored if name in within} - {name.id for name in stored if name not in within}


@pytest.fixture(scope="module", params=NOTEBOOKS, ids=lambda path: path.stem)
def chapter(request) -> Chapter:
    """Each chapter, run once with its own values."""
    show = plt.show
    plt.switch_backend("agg")
    plt.show = lambda: None
    yield Chapter(request.param)
    plt.show = show


def chosen(chapter: Chapter, pick: str, seed: int = 0) -> dict:
    """Return a value for every parameter."""
    rng = np.random.default_rng(seed)
    values: dict[str, Any] = {}
    for name, rule in chapter.rules.items():
        values[name] = rule.draw(rng, pick, values)
    return values


@pytest.mark.sampled
def test_every_parameters_cell_checks_each_of_its_values(chapter):
    for number in np.flatnonzero(chapter.is_parameters):
        _, writes = chapter.named[number]
        assert writes <= set(chapter.rules), writes - set(chapter.rules)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("pick", ["low", "high"])
def test_chapter_runs_at_both_ends(chapter, pick):
    chapter.run(chosen(chapter, pick))


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("pick", ["whole", "random"])
def test_chapter_runs_with_whole_numbers_and_random_values_in_range(chapter, pick, seed):
    chapter.run(chosen(chapter, pick, seed))


def test_values_out_of_range_are_answered_with_a_sentence(chapter):
    for name, rule in chapter.rules.items():
        refused = rule.refused()
        assert len(refused) >= 5
        for value in refused:
            with pytest.raises(ValueError, match=rf"^{name}\b.* must be .*, got "):
                chapter.ask({name: value})
