"""Sphinx extension: add live figures and their stills to the site.

A notebook's output with a live figure becomes a slot: a still picture with its words as alt text, which the page
loader (``book/assets/live.js``) replaces with the figure. A link in the text to one of its states, ``#live=…``,
leads to the slot even without scripts. Any other widget keeps its picture and says where to run it. Scripts and
style come from ``rope_book.widgets``: one cached file with the shared modules, and one per figure.
"""

import base64
import hashlib
import html
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
from urllib.parse import parse_qsl

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective

from rope_book.check.in_page import challenges_in_page, in_page
from rope_book.widgets import LiveFigure, Question
from rope_book.widgets._bundle import page_script, shared_script, style

STATE = "application/vnd.jupyter.widget-state+json"
VIEW = "application/vnd.jupyter.widget-view+json"
STILL = "image/svg+xml"
PICTURES = ("image/png", "text/html")  # forms of a plot: as stored, or as panels of the page
SCRIPTS = re.compile(r"<!-- scripts of (\w+) -->")
LATER = re.compile(r'(?<=data-script=")live/\w+\.js(?=")')  # for a figure that is fetched on request
SCRIPTED = {
    "Question": Question.SCRIPT,
    "Review": "review",
}  # live elements that are not figures, with their scripts
REVIEW = "The review needs JavaScript, and a browser that may run it."
BEFORE = ("live.js", "live/shared.js")  # loaded before a page's first figure
WORDS = "words.zh-CN.js"  # loaded before these two on a Chinese page
CHINESE = "book/zh"
CHIP = "#live="  # the beginning of a link to a state
NOTE = "This control needs Python: open the notebook in Colab or Jupyter to move it."


class Chips(SphinxTransform):
    """Keep links to figure states unchanged, before MyST looks for headings of their names."""

    default_priority = 870

    def apply(self, **kwargs: object) -> None:
        """Mark each link."""
        for link in self.document.findall(nodes.reference):
            if link.get("id_link") and link["refuri"].startswith(CHIP):
                del link["id_link"]
                link["internal"] = True
                link["classes"].append("rl-chip")


class LiveSlots(SphinxPostTransform):
    """Replace every output that shows a widget with its slot, before MyST-NB selects a mime type."""

    default_priority = 3

    def run(self, **kwargs: object) -> None:
        """Visit every output of the page."""
        chips = [link["refuri"] for link in self.document.findall(nodes.reference) if is_chip(link)]
        self.states = sorted({uri[1:] for uri in chips})
        for bundle in list(self.document.findall(nodes.container)):
            if bundle.get("nb_element") != "mime_bundle":
                continue
            shown = {part["mime_type"]: part for part in bundle.children}
            if VIEW in shown:
                bundle.replace_self(self.slot(shown))

    def slot(self, shown: dict[str, nodes.container]) -> list[nodes.Node]:
        """Return the nodes of a slot: the still picture inside a div that names the widget's model."""
        view = shown[VIEW].children[0].astext()
        model = json.loads(re.search(r"\{.*\}", view).group())["model_id"]
        name = shown["text/plain"].astext().partition("(")[0]
        if name in SCRIPTED:
            return in_slot(model, name, [shown["text/html"].children[0]])
        if STILL not in shown:
            pictures = [part.children[0] for mime, part in shown.items() if mime in PICTURES]
            note = nodes.paragraph(text=NOTE, classes=["live-note"])
            return in_slot(model, "", [*pictures, note])
        still = shown[STILL].children[0]
        still["classes"].append("live-still")
        svg = (Path(self.app.srcdir) / still["uri"].lstrip("/")).read_text(encoding="utf-8")
        still["alt"] = words_of(svg)
        return [*self.places(name), *in_slot(model, name, [still], svg)]

    def places(self, name: str) -> list[nodes.Node]:
        """Return an anchor for every state of the figure that links refer to; a second figure has none."""
        own = [state for state in self.states if figure_of(state) == name]
        self.states = [state for state in self.states if state not in own]
        spans = "".join(f'<span id="{html.escape(state)}"></span>' for state in own)
        return [nodes.raw(text=spans, format="html")] if own else []


def is_chip(link: nodes.reference) -> bool:
    """Return whether the link leads to a state of a figure on its page."""
    return link.get("refuri", "").startswith(CHIP)


