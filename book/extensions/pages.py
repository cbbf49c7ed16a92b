"""Sphinx extension: make the built pages load less, load it later, and declare what they may load.

It runs when the pages are written: it drops the theme's unused scripts, defers the others, keeps the search index
for the search page, cuts the theme's style and icon font down to what is in use, sets the page's theme before it is
painted, begins with a script for browsers that keep nothing, marks table cells whose words may wrap, and adds a
content security policy to every page. Running it twice over a page is safe.
"""

import base64
import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from style_in_use import in_use, names_in_use

SCRIPT = re.compile(r"<script(?P<attributes>[^>]*)>(?P<code>.*?)</script>\n?", re.DOTALL)
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>\n?')
FOR_SEARCH = ("searchtools.js", "language_data.js", "searchindex.js")
ICON = re.compile(r"\bfa-[a-z0-9-]+")
ICON_RULE = re.compile(r'(?P<names>(?:\.fa-[\w-]+:before,?)+)\{content:"(?P<glyph>\\[0-9a-f]+|[^"]+)"\}')
ICON_VARIABLE = re.compile(r'--pst-icon-[\w-]+:"([^"]+)"')
NUMBER = re.compile(r'(?<=<h1>)<span class="section-number">[^<]*</span>')
PRINTED_TITLE = re.compile(r'<div id="jb-print-docs-body"[^>]*>\s*<h1>(?!<span)')
THEME_LATER = 'document.documentElement.dataset.theme = localStorage.getItem("theme") || "auto";'
THEME_AT_ONCE = """{
      const { dataset } = document.documentElement;
      const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
      dataset.theme = dataset.mode === "auto" ? system : dataset.mode;
    }"""
SENTENCE = re.compile(r'<(td|th scope="row") (style="text-align: left">[^<]{25})')  # in a table of results
CHARSET = '<meta charset="utf-8" />\n'
STORAGE = Path(__file__).parents[1] / "assets" / "storage.js"
MEASURED = (
    '["pre",".nboutput > .output_area",".cell_output > .output",".jp-RenderedHTMLCommon",'
    '".pst-scrollable-table-container"]'
)  # by a script of the theme, after each change of the page, even in closed folds; site.js takes it over
PRINTS = ' onclick="window.print()"'  # an inline handler, which the policy forbids; site.js replaces it

# 'self' does not cover files beside a page that was opened from a folder, hence file:. Formulas, tables and live
# figures need style attributes, which cannot load or run anything that another line does not allow. A figure that
# trains a model starts its worker from a blob of its own script. Firefox prefetches the next chapter under
# default-src.
RULES = {
    "default-src": "'self' file:",
    "object-src": "'none'",
    "frame-src": "'none'",
    "script-src": "'self' file:",
    "worker-src": "'self' file: blob:",
    "style-src": "'self' file: 'unsafe-inline'",
    "img-src": "'self' file: data: blob:",
    "font-src": "'self' file:",
    "connect-src": "'self' file:",
    "form-action": "'self' file:",
    "base-uri": "'none'",
}
WASM = 'data-runs="wasm"'  # in a page that runs WebAssembly, which no other page may


def finish(app: Sphinx, error: Exception | None) -> None:
    """Finish every page of the site and the files that the pages share."""
    if error or app.builder.format != "html":
        return
    site = Path(app.outdir)
    pages = [page for page in site.rglob("*.html") if "_static" not in page.relative_to(site).parts]
    for page in pages:
        text = page.read_text(encoding="utf-8")
        whole = with_late_scripts(with_printed_number(text), search=page.name == "search.html")
        whole = with_storage(whole.replace(PRINTS, "").replace(THEME_LATER, THEME_AT_ONCE))
        whole = with_policy(with_preloads(whole))
        whole = SENTENCE.sub(r'<\1 class="words" \2', whole)
        if whole != text:
            page.write_text(whole, encoding="utf-8")
    scripts = [file for file in (site / "_static").rglob("*.js") if file.name != "fontawesome.js"]
    keep_icons(site / "_static", icons_of([*pages, *scripts]))
    measures_less(site / "_static" / "scripts" / "pydata-sphinx-theme.js")
    theme = site / "_static" / "styles" / "pydata-sphinx-theme.css"
    theme.write_text(
        in_use(theme.read_text(encoding="utf-8"), names_in_use(pages, scripts)), encoding="utf-8"
    )


def measures_less(script: Path) -> None:
    """Let the theme's script look for no element that scrolls."""
    text = script.read_text(encoding="utf-8")
    if MEASURED not in text and '["template"]' not in text:
        raise ExtensionError(f"{script.name} names the elements it measures in another way")
    script.write_text(text.replace(MEASURED, '["template"]'), encoding="utf-8")


