"""Parse a script in ``js/`` into its imports, its exports, and the body of a function.

This is not a full parser: an ``import`` or ``export`` at the start of a line must have one of the ``FORMS``. Other
forms, and imports that violate the order of the ``FOLDERS``, are rejected with file and line.
"""

import posixpath
import re
from dataclasses import dataclass, field

# each folder may import from itself and earlier folders, except that figures are never imported
FOLDERS = ("data", "lib", "maths", "figures", "real")
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
_DYNAMIC = re.compile(r"\bimport\s*[(.]")


class BundleError(Exception):
    """Raised for a script that cannot be bundled; the message contains the file and usually the line."""


@dataclass
class Module:
    """A parsed script."""

    name: str  # such as "maths/rotary"
    body: str = ""
    exports: dict[str, str] = field(default_factory=dict)  # exported name → local name
    imports: list[tuple[str, list[str], int]] = field(default_factory=list)  # (module, names, line)


def read(name: str, text: str) -> Module:
    """Parse a script; raise BundleError for a dynamic import, or a form that is not among the ``FORMS``."""
    module = Module(name)

    def rewritten(statement: re.Match) -> str:
        if statement["names"]:
            return _import(module, statement, _line(text, statement))
        if statement["listed"]:
            module.exports |= {outside: inside for inside, outside in _pairs(statement["listed"]).items()}
            return ""
        if statement["declared"]:
            module.exports[statement["declared"]] = statement["declared"]
            return ""
        if statement["default"] and name.startswith("figures/"):
            module.exports["default"] = "$default"
            return "const $default = "
        raise BundleError(f"js/{name}.js:{_line(text, statement)}: only these can be bundled: {FORMS}")

    if dynamic := _DYNAMIC.search(text):
        raise BundleError(
            f"js/{name}.js:{_line(text, dynamic)}: a bundle is self-contained and cannot import at run time"
        )
    module.body = _STATEMENT.sub(rewritten, text)
    return module


def constant(name: str) -> str:
    """Return the name of the constant for a module's exports in a bundle.

    >>> constant("lib/controls/slider")
    '$lib$controls$slider'
    """
    return "$" + name.replace("/", "$")


def _line(text: str, match: re.Match) -> int:
    return text.count("\n", 0, match.start()) + 1


def _import(module: Module, statement: re.Match, line: int) -> str:
    """Record an import; return the statement that replaces it in the bundle."""
    other = _resolved(module.name, statement["path"], line)
    module.imports.append((other, list(_pairs(statement["names"])), line))
    whole = statement["names"].startswith("*")
    target = statement["names"].split()[-1] if whole else re.sub(r"\s+as\s+", ": ", statement["names"])
    return f"const {target} = {constant(other)};"


def _resolved(name: str, path: str, line: int) -> str:
    """Return the module that ``name`` imports as ``path``; raise BundleError if the import is not allowed."""
    where = f"js/{name}.js:{line}"
    if not path.startswith(".") or not path.endswith(".js"):
        raise BundleError(f'{where}: import a file of js/, such as "../lib/pen.js", not "{path}"')
    other = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)).removesuffix(".js")
    own = name.partition("/")[0]
    allowed = [folder for folder in FOLDERS[: FOLDERS.index(own) + 1] if folder != "figures"]
    if other.partition("/")[0] not in allowed:
        raise BundleError(f"{where}: {own} may import from {', '.join(allowed)}, not {path}")
    return other


def _pairs(names: str) -> dict[str, str]:
    """Parse "{ left as right, same }" into {left: right, same: same}; return {} for "* as x"."""
    parts = [part.split() for part in names.strip("{}").split(",") if part.strip()]
    return {} if names.startswith("*") else {part[0]: part[-1] for part in parts}
