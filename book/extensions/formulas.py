"""Sphinx extension: typeset formulas while the book is built, so that pages do not need a script for them.

MathJax, from the package ``sphinx-mathjax-offline``, runs in an embedded V8 (``mini-racer``). A page receives
finished HTML: glyphs to see, MathML for screen readers. Nothing shifts after a page has loaded, and formulas
work on paper and without JavaScript.
"""

import atexit
import importlib.util
import json
import shutil
from functools import cache
from pathlib import Path

from docutils import nodes
from py_mini_racer import JSEvalException, MiniRacer
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator

PACKAGE = importlib.util.find_spec("sphinx-mathjax-offline")
MATHJAX = Path(PACKAGE.origin).parent / "static" / "mathjax"
FONTS = "output/chtml/fonts/woff-v2"
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
STYLE = "MathJax.startup.adaptor.textContent(MathJax.chtmlStylesheet())"
logger = logging.getLogger(__name__)


class Typesetter:
    """MathJax in a separate engine, which turns TeX into HTML and makes the style sheet for all formulas."""

    def __init__(self, macros: dict[str, str]) -> None:
        """Start the engine; `macros` are TeX macros by name."""
        settings = {
            "loader": {"load": []},
            "startup": {"typeset": False},
            "chtml": {"fontURL": FONTS.rpartition("/")[2], "adaptiveCSS": False},
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
    """Write the style sheet of the formulas and its fonts."""
    if app.builder.format != "html":
        return
    folder = Path(app.outdir) / "_static" / "formulas"
    folder.mkdir(parents=True, exist_ok=True)
    style = typesetter(tuple(sorted(app.config.formula_macros.items()))).style()
    (folder / "formulas.css").write_text(style, encoding="utf-8")
    shutil.copytree(MATHJAX / FONTS, folder / Path(FONTS).name, dirs_exist_ok=True)


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension."""
    app.add_config_value("formula_macros", {}, "env")
    app.add_html_math_renderer("built", (visit_inline, None), (visit_display, None))
    app.connect("builder-inited", write_style)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
