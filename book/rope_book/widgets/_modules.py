"""Read a script of ``js/``: its names in and out, and its body as that of a function.

A script is not parsed: an ``import`` or ``export`` at the start of a line has one of the ``FORMS``. Any other is
refused with its file and line, and so is an import that points the wrong way through the ``FOLDERS``.
"""

import posixpath
import re
from dataclasses import dataclass, field

FOLDERS = (
    "data",
    "lib",
    "maths",
    "figures",
)  # each knows itself and those before it; figures do not know each other
FORMS = (
    'import { a, b as c } from "./x.js"; import * as x from "./x.js"; export function, const or class; '
    "export { a, b as c }; export default, in a figure"
)
_STATEMENT = re.compile(
    r"""^(?:
      import \s+ (?P<names> \{[^{}]*\} | \*\s+as\s+\w+ ) \s+ from \s+ "(?P<path>[^"\n]+)" ; [^\S\n]* $
    | export \s+ (?P<listed> \{[^{}]*\} ) ; [^\S\n]* $
    | export \s+ (?= (?: (?:async\s+)? function \b \s* \*? | const | class ) \s* (?P<declared> [A-Za-z_$][\w$]* ))
    | (?P<default> export \s+ default \s+ )
    | (?P<other> (?: import | export ) \b )
    )""",
    re.MULTILINE | re.VERBOSE,
)
_LATE = re.compile(r"\bimport\s*[(.]")


class BundleError(Exception):
    """A script that cannot be bundled; the message names its file and line."""


@dataclass
class Module:
    """A script of ``js/``."""

    name: str  # "maths/rotary"
    body: str = ""
    gives: dict[str, str] = field(default_factory=dict)  # name outside → name inside
    needs: list[tuple[str, list[str], int]] = field(default_factory=list)  # (module, names in it, line)


def read(name: str, text: str) -> Module:
    """Return the script of that name and text; BundleError names the line that has none of the ``FORMS``."""
    module = Module(name)

    def inside(found: re.Match) -> str:
        if found["names"]:
            return _import(module, found, _line(text, found))
        if found["listed"]:
            module.gives |= {outside: own for own, outside in _pairs(found["listed"]).items()}
            return ""
        if found["declared"]:
            module.gives[found["declared"]] = found["declared"]
            return ""
        if found["default"] and name.startswith("figures/"):
            module.gives["default"] = "$default"
            return "const $default = "
        raise BundleError(f"js/{name}.js:{_line(text, found)}: only these can be bundled: {FORMS}")

    if late := _LATE.search(text):
        raise BundleError(
            f"js/{name}.js:{_line(text, late)}: a bundle holds all it needs and can import no more"
        )
    module.body = _STATEMENT.sub(inside, text)
    return module


def constant(name: str) -> str:
    """Return the name that a module's exports have in a bundle.

    >>> constant("lib/controls/slider")
    '$lib$controls$slider'
    """
    return "$" + name.replace("/", "$")


def _line(text: str, found: re.Match) -> int:
    return text.count("\n", 0, found.start()) + 1


def _import(module: Module, found: re.Match, line: int) -> str:
    """Note what the module needs; return the statement that takes it from the other's exports."""
    other = _resolved(module.name, found["path"], line)
    module.needs.append((other, list(_pairs(found["names"])), line))
    whole = found["names"].startswith("*")
    taken = found["names"].split()[-1] if whole else re.sub(r"\s+as\s+", ": ", found["names"])
    return f"const {taken} = {constant(other)};"


def _resolved(name: str, path: str, line: int) -> str:
    """Return the module that ``name`` imports as ``path``, from a folder that it may know."""
    where = f"js/{name}.js:{line}"
    if not path.startswith(".") or not path.endswith(".js"):
        raise BundleError(f'{where}: import a file of js/, such as "../lib/pen.js", not "{path}"')
    other = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)).removesuffix(".js")
    own = name.partition("/")[0]
    known = [folder for folder in FOLDERS[: FOLDERS.index(own) + 1] if folder != "figures"]
    if other.partition("/")[0] not in known:
        raise BundleError(f"{where}: {own} may import from {', '.join(known)}, not {path}")
    return other


def _pairs(names: str) -> dict[str, str]:
    """Return {left: right} of "{ left as right, same }"; {} for "* as x"."""
    parts = [part.split() for part in names.strip("{}").split(",") if part.strip()]
    return {} if names.startswith("*") else {part[0]: part[-1] for part in parts}
