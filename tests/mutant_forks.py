"""Try many changes of a room in forks of one process, which has imported the code and collected the tests.

Each change of Python is in the code from the start, as a branch that only its own fork takes: a statement becomes
`if is_changed('7'): <the statement with change 7>, else: <the statement>`. A first fork runs all tests without any
change, and notes which of them reach it and how long they take. Then one fork for each change runs those, the
nearest and the quickest first, until one fails. The scripts are read anew in each fork.

Constants, defaults and decorators are used before a fork could change them, and code that numba compiles has no
branches of ours: such changes are not tried here, and neither is a change that was reached while the tests were
collected.
"""

import ast
import builtins
import importlib.machinery
import json
import os
import re
import resource
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import zip_longest
from multiprocessing.connection import Connection
from pathlib import Path
from types import CodeType
from typing import Any, Protocol

import pytest

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
LEAST = 60  # CPU seconds that a fork has, beside three times those of all tests without a change


class Mutant(Protocol):
    """A change of a file."""

    path: str
    start: int

    def applied(self, text: str) -> str:
        """Return the file's text with the change."""


class Switch:
    """The number of the active change, and what was reached: changes by their numbers, scripts by their names."""

    def __init__(self) -> None:
        self.active: str | None = None
        self.reached: set[str] = set()

    def __call__(self, number: str) -> bool:
        self.reached.add(number)
        return number == self.active


def statements(tree: ast.AST) -> Iterator[tuple[list[ast.stmt], int]]:
    """Yield the statements of all functions, each as a list and an index."""
    for function in ast.walk(tree):
        for node in ast.walk(function) if isinstance(function, FUNCTIONS) else ():
            for block in (getattr(node, name, None) for name in ("body", "orelse", "finalbody")):
                if isinstance(block, list):
                    yield from ((block, n) for n in range(len(block)))


def with_branches(text: str, changes: dict[int, Mutant]) -> tuple[ast.Module, set[int]]:
    """Return a source as a tree in which each change is a branch, and the changes that are."""
    tree, branches = ast.parse(text), set()
    places = list(statements(tree))
    begun = [(block[n].lineno, block[n].col_offset) for block, n in places]
    ended = [(block[n].end_lineno, block[n].end_col_offset) for block, n in places]
    for n, mutant in {} if "from numba" in text else changes.items():
        *before, last = text[: mutant.start].split("\n")
        at = len(before) + 1, len(last.encode())
        around = [place for place in range(len(places)) if begun[place] <= at < ended[place]]
        if around:
            innermost = max(around, key=begun.__getitem__)
            changed, other = list(statements(ast.parse(mutant.applied(text))))[innermost]
            block, index = places[innermost]
            branch = ast.If(ast.parse(f"is_changed('{n}')").body[0].value, [changed[other]], [block[index]])
            block[index] = ast.fix_missing_locations(ast.copy_location(branch, block[index]))
            branches.add(n)
    return tree, branches


