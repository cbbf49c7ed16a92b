"""Sphinx extension: typeset formulas while the book is built, so that pages do not need a script for them.

MathJax, from the package ``sphinx-mathjax-offline``, runs in an embedded V8 (``mini-racer``). A page receives
finished HTML: glyphs to see, MathML for screen readers. Nothing shifts after a page has loaded, and formulas
work on paper and without JavaScript. The style sheet and the fonts keep only the glyphs that the book uses.
"""

import atexit
import importlib.util
import json
import re
from functools import cache
from pathlib import Path

from docutils import nodes
from pages import subset
from py_mini_racer import JSEvalException, MiniRacer
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator

PACKAGE = importlib.util.find_spec("sphinx-mathjax-offline")
MATHJAX = Path(PACKAGE.origin).parent / "static" / "mathjax"
FONTS = Path("output/chtml/fonts/woff-v2")
SHEET = "formulas/formulas.css"
PARTS = (  # in dependency order; run as one script, they start once all are loaded
    "startup",
    "core",
    "adaptors/liteDOM",
    "input/tex",
    "output/chtml",
    "output/chtml/fonts/tex",
    "a11y/assistive-mml",
)
SET = """function set(tex, display) {
    const jax = MathJax.startup;
    const set = jax.adaptor.outerHTML(MathJax.tex2chtml(tex, { display }));
    const error = /data-mjx-error="([^"]*)"/.exec(set);
    if (error) throw new Error(error[1]);
    return set;
}"""
GLYPH = re.compile(
    r"\b(mjx-c[0-9A-F]+)(?:[ .](TEX-\w+))?"
)  # the classes of a glyph: its code point and its font
RULE = re.compile(r'[^{}"]+\{(?:[^{}"]|"[^"]*")*\}')  # one glyph's content is a brace
CONTENT = re.compile(r'content: "(\\[0-9A-F]+|.)')
STYLE = "MathJax.startup.adaptor.textContent(MathJax.chtmlStylesheet())"
logger = logging.getLogger(__name__)


class Typesetter:
    """MathJax in a separate engine, which turns TeX into HTML and makes the style sheet for all formulas."""

    def __init__(self, macros: dict[str, str]) -> None:
        """Start the engine; `macros` are TeX macros by name."""
        settings = {
            "loader": {"load": []},
            "startup": {"typeset": False},
            "chtml": {"fontURL": FONTS.name, "adaptiveCSS": False},
            "tex": {"macros": macros},
        }
        parts = [(MATHJAX / f"{part}.js").read_text(encoding="utf-8") for part in PARTS]
        self.engine = MiniRacer()
        # later the engine's thread is gone, and Python 3.13 would wait for it forever
        atexit.register(self.engine.close)
        start = f"globalThis.global = globalThis; globalThis.MathJax = {json.dumps(settings)}"
        self.engine.eval(";\n".join([start, *parts, SET, "0"]))

    def html(self, tex: str, *, display: bool) -> str:
        """Return the formula as HTML, or raise ValueError with TeX's error message."""
        try:
            return self.engine.call("set", tex, display)
        except JSEvalException as error:
            raise ValueError(f"TeX does not understand {tex!r}: {error}") from error

    def style(self) -> str:
        """Return the style sheet of all formulas."""
        return self.engine.eval(STYLE)


@cache
def typesetter(macros: tuple[tuple[str, str], ...]) -> Typesetter:
    """Return the typesetter for these macros, created once."""
    return Typesetter(dict(macros))


def formula(translator: HTML5Translator, node: nodes.Node, *, display: bool) -> str:
    """Return a node's formula as HTML; warn about an invalid one and leave it as TeX."""
    tex = node.astext()
    if r"\\" in tex and "amsmath" not in node.get("classes", []):
        tex = rf"\begin{{split}}{tex}\end{{split}}"
    try:
        return typesetter(tuple(sorted(translator.config.formula_macros.items()))).html(tex, display=display)
    except ValueError as error:
        logger.warning(str(error), location=node)
        return translator.encode(tex)


def visit_inline(translator: HTML5Translator, node: nodes.math) -> None:
    """Write a formula inside a sentence."""
    translator.body.append(f'<span class="math">{formula(translator, node, display=False)}</span>')
    raise nodes.SkipNode


def visit_display(translator: HTML5Translator, node: nodes.math_block) -> None:
    """Write a displayed formula, with its number if it has one."""
    translator.body.append(translator.starttag(node, "div", CLASS="math"))
    if node["number"]:
        number = get_node_equation_number(translator, node)
        translator.body.append(f'<span class="eqno">({number})</span>')
    translator.body.append(f"{formula(translator, node, display=True)}</div>\n")
    raise nodes.SkipNode


def write_style(app: Sphinx) -> None:
    """Write the style sheet of all formulas, from which `keep_glyphs` takes those that no page uses."""
    if app.builder.format == "html":
        sheet = Path(app.outdir) / "_static" / SHEET
        sheet.parent.mkdir(parents=True, exist_ok=True)
        style = typesetter(tuple(sorted(app.config.formula_macros.items()))).style()
        sheet.write_text(style, encoding="utf-8")


def link_style(app: Sphinx, name: str, template: str, context: dict, doctree: nodes.Node | None) -> None:
    """Link the style sheet from a page that has formulas."""
    if 'class="math' in context.get("body", ""):
        app.add_css_file(SHEET, priority=400)


def keep_glyphs(app: Sphinx, error: Exception | None) -> None:
    """Keep only the rules and the glyphs that some page uses: 40 of 240 kB."""
    if error or app.builder.format != "html":
        return
    pages = (page.read_text(encoding="utf-8") for page in Path(app.outdir).rglob("*.html"))
    used = {glyph for page in pages for glyph in GLYPH.findall(page)}
    sheet = Path(app.outdir) / "_static" / SHEET

    def kept(rule: re.Match) -> str:
        glyphs = set(GLYPH.findall(rule[0].partition("{")[0]))
        return "" if glyphs and used.isdisjoint(glyphs) else rule[0]

    style = RULE.sub(kept, sheet.read_text(encoding="utf-8"))
    style = style.replace(f"{FONTS.name}/", "").replace('.woff") format("woff")', '.woff2") format("woff2")')
    sheet.write_text(style, encoding="utf-8")
    text = {chr(int(code[1:], 16)) if len(code) > 1 else code for code in CONTENT.findall(style)}
    text.add("\ueffc")  # the only glyph of MathJax_Zero, the first font of every formula
    for font in (MATHJAX / FONTS).glob("*.woff"):
        subset(font, "".join(sorted(text)), sheet.with_name(f"{font.stem}.woff2"))


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension."""
    app.add_config_value("formula_macros", {}, "env")
    app.add_html_math_renderer("built", (visit_inline, None), (visit_display, None))
    app.connect("builder-inited", write_style)
    app.connect("html-page-context", link_style)
    app.connect("build-finished", keep_glyphs)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
