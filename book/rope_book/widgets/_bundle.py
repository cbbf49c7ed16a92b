"""One self-contained script for each figure, from the small modules in ``js/``.

Four folders import one way: ``data`` (written from Python, see ``_data``), ``lib`` (drawing and controls),
``maths`` (the library's functions again) and ``figures``. Each module becomes a function that returns its exports,
so a name belongs to its module alone; the functions are in order of need. Nothing generated is stored, so nothing
generated can be stale.
"""

import json
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from ._data import DATA
from ._modules import BundleError, Module, constant, read

JS = Path(__file__).parent / "js"
# with all that they need: what nearly every figure needs
SHARED = ("lib/figure", "lib/axes", "lib/labels", "lib/shapes")
COMMENT = re.compile(r"^[ ]*/\*\*(?:(?!\*/).)*\*/\n", re.DOTALL | re.MULTILINE)
TYPE = re.compile(r"/\*\*[^*]*(?:\*(?!/)[^*]*)*\*/ ?")  # JSDoc within a line
REMARK = re.compile(r" // [^\"'`]*$")  # behind code; with a quote in it, it may be the end of a text
GIVEN = re.compile(r"(?<=[{,] )(\w+): \1(?=,| \})")  # what a module returns under its own name


@cache
def source(name: str) -> str:
    """Return the text of ``js/<name>.js``, or of data as a module; FileNotFoundError names what does not exist."""
    folder, _, file = name.partition("/")
    if folder == "data" and file in DATA:
        value = json.dumps(DATA[file](), ensure_ascii=False, separators=(",", ":"))
        return f"export const {file.upper()} = {value};\n"
    return (JS / f"{name}.js").read_text(encoding="utf-8")


@cache
def module(name: str) -> Module:
    """Return ``js/<name>.js``, read."""
    return read(name, source(name))


def is_figure(name: str) -> bool:
    """Return whether ``js/figures/<name>.js`` exists."""
    return (JS / "figures" / f"{name}.js").is_file()


def modules(*names: str) -> list[str]:
    """Return the modules and all that they need, in order of need; BundleError for a circle.

    >>> modules("figures/rotate_pair")[-4:]
    ['maths/pair_angle', 'maths/layouts', 'maths/rotary', 'figures/rotate_pair']
    """
    return [found.name for found in _in_order(names)]


def scopes(*names: str, without: Iterable[str] = ()) -> str:
    """Return the modules and all that they need as constants: the exports of "maths/rotary" are `$maths$rotary`."""
    return "\n".join(_scope(found) for found in _in_order(names) if found.name not in without)


@cache
def module_script(figure: str) -> str:
    """Return the ES module that a kernel's front end imports (its default export has ``render``)."""
    name = f"figures/{figure}"
    return f"{scopes(name)}\nexport default {constant(name)}.default;\n"


def page_script(figure: str, class_name: str, alone: bool = True) -> str:
    """Return the classic script that a page loads (ES modules do not load from ``file://``).

    It is self-contained if ``alone``. Otherwise ``shared_script`` has to come before it, and all figures of a site
    load once what they share.
    """
    name = f"figures/{figure}"
    shared = [] if alone else modules(*SHARED)
    taken = f"const {_named(shared)} = RopeLive.shared;\n" if shared else ""
    body = (
        f'{taken}{scopes(name, without=shared)}\nRopeLive.define("{class_name}", {constant(name)}.default);'
    )
    return lean(f"(() => {{\n{body}\n}})();\n")


def shared_script() -> str:
    """Return the classic script with what nearly every figure needs, for ``page_script`` with ``alone=False``."""
    script = f"RopeLive.shared = (() => {{\n{scopes(*SHARED)}\nreturn {_named(modules(*SHARED))};\n}})();\n"
    return lean(script)


def lean(script: str) -> str:
    """Return a script without comments, empty lines and indentation; a text of several lines stays as it is.

    >>> lean("const a = 1; // one\\n  /** A note. */\\n  f(`x\\n  // y`);\\n")
    'const a = 1;\\nf(`x\\n  // y`);\\n'
    """
    lines, inside = [], False
    for line in COMMENT.sub("", script).split("\n"):
        if inside:
            lines.append(line)
        elif line and not line.lstrip(" ").startswith("//"):
            kept = REMARK.sub("", TYPE.sub("", line.lstrip(" ")))
            lines.append(GIVEN.sub(r"\1", kept) if kept.startswith("return { ") else kept)
        inside ^= line.count("`") % 2 == 1
    if inside:
        raise ValueError("a line of the script has a backtick that ends no text: its texts cannot be told")
    return "\n".join(lines) + "\n"


def _named(names: Iterable[str]) -> str:
    """Return the constants of modules as JavaScript takes them out of an object, or puts them into one."""
    return f"{{ {', '.join(map(constant, names))} }}"


@cache
def style() -> str:
    """Return the style sheet that all figures share."""
    return (JS / "lib" / "figure.css").read_text(encoding="utf-8")


def _in_order(names: Iterable[str]) -> list[Module]:
    """Return the modules and all that they need; BundleError for a circle or a name that nobody gives."""
    order: dict[str, Module] = {}

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            raise BundleError("modules import each other in a circle: " + " → ".join([*path, name]))
        if name in order:
            return
        found = module(name)
        for needed, wanted, line in found.needs:
            visit(needed, (*path, name))
            missing = [each for each in wanted if each not in order[needed].gives]
            if missing:
                raise BundleError(f"js/{name}.js:{line}: js/{needed}.js exports no {', '.join(missing)}")
        order[name] = found

    for name in names:
        visit(name, ())
    return list(order.values())


def _scope(found: Module) -> str:
    """Return the module as a function that is called once and gives its exports."""
    gives = ", ".join(f"{outside}: {inside}" for outside, inside in found.gives.items())
    inside = f'"use strict";\n{found.body}return {{ {gives} }};'
    return f"// js/{found.name}.js\nconst {constant(found.name)} = (() => {{\n{inside}\n}})();"


def _engine() -> str:
    """Return the engine that trains in the page as the text of a worker's script, without its comments."""
    return lean(f"{scopes('maths/page_answer')}\nconst {{ answer }} = $maths$page_answer;")


DATA["engine"] = _engine  # data that is made of scripts
