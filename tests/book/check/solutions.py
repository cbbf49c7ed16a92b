"""Answers of the notebooks' own solution cells, without running the notebooks.

A solution cell uses names of the cells above it. Those statements above that define such a name are run with it,
and those that they need in turn; nothing is drawn, trained or printed.
"""

import ast
import functools
import re
import symtable
from pathlib import Path

import nbformat

NOTEBOOKS = Path(__file__).resolve().parents[3] / "notebooks"


def solutions(path: Path) -> dict[str, object]:
    """Return {exercise: the answer that the solution cell of a notebook checks}."""
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    (place,) = (n for n, cell in enumerate(cells) if "solution" in cell.metadata.get("tags", []))
    above = [statement for cell in cells[:place] for statement in statements(cell.source)]
    wanted = needed_by(statements(cells[place].source), above)
    for statement in wanted:
        if isinstance(statement, ast.ImportFrom):  # `check` is ours here
            statement.names = [alias for alias in statement.names if alias.name != "check"]
    answers: dict[str, object] = {}
    code = compile(ast.Module(wanted, []), str(path), "exec")
    exec(code, {"__name__": path.stem, "check": answers.setdefault})
    return answers


def statements(source: str) -> list[ast.stmt]:
    """Return the statements of a cell, without its magics."""
    return ast.parse(re.sub(r"^( *)%.*", r"\1pass", source, flags=re.MULTILINE)).body


def needed_by(solution: list[ast.stmt], above: list[ast.stmt]) -> list[ast.stmt]:
    """Return the solution behind the statements above it that define what it uses."""
    kept: list[ast.stmt] = []
    missing: set[str] = set()
    for number, statement in enumerate(reversed([*above, *solution])):
        reads, writes = names_of(statement)
        if number < len(solution) or writes & missing:
            kept.append(statement)
            missing = (missing - writes) | (reads - {"check"})
    return kept[::-1]


def names_of(statement: ast.stmt) -> tuple[set[str], set[str]]:
    """Return the global names that a statement reads, in its functions too, and those that it defines."""
    table = symtable.symtable(ast.unparse(statement), "cell", "exec")
    defined = {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported()}
    reads, tables = set(), [table]
    while tables:
        inner = tables.pop()
        tables += inner.get_children()
        used = (s for s in inner.get_symbols() if s.is_referenced() and (inner is table or s.is_global()))
        reads |= {s.get_name() for s in used}
    return reads, defined


def chapter(path: Path) -> str:
    """Return the name of a notebook's cases: "chapter_04"."""
    return f"chapter_{path.name.partition('_')[0].lower()}"


PATHS = {
    chapter(path): path
    for path in sorted(NOTEBOOKS.glob("*.ipynb"))
    if not path.name.startswith(("00", "P"))  # pages without exercises
}


@functools.cache
def answers_of(cases: str) -> dict[str, object]:
    """Return the answers of the notebook that belongs to some cases, such as "chapter_04"."""
    return solutions(PATHS[cases])
