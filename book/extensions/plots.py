"""Sphinx extension: show plots as SVG panels in the page's colours, with the axes of the live figures.

``make notebooks`` stores a plot's panels beside its PNG (``book/tools/panels.py``). Notebook hosts show the PNG;
here the panels replace it before MyST-NB reads the notebook, with the cell's alt text and unique ids.
"""

import html
import json
import re
from collections.abc import Callable

from sphinx.application import Sphinx

PANELS = "application/vnd.rope-book.panels+json"
EDGE = r'stroke="var\(--rl-text\)" stroke-width="0.8"'
SPINE = re.compile(rf'<path d="M ([\d.]+) ([\d.]+) L ([\d.]+) ([\d.]+)" fill="none" {EDGE}[^>]*/>')
MARK = re.compile(rf'<use x="([\d.]+)" y="([\d.]+)" {EDGE} href="#id\d+" />(<text[^>]*>(.*?)</text>)?')
NUMBER = re.compile(r"[-−]?[\d.,]+([-−]?\d+)?")  # such as 0.5, 1,000, or a power of ten without markup
SPINES = 4  # left, right, bottom, top
ID = re.compile(r'(?<=id="id)\d+|(?<="#id)\d+|(?<=url\(#id)\d+')


def put_panels(app: Sphinx, page: str, source: list[str]) -> None:
    """Replace every plot's PNG with its panels as HTML."""
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
    """Return the panels as one picture with its alt text; `prefix` makes their ids unique on the page."""
    inside = "".join(ID.sub(f"{prefix}{n}-\\g<0>", airy(panel)) for n, panel in enumerate(panels))
    return f'<div class="rope-plot" role="img" aria-label="{html.escape(alt)}">{inside}</div>'


def airy(panel: str) -> str:
    """Return the panel without its box, with a line below and pale horizontal lines at the numbers on the left.

    A field of colours and a list of names need no horizontal lines. A panel without four spines is unchanged.
    """
    spines = SPINE.findall(panel)
    if len(spines) != SPINES:
        return panel
    left, right = (float(spines[n][0]) for n in (0, 1))
    low = float(spines[2][1])
    marks = [mark for mark in MARK.findall(panel) if float(mark[0]) == left and float(mark[1]) != low]
    names = [re.sub(r"<[^>]*>", "", words) for _, _, _, words in marks if words]
    numbers = all(map(NUMBER.fullmatch, names))
    heights = [] if "<image" in panel or not numbers else [y for _, y, text, _ in marks if text]
    across = "".join(f"M {left:g} {y} H {right:g}" for y in heights)
    lines = f'<path d="{across}" fill="none" stroke="var(--rl-grid)" stroke-width="0.8" />' if across else ""
    below = (
        f'<path d="M {left:g} {low:g} H {right:g}" fill="none" stroke="var(--rl-muted)" stroke-width="0.8" />'
    )
    opening, rest = re.match(r"(<svg[^>]*>)(.*)", SPINE.sub("", panel), flags=re.DOTALL).groups()
    return opening + lines + below + MARK.sub(quiet(left, low, bool(across)), rest)


def quiet(left: float, low: float, across: bool) -> Callable[[re.Match], str]:
    """Return a function that makes a tick mark grey, or removes it if a horizontal line replaces it."""

    def changed(mark: re.Match) -> str:
        if across and float(mark[1]) == left and float(mark[2]) != low:
            return mark[3] or ""
        return mark[0].replace("--rl-text", "--rl-muted", 1)

    return changed


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension."""
    app.connect("source-read", put_panels)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
