"""Matplotlib figures for the page: one SVG per panel, in the colours and the font of the page.

``watch()``, called in a kernel before a notebook runs, gives every figure that a cell shows a second form beside
the PNG: the mime type ``PANELS``, a list of SVGs. Every panel gets a new layout at ``WIDTH``, the width of a phone,
so that panels wrap and no text is smaller than 11 px; it may grow from there. Colours of ``rope_book.plots.style``
become the CSS variables of the live figures, so that dark, print and forced colours work. Fields stay pixels.
"""

import base64
import io
import re
from itertools import pairwise
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
from IPython import get_ipython
from IPython.core.formatters import BaseFormatter
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from PIL import Image
from traitlets import ObjectName, Unicode

from rope_book.plots import style

PANELS = "application/vnd.rope-book.panels+json"
WIDTH = 3.2  # in inches: 320 px at 100 px per inch
FLAT, TALL = 0.72, 1.6  # limits of a panel's height, as multiples of its width
ROOM = 1.3  # in inches: the smallest height inside the axes
LINE = 0.165  # in inches: the height of a line of names next to the axes
TITLE = 9  # points
SMALLEST = 8.0  # points: 11 px where the panel is 320 px wide
ElementTree.register_namespace("", "http://www.w3.org/2000/svg")
SVG = "{http://www.w3.org/2000/svg}"
REFERENCE = re.compile(r"(href=\"#|url\(#)([\w-]+)")
NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
LINK = "{http://www.w3.org/1999/xlink}href"
SETTINGS = {
    "svg.fonttype": "none",  # keeps text as text
    "svg.hashsalt": "rope",  # makes names reproducible
    "image.composite_image": False,
    "path.simplify_threshold": 0.3,
}
RULES = {
    "pi": "pi",
    "ntk-aware": "ntk",
    "abf": "abf",
    "ntk-by-parts": "parts",
    "yarn": "yarn",
    "llama3": "llama",
}
VARIABLES = {
    style.QUERY: "q",
    style.KEY: "k",
    style.POSITION: "position",
    style.SCORE: "score",
    style.VALUE: "value",
    style.NEUTRAL: "muted",
    "#e69f00": "other",
    **{style.RULES[rule]: name for rule, name in RULES.items()},
    "#000000": "text",
    "#ffffff": "paper",
    "#b0b0b0": "grid",
}
VARIABLES = {colour.lower(): f"var(--rl-{name})" for colour, name in VARIABLES.items()}


class PanelFormatter(BaseFormatter):
    """A formatter that shows a figure as panels, run after the PNG formatter since it takes the figure apart."""

    format_type = Unicode(PANELS)
    print_method = ObjectName("_repr_panels_")
    _return_type = list

    def __call__(self, shown: object) -> list[str] | None:
        """Return a figure's panels, or None for anything else."""
        return panels(shown) if isinstance(shown, Figure) else None


def watch() -> None:
    """Give panels to every figure that this kernel shows."""
    shell = get_ipython()
    shell.display_formatter.formatters[PANELS] = PanelFormatter(parent=shell.display_formatter)


def panels(figure: Figure) -> list[str]:
    """Return one SVG per panel (axes with their colour bars), in reading order."""
    whole = figure.get_axes()
    bars = {ax: ax._colorbar.mappable.axes for ax in whole if hasattr(ax, "_colorbar")}
    main = [ax for ax in whole if ax not in bars]
    width, height = figure.get_size_inches()
    rows, columns = main[0].get_subplotspec().get_gridspec().get_geometry()
    ratio = np.clip((height / rows) / (width / columns), FLAT, TALL)
    return [drawn_alone(figure, ax, [bar for bar, of in bars.items() if of is ax], ratio) for ax in main]


def drawn_alone(figure: Figure, ax: object, bars: list, ratio: float) -> str:
    """Return the SVG of one panel, `ratio` times as high as wide, drawn as the figure's only panel."""
    figure.set_size_inches(WIDTH, WIDTH * ratio)
    for other in figure.get_axes():
        figure.delaxes(other)
    for part in [ax, *bars]:
        figure.add_axes(part)
    ax.set_subplotspec(figure.add_gridspec(1, 1)[0])
    for title in [ax.title, ax._left_title, ax._right_title]:
        title.set(fontsize=TITLE, wrap=True)
    for label in [ax.xaxis.label, ax.yaxis.label]:
        label.set_wrap(True)
    for image in ax.get_images():
        image.set_interpolation("none")  # one pixel per cell, sharp at any size
    figure.draw_without_rendering()
    missing = max(ROOM, LINE * lines_beside(ax)) - ax.get_position().height * figure.get_figheight()
    figure.set_figheight(figure.get_figheight() + max(missing, 0))
    figure.patch.set_visible(False)
    for part in [ax, *bars]:
        part.patch.set_visible(False)
    stream = io.StringIO()
    with mpl.rc_context(SETTINGS):
        FigureCanvasSVG(figure).print_svg(stream, metadata={"Date": None, "Creator": None})
    return of_the_page(stream.getvalue())


