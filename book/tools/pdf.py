"""The whole book as a PDF: python book/tools/pdf.py [page …]

The built pages become one document with a separate style sheet (``pdf.css``), which Chromium prints twice: the
first print gives the page numbers for the contents and the index. The fonts are matplotlib's, so that lines break
in the same places on every machine.
"""

import argparse
import json
import re
import tempfile
import time
import tomllib
from collections import defaultdict
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path

import address
import bound
import matplotlib
import outline
import segno
from browser import launched
from bs4 import BeautifulSoup, NavigableString
from playwright.sync_api import Browser, Page
from pypdf import PdfReader

ROOT, BUILT = outline.ROOT, outline.BUILT
STYLE = Path(__file__).with_name("pdf.css")
FONTS = {
    "Text": {
        "": "STIXGeneral",
        "bold": "STIXGeneralBol",
        "italic": "STIXGeneralItalic",
        "both": "STIXGeneralBolIta",
    },
    "Plain": {"": "DejaVuSans", "bold": "DejaVuSans-Bold", "italic": "DejaVuSans-Oblique"},
    "Code": {"": "DejaVuSansMono", "bold": "DejaVuSansMono-Bold", "italic": "DejaVuSansMono-Oblique"},
}
FACES = {"": "", "bold": "font-weight: 700;", "italic": "font-style: italic;"}
FACES["both"] = FACES["bold"] + FACES["italic"]
NOWHERE = "The figures of this book move in its pages; here they are stills."
COVER = """<section class="cover">
<svg viewBox="-72 -72 144 144" class="clock"><circle r="62" fill="none" stroke="#8a94a0"/>{hands}</svg>
<h1>{title}</h1>
<p>Rotary position embedding, from “attention cannot see order” to the config.json of a long-context model</p>
<p class="by">{author}</p>
</section>
<section class="imprint">
<p>{moving}</p>
<p>Version {version}. Text: CC BY 4.0. Code: MIT.</p>
<p>This print has all that the pages have, with these differences: folds are open, each live figure is a still with
its words, and solutions are behind the chapters. Left out are the imports that open each notebook and the links
that set a figure.</p>
</section>"""
NOT_INDEXED = {"pre", "code", "a", "h1", "h2", "h3", "h4", "svg", "caption"}
MOST_PLACES = 8  # listed for a term in the index, those with the most occurrences
SHORT = 12  # a table with at most this many rows is kept on one page
PATIENCE = 600_000  # milliseconds allowed for printing the whole book
UNKNOWN = "000"  # as wide as a page number, for the first print


def fonts() -> str:
    """Return the font faces of the style sheet."""
    folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    return "\n".join(
        f'@font-face {{ font-family: "Book {family}"; {FACES[face]} src: url("{(folder / file).as_uri()}.ttf"); }}'
        for family, faces in FONTS.items()
        for face, file in faces.items()
    )


def quoted(text: str) -> str:
    """Return a text as a CSS string."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def running_heads(leaves: Iterable[bound.Leaf]) -> str:
    """Return a rule for the pages of each leaf: the part on the left, the chapter on the right."""
    rules = []
    for leaf in leaves:
        rules.append(
            f"@page p{leaf.key}:left {{ @top-right {{ content: {quoted(leaf.part or outline.TITLE)}; }} }}\n"
            f"@page p{leaf.key}:right {{ @top-left {{ content: {quoted(leaf.title)}; }} }}\n"
            f"#leaf-{leaf.key} {{ page: p{leaf.key}; }}"
        )
    return "\n".join(rules)


def with_own_ids(leaf: bound.Leaf) -> None:
    """Make a leaf's ids unique in the book, and update all references to them."""
    for tag in leaf.article.find_all(True):
        for name, value in list(tag.attrs.items()):
            if name == "id":
                tag["id"] = f"{leaf.key}--{value}"
            elif isinstance(value, str) and "url(#" in value:
                tag[name] = value.replace("url(#", f"url(#{leaf.key}--")
            elif name == "href" and tag.name == "use":
                tag[name] = f"#{leaf.key}--{value[1:]}"


def code_of(url: str) -> str:
    """Return a QR code as SVG."""
    return segno.make(url, error="m").svg_inline(scale=2, border=0, dark="#1b1f24")


def point_to_the_living(leaf: bound.Leaf, site: str) -> None:
    """Write under each still where to find its live figure: a QR code and an address, or the section's name."""
    for figure in leaf.article.select("figure.live"):
        url = bound.address_of(leaf, figure, site)
        section = figure.find_parent("section")
        heading = bound.words(section.find(["h1", "h2", "h3", "h4"])) if section else leaf.title
        if url:
            words = f'{code_of(url)}<a href="{bound.escaped(url)}">{bound.escaped(url)}</a>'
        else:
            words = f"It moves in the book’s page, at “{bound.escaped(heading)}”."
        note = BeautifulSoup(f'<p class="alive">{words}</p>', "html.parser")
        figure.figcaption.append(note.p)


