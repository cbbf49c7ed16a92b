"""Bundle the small modules in ``js/`` into one self-contained script per figure.

Each folder may import only from itself and earlier ones: ``data`` (generated in Python, see ``_data``), ``lib``
(drawing and controls), ``maths`` (the library's functions in JavaScript), ``figures``, and ``real`` (SmolLM2 in a
page); figures are never imported. In a bundle, each module is a function that returns the module's exports, so all
other names stay private. Bundles are generated when needed and not stored, so they cannot become stale.
"""

import json
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from ._data import DATA
from ._modules import BundleError, Module, constant, read

JS = Path(__file__).parent / "js"
# modules that nearly every figure needs, listed without their dependencies
SHARED = ("lib/figure", "lib/axes", "lib/labels", "lib/shapes")
COMMENT = re.compile(r"^[ ]*/\*\*(?:(?!\*/).)*\*/\n", re.DOTALL | re.MULTILINE)
TYPE = re.compile(r"/\*\*[^*]*(?:\*(?!/)[^*]*)*\*/ ?")  # JSDoc inside a line of code
REMARK = re.compile(r" // [^\"'`]*$")  # trailing comment without quotes, which could belong to a string
UNRENAMED = re.compile(r"(?<=[{,] )(\w+): \1(?=,| \})")  # an export that is not renamed


@cache
def source(name: str) -> str:
    """Return the source of ``js/<name>.js`` or a data module; raise FileNotFoundError if there is no such file."""
    folder, _, file = name.partition("/")
    if folder == "data" and file in DATA:
        value = json.dumps(DATA[file](), ensure_ascii=False, separators=(",", ":"))
        return f"export const {file.upper()} = {value};\n"
    return (JS / f"{name}.js").read_text(encoding="utf-8")


@cache
def module(name: str) -> Module:
    """Parse the module ``js/<name>.js``."""
    return read(name, source(name))


def is_figure(name: str) -> bool:
    """Return whether ``js/figures/<name>.js`` exists."""
    return (JS / "figures" / f"{name}.js").is_file()


def modules(*names: str) -> list[str]:
    """Return the names of modules and their dependencies, dependencies first; raise BundleError for a cycle.

    >>> modules("figures/rotate_pair")[-4:]
    ['maths/pair_angle', 'maths/layouts', 'maths/rotary', 'figures/rotate_pair']
    """
    return [script.name for script in _in_order(names)]


def scopes(*names: str, without: Iterable[str] = ()) -> str:
    """Return code that defines one constant per module, such as `$maths$rotary`, with the module's exports."""
    return "\n".join(_scope(script) for script in _in_order(names) if script.name not in without)


@cache
def module_script(figure: str) -> str:
    """Return the ES module that a notebook's front end imports; the default export has a method ``render``."""
    name = f"figures/{figure}"
    return lean(f"{scopes(name)}\nexport default {constant(name)}.default;\n")


def page_script(figure: str, class_name: str, alone: bool = True) -> str:
    """Return the classic script for a page; an ES module would not load from ``file://``.

    The script is self-contained if ``alone``. Otherwise, the page must load ``shared_script`` first, which is the
    same for all figures.
    """
    name = f"figures/{figure}"
    shared = [] if alone else modules(*SHARED)
    taken = f"const {_named(shared)} = RopeLive.shared;\n" if shared else ""
    body = (
        f'{taken}{scopes(name, without=shared)}\nRopeLive.define("{class_name}", {constant(name)}.default);'
    )
    return lean(f"(() => {{\n{body}\n}})();\n")


def shared_script() -> str:
    """Return the classic script of the ``SHARED`` modules, for ``page_script`` with ``alone=False``."""
    script = f"RopeLive.shared = (() => {{\n{scopes(*SHARED)}\nreturn {_named(modules(*SHARED))};\n}})();\n"
    return lean(script)


def real_script() -> str:
    """Return the classic script that adds SmolLM2 to its section of a page.

    The script imports the engine, an ES module, only when a reader asks the model to write.
    """
    call = """for (const root of document.querySelectorAll(".real-model")) {
$real$page.mount(root, () => import(new URL(root.dataset.engine, document.baseURI)));
}"""
    return lean(f"(() => {{\n{scopes('real/page')}\n{call}\n}})();\n")


def ferns_script() -> str:
    """Return the classic script, loaded on request, that defines ``RopeLive.ferns``, which reads ferns from a
    file."""
    name = "maths/fern_of_config"
    return lean(f"(() => {{\n{scopes(name)}\nRopeLive.ferns = {constant(name)};\n}})();\n")


def lean(script: str) -> str:
    """Strip comments, empty lines and indentation from a script; leave multi-line strings unchanged.

    >>> lean("const a = 1; // one\\n  /** A note. */\\n  f(`x\\n  // y`);\\n")
    'const a = 1;\\nf(`x\\n  // y`);\\n'
    """
    lines, inside = [], False
    for line in COMMENT.sub("", script).split("\n"):
        if inside:
            lines.append(line)
        elif line and not line.lstrip(" ").startswith("//"):
            code = REMARK.sub("", TYPE.sub("", line.lstrip(" ")))
            lines.append(UNRENAMED.sub(r"\1", code) if code.startswith("return { ") else code)
        inside ^= line.count("`") % 2 == 1
    if inside:
        raise ValueError("the script has an unpaired backtick, so its strings cannot be told from its code")
    return "\n".join(lines) + "\n"


def _named(names: Iterable[str]) -> str:
    """Return the modules' constants in braces, which is a JavaScript object or a destructuring pattern."""
    return f"{{ {', '.join(map(constant, names))} }}"


@cache
def style() -> str:
    """Return the style sheet of all figures."""
    return (JS / "lib" / "figure.css").read_text(encoding="utf-8")


def _in_order(names: Iterable[str]) -> list[Module]:
    """Return modules after their dependencies; raise BundleError for a cycle or a name that is not exported."""
    order: dict[str, Module] = {}

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            raise BundleError("modules import each other in a cycle: " + " → ".join([*path, name]))
        if name in order:
            return
        script = module(name)
        for other, imported, line in script.imports:
            visit(other, (*path, name))
            missing = [export for export in imported if export not in order[other].exports]
            if missing:
                raise BundleError(f"js/{name}.js:{line}: js/{other}.js exports no {', '.join(missing)}")
        order[name] = script

    for name in names:
        visit(name, ())
    return list(order.values())


def _scope(script: Module) -> str:
    """Return the module as an immediately invoked function that returns its exports."""
    exports = ", ".join(f"{outside}: {inside}" for outside, inside in script.exports.items())
    body = f'"use strict";\n{script.body}return {{ {exports} }};'
    return f"// js/{script.name}.js\nconst {constant(script.name)} = (() => {{\n{body}\n}})();"


def _engine() -> str:
    """Return the worker script that trains models in the page, without comments."""
    return lean(f"{scopes('maths/page_answer')}\nconst {{ answer }} = $maths$page_answer;")


DATA["engine"] = _engine  # a bundle of scripts as data, added here because _data cannot import this module
