"""Sphinx extension: describe pages for search engines and for the cards beside links.

The description is the beginning of *In short*, the chapter's first quotation, or else of the first paragraph:
whole sentences, with formulas in letters instead of TeX.
"""

import html
import re

from docutils import nodes
from sphinx.application import Sphinx

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


def add_description(
    app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None
) -> None:
    """Put the description into a page's head, and among the tags for networks where there are any.

    The first page's title is the book's, and once is enough.
    """
    if doctree is None:
        return
    if html.unescape(re.sub(r"<[^>]*>", "", context.get("title", ""))) == context.get("docstitle"):
        context["docstitle"] = ""
    about = description(doctree)
    context["metatags"] = context.get("metatags", "") + meta(about)
    context["meta"] = (context.get("meta") or {}) | ({"og:description": html.escape(about)} if about else {})


def meta(about: str) -> str:
    """Return the element for a page's head, or "" for a page without a sentence.

    >>> meta('Say "turn".')
    '<meta name="description" content="Say &quot;turn&quot;." />\\n'
    """
    return f'<meta name="description" content="{html.escape(about)}" />\n' if about else ""


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension."""
    app.connect("html-page-context", add_description)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
