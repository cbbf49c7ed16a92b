"""Sphinx extension: links to a page's neighbours at its top, and chapter times in the sidebar.

The neighbours are the same as in the footer. The minutes are the ones given in each chapter. A fold with
answers is marked, so that printed pages have them at the end (``book/assets/site.js``).
"""

import html
import json
import re
from functools import cache
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from twins import original

STATED = re.compile(r"^Time: (?:about )?(\d+) minutes", re.MULTILINE)
LINK = re.compile(
    r'(<li class="toctree-l\d[^"]*"><a class="[^"]*reference internal" href="([^"#]*)#?"[^>]*>[^<]*</a>)(</li>)'
)
ANSWERS = re.compile(
    r"<details>(?=\s*<summary>(?:(?:What you should have seen|Answers?|Solutions?)\b|你应该看到|答案|解答))"
)


@cache
def stated(notebook: Path) -> int:
    """Return the minutes that a notebook gives for its spine, or 0 if it gives none."""
    if not notebook.is_file():
        return 0
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    match = STATED.search("".join("".join(cell["source"]) + "\n" for cell in cells[:1]))
    return int(match[1]) if match else 0


def add_steps(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.Node | None) -> None:
    """Add the neighbours above a page's title, and mark its answers."""
    if doctree is None or "body" not in context:
        return
    links = [
        f'<a rel="{way}" href="{html.escape(neighbour["link"])}">{before}{words(neighbour["title"])}{after}</a>'
        for way, before, after in (("prev", "← ", ""), ("next", "", " →"))
        if (neighbour := context.get(way)) and original(page) != app.config.root_doc
    ]
    steps = f'<nav class="page-steps" aria-label="Neighbours">{"".join(links)}</nav>\n' if links else ""
    context["body"] = steps + ANSWERS.sub('<details class="answers">', context["body"])


def words(title: str) -> str:
    """Return a title without its HTML tags."""
    return re.sub(r"<[^>]*>", "", title)


def add_minutes(app: Sphinx, error: Exception | None) -> None:
    """Write each chapter's minutes after its link in the sidebar of every page."""
    if error or app.builder.format != "html":
        return
    site, root = Path(app.outdir), Path(app.srcdir)
    for page in (page for page in site.rglob("*.html") if "_static" not in page.relative_to(site).parts):
        text = page.read_text(encoding="utf-8")

        def timed(match: re.Match, page: Path = page) -> str:
            target = (page.parent / match[2]).resolve() if match[2] else page
            name = target.relative_to(site.resolve()).with_suffix("").as_posix()
            minutes = stated(root / f"{original(name)}.ipynb")
            return f'{match[1]}<span class="minutes">{minutes} min</span>{match[3]}' if minutes else match[0]

        if (whole := LINK.sub(timed, text)) != text:
            page.write_text(whole, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension."""
    app.connect("html-page-context", add_steps)
    app.connect("build-finished", add_minutes)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
