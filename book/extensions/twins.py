"""Sphinx extension: pages in two languages.

A page of ``_toc.yml`` in ``book/zh`` is the Chinese twin of an English page. It has no file of its own: Sphinx
reads the English one again and puts in the messages of ``book/zh/locale``, as it does for any translated book. A
message without a translation, or with a fuzzy one, appears in English. The words of ``book/zh/page.toml`` translate
the frame of the page. The sidebar lists the Chinese pages, every page with a twin has a switch to it, and a search
page searches the Chinese pages first.
"""

import gettext
import hashlib
import html
import io
import json
import posixpath
import re
import sys
import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from bs4 import BeautifulSoup, Tag
from docutils import nodes
from sphinx import addnodes, locale
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError
from sphinx.project import Project
from sphinx.transforms import SphinxTransform
from sphinx.util.docutils import SphinxDirective

BOOK = Path(__file__).resolve().parents[1]
sys.path.append(str(BOOK / "tools"))
from outline import all_pages  # noqa: E402

FOLDER, LANGUAGE = "book/zh/", "zh-CN"
WORDS = BOOK / "zh" / "page.toml"
MESSAGES = BOOK / "zh" / "locale" / "zh_CN" / "LC_MESSAGES"
NAMES = {LANGUAGE: "中文", "en": "English"}
SEARCH, INDEX = f"{FOLDER}search", "_static/search.zh-CN.js"
FIGURE_WORDS = "_static/live/words.zh-CN.js"  # the Chinese texts of figures
FIRST_FIGURE = re.compile(r"<!-- scripts of \w+ -->")
ARTICLE = re.compile(r"<article.*?</article>", re.DOTALL)
LEFT_ALONE = re.compile(r"<(script|style|svg|pre)\b.*?</\1>", re.DOTALL)
ATTRIBUTE = re.compile(r'\b(title|aria-label|placeholder|alt|data-bs-title)="([^"]+)"')
BETWEEN_TAGS = re.compile(r">([^<>]*[A-Za-z][^<>]*)<")
IN_ARTICLE = re.compile(
    r'<summary[^>]*>[^<]*</summary>|<p class="live-note">[^<]*</p>|<a [^>]*>Open in Colab</a>'
)
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
    other = original(page) if is_chinese(page) else in_chinese(env, page)
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


def pages(root: Path) -> list[str]:
    """Return the Chinese pages of ``_toc.yml`` in order."""
    return [page for _, part in all_pages(root) for page in part if is_chinese(page)]


def messages(page: str) -> Path:
    """Return the file with the messages of a Chinese page."""
    return MESSAGES / f"{page.removeprefix(FOLDER)}.po"


def catalog(page: str) -> Catalog:
    """Return the messages of a Chinese page, none if it has no file yet."""
    file = messages(page)
    return read_po(io.BytesIO(file.read_bytes())) if file.is_file() else Catalog()


class Pages(Project):
    """The files of the book: a Chinese page has the file of its English twin."""

    def discover(self, exclude_paths: Iterable[str] = (), include_paths: Iterable[str] = ("**",)) -> set[str]:
        """Find the pages that have files, and add the Chinese pages."""
        found = super().discover(exclude_paths, include_paths)
        found |= {page for page in pages(Path(self.srcdir)) if original(page) in found}
        return found

    def doc2path(self, docname: str, absolute: bool) -> str:
        """Return the path of a page's file."""
        return super().doc2path(original(docname), absolute)


def prepare(app: Sphinx) -> None:
    """Make the Chinese pages known to Sphinx, with their messages."""
    app.project = app.env.project = Pages(app.srcdir, app.config.source_suffix)
    for page in pages(Path(app.srcdir)):
        translated, compiled = catalog(page), io.BytesIO()
        for message in translated:  # the number of a heading is not that of a list
            message.string = re.sub(r"^(\d+)\. ", r"\1\\. ", message.string)
        write_mo(compiled, translated)
        compiled.seek(0)
        locale.translators["general", page] = gettext.GNUTranslations(compiled)


def read(app: Sphinx, page: str, source: list[str]) -> None:
    """Note the files from which a Chinese page is made."""
    if is_chinese(page):
        for file in (messages(page), WORDS):
            app.env.note_dependency(str(file))
        app.env.metadata[page]["no-search"] = True  # the index of the English book does not split Chinese


