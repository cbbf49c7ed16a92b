"""Sphinx extension: the parts of the first page: honest times, and a wall of all figures.

``{time}`course` `` is the duration of a path in ``book/data/paths.yml``. ``{wall}`` shows every live figure as its
still picture, with a link to the figure in its chapter; ``book/assets/progress.js`` ticks those that were moved.
``{miniature} Class`` shows one figure; with ``only``, it can be tried in place, in a small form whose script is
fetched on request. ``{fern-still} stage`` is a still of one stage of the fern, for where ``book/assets/fern.js``
cannot show the stages live.
"""

import html
import json
from pathlib import Path
from typing import ClassVar

import yaml
from docutils import nodes
from docutils.parsers.rst.states import Inliner
from live_figures import STATE, Shown, figures_of, words_of
from paths import PATHS, beside, minutes, paths, spoken, titled
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective
from twins import of_figure, say

from rope_book.widgets._bundle import ferns_script

STILLS = "_static/stills"
FERN = "book/data/fern"
TOUR = "fern-tour"


def figures(root: Path) -> dict[str, tuple[str, Shown]]:
    """Return {class: (page, figure)} for every figure's first appearance, in page order."""
    parts = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))["parts"]
    pages = [entry["file"] for part in parts for entry in part["chapters"]]
    first: dict[str, tuple[str, Shown]] = {}
    for page in pages:
        file = root / f"{page}.ipynb"
        for shown in figures_of(file) if file.is_file() else []:
            first.setdefault(shown.name, (page, shown))
    return first


def picture(env: BuildEnvironment, docname: str, page: str, shown: Shown) -> str:
    """Return a link to a figure, with its still, title and chapter."""
    builder = env.app.builder
    up = "../" * docname.count("/")
    page = beside(env, docname, page)
    where = builder.get_relative_uri(docname, page)
    chapter = html.escape(titled(env, page))
    alt = say(docname, "Still picture of {0}", shown.name)
    title = of_figure(docname, words_of(shown.svg).partition(". ")[0])
    return (
        f'<a class="still-link" href="{where}#live={shown.name}" data-figure="{shown.name}">'
        f'<img src="{up}{STILLS}/{shown.name}.svg" loading="lazy" alt="{alt}"> '
        f"<span>{html.escape(title)}</span> <em>{chapter}</em></a>"
    )


def tried(shown: Shown, only: list[str], link: str) -> str:
    """Return a link with everything except the script that the figure's small form needs."""
    model = f"try-{shown.name}"
    state = shown.model | {"state": shown.model["state"] | {"only": only}}
    text = json.dumps({"state": {model: state}}).replace("</", "<\\/")
    return (
        f'<div class="live-later" data-figure="{shown.name}" data-model="{model}" '
        f'data-script="live/{shown.name}.js"><script type="{STATE}">{text}</script>{link}</div>'
    )


def stills(names: list[str], *, wall: bool, page: str = "", only: list[str] | None = None) -> nodes.raw:
    """Return a placeholder for figures' pictures, filled in once all pages have titles and numbers."""
    return nodes.raw(text="", format="html", stills=names, wall=wall, page=page, only=only)


class Wall(SphinxDirective):
    """Show all figures as stills."""

    def run(self) -> list[nodes.Node]:
        """Return the list."""
        root = Path(self.env.srcdir)
        for file in (root / "_toc.yml", *sorted((root / "notebooks").glob("*.ipynb"))):
            self.env.note_dependency(str(file))
        return [stills(list(figures(root)), wall=True)]


class Miniature(SphinxDirective):
    """Show one figure as a still that links to it, or to its small form: ``{miniature} Class page``.

    The option ``only`` names the controls and parts of the small form that readers can try in its place.
    """

    required_arguments = 1
    optional_arguments = 1
    option_spec: ClassVar = {"only": str.split}

    def run(self) -> list[nodes.Node]:
        """Return the picture."""
        if self.arguments[0] not in (known := figures(Path(self.env.srcdir))):
            raise self.error(f"miniature must be one of {', '.join(known)}, got {self.arguments[0]}")
        page = self.env.relfn2path(self.arguments[1])[0] if len(self.arguments) > 1 else ""
        return [stills([self.arguments[0]], wall=False, page=page, only=self.options.get("only"))]


class FernStill(SphinxDirective):
    """Show one stage of the fern as a still, which a page with the live stages never loads."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the picture."""
        path, _ = self.env.relfn2path(f"/{FERN}/{self.arguments[0]}.svg")
        self.env.note_dependency(path)
        return [nodes.image(uri=f"/{path}", loading="lazy", classes=["fern-still"], still=path)]


def describe_stills(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Give each still of a stage the words of its figure, which are translated with the figure."""
    for image in doctree.findall(lambda node: isinstance(node, nodes.image) and "still" in node):
        svg = Path(app.srcdir, image["still"]).read_text(encoding="utf-8")
        image["alt"] = words_of(svg)


def add_tour(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None) -> None:
    """Load the script of the stages on a page that has them."""
    if doctree and any(TOUR in node.get("classes", []) for node in doctree.findall(nodes.container)):
        app.add_js_file("fern.js")


def write_links(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Write the pictures of a page."""
    for node in [raw for raw in doctree.findall(nodes.raw) if raw.get("stills")]:
        known = figures(Path(app.srcdir))
        links = [
            picture(app.env, docname, node["page"] or known[name][0], known[name][1])
            for name in node["stills"]
        ]
        items = "".join(f"<li>{link}</li>" for link in links)
        text = f'<ul class="wall">{items}</ul>' if node["wall"] else links[0]
        if node["only"]:
            text = tried(known[node["stills"][0]][1], node["only"], text)
        node.replace_self(nodes.raw(text=text, format="html"))


def time(
    name: str, rawtext: str, text: str, lineno: int, inliner: Inliner, *_: object
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    """Return the duration of a path, or a warning."""
    env = inliner.document.settings.env
    path = next((path for path in paths(env) if path["key"] == text), None)
    if path is None:
        message = f"time must be that of a path in {PATHS.name}, got {text!r}"
        return [nodes.Text(text)], [inliner.reporter.warning(message, line=lineno)]
    return [nodes.Text(spoken(minutes(Path(env.srcdir), path), env.docname))], []


def write_files(app: Sphinx) -> None:
    """Write the still picture of every figure into the site, and the script that reads a file's fern."""
    if app.builder.format != "html":
        return
    static = Path(app.outdir) / "_static"
    (static / "live").mkdir(parents=True, exist_ok=True)
    (static / "live" / "ferns.js").write_text(ferns_script(), encoding="utf-8")
    folder = Path(app.outdir) / STILLS
    folder.mkdir(parents=True, exist_ok=True)
    for name, (_, shown) in figures(Path(app.srcdir)).items():
        (folder / f"{name}.svg").write_text(shown.svg, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension."""
    app.add_directive("wall", Wall)
    app.add_directive("miniature", Miniature)
    app.add_directive("fern-still", FernStill)
    app.add_role("time", time)
    app.connect("doctree-resolved", write_links)
    app.connect("doctree-resolved", describe_stills)
    app.connect("html-page-context", add_tour)
    app.connect("builder-inited", write_files)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
