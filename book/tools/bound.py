"""The built pages as the leaves of one document, for the PDF and the EPUB.

A leaf is a page without interactive parts: folds are open, live figures are stills with captions, setup cells and
buttons are gone, solutions are gathered after the chapters. Formulas are set aside while a leaf is changed, which
keeps parsing fast; each has its glyphs and its MathML.
"""

import html
import math
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from bs4 import BeautifulSoup, Tag

from rope_book.widgets._bundle import style

FORMULA = re.compile(r"<mjx-container.*?</mjx-container>", re.DOTALL)
MATHML = re.compile(r"<math.*?</math>", re.DOTALL)
HELD = re.compile(r'<span class="held" data-n="(\d+)"></span>')
ASSISTIVE = re.compile(r"<mjx-assistive-mml.*?</mjx-assistive-mml>", re.DOTALL)
PLAIN = re.compile(
    r'<span class="(?:bp|fm|g[a-z]|n|nb|nn|ne|nt|nx|o|p|se|si|vm|w)?">([^<]*)</span>'
)  # code spans shown without a colour
VARIABLE = re.compile(r"(--rl-[\w-]+):\s*(#\w+);")
DROPPED = (
    "script",
    "style",
    "button",
    "input",
    "select",
    "noscript",
    ".headerlink",
    ".onlyprint",
    ".tag_setup",
)
DROPPED += (".table-controls", ".path-next", ".progress-foot", ".page-steps")
DROPPED += ('a[href^="https://colab.research.google.com"]',)
FOLDED = re.compile(r"((?:olutions|They) are) in the (?:same )?folded cell")  # a remark on the solutions


@dataclass
class Leaf:
    """A page of the book: its name (``book/glossary``), the part that it belongs to, its article, its formulas."""

    name: str
    part: str
    article: Tag
    formulas: list[str] = field(default_factory=list)

    @property
    def key(self) -> str:
        """The page's short name: ``04`` for a notebook, ``glossary`` for another page."""
        stem = self.name.rpartition("/")[2]
        return stem.partition("_")[0] if self.name.startswith("notebooks/") else stem

    @property
    def title(self) -> str:
        """The heading, with the chapter's number."""
        return words(self.article.h1)

    def html(self, shown: Callable[[str], str] = str) -> str:
        """Return the leaf with its formulas, passed through ``shown``."""
        return HELD.sub(lambda held: shown(self.formulas[int(held[1])]), str(self.article))


def words(tag: Tag) -> str:
    """Return the words of an element on one line."""
    return " ".join(tag.get_text().split())


def mathml(formula: str) -> str:
    """Return the MathML that a formula contains in addition to its glyphs."""
    return re.sub(r' data-mjx-[\w-]+="[^"]*"', "", MATHML.search(formula)[0])


def read(built: Path, name: str, part: str = "") -> Leaf:
    """Read a page without its interactive parts; keep its solutions for :func:`solutions`."""
    page = (built / "html" / f"{name}.html").read_text(encoding="utf-8")
    page = page[page.index("<article") : page.index("</article>") + len("</article>")]
    formulas: list[str] = []

    def hold(match: re.Match) -> str:
        formulas.append(match[0])
        return f'<span class="held" data-n="{len(formulas) - 1}"></span>'

    article = BeautifulSoup(PLAIN.sub(r"\1", FORMULA.sub(hold, page)), "html.parser").article
    for unwanted in article.select(", ".join(DROPPED)):
        around = unwanted.parent
        unwanted.decompose()
        if around.name == "p" and not around.get_text(strip=True):
            around.decompose()
    for link in article.select("a.term"):
        link.replace_with(link.get_text())  # links to the glossary, and index words
    article.smooth()
    leaf = Leaf(name, part, article, formulas)
    without_hands(leaf)
    open_folds(leaf)
    caption_figures(leaf)
    return leaf


def without_hands(leaf: Leaf) -> None:
    """Remove lines of links that set a figure, pictures that lead to one elsewhere, and widths for a screen."""
    for line in leaf.article.select("p:has(> a.rl-chip)"):
        beside = "".join(text for text in line.find_all(string=True) if not text.find_parent("a", "rl-chip"))
        if beside.strip().endswith(":"):
            line.decompose()
    for wall in leaf.article.select("ul.wall"):
        wall.find_previous_sibling("p").decompose()
        for picture in wall.find_all("img"):
            picture.decompose()
    for cell in leaf.article.select('th[style^="min-width"]'):
        del cell["style"]


def glyphs(formula: str) -> str:
    """Return only a formula's glyphs."""
    return ASSISTIVE.sub("", formula)


def open_folds(leaf: Leaf) -> None:
    """Open every fold into the page; the words of its button become the first line."""
    for fold in leaf.article.find_all("details"):
        fold.name = "div"
        fold.attrs = {"class": ["folded", *fold.get("class", [])]}
        if fold.summary:
            fold.summary.name = "p"
    for first in leaf.article.select("div.folded > p:first-child"):
        first["class"] = ["folded-words"]


