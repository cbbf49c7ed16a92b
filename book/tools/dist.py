"""Make of the built book what can be handed on: python book/tools/dist.py [--books] [--wheel] [--tag v0.1.0]

Into the site (``_build/html``) go each page as Markdown beside it, ``llms.txt`` and ``llms-full.txt``, each figure
as a file for other people's pages (``embed/``), and, where ``_config.yml`` names the site, ``sitemap.xml`` and
``404.html``. Into ``_build/dist`` go a zip of the site that opens from a folder, one of the students' notebooks,
the slides of the lecture, with ``--books`` a PDF and an EPUB, with ``--wheel`` the wheels of the library and of the
test vectors, and ``SHA256SUMS`` of all of it.
"""

import hashlib
import html
import json
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import address
import dates
import embed
import students
import yaml
from bs4 import BeautifulSoup, NavigableString, Tag
from docutils import nodes

ROOT = Path(__file__).resolve().parents[2]
BUILT = ROOT / "_build"
NAME = "rope-turn-by-turn"
EPOCH = (1980, 1, 1, 0, 0, 0)  # the date of every file in the zip, so that the same pages make the same bytes
CHINESE = "book/zh/"
TITLE = "RoPE, Turn by Turn"
ABOUT = "An interactive book on rotary position embedding, and its reference library rope_edu."
LOST = """<!DOCTYPE html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="robots" content="noindex" />
    <meta http-equiv="Content-Security-Policy" content="default-src 'none'" />
    <title>No such page: {title}</title>
  </head>
  <body>
    <main>
      <h1>There is no page at this address</h1>
      <p>Addresses that were published lead on; this one never was, or was mistyped.</p>
      <p><a href="{site}book/index.html">The first page</a> · <a href="{site}search.html">Search</a></p>
    </main>
  </body>
</html>
"""
BLOCKS = {"p", "div", "section", "ul", "ol", "li", "table", "pre", "dl", "dt", "dd", "details", "blockquote"}
BLOCKS |= {"h1", "h2", "h3", "h4", "h5", "h6", "figure", "figcaption", "aside", "summary"}
DROPPED = ("script", "style", "button", "svg", "input", "select", ".headerlink", ".onlyprint", "noscript")
DROPPED += (".page-steps",)


def all_pages(root: Path) -> list[tuple[str, list[str]]]:
    """Return (caption, pages) of each part in the order of ``_toc.yml``; the first page has no caption."""
    toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    parts = [(part["caption"], [entry["file"] for entry in part["chapters"]]) for part in toc["parts"]]
    return [("", [toc["root"]]), *parts]


def pages(root: Path) -> list[tuple[str, list[str]]]:
    """Return the same of the English book, which is what can be had as Markdown, as a PDF and as an EPUB."""
    return [(caption, part) for caption, part in all_pages(root) if not part[0].startswith(CHINESE)]


def of_notebook(path: Path) -> str:
    """Return a notebook as Markdown: its text, its code, what that prints, and the words of its pictures."""
    blocks = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"]).strip("\n")
        if cell["cell_type"] == "markdown":
            blocks.append(re.sub(r"(\]\([^)\s:]+)\.ipynb", r"\1.md", source))
            continue
        blocks.append(fenced(source, "python"))
        alt = cell["metadata"].get("mystnb", {}).get("image", {}).get("alt")
        for output in cell["outputs"]:
            data = output.get("data", {})
            text = "".join(output.get("text", data.get("text/plain", "")))
            if any(kind.startswith("image/") for kind in data):
                text = ""
                blocks += [f"*Picture: {alt}*"] if alt else []
                alt = None
            if text.strip():
                blocks.append(fenced(text.rstrip("\n"), "text"))
    return "\n\n".join(block for block in blocks if block) + "\n"


