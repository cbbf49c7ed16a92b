"""Sphinx extension: ways through the book, and what is next on each.

``book/data/paths.yml`` has the paths. ``{paths}`` lists them with their time, each a link that chooses it. A page
on a path carries what comes next there; ``book/assets/progress.js`` shows that to a reader who chose the path.
"""

import json
import sys
from pathlib import Path

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

BOOK = Path(__file__).resolve().parents[1]
PATHS = BOOK / "data" / "paths.yml"
sys.path.append(str(BOOK / "tools"))

from words import read  # noqa: E402


def paths(env: BuildEnvironment) -> list[dict]:
    """Return the paths whose pages are there: each step a list of pages of which one is read."""
    found = yaml.safe_load(PATHS.read_text(encoding="utf-8"))
    for path in found:
        pages = chapters(Path(env.srcdir)) if path["pages"] == "all" else path["pages"]
        path["steps"] = [step if isinstance(step, list) else [step] for step in pages]
    return [path for path in found if all(page in env.found_docs for step in path["steps"] for page in step)]


def chapters(root: Path) -> list[str]:
    """Return the numbered chapters in the order of the table of contents."""
    parts = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))["parts"]
    return [entry["file"] for part in parts if part.get("numbered") for entry in part["chapters"]]


def minutes(root: Path, path: dict) -> int:
    """Return how long a path takes: the spines of its chapters, the longest where one is chosen."""
    return sum(max(read(root / f"{page}.ipynb")["minutes"] for page in step) for step in path["steps"])


def spoken(count: int) -> str:
    """Return a time as one says it: to five minutes, or to half an hour where it is long."""
    if count < 30:
        return f"{count} minutes"
    if count < 100:
        return f"{5 * round(count / 5)} minutes"
    whole, half = divmod(round(count / 30), 2)
    return f"{whole}{'½' if half else ''} hours"


class Paths(SphinxDirective):
    """List the paths, each with its time and a link to its first page that chooses it."""

    def run(self) -> list[nodes.Node]:
        """Return the list."""
        items = []
        root = Path(self.env.srcdir)
        for file in (PATHS, root / "_toc.yml", *sorted((root / "notebooks").glob("*.ipynb"))):
            self.env.note_dependency(str(file))
        for path in paths(self.env):
            first = self.env.app.builder.get_relative_uri(self.env.docname, path["steps"][0][0])
            link = nodes.reference("", path["name"], refuri=f"{first}?path={path['key']}", internal=True)
            words = f" (about {spoken(minutes(root, path))}). {path['text']}"
            items.append(
                nodes.list_item("", nodes.paragraph("", "", nodes.strong("", "", link), nodes.Text(words)))
            )
        return [nodes.bullet_list("", *items)]


class WherePage(SphinxDirective):
    """Show the content only in a book that has the page: ``{where-page} book/wrong``."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the parsed content, or nothing."""
        return self.parse_content_to_nodes() if self.arguments[0] in self.env.found_docs else []


def next_on(app: Sphinx, page: str) -> dict[str, dict]:
    """Return, for each path that the page is on, its name and the pages that come next."""
    found = {}
    for path in paths(app.env):
        here = next((number for number, step in enumerate(path["steps"]) if page in step), None)
        if here is not None:
            after = path["steps"][here + 1 : here + 2]
            links = [
                {"title": titled(app.env, other), "href": app.builder.get_relative_uri(page, other)}
                for step in after
                for other in step
            ]
            found[path["key"]] = {"path": path["path"], "next": links}
    return found


def titled(env: BuildEnvironment, page: str) -> str:
    """Return a page's title with its number."""
    number = env.toc_secnumbers.get(page, {}).get("", ())
    return "".join(f"{part}. " for part in number[:1]) + env.titles[page].astext()


def add_next(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.Node | None) -> None:
    """Put what is next on each path into a page."""
    if "body" in context and (found := next_on(app, page)):
        text = json.dumps(found, sort_keys=True).replace("</", "<\\/")
        context["body"] += f'<script id="paths" type="application/json">{text}</script>'


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension."""
    app.add_directive("paths", Paths)
    app.add_directive("where-page", WherePage)
    app.connect("html-page-context", add_next)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
