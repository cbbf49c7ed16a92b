"""Sphinx extension: put live figures and their stills into the site.

A notebook's output that holds a live figure becomes a slot: a still picture with its words as alt text, which the
page loader (``book/assets/live.js``) replaces by the figure. A link in the text to a state of it, ``#live=…``,
finds the slot also where no script runs. Any other widget keeps its picture and says where to run it. Scripts and
style come from ``rope_edu.widgets``, one cached file a figure for all pages.
"""

import base64
import hashlib
import html
import json
import re
from pathlib import Path
from urllib.parse import parse_qsl

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective

from rope_edu.widgets import LiveFigure
from rope_edu.widgets._bundle import page_script, style

STATE = "application/vnd.jupyter.widget-state+json"
VIEW = "application/vnd.jupyter.widget-view+json"
STILL = "image/svg+xml"
PICTURES = ("image/png", "text/html")  # of a plot: as stored, or as panels of the page
SCRIPTS = re.compile(r"<!-- scripts of (\w+) -->")
CHIP = "#live="  # how a link to a state begins
NOTE = "This control needs Python: open the notebook in Colab or Jupyter to move it."


class Chips(SphinxTransform):
    """Leave links to a state of a figure as they are, before MyST looks for headings of their names."""

    default_priority = 870

    def apply(self, **kwargs: object) -> None:
        """Mark each link."""
        for link in self.document.findall(nodes.reference):
            if link.get("id_link") and link["refuri"].startswith(CHIP):
                del link["id_link"]
                link["internal"] = True
                link["classes"].append("rl-chip")


class LiveSlots(SphinxPostTransform):
    """Replace each output that shows a widget by its slot, before MyST-NB selects one mime type."""

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
        """Return the slot's nodes: the still picture inside a div that names the widget's model."""
        view = shown[VIEW].children[0].astext()
        model = json.loads(re.search(r"\{.*\}", view).group())["model_id"]
        name = shown["text/plain"].astext().partition("(")[0]
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
        """Return a place of the page for each of the figure's states that links name; a second figure has none."""
        own = [state for state in self.states if figure_of(state) == name]
        self.states = [state for state in self.states if state not in own]
        spans = "".join(f'<span id="{html.escape(state)}"></span>' for state in own)
        return [nodes.raw(text=spans, format="html")] if own else []


def is_chip(link: nodes.reference) -> bool:
    """Return whether the link leads to a state of a figure of its page."""
    return link.get("refuri", "").startswith(CHIP)


def figure_of(state: str) -> str:
    """Return the figure that a state's address names first."""
    return dict(parse_qsl(state))["live"]


class LiveFigureDirective(SphinxDirective):
    """Show, on a page that is no notebook, the first live figure of a notebook: ``{live-figure} path``."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the slot with the state and the still that the notebook stores."""
        path, file = self.env.relfn2path(self.arguments[0])
        self.env.note_dependency(path)
        notebook = json.loads(Path(file).read_text(encoding="utf-8"))
        outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", [])]
        data = next(output["data"] for output in outputs if STILL in output.get("data", {}))
        svg = "".join(data[STILL])
        source = "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()
        still = f'<img class="live-still" src="{source}" alt="{html.escape(words_of(svg))}">'
        state = json.dumps(notebook["metadata"]["widgets"][STATE]).replace("</", "<\\/")
        script = f'<script type="{STATE}">{state}</script>'
        name = "".join(data["text/plain"]).partition("(")[0]
        inside = [nodes.raw(text=script + still, format="html")]
        return in_slot(data[VIEW]["model_id"], name, inside, svg)


def in_slot(model: str, name: str, inside: list[nodes.Node], svg: str = "") -> list[nodes.Node]:
    """Return a slot for the widget ``model`` of the figure ``name``; ``inside`` stands there until it lives.

    The slot knows the shape of its still, ``svg``, so that the text below need not move when that arrives.
    """
    shape = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    style = f' style="--still: {shape[1]} / {shape[2]}"' if shape else ""
    opening = f'<div class="live-slot" data-model="{model}"{style}>'
    closing = f"</div>\n<!-- scripts of {name} -->" if name in LiveFigure.figures else "</div>"
    return [nodes.raw(text=opening, format="html"), *inside, nodes.raw(text=closing, format="html")]


def words_of(svg: str) -> str:
    """Return what a still says of itself: its title and its description."""
    title = re.search(r'aria-label="([^"]*)"', svg)[1]
    description = re.search(r"<desc>(.*?)</desc>", svg, flags=re.DOTALL)[1]
    return html.unescape(f"{title}. {description}")


def add_figure_scripts(
    app: Sphinx, page: str, template: str, context: dict, doctree: nodes.Node | None
) -> None:
    """Load the loader and a figure right behind its first slot: it is drawn before the text below is read.

    A script in the head would be deferred until the whole page, with all its formulas, stands.
    """
    loaded = set()

    def scripts(found: re.Match) -> str:
        new = [file for file in ("live.js", f"live/{found[1]}.js") if file not in loaded]
        loaded.update(new)
        return "\n".join(f'<script data-at-once src="{address(file)}"></script>' for file in new)

    def address(file: str) -> str:
        content = (Path(app.outdir) / "_static" / file).read_bytes()
        path = context["pathto"](f"_static/{file}", resource=True)
        return f"{path}?v={hashlib.sha256(content).hexdigest()[:8]}"

    if "body" in context:
        context["body"] = SCRIPTS.sub(scripts, context["body"])


def write_scripts(app: Sphinx) -> None:
    """Write each figure's script and the shared style sheet into the site."""
    if app.builder.format != "html":
        return
    folder = Path(app.outdir) / "_static" / "live"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "figure.css").write_text(style(), encoding="utf-8")
    for name, figure in LiveFigure.figures.items():
        script = page_script(figure.module_name(), name)
        (folder / f"{name}.js").write_text(script, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension."""
    app.add_transform(Chips)
    app.add_post_transform(LiveSlots)
    app.add_directive("live-figure", LiveFigureDirective)
    app.connect("builder-inited", write_scripts)
    app.connect("html-page-context", add_figure_scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
