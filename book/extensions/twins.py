"""Sphinx extension: pages in two languages.

A page in ``book/zh`` is the Chinese twin of an English page. Its text is Chinese; code cells and their output come
from the English notebook when the page is read (``book/tools/chinese.py`` merges them). Headings have the same
addresses as the English ones. The frame of the page is translated with the words of ``book/zh/page.toml``. The
sidebar lists the Chinese pages, every page with a twin has a switch to it, and a search page searches the Chinese
pages first.
"""

import html
import json
import posixpath
import re
import sys
import tomllib
from functools import cache
from pathlib import Path

from bs4 import BeautifulSoup
from docutils import nodes
from docutils.core import publish_doctree
from myst_parser.parsers.docutils_ import Parser
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError
from sphinx.transforms import SphinxTransform

BOOK = Path(__file__).resolve().parents[1]
sys.path.append(str(BOOK / "tools"))
import chinese  # noqa: E402

FOLDER, LANGUAGE = "book/zh/", "zh-CN"
WORDS = BOOK / "zh" / "page.toml"
NAMES = {LANGUAGE: "中文", "en": "English"}
SEARCH, INDEX = f"{FOLDER}search", "_static/search.zh-CN.js"
FIGURE_WORDS = "_static/live/words.zh-CN.js"  # the Chinese texts of figures
FIRST_FIGURE = re.compile(r"<!-- scripts of \w+ -->")
ARTICLE = re.compile(r"<article.*?</article>", re.DOTALL)
LEFT_ALONE = re.compile(r"<(script|style|svg|pre)\b.*?</\1>", re.DOTALL)
ATTRIBUTE = re.compile(r'\b(title|aria-label|placeholder|alt|data-bs-title)="([^"]+)"')
BETWEEN_TAGS = re.compile(r">([^<>]*[A-Za-z][^<>]*)<")
IN_ARTICLE = re.compile(r'<summary>[^<]*</summary>|<p class="live-note">[^<]*</p>')
SIGNS = re.compile(
    r'([（“]?)(<span class="math[^"]*">(?:(?!</?span).)*</span>)([，。；：？！、）”]*)', re.DOTALL
)
STRESSED = re.compile(r"<em>([^<⺀-鿿]*)</em>")  # emphasis in Latin letters, which are slanted as usual
SOURCE = re.compile(r'<script[^>]*src="([^"?]*)[^>]*></script>')
BUTTONS = '<div class="article-header-buttons">'


def is_chinese(page: str) -> bool:
    """Return whether a page belongs to the Chinese edition."""
    return page.startswith(FOLDER)


def original(page: str) -> str:
    """Return the English twin of a Chinese page, or an English page itself.

    >>> original("book/zh/04_rotate_one_pair"), original("book/zh/glossary"), original("book/map")
    ('notebooks/04_rotate_one_pair', 'book/glossary', 'book/map')
    """
    if not is_chinese(page):
        return page
    name = page.removeprefix(FOLDER)
    return f"{'notebooks' if re.match('[0-9AP][0-9]_', name) else 'book'}/{name}"


def in_chinese(env: BuildEnvironment, page: str) -> str:
    """Return the Chinese twin of an English page, or the page itself if there is none."""
    twin = FOLDER + page.rpartition("/")[2]
    return twin if twin in env.found_docs and original(twin) == page else page


def twin(env: BuildEnvironment, page: str) -> str:
    """Return the page in the other language, or "" without one."""
    if is_chinese(page):
        return original(page) if original(page) in env.found_docs else ""
    other = in_chinese(env, page)
    return other if other != page else ""


@cache
def table(name: str) -> dict:
    """Return one of the tables of ``page.toml``: the Chinese texts of the site's frame."""
    return tomllib.loads(WORDS.read_text(encoding="utf-8"))[name]


def say(page: str, text: str, *values: object) -> str:
    """Return an extension's text in the page's language; {0}, {1} … are replaced by the values."""
    if is_chinese(page):
        if text not in table("built"):
            raise ExtensionError(f"{WORDS.name} has no Chinese for {text!r}")
        text = table("built")[text]
    return text.format(*values) if values else text


