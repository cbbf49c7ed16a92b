"""Write the notebooks for a class, without solutions and outputs: python book/tools/students.py FOLDER

Exercises keep their stubs and their ``check``, so that a student gets the same replies as a reader; the answers
appear neither in a cell nor in an output. Figures and plots appear when the notebook is run.
"""

import ast
import copy
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat

ROOT = Path(__file__).resolve().parents[2]
SOLVED = "solution"
README = """# RoPE, Turn by Turn: the notebooks for a class

Install the three wheels that came with these notebooks, once:

    python -m pip install jupyterlab rope_edu-VERSION-py3-none-any.whl
    python -m pip install rope_doctor-VERSION-py3-none-any.whl
    python -m pip install rope_book-VERSION-py3-none-any.whl

Then `jupyter lab notebooks`. Exercises have stubs; `check` replies to every attempt. Chapters 13, 18, 19, 24 and A3
also need PyTorch: `python -m pip install torch tqdm`.
The answers to *Predict, then try* are folded below each question; the solutions of exercises are in the book.
"""


def tags(cell: Any) -> list[str]:
    """Return the tags of a cell."""
    return cell.metadata.get("tags", [])


def for_students(notebook: Any) -> Any:
    """Copy a notebook without solutions and outputs; raise ValueError if a later cell needs a solution."""
    needed = borrowed(notebook)
    if needed:
        raise ValueError(f"cells after the solutions use names that only these define: {', '.join(needed)}")
    copied = copy.deepcopy(notebook)
    copied.cells = [cell for cell in copied.cells if SOLVED not in tags(cell)]
    copied.metadata.pop("widgets", None)
    for cell in copied.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return copied


def borrowed(notebook: Any) -> list[str]:
    """Return the names that a solution defines, no other cell does, and a later cell reads."""
    hidden: set[str] = set()
    wanted: set[str] = set()
    everywhere = {
        name for cell in code(notebook) if SOLVED not in tags(cell) for name in defined(cell.source)
    }
    for cell in code(notebook):
        if SOLVED in tags(cell):
            hidden |= defined(cell.source)
        else:
            wanted |= hidden & {node.id for node in names(cell.source, ast.Load)}
    return sorted(wanted - everywhere)


def code(notebook: Any) -> Iterator[Any]:
    """Yield the code cells."""
    return (cell for cell in notebook.cells if cell.cell_type == "code")


def tree(source: str) -> ast.Module:
    """Return the syntax tree of a cell, without its magics."""
    return ast.parse(re.sub(r"^([ \t]*)[%!].*$", r"\1pass", source, flags=re.MULTILINE))


def names(source: str, context: type[ast.expr_context]) -> Iterator[ast.Name]:
    """Yield the names that a cell reads or writes."""
    return (
        node
        for node in ast.walk(tree(source))
        if isinstance(node, ast.Name) and isinstance(node.ctx, context)
    )


def defined(source: str) -> set[str]:
    """Return the names that a cell defines."""
    bound = {node.id for node in names(source, ast.Store)}
    for node in tree(source).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            bound |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
    return bound


def write(folder: Path, root: Path = ROOT) -> list[str]:
    """Write the notebook of every chapter that has solutions; return their names."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for path in sorted((root / "notebooks").glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        if any(SOLVED in tags(cell) for cell in notebook.cells):
            text = nbformat.writes(for_students(notebook))
            (folder / path.name).write_text(text + "\n", encoding="utf-8", newline="\n")
            written.append(path.name)
    version = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    (folder.parent / "README.md").write_text(
        README.replace("VERSION", version), encoding="utf-8", newline="\n"
    )
    return written


if __name__ == "__main__":
    print("\n".join(write(Path(sys.argv[1]))))