def figure_of(state: str) -> str:
    """Return the first figure in a state's address."""
    return dict(parse_qsl(state))["live"]


class Exercises(SphinxPostTransform):
    """Add an answer box or a button after every exercise and challenge that a page judges without Python."""

    default_priority = 2
    formats = ("html",)

    def run(self, **kwargs: object) -> None:
        """Visit every cell of the page except solutions."""
        judged = in_page() | challenges_in_page()
        for cell in list(self.document.findall(nodes.container)):
            if cell.get("nb_element") != "cell_code" or "tag_solution" in cell.get("classes", []):
                continue
            code = "\n".join(block.astext() for block in cell.findall(nodes.literal_block))
            for name in re.findall(r'^check\("([^"]+)"', code, re.MULTILINE):
                if name in judged:
                    cell.parent.insert(cell.parent.index(cell) + 1, in_slot_with(judged[name]))


def in_slot_with(asked: dict) -> list[nodes.Node]:
    """Return a slot with the state of its exercise or challenge."""
    state = {
        "state": {"_anywidget_id": "rope_book.widgets.question.Question", "questions": [asked], "given": {}}
    }
    held = html.escape(json.dumps(state, ensure_ascii=False), quote=True)
    text = f'<div class="live-slot" data-state="{held}"></div>\n<!-- scripts of Question -->'
    return [nodes.raw(text=text, format="html")]


class LiveFigureDirective(SphinxDirective):
    """Show a notebook's live figure on a page that is not a notebook: ``{live-figure} path Class``.

    The option ``only`` makes it a small form with the named controls and parts. A ``guided`` figure is moved by the
    page, which has stills of its own: it leaves the address alone.
    """

    required_arguments = 2
    option_spec: ClassVar = {"only": str.split, "guided": directives.flag}

    def run(self) -> list[nodes.Node]:
        """Return the slot with the state and the still stored in the notebook."""
        path, file = self.env.relfn2path(self.arguments[0])
        self.env.note_dependency(path)
        name = self.arguments[1]
        figure = next((shown for shown in figures_of(Path(file)) if shown.name == name), None)
        if figure is None:
            raise self.error(f"{path} shows no {name} with all its controls")
        model = f"{Path(file).stem}-{name}"
        state = figure.model | {"state": figure.model["state"] | self.small()}
        text = json.dumps({"state": {model: state}}).replace("</", "<\\/")
        script = f'<script type="{STATE}">{text}</script>'
        if "guided" in self.options:
            slot = in_slot(model, name, [], figure.svg, "data-host=guided")
            return [nodes.raw(text=script, format="html"), *slot]  # the stages are in the state
        source = "data:image/svg+xml;base64," + base64.b64encode(figure.svg.encode()).decode()
        still = f'<img class="live-still" src="{source}" alt="{html.escape(words_of(figure.svg))}">'
        inside = [nodes.raw(text=script + still, format="html")]
        return in_slot(model, name, inside, figure.svg)

    def small(self) -> dict[str, list[str]]:
        """Return the part of the state that makes a small form."""
        return {"only": self.options["only"]} if "only" in self.options else {}


class ReviewDirective(SphinxDirective):
    """Show the questions of all chapters, mixed: ``{review}``."""

    def run(self) -> list[nodes.Node]:
        """Return a slot, and the state that the page loader needs to find it."""
        state = json.dumps({"state": {"review": {"state": {"_anywidget_id": "rope_book.Review"}}}})
        script = nodes.raw(text=f'<script type="{STATE}">{state}</script>', format="html")
        return [script, *in_slot("review", "Review", [nodes.paragraph(text=REVIEW, classes=["live-note"])])]


@dataclass(frozen=True)
class Shown:
    """A live figure that a notebook shows: class, stored model, still picture."""

    name: str
    model: dict
    svg: str