def of_figure(page: str, text: str) -> str:
    """Return a figure's text in the page's language, if ``words.json`` has it."""
    words = WORDS.with_name("words.json")
    if not is_chinese(page) or not words.is_file():
        return text
    said = json.loads(words.read_text(encoding="utf-8")).get(text)
    return said if isinstance(said, str) else text


def read(app: Sphinx, page: str, source: list[str]) -> None:
    """Assemble a Chinese page before it is parsed."""
    if not is_chinese(page):
        return
    path = Path(app.env.doc2path(page))
    for file in (chinese.original(path), WORDS):
        app.env.note_dependency(str(file))
    app.env.metadata[page]["no-search"] = True  # the index of the English book does not split Chinese
    try:
        if path.suffix == ".zh":
            source[0] = json.dumps(chinese.merged(path), ensure_ascii=False)
        elif errors := list(chinese.faults(path)):
            raise ValueError("\n".join(errors))
        else:
            source[0] = chinese.body(path)[1]
    except ValueError as error:
        raise ExtensionError(str(error)) from error


class EnglishPlaces(SphinxTransform):
    """Give every heading of a Chinese page the address of its English counterpart."""

    default_priority = 700

    def apply(self, **kwargs: object) -> None:
        """Rename the sections in order."""
        if not is_chinese(self.env.docname):
            return
        sections = list(self.document.findall(nodes.section))
        wanted = places(Path(self.env.doc2path(self.env.docname)), self.config.myst_enable_extensions)
        if len(sections) != len(wanted):
            raise ExtensionError(
                f"{self.env.docname}: {len(sections)} headings, {len(wanted)} in its English"
            )
        new = {}
        for section, (_, place) in zip(sections, wanted, strict=True):
            new |= dict.fromkeys(section["ids"], place)
            section["ids"] = [place]
        ids = self.document.ids
        ids.update({new.get(old, old): ids.pop(old) for old in list(ids)})
        names = self.document.nameids
        names.update({name: new.get(old, old) for name, old in names.items()})
        slugs = getattr(self.document, "myst_slugs", {})
        renamed = {slug: (line, new.get(old, old), title) for slug, (line, old, title) in slugs.items()}
        titles = {place: (line, title) for line, place, title in renamed.values()}
        for slug, place in wanted:
            line, title = titles.get(place, (None, place))
            renamed[slug] = (line, place, title)
        slugs.update(renamed)


def places(path: Path, extensions: set[str]) -> list[tuple[str, str]]:
    """Return (name in links, id) of every heading of the English page, in order."""
    english = chinese.original(path)
    text = "\n\n".join(chinese.cells(english).values()) if path.suffix == ".zh" else chinese.page(english)
    settings = {"myst_heading_anchors": 4, "myst_enable_extensions": sorted(extensions), "report_level": 5}
    doctree = publish_doctree(
        "\n\n".join(chinese.headings(text)),
        parser=Parser(),
        settings_overrides=settings | {"doctitle_xform": False},
    )
    return [(section.get("slug", ""), section["ids"][0]) for section in doctree.findall(nodes.section)]


