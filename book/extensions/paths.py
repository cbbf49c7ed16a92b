"""Sphinx extension: paths through the book, and the next page on each.

``book/data/paths.yml`` has the paths. ``{paths}`` lists them with their time and a link that chooses each. A page
on a path has the next page there (``book/templates/page.html``); ``book/assets/progress.js`` shows it to a reader
who chose the path.
"""

import sys
from pathlib import Path

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective
from twins import in_chinese, is_chinese, original, say, table

BOOK = Path(__file__).resolve().parents[1]
PATHS = BOOK / "data" / "paths.yml"
sys.path.append(str(BOOK / "tools"))

from words import read  # noqa: E402


def paths(env: BuildEnvironment) -> list[dict]:
    """Return the paths whose pages exist: each step is a list of pages to choose from."""
    known = yaml.safe_load(PATHS.read_text(encoding="utf-8"))
    for path in known:
        pages = chapters(Path(env.srcdir)) if path["pages"] == "all" else path["pages"]
        path["steps"] = [step if isinstance(step, list) else [step] for step in pages]
    return [path for path in known if all(page in env.found_docs for step in path["steps"] for page in step)]


def chapters(root: Path) -> list[str]:
    """Return the numbered chapters in table-of-contents order."""
    parts = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))["parts"]
    return [entry["file"] for part in parts if part.get("numbered") for entry in part["chapters"]]


def minutes(root: Path, path: dict, what: str = "minutes") -> int:
    """Return the minutes of a path's spines, or of their "practice", with the longest page of each choice."""
    return round(sum(max(read(root / f"{page}.ipynb")[what] for page in step) for step in path["steps"]))


def spoken(count: int, page: str = "") -> str:
    """Return a time in words, in a page's language: rounded to five minutes, or to half an hour if long."""
    if count < 100:
        return say(page, "{0} minutes", count if count < 30 else 5 * round(count / 5))
    whole, half = divmod(round(count / 30), 2)
    return say(page, "{0} hours", f"{whole}{'½' if half else ''}")


def worded(path: dict, page: str) -> dict:
    """Return a path's texts in a page's language."""
    return table("paths")[path["key"]] if is_chinese(page) else path


class Paths(SphinxDirective):
    """List the paths, each with its time and a link that chooses it and opens its first page."""

    def run(self) -> list[nodes.Node]:
        """Return the list."""
        items = []
        root = Path(self.env.srcdir)
        for file in (PATHS, root / "_toc.yml", *sorted((root / "notebooks").glob("*.ipynb"))):
            self.env.note_dependency(str(file))
        for path in paths(self.env):
            here, said = self.env.docname, worded(path, self.env.docname)
            first = beside(self.env, here, path["steps"][0][0])
            classes = ["in-english"] if in_english(here, first) else []
            way = self.env.app.builder.get_relative_uri(here, first)
            link = nodes.reference("", said["name"], refuri=f"{way}?path={path['key']}", internal=True)
            takes, practice = (spoken(minutes(root, path, what), here) for what in ("minutes", "practice"))
            if minutes(root, path, "practice"):
                words = say(here, " (about {0}, and {1} of exercises). {2}", takes, practice, said["text"])
            else:
                words = say(here, " (about {0}). {1}", takes, said["text"])
            items.append(
                nodes.list_item(
                    "",
                    nodes.paragraph("", "", nodes.strong("", "", link, classes=classes), nodes.Text(words)),
                )
            )
        return [nodes.bullet_list("", *items)]


def steps(app: Sphinx, page: str) -> list[dict]:
    """Return the key, the words and the next pages of every path that includes the page."""
    found = []
    for path in paths(app.env):
        place = next((number for number, step in enumerate(path["steps"]) if original(page) in step), None)
        if place is None:
            continue
        after = path["steps"][place + 1 : place + 2]
        pages = [beside(app.env, page, other) for step in after for other in step]
        links = [
            {
                "title": titled(app.env, other) + in_english(page, other),
                "href": app.builder.get_relative_uri(page, other),
            }
            for other in pages
        ]
        name = worded(path, page)["path"]
        words = say(page, "On {0}, next: ", name) if pages else say(page, "This is the end of {0}.", name)
        found.append({"key": path["key"], "words": words, "or": say(page, " or "), "next": links})
    return found


def beside(env: BuildEnvironment, page: str, other: str) -> str:
    """Return the target of a link; from a Chinese page, this is the Chinese target if it exists."""
    return in_chinese(env, other) if is_chinese(page) else other


def in_english(page: str, other: str) -> str:
    """Return the remark for a link from a Chinese page to an English one."""
    return say(page, " (in English)") if is_chinese(page) and not is_chinese(other) else ""


def titled(env: BuildEnvironment, page: str) -> str:
    """Return a page's title with its number."""
    number = env.toc_secnumbers.get(page, {}).get("", ())
    return "".join(f"{part}. " for part in number[:1]) + env.titles[page].astext()


def add_steps(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.Node | None) -> None:
    """Hand the next pages of every path to the page's template."""
    context["path_steps"] = steps(app, page) if doctree else []


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension."""
    app.add_directive("paths", Paths)
    app.connect("html-page-context", add_steps)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