def lines_beside(ax: object) -> float:
    """Return the number of lines that the axes need so that names beside them do not overlap."""
    names = [label.get_text() for label in ax.get_yticklabels()]
    lines = [1 + name.count("\n") for name in names]
    closest = [(above + below) / 2 for above, below in pairwise(lines)]
    return len(lines) * max(closest, default=1)


def of_the_page(text: str) -> str:
    """Return matplotlib's SVG in the page's colours and font, without its overhead."""
    root = ElementTree.fromstring(text)
    box, ids = root.get("viewBox"), used_ids(text)
    root.attrib.clear()
    root.attrib.update({"viewBox": box, "fill": VARIABLES["#000000"]})
    for element in root.iter():
        translate(element, ids)
    for words in root.iter(SVG + "text"):
        enlarge(words)
    flatten(root)
    return ElementTree.tostring(root, encoding="unicode").replace("\n", "")


def used_ids(text: str) -> dict[str, str]:
    """Return a short new id for every id that the SVG references."""
    names = dict.fromkeys(REFERENCE.findall(text))
    return {name: f"id{n}" for n, (_, name) in enumerate(names)}


def translate(element: ElementTree.Element, ids: dict[str, str]) -> None:
    """Give an element attributes instead of a style, the page's colours, short ids and short numbers."""
    old = element.attrib.pop("id", None)
    if old in ids:
        element.set("id", ids[old])
    for declaration in filter(None, element.attrib.pop("style", "").split(";")):
        key, _, value = declaration.partition(":")
        if key.strip() != "font-family":
            element.set(key.strip(), of_the_theme(value.strip()))
    if element.get(LINK, "").startswith("#"):
        element.set("href", "#" + ids[element.attrib.pop(LINK)[1:]])
    for key, value in element.attrib.items():
        if key == LINK:
            continue
        value = REFERENCE.sub(lambda match: match[1] + ids[match[2]], value)
        element.set(key, " ".join(NUMBER.sub(shortened, value).split()))
    if element.get("transform", "").startswith("rotate(-0 "):
        del element.attrib["transform"]
    if element.tag == SVG + "image":
        element.set("href", in_palette(element.attrib.pop(LINK)))
        element.set("image-rendering", "pixelated")
    element.text = (element.text or "").strip() or None
    element.tail = None


def enlarge(words: ElementTree.Element) -> None:
    """Enlarge exponents and indices, which matplotlib shrinks, to the least size, and shift what follows them."""
    glyphs = sorted(words.iter(SVG + "tspan"), key=lambda glyph: float(glyph.get("x")))
    places = [float(glyph.get("x")) for glyph in glyphs]
    moved = 0.0
    for glyph, x, after in zip(glyphs, places, [*places[1:], *places[-1:]], strict=True):
        glyph.set("x", f"{x + moved:.2f}".rstrip("0").rstrip("."))
        size = float(glyph.get("font-size").removesuffix("px"))
        if size < SMALLEST:
            glyph.set("font-size", f"{SMALLEST:g}px")
            moved += (after - x) * (SMALLEST / size - 1)


def shortened(number: re.Match) -> str:
    """Return a number with at most two decimals."""
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")


def of_the_theme(value: str) -> str:
    """Return a colour as a CSS variable of the page; a grey without a role as a mix of ink and paper."""
    if value in VARIABLES:
        return VARIABLES[value]
    grey = re.fullmatch(r"#(..)\1\1", value)
    if grey and value not in (style.DARK_INK, style.LIGHT_INK):
        share = round(100 - int(grey[1], 16) / 2.55)
        return f"color-mix(in srgb, {VARIABLES['#000000']} {share}%, {VARIABLES['#ffffff']})"
    return value


def in_palette(link: str) -> str:
    """Return a picture as a data URL with at most 256 colours, as many as a colour map has."""
    return (
        "data:image/png;base64,"
        + base64.b64encode(with_palette(base64.b64decode(link.partition(",")[2]))).decode()
    )


def with_palette(png: bytes) -> bytes:
    """Return a PNG with at most 256 colours and no metadata."""
    picture = Image.open(io.BytesIO(png)).convert("RGBA")
    if picture.getextrema()[3] == (255, 255):
        picture = picture.convert("RGB")
    small = io.BytesIO()
    picture.quantize(256, dither=Image.Dither.NONE).save(small, "PNG", optimize=True)
    return small.getvalue()


def flatten(parent: ElementTree.Element) -> None:
    """Remove invisible parts: metadata, the rule shared by all lines, groups without attributes."""
    for child in [*parent]:
        flatten(child)
        place = [*parent].index(child)
        if child.tag == SVG + "metadata" or (
            child.tag == SVG + "defs" and child.find(SVG + "style") is not None
        ):
            parent.remove(child)
        elif child.tag == SVG + "g" and not child.attrib:
            parent[place : place + 1] = [*child]
