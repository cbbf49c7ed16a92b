"""Sphinx extension: plots are SVG in the page's own colours, with the axes of the live figures, panel by panel.

``make notebooks`` stores a plot's panels beside its PNG (``book/tools/panels.py``). Notebook hosts show the PNG;
here the panels take its place before MyST-NB reads the notebook, with the cell's alt text and with ids that are
unique in the page.
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
NUMBER = re.compile(r"[-−]?[\d.,]+([-−]?\d+)?")  # 0.5, 1,000, and a power of ten without its marks
SPINES = 4  # left, right, bottom, top
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
    inside = "".join(ID.sub(f"{prefix}{n}-\\g<0>", airy(panel)) for n, panel in enumerate(panels))
    return f'<div class="rope-plot" role="img" aria-label="{html.escape(alt)}">{inside}</div>'


def airy(panel: str) -> str:
    """Return the panel without its box: a line below, and pale lines across at the numbers on the left.

    A field of colours and a list of names need no lines across. What has other than four spines stays as it is.
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
    """Return what becomes of a tick mark: grey, and left out where a line across says it."""

    def changed(mark: re.Match) -> str:
        if across and float(mark[1]) == left and float(mark[2]) != low:
            return mark[3] or ""
        return mark[0].replace("--rl-text", "--rl-muted", 1)

    return changed


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension."""
    app.connect("source-read", put_panels)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
