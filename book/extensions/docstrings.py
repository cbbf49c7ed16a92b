"""Sphinx extension: translate docstrings for the API page.

Docstrings are written for a terminal: formulas are indented, names are in single backticks, `Args:`, `Returns:` and
`Raises:` open indented lists. autodoc expects reStructuredText, so every block is translated: formulas and examples
become literal blocks, lists become definition lists, and everything else plain words.
"""

import re
import textwrap
from collections.abc import Iterator

from sphinx.application import Sphinx
from sphinx.ext.autodoc.mock import _MockObject

LISTED = ("Args:", "Attributes:", "Raises:")
TOLD = ("Returns:", "Yields:")
SEQUENCE = "~collections.abc.Sequence"
WRITTEN_OUT = f"~rope_edu.arrays.Array | {SEQUENCE}[float] | {SEQUENCE}[{SEQUENCE}[float]] | float"
ENTRY = re.compile(r"\*{0,2}\w[\w, /*`]*?: (?=\S)")


def translate(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Replace a docstring by its translation, in place, as autodoc expects."""
    lines[:] = [*"\n\n".join(map(as_rst, blocks("\n".join(lines)))).splitlines(), ""]


def blocks(text: str) -> Iterator[str]:
    """Yield the blocks of a docstring between blank lines; keep a formula of several blocks together."""
    held: list[str] = []
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        if held and not (held[-1].startswith("  ") and block.startswith("  ")):
            yield "\n\n".join(held)
            held = []
        held.append(block)
    yield "\n\n".join(held)


def as_rst(block: str) -> str:
    """Return one block as reStructuredText.

    >>> as_rst("    y = R x")
    '.. code-block:: text\\n\\n    y = R x'
    >>> as_rst("Rotated `x`, a_b.")
    'Rotated \\\\ ``x``\\\\ , a\\\\_b.'
    """
    first, _, rest = block.partition("\n")
    if block.startswith("  ") or all("   " in line for line in block.splitlines()):
        return ".. code-block:: text\n\n" + textwrap.indent(textwrap.dedent(block), "    ")
    if first.startswith(">>>"):
        return ".. code-block:: pycon\n\n" + textwrap.indent(block, "    ")
    if first in LISTED:
        return f"**{first[:-1]}**\n\n" + "\n".join(entries(textwrap.dedent(rest)))
    if first in TOLD:
        return f"**{first[:-1]}**\n\n" + escaped(" ".join(rest.split()))
    if rest.startswith("  ") and not first.startswith(("- ", "* ")):
        return escaped(first) + "\n\n" + as_rst(rest)
    if first.startswith("- "):
        return "\n".join(
            "- " + escaped(" ".join(item.split())) for item in re.split(r"^- ", block, flags=re.M)[1:]
        )
    return "\n".join(map(escaped, block.splitlines()))


def entries(text: str) -> Iterator[str]:
    """Yield the lines of a definition list; text without a name becomes a paragraph."""
    for item in re.split(rf"\n(?={ENTRY.pattern})", text):
        words = " ".join(item.split())
        named = ENTRY.match(words)
        yield (
            f"{escaped(named[0][:-2])}\n    {escaped(words[named.end() :])}"
            if named
            else escaped(words) + "\n"
        )


def escaped(text: str) -> str:
    """Escape all markup except backticks."""
    parts = text.replace("``", "`").split("`")
    words = [re.sub(r"([\\*_|])", r"\\\1", part) for part in parts]
    return "".join(
        f"\\ ``{part}``\\ " if n % 2 and part.strip() else word
        for n, (part, word) in enumerate(zip(parts, words, strict=True))
    )


def shorten(*event: object) -> tuple[object, object]:
    """Shorten `ArrayLike` in a signature, which autodoc would expand."""
    *_, signature, returned = event
    return signature and str(signature).replace(WRITTEN_OUT, "~rope_edu.arrays.ArrayLike"), returned


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension."""
    _MockObject.__or__ = _MockObject.__ror__ = lambda self, other: self  # `range | Tensor` without torch
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", translate)
    app.connect("autodoc-process-signature", shorten)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
