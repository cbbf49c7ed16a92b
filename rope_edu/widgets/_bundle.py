"""One self-contained script for each figure, from the small modules in ``js/``.

A figure's ES module may import only from files beside it, one import statement a line, by name. The bundle is
the concatenation in order of need, with ``import`` lines and ``export`` keywords taken out. Nothing generated
is stored, so nothing generated can be stale.
"""

import re
from functools import cache
from pathlib import Path

from ._grid import grid_script

JS = Path(__file__).parent / "js"
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./([a-z0-9_]+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class|let) )", re.MULTILINE)
_DEFAULT = re.compile(r"^export default ", re.MULTILINE)
_WRITTEN = {"grid": grid_script}  # modules of data, made when they are asked for


@cache
def source(name: str) -> str:
    """Return the text of ``js/<name>.js``, or of data as a module; FileNotFoundError names what does not exist."""
    if name in _WRITTEN:
        return _WRITTEN[name]()
    return (JS / f"{name}.js").read_text(encoding="utf-8")


def is_module(name: str) -> bool:
    """Return whether ``js/<name>.js`` exists."""
    return (JS / f"{name}.js").is_file()


def modules(name: str) -> list[str]:
    """Return the module's imports in order of need, itself last.

    >>> modules("rotate_pair")
    ['rope', 'figure', 'rotate_pair']
    """
    order: list[str] = []

    def visit(module: str) -> None:
        for needed in _IMPORT.findall(source(module)):
            visit(needed)
        if module not in order:
            order.append(module)

    visit(name)
    return order


def _body(name: str) -> str:
    return _EXPORT.sub("", _IMPORT.sub("", source(name)))


def module_script(name: str) -> str:
    """Return the ES module that a kernel's front end imports (its default export has ``render``)."""
    return "\n".join(_body(module) for module in modules(name))


def page_script(name: str, class_name: str) -> str:
    """Return the classic script that the published page loads (ES modules do not load from ``file://``)."""
    body = _DEFAULT.sub("const figure = ", module_script(name))
    return f'(() => {{\n"use strict";\n{body}\nRopeLive.define("{class_name}", figure);\n}})();\n'


def style() -> str:
    """Return the style sheet that all figures share."""
    return (JS / "figure.css").read_text(encoding="utf-8")
