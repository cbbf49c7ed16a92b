"""Sphinx extension: describe pages for search engines and shared links.

The description is the beginning of *In short*, the chapter's first quotation, or else of the first paragraph:
whole sentences, with formulas in letters instead of TeX. The title is added and, if the site has an address,
those of the page and of a card (``og:title``, ``og:description``, ``og:url``, ``og:image``). The card is the
page's title above its first figure, drawn when the pages are written; a page without a figure has the first
page's card. A picture needs an absolute address: without one, or without a Chromium to draw it, there are no
cards. A page's footer has the day on which it was last changed, if git has a record.
"""

import html
import re
import sys
from functools import cache
from pathlib import Path

from docutils import nodes
from live_figures import figures_of
from sphinx.application import Sphinx
from twins import is_chinese, original

sys.path.append(str(Path(__file__).resolve().parents[1] / "tools"))
import dates
from cards import SIZE, Card, drawn

LONGEST = 300  # in characters; search engines show about half of them
IN_SHORT = re.compile(r"In short\.\s*|要点[：。]\s*")
LETTERS = dict(
    zip(
        ["alpha", "beta", "gamma", "theta", "lambda", "mu", "pi", "varphi", "phi", "Delta"],
        "αβγθλμπφφΔ",
        strict=True,
    )
)
SIGNS = {"cdot": " · ", "times": " × ", "odot": " ⊙ ", "approx": " ≈ ", "le": " ≤ ", "ge": " ≥ ", "to": " → "}
SIGNS |= {
    "sum": "Σ",
    "sqrt": "√",
    "dots": "…",
    "top": "ᵀ",
    "prime": "′",
    "circ": "°",
    "infty": "∞",
    "pm": "±",
}
CARDS = "_static/cards"
FIRST_PAGE = ("Your words are clocks.", "notebooks/12_count_positions.ipynb", "WordsOnARail")
COMMAND = re.compile(r"\\([A-Za-z]+)(?: (?=[A-Za-z]))?")


def letters(tex: str) -> str:
    r"""Return a short formula in plain characters instead of TeX.

    >>> letters(r"\theta_i = b^{-2i/d}"), letters(r"3 \cdot 2^{-p}\, m\theta"), letters(r"W_k^\top x_{ij}")
    ('θ_i = b^(−2i/d)', '3 · 2^(−p) mθ', 'W_kᵀ x_ij')
    """
    text = re.sub(r"\\(?:text|mathrm|operatorname|mathbf)\{([^{}]*)\}", r"\1", tex)
    text = re.sub(r"\\[,;:! ]", " ", text)
    text = COMMAND.sub(lambda match: LETTERS.get(match[1]) or SIGNS.get(match[1]) or f" {match[1]} ", text)
    text = re.sub(r"\^ ?([ᵀ′°])", r"\1 ", text)
    text = re.sub(r"_\{(\w+)\}", r"_\1", text)
    text = re.sub(r"([\^_])\{([^{}]+)\}", r"\1(\2)", text)
    text = re.sub(r"\s+", " ", re.sub(r"[{}\\]", "", text)).replace("-", "−")
    return re.sub(r"(?<=[(]) | (?=[),])", "", text).strip()


def plain(paragraph: nodes.Node) -> str:
    """Return the words of a paragraph, with formulas in letters."""
    parts = []
    for node in paragraph.findall(lambda node: isinstance(node, nodes.Text | nodes.math)):
        if isinstance(node, nodes.math):
            parts.append(letters(node.astext()))
        elif not isinstance(node.parent, nodes.math):
            parts.append(node.astext())
    return re.sub(r"\s+", " ", "".join(parts)).strip()