class NotMessages(SphinxTransform):
    """Keep formulas, and a link that changes with the address of the book, out of the messages to translate."""

    default_priority = 5

    def apply(self, **kwargs: object) -> None:
        """Mark them on a Chinese page."""
        if is_chinese(self.env.docname):
            for text in self.document.findall(nodes.TextElement):
                if isinstance(text, nodes.math_block) or text.rawsource.startswith("[Open in Colab]("):
                    text["translatable"] = False


class Links(SphinxTransform):
    """Lead the links of a Chinese page to Chinese pages, and mark whatever is in English."""

    default_priority = 30  # after the messages are in

    def apply(self, **kwargs: object) -> None:
        """Visit each link and each message."""
        page = self.env.docname
        if not is_chinese(page):
            return
        links = [
            link for link in self.document.findall(addnodes.pending_xref) if link.get("refdomain") == "doc"
        ]
        for link in links:
            link["reftarget"] = in_chinese(self.env, link["reftarget"])
        mark_english([link for link in links if not is_chinese(link["reftarget"])], page)
        texts = self.document.findall(nodes.TextElement)
        english = [text for text in texts if not text.get("translated", True)]
        for node in english:
            node["classes"].append("language-en")
        if english:
            note = nodes.paragraph(text=say(page, "{0} parts are still in English", len(english)))
            self.document.next_node(nodes.title).parent.insert(1, note)


def mark_english(links: list[nodes.Element], page: str) -> None:
    """Give links to English pages a class of their own, and say after the first what it shows."""
    for link in links:
        marked = nodes.inline(classes=["in-english"])
        link.replace_self(marked)
        marked += link
    for first in links[:1]:
        note = nodes.Text(say(page, " (in English, as all links with a dashed line)"))
        first.parent.parent.insert(first.parent.parent.index(first.parent) + 1, note)


class Translations(SphinxDirective):
    """List the Chinese pages; an English page has nothing there."""

    def run(self) -> list[nodes.Node]:
        """Return the list."""
        page = self.env.docname
        if not is_chinese(page):
            return []
        others = pages(Path(self.env.srcdir))[1:]
        self.env.note_dependency(str(Path(self.env.srcdir) / "_toc.yml"))
        links = "、".join(f"[](/{self.env.doc2path(other, base=False)})" for other in others)
        listed = self.parse_text_to_nodes(say(page, "In Chinese: {0}. The rest is English.", links))
        listed[0]["translatable"] = False
        return listed


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
        if context.get("sourcename"):
            context["page_source_suffix"] = Path(app.env.doc2path(page)).suffix
            context["sourcename"] = page + context["page_source_suffix"]
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
            mark = hashlib.sha256(words.read_bytes()).hexdigest()[:8]
            source = f"{context['pathto'](FIGURE_WORDS, resource=True)}?v={mark}"
            script = f'<script data-at-once src="{source}"></script>\n'
            context["body"] = FIRST_FIGURE.sub(lambda match: script + match[0], context["body"], count=1)