class Room:
    """A plugin of pytest that tries changes in place of running the tests; `answer` gets each, and its verdict."""

    def __init__(self, copy: Path, chosen: list[Mutant], answer: Connection) -> None:
        self.copy, self.chosen, self.answer, self.switch = copy, chosen, answer, Switch()
        self.branches: set[int] = set()
        self.trees: dict[str, ast.Module] = {}
        builtins.is_changed = self.switch
        for path in {mutant.path for mutant in chosen if mutant.path.endswith(".py")}:
            changes = {n: mutant for n, mutant in enumerate(chosen) if mutant.path == path}
            self.trees[str(copy / path)], branches = with_branches((copy / path).read_text("utf-8"), changes)
            self.branches |= branches
        compiled = importlib.machinery.SourceFileLoader.source_to_code

        def with_tree(loader: Any, data: Any, path: str, **more: Any) -> CodeType:
            return compiled(loader, self.trees.get(str(path), data), path, **more)

        importlib.machinery.SourceFileLoader.source_to_code = with_tree

    @pytest.hookimpl(wrapper=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Iterator[None]:
        """Leave out what only the nightly run has, but for a sampled test of a changed file."""
        stems = {compact(Path(mutant.path).stem) for mutant in self.chosen}
        yield
        items[:] = [
            item
            for item in items
            if not item.get_closest_marker("makers")
            if not item.get_closest_marker("nightly")
            or (item.get_closest_marker("sampled") and any(stem in compact(item.name) for stem in stems))
        ]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Try the changes one by one."""
        early = set(self.switch.reached)  # while the tests were collected
        reach, failed, total = self.without_change(session)
        right = [item for item in session.items if item.nodeid not in failed]
        self.answer.send(failed)
        for n, mutant in enumerate(self.chosen):
            key = script(mutant.path) or str(n)
            if key in early or not (n in self.branches or script(mutant.path)):
                continue
            tests = self.nearest(right, reach[key], mutant.path)
            seen = self.forked(lambda n=n, tests=tests: self.fails(session, n, tests), LEAST + 3 * total)
            self.answer.send((n, seen != 0))
        return True

    def without_change(self, session: pytest.Session) -> tuple[dict, list[str], float]:
        """Return the tests that reach each change, with their seconds; those that fail; and the seconds of all."""
        notes = self.copy / "reach.json"
        if any(script(mutant.path) for mutant in self.chosen):
            note_scripts(self.switch)

        def noted() -> int:
            found = []
            for item, failed, seconds in run(session, session.items):
                found.append((item.nodeid, failed, seconds, sorted(self.switch.reached)))
                self.switch.reached.clear()
            notes.write_text(json.dumps(found), encoding="utf-8")
            return 0

        self.forked(noted, resource.RLIM_INFINITY)
        found, reach = json.loads(notes.read_text(encoding="utf-8")), defaultdict(dict)
        for test, failed, seconds, reached in found:
            for key in reached if not failed else ():
                reach[key][test] = seconds
        return (
            reach,
            [test for test, failed, *_ in found if failed],
            sum(seconds for _, _, seconds, _ in found),
        )

    def nearest(self, tests: list[pytest.Item], reach: dict[str, float], path: str) -> list[pytest.Item]:
        """Return the tests that reach a change, then the others of their files, which may share a fixture.

        Files and tests named after the changed file come first, then the quickest. Those named after another figure
        are left out for a change of a figure, which no other imports.
        """
        stem, files = compact(Path(path).stem), defaultdict(float)
        others = {compact(each.stem) for each in Path(path).parent.glob("*.js")} - {stem}

        def of_another(item: pytest.Item) -> bool:
            named = set(re.findall(r"\w+", compact(item.name.partition("[")[2])))
            return bool(named & others) and stem not in named and "/figures/" in path

        for test, seconds in reach.items():
            files[file_of(test)] += seconds

        def rank(item: pytest.Item) -> tuple:
            test, file = item.nodeid, file_of(item.nodeid)
            named = stem not in compact(item.name), stem not in compact(file)
            return test not in reach, *named, files[file], reach.get(test, 0.0)

        near = (item for item in tests if file_of(item.nodeid) in files and not of_another(item))
        return sorted(near, key=rank)

    def fails(self, session: pytest.Session, n: int, tests: list[pytest.Item]) -> int:
        """Make a change; return 1 if one of the tests fails, else 0."""
        self.switch.active = str(n)
        if script(self.chosen[n].path):
            change_script(self.chosen[n])
        return int(any(failed for _, failed, _ in run(session, tests)))

    @staticmethod
    def forked(work: Callable[[], int], limit: float) -> int:
        """Return the status of some work in a fork; 1 if it fails, and what killed it if it takes too long."""
        if process := os.fork():
            return os.waitpid(process, 0)[1]
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit)))
            os._exit(work())
        finally:
            os._exit(1)


def run(session: pytest.Session, items: list[pytest.Item]) -> Iterator[tuple[pytest.Item, bool, float]]:
    """Run tests; yield each, whether it fails, and its seconds of CPU."""
    for item, following in zip_longest(items, items[1:]):
        failed, began = session.testsfailed, time.process_time()
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        yield item, session.testsfailed > failed, time.process_time() - began


def compact(name: str) -> str:
    """Return a name as it is found in RotatePair and in rotate_pair."""
    return name.replace("_", "").lower()


def script(path: str) -> str:
    """Return the name of a figures' script, such as maths/rotary, or nothing for other files."""
    return path.partition("/js/")[2].removesuffix(".js")


def file_of(test: str) -> str:
    """Return the file of a test."""
    return test.partition("::")[0]


def note_scripts(switch: Switch) -> None:
    """Note the scripts that are bundled from now on."""
    from rope_book.widgets import _bundle

    in_order = _bundle._in_order

    def noted(names: Any) -> list:
        order = in_order(names)
        switch.reached |= {each.name for each in order}
        return order

    _bundle._in_order = noted


def change_script(mutant: Mutant) -> None:
    """Bundle a script with a change from now on."""
    from rope_book.widgets import _bundle

    source, name = _bundle.source, script(mutant.path)
    _bundle.source = lambda asked: mutant.applied(source(asked)) if asked == name else source(asked)
    for cached in (_bundle.module, _bundle.module_script):
        cached.cache_clear()