def shortened(text: str, longest: int = LONGEST) -> str:
    """Return as many whole sentences as fit, at least one; cut a first sentence that is too long between words.

    >>> shortened("One. Two is longer. Three.", 20), shortened("One sentence that is too long.", 16)
    ('One. Two is longer.', 'One sentence…')
    """
    sentences = re.split(r"(?<=[.?!])(?= [A-Z0-9])|(?<=[。？！])", text)
    short = sentences[0]
    for sentence in sentences[1:]:
        if len(short) + len(sentence) > longest:
            break
        short += sentence
    if len(short) <= longest:
        return short
    cut = short[: longest - 1]
    return (cut.rpartition(" ")[0] or cut).rstrip(",;:，；：、") + "…"


def description(doctree: nodes.document) -> str:
    """Return a page's *In short*, or else the start of the first paragraph that is a sentence."""
    for quotation in doctree.findall(nodes.block_quote):
        text = plain(quotation)
        if match := IN_SHORT.match(text):
            return shortened(text[match.end() :])
    for paragraph in doctree.findall(nodes.paragraph):
        text = plain(paragraph)
        if (text.endswith((".", "?", "!")) and len(text) > 40) or (
            text.endswith(("。", "？", "！")) and len(text) > 20
        ):
            return shortened(text)
    return ""


@cache
def can_draw() -> bool:
    """Return whether a browser is available to draw cards."""
    try:
        from browser import find_chromium
    except ModuleNotFoundError:  # playwright comes with the tests
        return False
    return find_chromium() is not None


def card_of(root: Path, page: str, title: str, book: str) -> Card:
    """Return a page's card, or the first page's if it has no figure."""
    file = root / f"{page}.ipynb"
    if file.is_file() and (shown := figures_of(file, small=True)):
        return Card(Path(page).name, book, title, shown[0].svg)
    line, notebook, name = FIRST_PAGE
    figure = next(shown for shown in figures_of(root / notebook) if shown.name == name)
    return Card("first", book, line, figure.svg)


def tags(title: str, book: str, about: str, url: str, image: str = "") -> str:
    """Return the HTML elements for a page's head."""
    named = {
        "og:type": "article",
        "og:site_name": book,
        "og:title": title,
        "og:description": about,
        "og:url": url,
        "og:image": image,
    }
    if image:
        named |= {"og:image:width": str(SIZE["width"]), "og:image:height": str(SIZE["height"])}
    lines = [f'<meta name="description" content="{html.escape(about)}" />'] if about else []
    lines += [
        f'<meta property="{name}" content="{html.escape(text)}" />' for name, text in named.items() if text
    ]
    if image:
        lines.append('<meta name="twitter:card" content="summary_large_image" />')
    return "\n".join(lines) + "\n"


def add_tags(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None) -> None:
    """Put title, description and address into a page's head."""
    if doctree is None:
        return
    context["last_updated"] = dates.of_page(Path(app.srcdir), page) or None  # shown by the theme's footer
    title = html.unescape(re.sub(r"<[^>]*>", "", context.get("title", "")))
    if title == context.get("docstitle"):
        context["docstitle"] = ""  # the first page's title is the book's, and once is enough
    base = app.config.html_baseurl
    url = f"{base}{page}.html" if base else ""
    book = app.config.html_title or app.config.project
    image = ""
    if base and can_draw():
        english = html.unescape(app.env.titles[original(page)].astext()) if is_chinese(page) else title
        card = card_of(Path(app.srcdir), original(page), english, book)
        wanted.setdefault(card.name, card)
        image = f"{base}{CARDS}/{card.name}.png"
    context["metatags"] = context.get("metatags", "") + tags(title, book, description(doctree), url, image)


wanted: dict[str, Card] = {}  # cards of the pages that this build writes


def draw_cards(app: Sphinx, error: Exception | None) -> None:
    """Draw the cards of the pages that were written."""
    if error or app.builder.format != "html" or not wanted:
        return
    folder = Path(app.outdir) / CARDS
    folder.mkdir(parents=True, exist_ok=True)
    for card, png in drawn(wanted.values()):
        (folder / f"{card.name}.png").write_bytes(png)


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension."""
    app.connect("html-page-context", add_tags)
    app.connect("build-finished", draw_cards)
    return {"parallel_read_safe": True, "parallel_write_safe": False}  # one process collects the cards
