"""Sphinx extension: the minutes of each chapter, in its link in the sidebar.

They are the ones given in the chapter, and part of its entry in the table of contents of every page.
"""

import json
import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from twins import original

STATED = re.compile(r"^Time: (?:about )?(\d+) minutes", re.MULTILINE)


def stated(notebook: Path) -> int:
    """Return the minutes that a notebook gives for its spine, or 0 if it gives none."""
    if not notebook.is_file():
        return 0
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    match = STATED.search("\n".join("".join(cell["source"]) for cell in cells))
    return int(match[1]) if match else 0


def add_minutes(app: Sphinx, doctree: nodes.document) -> None:
    """Add a chapter's minutes to its entry, once Sphinx has collected it."""
    page = app.env.docname
    if minutes := stated(Path(app.srcdir, f"{original(page)}.ipynb")):
        link = next(app.env.tocs[page].findall(nodes.reference))
        link += [nodes.Text(" "), nodes.inline("", f"{minutes} min", classes=["minutes"])]


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension after Sphinx's own collector."""
    app.connect("doctree-read", add_minutes, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
