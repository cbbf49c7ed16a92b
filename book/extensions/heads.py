"""Sphinx extension: what a page says of itself to search engines and to whoever shares its link.

The description is the beginning of *In short*, the chapter's first quotation, else of the first paragraph: whole
sentences, with formulas in letters rather than TeX. With it go the title and, where the site has an address, the
page's own (``og:title``, ``og:description``, ``og:url``).
"""

import html
import re

from docutils import nodes
from sphinx.application import Sphinx

LONGEST = 300  # characters; search engines show about half of them
IN_SHORT = "In short."
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
COMMAND = re.compile(r"\\([A-Za-z]+)(?: (?=[A-Za-z]))?")


def letters(tex: str) -> str:
    r"""Return a short formula without TeX.

    >>> letters(r"\theta_i = b^{-2i/d}"), letters(r"3 \cdot 2^{-p}\, m\theta"), letters(r"W_k^\top x_{ij}")
    ('θ_i = b^(−2i/d)', '3 · 2^(−p) mθ', 'W_kᵀ x_ij')
    """
    text = re.sub(r"\\(?:text|mathrm|operatorname|mathbf)\{([^{}]*)\}", r"\1", tex)
    text = re.sub(r"\\[,;:! ]", " ", text)
    text = COMMAND.sub(lambda found: LETTERS.get(found[1]) or SIGNS.get(found[1]) or f" {found[1]} ", text)
    text = re.sub(r"\^ ?([ᵀ′°])", r"\1 ", text)
    text = re.sub(r"_\{(\w+)\}", r"_\1", text)
    text = re.sub(r"([\^_])\{([^{}]+)\}", r"\1(\2)", text)
    text = re.sub(r"\s+", " ", re.sub(r"[{}\\]", "", text)).replace("-", "−")
    return re.sub(r"(?<=[(]) | (?=[),])", "", text).strip()


def plain(paragraph: nodes.Node) -> str:
    """Return the words of a paragraph, formulas in letters."""
    parts = []
    for node in paragraph.findall(lambda node: isinstance(node, nodes.Text | nodes.math)):
        if isinstance(node, nodes.math):
            parts.append(letters(node.astext()))
        elif not isinstance(node.parent, nodes.math):
            parts.append(node.astext())
    return re.sub(r"\s+", " ", "".join(parts)).strip()


def shortened(text: str, longest: int = LONGEST) -> str:
    """Return as many whole sentences as fit, at least one; a longer one is cut between words.

    >>> shortened("One. Two is longer. Three.", 20), shortened("One sentence that is too long.", 16)
    ('One. Two is longer.', 'One sentence…')
    """
    sentences = re.split(r"(?<=[.?!]) (?=[A-Z0-9])", text)
    kept = sentences[0]
    for sentence in sentences[1:]:
        if len(kept) + 1 + len(sentence) > longest:
            break
        kept += f" {sentence}"
    return kept if len(kept) <= longest else kept[: longest - 1].rpartition(" ")[0].rstrip(",;:") + "…"


def description(doctree: nodes.document) -> str:
    """Return what a page says in short, else the beginning of its first paragraph that is a sentence."""
    for quotation in doctree.findall(nodes.block_quote):
        text = plain(quotation)
        if text.startswith(IN_SHORT):
            return shortened(text.removeprefix(IN_SHORT).strip())
    for paragraph in doctree.findall(nodes.paragraph):
        text = plain(paragraph)
        if text.endswith((".", "?", "!")) and len(text) > 40:
            return shortened(text)
    return ""


def tags(title: str, book: str, about: str, url: str) -> str:
    """Return the elements for a page's head."""
    named = {
        "og:type": "article",
        "og:site_name": book,
        "og:title": title,
        "og:description": about,
        "og:url": url,
    }
    lines = [f'<meta name="description" content="{html.escape(about)}" />'] if about else []
    lines += [
        f'<meta property="{name}" content="{html.escape(text)}" />' for name, text in named.items() if text
    ]
    return "\n".join(lines) + "\n"


def add_tags(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None) -> None:
    """Put title, description and address into a page's head."""
    if doctree is None:
        return
    title = html.unescape(re.sub(r"<[^>]*>", "", context.get("title", "")))
    if title == context.get("docstitle"):
        context["docstitle"] = ""  # the first page's title is the book's: once is enough
    base = app.config.html_baseurl
    url = f"{base}{page}.html" if base else ""
    context["metatags"] = context.get("metatags", "") + tags(
        title, app.config.html_title or app.config.project, description(doctree), url
    )


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension."""
    app.connect("html-page-context", add_tags)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