def mark_wide(leaf: bound.Leaf) -> None:
    """Mark tables by columns, which decide the font size, and by rows, since a short table stays on one page."""
    for table in leaf.article.find_all("table"):
        rows = table.find_all("tr")
        columns = max((len(row.find_all(["td", "th"])) for row in rows), default=0)
        table["class"] = [*table.get("class", []), "wide" if columns > 6 else "narrow"]
        if len(rows) <= SHORT:
            table["class"].append("short")
        elif columns > 6 and len(rows) > 20:
            table["class"].append("long")


class Index:
    """The terms of the glossary and the models of the library, with the places where they occur."""

    def __init__(self, terms: Iterable[str], models: Iterable[str]) -> None:
        self.words = {word.lower(): word for word in (*terms, *models) if len(word) > 1}
        longest = sorted(self.words, key=len, reverse=True)
        either = "|".join(map(re.escape, longest))
        self.pattern = re.compile(rf"(?<![\w-])({either})(?:s|es)?(?![\w-])", re.IGNORECASE)
        self.models = {model.lower() for model in models}
        self.met: dict[str, dict[str, int]] = defaultdict(
            lambda: defaultdict(int)
        )  # {word: {place: occurrences}}

    def read(self, leaf: bound.Leaf) -> None:
        """Count the occurrences of the words by section, under its id in the book."""
        for text in leaf.article.find_all(string=True):
            parents = [parent.name for parent in text.parents]
            if type(text) is not NavigableString or NOT_INDEXED.intersection(parents):
                continue
            for match in self.pattern.finditer(text):
                around = (tag for tag in text.parents if tag.name in ("section", "tr") and tag.get("id"))
                place = next((tag["id"] for tag in around), None)
                if place:
                    self.met[match[1].lower()][place] += 1

    def places(self, word: str) -> list[str]:
        """Return the main places of a word, in book order."""
        often = sorted(self.met[word], key=lambda place: -self.met[word][place])[:MOST_PLACES]
        return [place for place in self.met[word] if place in often]

    def html(self, pages: dict[str, int]) -> str:
        """Return the index; consecutive pages are merged."""
        lists = []
        for title, wanted in (("Terms", False), ("Models", True)):
            entries = []
            for word in sorted(self.met):
                if (word in self.models) is wanted:
                    entries.append(f"<li>{bound.escaped(self.words[word])} {self.links(word, pages)}</li>")
            if entries:
                lists.append(f"<h2>{title}</h2><ul>{''.join(entries)}</ul>")
        return f'<section class="index" id="index"><h1>Index</h1>{"".join(lists)}</section>'

    def links(self, word: str, pages: dict[str, int]) -> str:
        """Return the page numbers of a word as links, without repetition."""
        shown: dict[int | str, str] = {}
        for place in self.places(word):
            number = pages.get(place, UNKNOWN if not pages else None)
            if number is not None:
                shown.setdefault(number if pages else place, f'<a href="#{place}">{number}</a>')
        return ", ".join(shown.values())


def terms(leaves: Iterable[bound.Leaf]) -> list[str]:
    """Return the terms of the glossary, except those that occur on every page."""
    glossary = next((leaf for leaf in leaves if leaf.key == "glossary"), None)
    return [bound.words(term).split(" (")[0] for term in glossary.article.find_all("dt")] if glossary else []


def models(root: Path) -> list[str]:
    """Return the names of the models that the library knows."""
    path = root / "doctor" / "rope_doctor" / "config" / "presets.json"
    return [preset["name"] for preset in json.loads(path.read_text(encoding="utf-8"))["presets"]]


def contents(leaves: list[bound.Leaf], pages: dict[str, int]) -> str:
    """Return the contents: parts, chapters and sections with their pages."""
    lines, part = [], None
    for leaf in leaves:
        if leaf.part != part and leaf.part:
            lines.append(f'<p class="toc-part">{bound.escaped(leaf.part)}</p>')
        part = leaf.part
        lines.append(entry("toc-chapter", leaf.title, f"leaf-{leaf.key}", pages))
        if leaf.name.startswith("notebooks/"):
            for heading in leaf.article.select("section > h2"):
                lines.append(entry("toc-section", bound.words(heading), heading.parent.get("id", ""), pages))
    lines.append(entry("toc-chapter", "Index", "index", pages))
    return f'<section class="contents"><h1>Contents</h1><div class="toc">{"".join(lines)}</div></section>'


def entry(kind: str, text: str, place: str, pages: dict[str, int]) -> str:
    """Return a line of the contents."""
    number = pages.get(place, UNKNOWN)
    return f'<p class="{kind}"><a href="#{place}"><span>{bound.escaped(text)}</span><i></i><b>{number}</b></a></p>'


def part_page(part: str, leaves: list[bound.Leaf], pages: dict[str, int]) -> str:
    """Return the page that opens a part: its name and its chapters."""
    lines = "".join(
        entry("toc-chapter", leaf.title, f"leaf-{leaf.key}", pages) for leaf in leaves if leaf.part == part
    )
    return f'<section class="part"><h1>{bound.escaped(part)}</h1>{lines}</section>'


