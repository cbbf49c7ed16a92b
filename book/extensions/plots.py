"""Sphinx extension: plots stand in the page as SVG in the page's own colours, one panel beside or under another.

``make notebooks`` stores a plot's panels beside its PNG (``book/tools/panels.py``). Notebook hosts show the PNG;
here the panels take its place before MyST-NB reads the notebook, with the cell's alt text and with ids that are
unique in the page.
"""

import html
import json
import re

from sphinx.application import Sphinx

PANELS = "application/vnd.rope-edu.panels+json"
ID = re.compile(r'(?<=id="id)\d+|(?<="#id)\d+|(?<=url\(#id)\d+')


def put_panels(app: Sphinx, page: str, source: list[str]) -> None:
    """Put every plot's panels, as HTML, in the place of its PNG."""
    if PANELS not in source[0]:
        return
    notebook = json.loads(source[0])
    shown = [(cell, output) for cell in notebook["cells"] for output in cell.get("outputs", [])]
    for number, (cell, output) in enumerate(shown):
        panels = output.get("data", {}).pop(PANELS, None)
        if panels:
            alt = cell["metadata"]["mystnb"]["image"]["alt"]
            del output["data"]["image/png"]
            output["data"]["text/html"] = as_html(panels, alt, f"{number}-")
    source[0] = json.dumps(notebook)


def as_html(panels: list[str], alt: str, prefix: str) -> str:
    """Return the panels as one picture with its words; `prefix` makes their ids unique in the page."""
    inside = "".join(ID.sub(f"{prefix}{n}-\\g<0>", panel) for n, panel in enumerate(panels))
    return f'<div class="rope-plot" role="img" aria-label="{html.escape(alt)}">{inside}</div>'


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension."""
    app.connect("source-read", put_panels)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