def forget(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Remove the numbers of Chinese chapters before chapters are counted; no page is rewritten for that."""
    for page in filter(is_chinese, env.found_docs):
        for numbered in places_of_number(env, page):
            numbered.attributes.pop("secnumber", None)
    return []


def number(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Give every Chinese chapter its English twin's number; return the chapters whose number has changed."""
    before = getattr(env, "chinese_numbers", {})
    env.chinese_numbers = {}
    for page in filter(is_chinese, env.found_docs):
        sections = env.toc_secnumbers.get(original(page), {})
        if numbers := sections.get(""):
            env.chinese_numbers[page] = numbers
            env.toc_secnumbers[page] = dict(sections)  # their addresses are the same
            for numbered in places_of_number(env, page):
                numbered["secnumber"] = numbers
    return [page for page in env.found_docs if before.get(page) != env.chinese_numbers.get(page)]


def places_of_number(env: BuildEnvironment, page: str) -> list[nodes.Element]:
    """Return the nodes in which Sphinx stores a page's number: its titles and its entry in the contents."""
    return [env.titles[page], env.longtitles[page], env.tocs[page].next_node(nodes.reference)]


def begin(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.Node | None) -> None:
    """Set the page's language, link to neighbours in that language, and give its scripts their words."""
    for way in ("prev", "next"):
        neighbour = context.get(way)
        if neighbour and is_chinese(page) != is_chinese(target(page, neighbour["link"])):
            context[way] = None
    if is_chinese(page):
        context["language"] = LANGUAGE
        home = in_chinese(app.env, app.config.root_doc)
        context["root_doc"] = context["master_doc"] = home
        said = json.dumps(table("script"), ensure_ascii=False, sort_keys=True).replace("</", "<\\/")
        style = "; ".join(
            f"--words-{name}: {json.dumps(text, ensure_ascii=False)}" for name, text in table("style").items()
        )
        context["metatags"] = context.get("metatags", "") + (
            f'<script id="page-words" type="application/json">{said}</script>\n'
            f"<style>:root {{ {style} }}</style>\n"
        )
        if "body" in context and (words := Path(app.outdir) / FIGURE_WORDS).is_file():
            mark = chinese.digest(words.read_text(encoding="utf-8"))
            source = f"{context['pathto'](FIGURE_WORDS, resource=True)}?v={mark}"
            script = f'<script data-at-once src="{source}"></script>\n'
            context["body"] = FIRST_FIGURE.sub(lambda match: script + match[0], context["body"], count=1)


def target(page: str, link: str) -> str:
    """Return the page to which a link on a page leads."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), link.partition("#")[0])).removesuffix(
        ".html"
    )


def end(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.Node | None) -> None:
    """Give the page the sidebar of its language, and the links to download or open a Chinese notebook."""
    whole = context.get("generate_toctree_html")
    if whole is not None:
        context["generate_toctree_html"] = lambda **given: sidebar(app, page, whole(**given))
    if not is_chinese(page):
        return
    buttons = [
        button for group in context.get("header_buttons", []) for button in (group, *group.get("buttons", []))
    ]
    for button in buttons:
        url = button.get("url", "")
        if "colab.research.google.com" in url:
            button["url"] = url.replace(f"{page}.zh", f"{original(page)}.ipynb")
        if button.get("label") == "download-source-button" and button["text"] == ".zh":
            button["url"], button["text"] = url.removesuffix(".zh") + ".ipynb", ".ipynb"
            button["tooltip"] = "Download notebook file"
            write_notebook(app, page)


def write_notebook(app: Sphinx, page: str) -> None:
    """Write the Chinese notebook next to the site's sources."""
    notebook = chinese.merged(Path(app.env.doc2path(page)))
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = re.sub(r"(\]\([^)\s:]+)\.zh(?=[#)])", r"\1.ipynb", "".join(cell["source"]))
    file = Path(app.outdir) / "_sources" / f"{page}.ipynb"
    file.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(notebook, ensure_ascii=False, indent=1, sort_keys=True)
    file.write_text(text + "\n", encoding="utf-8", newline="\n")


def sidebar(app: Sphinx, page: str, contents: BeautifulSoup | str) -> str:
    """Return the contents of the book in the page's language, with a link to the other."""
    soup = BeautifulSoup(str(contents), "html.parser")
    caption = next((tag for tag in soup("p", class_="caption") if tag.get_text() == NAMES[LANGUAGE]), None)
    if caption is None:
        return str(soup)
    chapters = caption.find_next_sibling("ul")
    if is_chinese(page):
        for other in [tag for tag in soup.find_all(recursive=False) if tag not in (caption, chapters)]:
            other.decompose()
        way = app.builder.get_relative_uri(page, app.config.root_doc)
        link = f'<a class="reference internal" href="{way}">{say(page, "The whole book")}</a>'
        item = f'<li class="toctree-l1">{link}</li>'
        chapters.append(BeautifulSoup(item, "html.parser"))
        return str(soup)
    for other in chapters("li")[1:]:
        other.decompose()
    for tag in (caption, *chapters("a")):
        tag["lang"] = LANGUAGE
    return str(soup)


def finish(app: Sphinx, error: Exception | None) -> None:
    """Add the switch to every page with a twin, and translate the frame of Chinese pages."""
    if error or app.builder.format != "html":
        return
    site = Path(app.outdir)
    for page in [*app.env.found_docs, SEARCH]:
        other = twin(app.env, page) if page != SEARCH else ""
        file = site / f"{page}.html"
        if not (other or is_chinese(page)) or not file.is_file():
            continue
        text = file.read_text(encoding="utf-8")
        whole = with_switch(text, page, other, app) if other else text
        whole = translated(with_search(whole, page)) if is_chinese(page) else whole
        if whole != text:
            file.write_text(whole, encoding="utf-8", newline="\n")


def with_switch(text: str, page: str, other: str, app: Sphinx) -> str:
    """Return a page with a link to its twin, in the header and in its metadata."""
    if "language-switch" in text:
        return text
    here, there = (LANGUAGE, "en") if is_chinese(page) else ("en", LANGUAGE)
    way = app.builder.get_relative_uri(page, other)
    link = (
        f'<a class="btn btn-sm language-switch" lang="{there}" hreflang="{there}" rel="alternate" href="{way}">'
        f"{NAMES[there]}</a>"
    )
    base = app.config.html_baseurl
    ways = {here: f"{base}{page}.html" if base else page.rpartition("/")[2] + ".html"}
    ways[there] = f"{base}{other}.html" if base else way
    heads = "".join(
        f'<link rel="alternate" hreflang="{name}" href="{html.escape(ways[name])}" />\n'
        for name in sorted(ways)
    )
    return text.replace(BUTTONS, BUTTONS + link, 1).replace("</head>", f"{heads}</head>", 1)


def with_search(text: str, page: str) -> str:
    """Return a Chinese page whose search leads to the Chinese search page, which gets its index."""
    text = text.replace('action="../../search.html"', 'action="search.html"')
    if page != SEARCH or INDEX in text:
        return text
    loaded: set[str] = set()

    def once(
        match: re.Match,
    ) -> str:  # the theme expects one search page, and loads its scripts twice into this one
        again = match[1] in loaded
        loaded.add(match[1])
        index = (
            f'<script defer src="../../{INDEX}"></script>\n' if match[1].endswith("searchindex.js") else ""
        )
        return "" if again else index + match[0]  # the search begins when Sphinx's index has loaded

    return SOURCE.sub(once, text)


def translated(text: str) -> str:
    """Return a Chinese page with its frame translated; formulas, code and pictures are unchanged."""
    article = ARTICLE.search(text)
    held: list[str] = []

    def hold(match: re.Match) -> str:
        held.append(match[0])
        return f"\0{len(held) - 1}\0"

    if article:
        inside = IN_ARTICLE.sub(lambda match: in_frame(match[0]), article[0])
        inside = LEFT_ALONE.sub(hold, SIGNS.sub(together, inside))
        inside = STRESSED.sub(r'<em class="latin">\1</em>', ATTRIBUTE.sub(attribute, inside))
        text = text[: article.start()] + f"\0{len(held)}\0" + text[article.end() :]
        held.append(inside)
    text = in_frame(LEFT_ALONE.sub(hold, text))
    while "\0" in text:
        text = re.sub("\0(\\d+)\0", lambda match: held[int(match[1])], text)
    return text


def together(match: re.Match) -> str:
    """Return a formula joined to the punctuation around it, so that no line break separates them."""
    before, formula, after = match.groups()
    return f'<span class="together">{match[0]}</span>' if before or after else formula


def in_frame(text: str) -> str:
    """Return HTML with words and attributes in Chinese, if ``page.toml`` has them."""

    def between(match: re.Match) -> str:
        words = " ".join(html.unescape(match[1]).split())
        return (
            match[0].replace(match[1].strip(), html.escape(in_words(words), quote=False))
            if words
            else match[0]
        )

    return BETWEEN_TAGS.sub(between, ATTRIBUTE.sub(attribute, text))


def attribute(match: re.Match) -> str:
    """Return an attribute with its value in Chinese."""
    return f'{match[1]}="{html.escape(in_words(html.unescape(match[2])))}"'


def in_words(text: str) -> str:
    """Return a text of the frame in Chinese, or unchanged if not listed; {0} in the table stands for any text."""
    for pattern, said in patterns():
        if match := pattern.fullmatch(text):
            return said.format(*match.groups())
    return text


@cache
def patterns() -> list[tuple[re.Pattern, str]]:
    """Return the patterns for the texts of the frame, with their Chinese."""
    return [
        (re.compile(re.sub(r"\\\{\d\\\}", "(.+?)", re.escape(english))), said)
        for english, said in table("frame").items()
    ]


def search_pages(app: Sphinx) -> list[tuple[str, dict, str]]:
    """Add a page for searching in Chinese."""
    return [(SEARCH, {}, "search.html")] if any(map(is_chinese, app.env.found_docs)) else []


def gather(app: Sphinx, doctree: nodes.document) -> None:
    """Store the text of a Chinese page, section by section."""
    page = app.env.docname
    if not is_chinese(page):
        return
    texts = []
    for section in doctree.findall(nodes.section):
        heading = section.next_node(nodes.title).astext()
        own = [
            part for part in section.children if not isinstance(part, nodes.section | nodes.title | nodes.raw)
        ]
        text = " ".join(part.astext() for part in own if not part.get("nb_element"))
        texts.append([section["ids"][0], heading, " ".join(text.split())])
    for item in doctree.findall(nodes.definition_list_item):
        term, meaning = item.next_node(nodes.term), item.next_node(nodes.definition)
        texts += [[term["ids"][-1], term.astext(), meaning.astext()]] if term["ids"] else []
    texts_of(app.env)[page] = texts


def texts_of(env: BuildEnvironment) -> dict[str, list[list[str]]]:
    """Return {page: [[id, heading, text], …]} of an environment."""
    if not hasattr(env, "chinese_texts"):
        env.chinese_texts = {}
    return env.chinese_texts


def merge(app: Sphinx, env: BuildEnvironment, names: set[str], other: BuildEnvironment) -> None:
    """Merge the texts of another process."""
    texts_of(env).update({page: parts for page, parts in texts_of(other).items() if page in names})


def write_index(app: Sphinx, error: Exception | None) -> None:
    """Write the index of the Chinese search page."""
    if error or app.builder.format != "html":
        return
    texts = {page: parts for page, parts in sorted(texts_of(app.env).items()) if page in app.env.found_docs}
    text = json.dumps(texts, ensure_ascii=False, separators=(",", ":"))
    (Path(app.outdir) / INDEX).write_text(f"Search.chinese({text});\n", encoding="utf-8", newline="\n")


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension, which reads before others and writes after them."""
    app.add_transform(EnglishPlaces)
    app.connect("source-read", read, priority=100)
    app.connect("doctree-read", gather)
    app.connect("env-purge-doc", lambda app, env, page: texts_of(env).pop(page, None))
    app.connect("env-merge-info", merge)
    app.connect("env-get-updated", forget, priority=100)
    app.connect("env-get-updated", number, priority=900)
    app.connect("html-page-context", begin, priority=400)
    app.connect("html-page-context", end, priority=900)
    app.connect("html-collect-pages", search_pages)
    app.connect("build-finished", write_index)
    app.connect("build-finished", finish, priority=900)
    return {"version": "1", "env_version": 1, "parallel_read_safe": True, "parallel_write_safe": True}