def cover(root: Path, site: str) -> str:
    """Return the cover and its back."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    hands = "".join(
        f'<line x2="{62 * cos:.2f}" y2="{62 * sin:.2f}" stroke="{colour}" stroke-width="3"/>'
        f'<circle cx="{62 * cos:.2f}" cy="{62 * sin:.2f}" r="4.5" fill="{colour}"/>'
        for cos, sin, colour in bound.turns(9)
    )
    moving = f'{code_of(site)}<br>The figures move at <a href="{site}">{site}</a>' if site else NOWHERE
    return COVER.format(
        hands=hands,
        title=outline.TITLE,
        author=project["authors"][0]["name"],
        version=project["version"],
        moving=moving,
    )


def document(root: Path, built: Path, leaves: list[bound.Leaf], index: Index, pages: dict[str, int]) -> str:
    """Return the book as one page of HTML."""
    site = address.read(root).site
    body, part = [cover(root, site), contents(leaves, pages)], ""
    for leaf in leaves:
        if leaf.part != part and leaf.part:
            body.append(part_page(leaf.part, leaves, pages))
        part = leaf.part
        body.append(f'<section class="leaf" id="leaf-{leaf.key}">{leaf.html(bound.glyphs)}</section>')
    body.append(index.html(pages))
    formulas = (built / "html" / "_static" / "formulas" / "formulas.css").as_uri()
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{outline.TITLE}</title>'
        f'<link rel="stylesheet" href="{formulas}"><style>{fonts()}\n{STYLE.read_text(encoding="utf-8")}\n'
        f"{running_heads(leaves)}</style></head><body>{''.join(body)}</body></html>"
    )


def leaves_of(root: Path, built: Path, names: Iterable[str] = ()) -> list[bound.Leaf]:
    """Return the leaves of the book, or of the named pages, ready to print."""
    leaves = bound.leaves(outline.pages(root), built, names)
    site = address.read(root).site
    known = {leaf.name: leaf for leaf in leaves}
    for leaf in leaves:
        point_to_the_living(leaf, site)
        bound.in_light(leaf)
        with_own_ids(leaf)
        mark_wide(leaf)
        for image in leaf.article.find_all("img", src=True):
            if not image["src"].startswith("data:"):
                image["src"] = (built / "html" / "x" / image["src"]).resolve().as_uri()
    places = {tag["id"] for leaf in leaves for tag in leaf.article.find_all(id=True)}

    def to(page: str, place: str) -> str | None:
        leaf = known.get(page)
        if leaf is None:
            return None
        exact = f"{leaf.key}--{place}"
        return f"#{exact}" if exact in places else f"#leaf-{leaf.key}"

    for leaf in leaves:
        bound.relink(leaf, to)
    return leaves


def page_numbers(pdf: Path) -> dict[str, int]:
    """Return the page number of every link target in the PDF."""
    reader = PdfReader(pdf)
    numbers = {page.indirect_reference.idnum: number for number, page in enumerate(reader.pages, 1)}
    places = {}
    for name, place in reader.named_destinations.items():
        page = place.get("/Page")
        if page is not None and getattr(page, "idnum", None) in numbers:
            places[name.removeprefix("/")] = numbers[page.idnum]
    return places


def printed(
    page: Page, leaves: list[bound.Leaf], index: Index, target: Path, root: Path, built: Path
) -> None:
    """Print the leaves into ``target``, twice."""
    pages: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "book.html"
        for _ in range(2):
            file.write_text(document(root, built, leaves, index, pages), encoding="utf-8")
            page.goto(file.as_uri())
            page.evaluate("document.fonts.ready.then(() => true)")
            page.pdf(path=target, prefer_css_page_size=True, print_background=True, outline=True, tagged=True)
            pages = page_numbers(target)


def make(
    target: Path,
    names: Iterable[str] = (),
    root: Path = ROOT,
    built: Path = BUILT,
    started: Browser | None = None,
) -> None:
    """Make the PDF of the book, or of some of its pages, in the given browser or a new one."""
    leaves = leaves_of(root, built, names)
    index = Index(terms(leaves), models(root))
    for leaf in leaves:
        index.read(leaf)
    with nullcontext(started) if started else launched() as browser:
        page = browser.new_page()
        page.set_default_timeout(PATIENCE)
        printed(page, leaves, index, target, root, built)
        page.close()


def main() -> None:
    """Print the book."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "pages", nargs="*", help="book/glossary, notebooks/04_rotate_one_pair, …; all of them"
    )
    parser.add_argument("--to", type=Path, default=BUILT / "book.pdf")
    options = parser.parse_args()
    begin = time.monotonic()
    make(options.to, options.pages)
    count = len(PdfReader(options.to).pages)
    print(
        f"{options.to}: {count} pages, {options.to.stat().st_size / 1e6:.1f} MB, {time.monotonic() - begin:.0f} s"
    )


if __name__ == "__main__":
    main()