def with_printed_number(text: str) -> str:
    """Return the page with the chapter's number in the printed title, as on screen."""
    number = NUMBER.search(text)
    return PRINTED_TITLE.sub(rf"\g<0>{number[0]}", text, count=1) if number else text


def with_late_scripts(text: str, *, search: bool) -> str:
    """Return the page with every script deferred, without those that only the search page needs."""

    def late(match: re.Match) -> str:
        attributes, code = match["attributes"], match["code"]
        source = re.search(r'src="([^"?]*)', attributes)
        if source is None:
            return "" if code.startswith("DOCUMENTATION_OPTIONS.") else match[0]
        name = source[1].rpartition("/")[2]
        if name in ("fontawesome.js", "search.js") or (name in FOR_SEARCH and not search):
            return ""
        waits = "defer" in attributes or "data-at-once" in attributes
        deferred = attributes if waits else f" defer{attributes}"
        mended = f'<script defer src="{source[1][: -len(name)]}search.js"></script>\n'
        return f"<script{deferred}></script>\n" + (mended if name == "searchtools.js" else "")

    return SCRIPT.sub(late, text)


def with_storage(text: str) -> str:
    """Return the page with `storage.js` inline, before the theme's first script reads what was stored."""
    code = re.sub(r"^ *//.*\n", "", STORAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    script = f"<script>{code}</script>\n"
    return text if script in text else text.replace(CHARSET, CHARSET + script, 1)


def with_preloads(text: str) -> str:
    """Return the page with a link at its top for each script of its first figure, so that it is fetched at once."""
    sources = re.findall(r'<script data-at-once src="([^"]+)"', text)
    links = "".join(f'<link rel="preload" as="script" href="{source}">\n' for source in sources)
    return text if links in text else text.replace(CHARSET, CHARSET + links, 1)


def with_policy(text: str) -> str:
    """Return the page with a policy that allows its own files, inline scripts by hash, and WebAssembly if asked."""
    inline = [match["code"] for match in SCRIPT.finditer(text) if runs_inline(match["attributes"])]
    hashes = sorted({f"'sha256-{digest(code)}'" for code in inline})
    runs = ["'wasm-unsafe-eval'"] if WASM in text else []
    rules = RULES | {"script-src": " ".join([RULES["script-src"], *runs, *hashes])}
    content = "; ".join(f"{name} {sources}" for name, sources in rules.items())
    meta = f'<meta http-equiv="Content-Security-Policy" content="{content}">\n'
    return POLICY.sub("", text).replace(CHARSET, CHARSET + meta, 1)


def runs_inline(attributes: str) -> bool:
    """Return whether a script element has code that runs: no source, and not a data block."""
    return "src=" not in attributes and "type=" not in attributes


def digest(code: str) -> str:
    """Return a script's SHA-256 as written in a policy."""
    return base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()


def icons_of(files: Iterable[Path]) -> set[str]:
    """Return the names of all icons (and of their styles) in these pages and scripts."""
    texts = (file.read_text(encoding="utf-8") for file in files)
    return {name for text in texts for name in ICON.findall(text)}


def keep_icons(static: Path, used: set[str]) -> None:
    """Keep only the used rules and glyphs of the theme's icons: 3 of 180 kB."""
    sheet = static / "styles" / "pydata-sphinx-theme.css"
    style = sheet.read_text(encoding="utf-8")
    glyphs = {glyph for glyph in ICON_VARIABLE.findall(style) if len(glyph) == 1}

    def kept(rule: re.Match) -> str:
        if used.isdisjoint(ICON.findall(rule["names"])):
            return ""
        code = rule["glyph"]
        glyphs.add(chr(int(code[1:], 16)) if code.startswith("\\") else code)
        return rule[0]

    sheet.write_text(ICON_RULE.sub(kept, style), encoding="utf-8")
    for font in (static / "vendor" / "fontawesome" / "webfonts").glob("*.woff2"):
        subset(font, "".join(glyphs))


def subset(font: Path, text: str, to: Path | None = None) -> None:
    """Subset a font file to the characters of ``text``, and write it as woff2, in place or at another path."""
    opened = TTFont(font, recalcTimestamp=False)
    options = Options(layout_features=[], hinting=False)
    options.drop_tables += ["FFTM"]  # when it was made: fontTools would warn that it leaves this out
    cutter = Subsetter(options)
    cutter.populate(text=text)
    cutter.subset(opened)
    opened.flavor = "woff2"
    opened.save(to or font)


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension."""
    app.connect("build-finished", finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