def caption_figures(leaf: Leaf) -> None:
    """Replace every live figure with its still, captioned with its words and given the id of its section."""
    for slot in leaf.article.select("div.live-slot"):
        still = slot.select_one("img.live-still")
        if still is None:
            continue
        soup = BeautifulSoup("", "html.parser")
        title, _, says = still["alt"].partition(". ")
        slot.name, slot.attrs = "figure", {"class": ["live"], "data-section": section_of(slot)}
        caption = soup.new_tag("figcaption")
        strong = soup.new_tag("strong")
        strong.string = f"{title}."
        caption.extend([strong, f" {says}"])
        for extra in slot.find_all(True, recursive=False):
            if extra is not still:
                extra.extract()
        slot.append(caption)


def section_of(tag: Tag) -> str:
    """Return the id of the section that an element belongs to."""
    section = tag.find_parent("section")
    return section.get("id", "") if section else ""


def solutions(leaves: Iterable[Leaf], of: str = "solutions") -> Leaf:
    """Move the solutions from the leaves to a separate leaf."""
    soup = BeautifulSoup("<article><section><h1>Solutions</h1></section></article>", "html.parser")
    gathered = Leaf(of, "", soup.article)
    for leaf in leaves:
        cells = leaf.article.select(".cell.tag_solution")
        if not cells:
            continue
        section = soup.new_tag("section", id=f"solutions-{leaf.key}")
        heading = soup.new_tag("h2")
        heading.string = leaf.title
        section.append(heading)
        link = f'<a href="../{of}.html#solutions-{leaf.key}">behind the chapters</a>'
        announced = told_where(leaf, link)
        for cell in cells:
            if not announced:
                cell.insert_before(
                    BeautifulSoup(f'<p class="where">Solutions are {link}.</p>', "html.parser")
                )
            for line in cell.select(".folded-words"):
                line.decompose()
            section.append(cell)
        soup.article.section.append(section)
    return gathered


def told_where(leaf: Leaf, link: str) -> bool:
    """Correct a page that says that its solutions are in a folded cell; return whether it does."""
    places = leaf.article.find_all(string=FOLDED)
    for text in places:
        text.replace_with(BeautifulSoup(FOLDED.sub(rf"\1 {link}", escaped(text)), "html.parser"))
    return bool(places)


def leaves(
    parts: Iterable[tuple[str, list[str]]], built: Path, names: Iterable[str] = (), of: str = "solutions"
) -> list[Leaf]:
    """Return the leaves of the book's parts, or of the named pages, with their solutions gathered.

    The solutions follow the chapters on the leaf ``of``, before the pages that are not notebooks.
    """
    wanted = set(names)
    bound = [
        read(built, name, part) for part, pages in parts for name in pages if not wanted or name in wanted
    ]
    chapters = [leaf for leaf in bound if leaf.name.startswith("notebooks/")]
    gathered = solutions(chapters, of)
    if gathered.article.h2:
        bound.insert(1 + bound.index(chapters[-2 if chapters[-1].key == "P1" else -1]), gathered)
    return bound


def relink(leaf: Leaf, to: Callable[[str, str], str | None]) -> None:
    """Point each link within the book to ``to(page, id)``; if that is None, keep only its words."""
    folder = posixpath.dirname(leaf.name)
    for link in leaf.article.find_all("a", href=True):
        target, _, place = link["href"].partition("#")
        if "://" in target or target.startswith("mailto:"):
            continue
        page = (
            posixpath.normpath(posixpath.join(folder, target)).removesuffix(".html") if target else leaf.name
        )
        address = to(page, "" if place.startswith("live=") else place)
        if address is None:
            link.unwrap()
        else:
            link["href"] = address


def in_light(leaf: Leaf) -> None:
    """Replace the page's colour variables in plots with the colours of a light page."""
    colours = dict(reversed(VARIABLE.findall(style())))  # the first value of each is the light one
    for tag in leaf.article.select(".rope-plot svg, .rope-plot svg *"):
        for name, value in tag.attrs.items():
            if isinstance(value, str) and "var(" in value:
                tag[name] = re.sub(r"var\((--[\w-]+)[^)]*\)", lambda match: colours[match[1]], value)


def address_of(leaf: Leaf, figure: Tag, site: str) -> str:
    """Return the address of a live figure's section, or "" if the book has no address."""
    place = figure["data-section"]
    return f"{site}{leaf.name}.html" + (f"#{place}" if place else "") if site else ""


def turns(count: int) -> Iterator[tuple[float, float, str]]:
    """Yield the hands of a pair at positions 0 … count − 1, 0.42 rad apart, coloured from blue to vermilion."""
    for position in range(count):
        share = position / (count - 1)
        mixed = [
            round(a + share * (b - a)) for a, b in zip((0x00, 0x72, 0xB2), (0xD5, 0x5E, 0x00), strict=True)
        ]
        yield (
            math.cos(0.42 * position),
            -math.sin(0.42 * position),
            "#" + "".join(f"{part:02x}" for part in mixed),
        )


def escaped(text: str) -> str:
    """Return a text as HTML."""
    return html.escape(text, quote=True)