def target(page: str, link: str) -> str:
    """Return the page to which a link on a page leads."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), link.partition("#")[0])).removesuffix(
        ".html"
    )


def end(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.Node | None) -> None:
    """Give the page the sidebar of its language."""
    whole = context.get("generate_toctree_html")
    if whole is not None:
        context["generate_toctree_html"] = lambda **given: sidebar(app, page, whole(**given))


def sourced(text: str, said: dict[str, str]) -> str:
    """Return a Markdown text with its messages in Chinese.

    >>> sourced("# A turn\n\n- One\n  turn.\n- A turn, twice.\n", {"One turn.": "一圈。", "A turn": "旋转"})
    '# 旋转\n\n- 一圈。\n- A turn, twice.\n'
    """
    for english in sorted(said, key=len, reverse=True):
        words = r"\s+(?:> ?)?".join(map(re.escape, english.split()))
        message = rf"(?m)^([ >#|*+:-]*(?:\d+\. )?|.*\| ?){words}(?=\s*$| *\|)"
        text = re.sub(message, lambda match, english=english: match[1] + said[english], text)
    return text


def write_source(app: Sphinx, page: str) -> None:
    """Put the Chinese notebook or text of a page where Sphinx has copied the English one."""
    said = {each.id: each.string for each in catalog(page) if each.id and each.string and not each.fuzzy}
    copy = Path(app.outdir) / "_sources" / f"{page}{Path(app.env.doc2path(page)).suffix}"
    text = Path(app.env.doc2path(page)).read_text(encoding="utf-8")
    if copy.suffix == ".ipynb":
        notebook = json.loads(text)
        for cell in notebook["cells"]:
            if cell["cell_type"] == "markdown":
                whole = sourced("".join(cell["source"]), said)
                cell["source"] = IN_ARTICLE.sub(lambda match: in_frame(match[0]), whole)
        text = json.dumps(notebook, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
    else:
        text = sourced(text, said)
    copy.write_text(text, encoding="utf-8", newline="\n")


def sidebar(app: Sphinx, page: str, contents: BeautifulSoup | str) -> str:
    """Return the contents of the book in the page's language, with a link to the other."""
    soup = BeautifulSoup(str(contents), "html.parser")
    caption = next((tag for tag in soup("p", class_="caption") if tag.get_text() == NAMES[LANGUAGE]), None)
    if caption is None:
        return str(soup)
    chapters = caption.find_next_sibling("ul")
    if is_chinese(page):
        others = [tag for tag in soup.find_all(recursive=False) if tag not in (caption, chapters)]
        english = {number_in(link): link["href"] for tag in others for link in tag("a")}
        for first, last, after in leaps(chapters):
            span = str(first) if first == last else f"{first}–{last}"
            after.insert_before(line(english[first], say(page, "Chapters {0} (in English)", span)))
        for other in others:
            other.decompose()
        chapters.append(
            line(app.builder.get_relative_uri(page, app.config.root_doc), say(page, "The whole book"))
        )
        return str(soup)
    for other in chapters("li")[1:]:
        other.decompose()
    for tag in (caption, *chapters("a")):
        tag["lang"] = LANGUAGE
    return str(soup)


def line(way: str, words: str) -> BeautifulSoup:
    """Return a line of the sidebar."""
    item = f'<li class="toctree-l1"><a class="reference internal" href="{way}">{words}</a></li>'
    return BeautifulSoup(item, "html.parser")


def number_in(item: Tag) -> int | None:
    """Return the chapter's number with which a line of the sidebar begins."""
    number = re.match(r"(\d+)\. ", item.get_text().strip())
    return int(number[1]) if number else None


def leaps(chapters: Tag) -> list[tuple[int, int, Tag]]:
    """Return the first and the last number of the chapters that are left out, and the line that follows them."""
    numbered = [(number, item) for item in chapters("li") if (number := number_in(item))]
    before = [0, *(number for number, _ in numbered)]
    return [
        (n + 1, number - 1, item)
        for n, (number, item) in zip(before, numbered, strict=False)
        if number > n + 1
    ]


def finish(app: Sphinx, error: Exception | None) -> None:
    """Add the switch to every page with a twin; write the Chinese frames, sources and index of search."""
    if error or app.builder.format != "html":
        return
    site = Path(app.outdir)
    ours = sorted(filter(is_chinese, app.env.found_docs))
    texts = {page: app.env.metadata[page]["texts"] for page in ours}
    index = json.dumps(texts, ensure_ascii=False, separators=(",", ":"))
    (site / INDEX).write_text(f"Search.chinese({index});\n", encoding="utf-8", newline="\n")
    for page in ours:
        write_source(app, page)
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

    def once(match: re.Match) -> str:  # the theme loads its scripts twice into this second search page
        again = match[1] in loaded
        loaded.add(match[1])
        index = f'<script defer src="../../{INDEX}"></script>\n' if "searchindex.js" in match[1] else ""
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
        said = html.escape(in_words(words), quote=False)
        return match[0].replace(match[1].strip(), said) if words else match[0]

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
    app.env.metadata[page]["texts"] = texts


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension, which reads before others and writes after them."""
    app.add_transform(NotMessages)
    app.add_transform(Links)
    app.add_directive("translations", Translations)
    app.connect("builder-inited", prepare)
    app.connect("source-read", read, priority=100)
    app.connect("doctree-read", gather)
    app.connect("env-get-updated", forget, priority=100)
    app.connect("env-get-updated", number, priority=900)
    app.connect("html-page-context", begin, priority=400)
    app.connect("html-page-context", end, priority=900)
    app.connect("html-collect-pages", search_pages)
    app.connect("build-finished", finish, priority=900)
    return {"version": "2", "env_version": 2, "parallel_read_safe": True, "parallel_write_safe": True}