def fenced(text: str, language: str) -> str:
    """Return a block of code, with a fence that the code does not contain."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def of_page(page: str, doctree: nodes.document) -> str:
    """Return a built page as Markdown; its formulas are taken from the document tree, in TeX."""
    article = BeautifulSoup(page, "html.parser").select_one("article.bd-article")
    for unwanted in article.select(", ".join(DROPPED)):
        unwanted.decompose()
    drawn = article.select("span.math, div.math")
    written = list(doctree.findall(lambda node: isinstance(node, nodes.math | nodes.math_block)))
    if len(drawn) != len(written):
        raise ValueError(
            f"{len(drawn)} formulas in the page, {len(written)} in its tree: build the book again"
        )
    for shown, node in zip(drawn, written, strict=True):
        tex = node.astext().strip()
        shown.replace_with(f"${tex}$" if isinstance(node, nodes.math) else f"\n\n$$\n{tex}\n$$\n\n")
    return re.sub(r"\n{3,}", "\n\n", "\n\n".join(blocks(article))).strip() + "\n"


def blocks(tag: Tag) -> Iterator[str]:
    """Yield the paragraphs, lists, tables and code of an element."""
    line: list[str] = []

    def ended() -> Iterator[str]:
        text = " ".join("".join(line).split(" ")).strip()
        line.clear()
        if text:
            yield text

    for child in tag.children:
        if isinstance(child, Tag) and (child.name in BLOCKS or child.find(list(BLOCKS))):
            yield from ended()
            yield from block(child)
        else:
            line.append(inline(child))
    yield from ended()


def block(tag: Tag) -> Iterator[str]:
    """Yield one element that begins a line."""
    inside = list(blocks(tag)) if tag.name not in ("pre", "table") else []
    if re.fullmatch("h[1-6]", tag.name):
        yield f"{'#' * int(tag.name[1])} {' '.join(inside)}"
    elif tag.name == "pre":
        yield fenced(tag.get_text().strip("\n"), "")
    elif tag.name == "table":
        yield table(tag)
    elif tag.name in ("ul", "ol"):
        yield "\n".join(inside)
    elif tag.name == "li":
        yield "- " + re.sub(r"\n(?=[^\n])", "\n  ", "\n\n".join(inside))
    elif tag.name == "dt":
        yield f"**{' '.join(inside)}**".replace("****", "")
    else:
        yield from inside


def table(tag: Tag) -> str:
    """Return a table, one row a line."""
    rows = [
        [
            " ".join("".join(inline(part) for part in cell.children).split()).replace("|", "\\|")
            for cell in cells
        ]
        for cells in (row.find_all(["th", "td"]) for row in tag.find_all("tr"))
    ]
    head, *body = [row for row in rows if row]
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *body])


def inline(part: Tag | NavigableString) -> str:
    """Return what is inside a line."""
    if not isinstance(part, Tag):
        return part.replace("\n", " ") if part.strip().count("$$") < 2 else str(part)
    text = "".join(inline(child) for child in part.children)
    if not text.strip():
        return str(part.get("alt", "")) if part.name == "img" else text
    if part.name == "a" and part.get("href"):
        target = part["href"]
        near = "://" not in target and not target.startswith(("#", "mailto:"))
        return f"[{text.strip()}]({re.sub(r'[.]html(?=#|$)', '.md', target) if near else target})"
    mark = {"strong": "**", "b": "**", "em": "*", "i": "*", "code": "`"}.get(part.name, "")
    return f"{mark}{text}{mark}"


def markdown(root: Path, built: Path, page: str) -> str:
    """Return a page as Markdown: a notebook from its cells, any other page from its HTML."""
    notebook = root / f"{page}.ipynb"
    if notebook.exists():
        return of_notebook(notebook)
    doctree = pickle.loads((built / ".doctrees" / f"{page}.doctree").read_bytes())
    return of_page((built / "html" / f"{page}.html").read_text(encoding="utf-8"), doctree)


def write_markdown(root: Path, built: Path) -> None:
    """Write each page as Markdown into the site, and two files that gather them."""
    index, whole = [f"# {TITLE}", "", f"> {ABOUT}", ""], []
    for caption, names in pages(root):
        index += [f"## {caption}", ""] if caption else []
        for name in names:
            text = markdown(root, built, name)
            write(built / "html" / f"{name}.md", text)
            title = re.search(r"^# (.+)$", text, re.MULTILINE)[1]
            index.append(f"- [{title}]({name}.md)")
            whole.append(f"<!-- {name}.md -->\n\n{text}")
        index.append("")
    write(built / "html" / "llms.txt", "\n".join(index))
    write(built / "html" / "llms-full.txt", "\n".join(whole))


def write_for_site(root: Path, built: Path, site: str) -> None:
    """Write what only a site with an address has: the list of its pages, and a page for addresses that are none."""
    names = [name for _, part in all_pages(root) for name in part]
    urls = "".join(
        f"  <url><loc>{html.escape(f'{site}{name}.html')}</loc>{lastmod(root, name)}</url>\n"
        for name in names
    )
    opening = (
        '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
    )
    write(built / "html" / "sitemap.xml", f"{opening}\n{urls}</urlset>\n")
    write(built / "html" / "404.html", LOST.format(title=TITLE, site=html.escape(site)))


def lastmod(root: Path, name: str) -> str:
    """Return what a sitemap says of the day on which a page was last changed."""
    day = dates.of_page(root, name)
    return f"<lastmod>{day}</lastmod>" if day else ""


def write(path: Path, text: str) -> None:
    """Write a text with one kind of line end on every system."""
    path.write_text(text, encoding="utf-8", newline="\n")


def zipped(site: Path, target: Path) -> None:
    """Pack a site into a folder of the zip's name; the same files make the same bytes."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in sorted(path for path in site.rglob("*") if path.is_file() and path.name != ".buildinfo"):
            entry = zipfile.ZipInfo(f"{target.stem}/{path.relative_to(site).as_posix()}", EPOCH)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, path.read_bytes())


