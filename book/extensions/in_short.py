"""Sphinx extension: the page that collects the three sentences in which each chapter sums itself up.

``{in-short}`` reads the chapters in the order of the table of contents. Each has a quotation
``> **In short.** …`` after its first questions; the page shows it under the chapter's number and title, which
link to the chapter.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import yaml
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

MARK = "> **In short.** "
FRONT = "00"  # the ten-minute page, which is already short
PLAY = "P"  # P1, P2 …: playgrounds


class InShort(SphinxDirective):
    """Show every chapter in short, below its number and title."""

    def run(self) -> list[nodes.Node]:
        """Return a section per part, with one per chapter inside."""
        lines, missing = [], []
        self.env.note_dependency("_toc.yml")
        for caption, paths in parts(Path(self.env.srcdir)):
            lines += [f"## {caption}", ""]
            for path in paths:
                self.env.note_dependency(str(path))
                title, short = read(path)
                lines += [f"### {number(path)}. [{title}](../notebooks/{path.name})", "", short, ""]
                missing += [] if short else [path.stem]
        if missing:
            raise self.error(f"no quotation that begins {MARK!r}: {', '.join(missing)}")
        root = nodes.container()
        self.state.nested_parse(StringList(lines), 0, root, match_titles=True)
        return root.children


def parts(root: Path) -> Iterator[tuple[str, list[Path]]]:
    """Yield the caption of every part with chapters, and their files."""
    for part in yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))["parts"]:
        files = [root / f"{entry['file']}.ipynb" for entry in part["chapters"]]
        chapters = [file for file in files if file.parent.name == "notebooks" and is_chapter(file)]
        if chapters:
            yield part["caption"], chapters


def is_chapter(path: Path) -> bool:
    """Return whether a page is a chapter or an appendix, which have the three sentences."""
    return number(path) != FRONT and not path.name.startswith(PLAY)


def number(path: Path) -> str:
    """Return a chapter's number as readers know it: 4 for 04_…, A1 for A1_…."""
    name = path.name.partition("_")[0]
    return name if name == FRONT else name.lstrip("0")


def read(path: Path) -> tuple[str, str]:
    """Return a notebook's title and its three sentences, or "" for the sentences if it has none."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    text = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    title = re.search(r"^# (.+)", text, re.MULTILINE)[1]
    quoted = re.search(rf"^{re.escape(MARK)}.*(?:\n>.*)*", text, re.MULTILINE)
    if not quoted:
        return title, ""
    words = re.sub(r"^> ?", "", quoted[0], flags=re.MULTILINE)
    return title, words.removeprefix(MARK.removeprefix("> "))


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directive."""
    app.add_directive("in-short", InShort)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