def figures_of(file: Path, small: bool = False) -> list[Shown]:
    """Return a notebook's live figures in order; include figures in a small form only with `small`."""
    notebook = json.loads(file.read_text(encoding="utf-8"))
    models = notebook["metadata"].get("widgets", {}).get(STATE, {"state": {}})["state"]
    figures = []
    for output in (output for cell in notebook["cells"] for output in cell.get("outputs", [])):
        data = output.get("data", {})
        if not (STILL in data and VIEW in data and data[VIEW]["model_id"] in models):
            continue
        model = models[data[VIEW]["model_id"]]
        if small or "only" not in model["state"]:
            name = "".join(data["text/plain"]).partition("(")[0]
            figures.append(Shown(name, model, "".join(data[STILL])))
    return figures


def in_slot(
    model: str, name: str, inside: list[nodes.Node], svg: str = "", attribute: str = ""
) -> list[nodes.Node]:
    """Return a slot for the widget ``model`` of the figure ``name``; ``inside`` is shown until the figure is live.

    The slot has the aspect ratio of its still, ``svg``, so that the text below does not move when it loads.
    """
    shape = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    style = f' style="--still: {shape[1]} / {shape[2]}"' if shape else ""
    opening = f'<div class="live-slot" data-model="{model}"{style} {attribute}>'
    closing = f"</div>\n<!-- scripts of {name} -->" if name in {*LiveFigure.figures, *SCRIPTED} else "</div>"
    return [nodes.raw(text=opening, format="html"), *inside, nodes.raw(text=closing, format="html")]


def words_of(svg: str) -> str:
    """Return the title and the description of a still."""
    title = re.search(r'aria-label="([^"]*)"', svg)[1]
    description = re.search(r"<desc>(.*?)</desc>", svg, flags=re.DOTALL)[1]
    return html.unescape(f"{title}. {description}")


def add_figure_scripts(
    app: Sphinx, page: str, template: str, context: dict, doctree: nodes.Node | None
) -> None:
    """Load a page's first figure right after its slot, before the text below, and before it the shared scripts.

    A script in the head would be deferred until the whole page, with all its formulas, is parsed. Any other figure
    leaves a mark after its slot: `live.js` loads it when the reader comes near.
    """
    loaded = set()

    def scripts(match: re.Match) -> str:
        if loaded & set(LiveFigure.figures):
            return f'<template data-near="{address(f"live/{match[1]}.js")}"></template>'
        loaded.add(match[1])
        new = [file for file in (*BEFORE, f"live/{match[1]}.js") if file not in loaded]
        loaded.update(new)
        return "\n".join(f'<script data-at-once src="{address(file)}"></script>' for file in new)

    def address(file: str) -> str:
        content = (Path(app.outdir) / "_static" / file).read_bytes()
        path = context["pathto"](f"_static/{file}", resource=True)
        return f"{path}?v={hashlib.sha256(content).hexdigest()[:8]}"

    if "body" in context:
        body = SCRIPTS.sub(scripts, context["body"])
        context["body"] = LATER.sub(lambda match: html.escape(address(match[0])), body)


def words(root: Path) -> dict[str, str]:
    """Return {English: Chinese} for the texts of figures and questions, or {} if nothing is translated."""
    folder = root / CHINESE
    table: dict[str, str] = {}
    for file in (folder / "words.json", *sorted((folder / "questions").glob("*.json"))):
        if file.is_file():
            table |= json.loads(file.read_text(encoding="utf-8"))
    return table


def write_scripts(app: Sphinx) -> None:
    """Write the figures' scripts and their style sheet into the site."""
    if app.builder.format != "html":
        return
    folder = Path(app.outdir) / "_static" / "live"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "figure.css").write_text(style(), encoding="utf-8")
    (folder / "shared.js").write_text(shared_script(), encoding="utf-8")
    if chinese := words(Path(app.srcdir)):
        table = json.dumps(chinese, ensure_ascii=False, separators=(",", ":"))
        (folder / WORDS).write_text(f"RopeWords = {table};\n", encoding="utf-8")
    modules = {name: figure.module_name() for name, figure in LiveFigure.figures.items()}
    for name, module in (modules | SCRIPTED).items():
        script = page_script(module, name, alone=False)
        (folder / f"{name}.js").write_text(script, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension."""
    app.add_transform(Chips)
    app.add_post_transform(LiveSlots)
    app.add_post_transform(Exercises)
    app.add_directive("live-figure", LiveFigureDirective)
    app.add_directive("review", ReviewDirective)
    app.connect("builder-inited", write_scripts)
    app.connect("html-page-context", add_figure_scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