def sums(folder: Path) -> str:
    """Return the checksum of every file of a folder, in the form that ``sha256sum --check`` reads."""
    paths = sorted(path for path in folder.iterdir() if path.name != "SHA256SUMS")
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in paths)


def wheel(root: Path, target: Path) -> None:
    """Build the library's wheel from a copy, so that nothing is left in the repository."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "source"
        shutil.copytree(root / "rope_edu", source / "rope_edu", ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("pyproject.toml", "README.md", "LICENSE", "rope_edu_pytest.py"):
            shutil.copy(root / name, source)
        command = [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "--quiet",
            "--no-deps",
            "--wheel-dir",
            target,
            source,
        ]
        subprocess.run(command, check=True)


def vectors_wheel(root: Path, target: Path, *options: str) -> None:
    """Build the wheel of the test vectors, which depends on nothing, from their data and ``book/adopt``."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "source"
        shutil.copytree(root / "book" / "adopt", source, ignore=shutil.ignore_patterns("__pycache__"))
        for data in (root / "rope_edu" / "vectors").glob("*.json"):
            shutil.copy(data, source / "rope_vectors")
        for name in ("runner.c", "runner.mjs"):
            shutil.move(source / name, source / "rope_vectors")
        shutil.copy(root / "LICENSE", source)
        command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", *options]
        subprocess.run([*command, "--wheel-dir", target, source], check=True)


def books(stem: Path, root: Path, built: Path) -> None:
    """Make the PDF and the EPUB; what epubcheck finds in the EPUB ends the run."""
    import epub
    import pdf

    pdf.make(Path(f"{stem}.pdf"), (), root, built)
    made = Path(f"{stem}.epub")
    epub.make(made, (), root, built)
    if (found := epub.errors(made)) is None:
        print("no Java here: the EPUB was not checked")
    elif found:
        sys.exit("epubcheck: " + "\n".join(found))


def main(arguments: list[str], root: Path = ROOT, built: Path = BUILT) -> None:
    """Write everything anew."""
    target = built / "dist"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    version = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    if "--tag" in arguments and (tag := arguments[arguments.index("--tag") + 1]) != f"v{version}":
        sys.exit(f"the tag is {tag}, but pyproject.toml says {version}")
    write_markdown(root, built)
    for name in ("sitemap.xml", "404.html"):
        (built / "html" / name).unlink(missing_ok=True)
    if site := address.read(root).site:
        write_for_site(root, built, site)
    import slides  # it takes formulas from here

    embed.write(built / "html" / "embed")
    zipped(built / "html", target / f"{NAME}-{version}.zip")
    with tempfile.TemporaryDirectory() as folder:
        students.write(Path(folder) / "notebooks")
        zipped(Path(folder), target / f"{NAME}-students-{version}.zip")
    slides.write(target / f"{NAME}-slides-{version}.html")
    if "--books" in arguments:
        books(target / f"{NAME}-{version}", root, built)
    if "--wheel" in arguments:
        wheel(root, target)
        vectors_wheel(root, target)
    write(target / "SHA256SUMS", sums(target))
    for path in sorted(target.iterdir()):
        print(f"{path.stat().st_size / 1e6:7.2f} MB  {path.name}")


if __name__ == "__main__":
    main(sys.argv[1:])
