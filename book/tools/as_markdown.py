"""Pages as Markdown: notebooks from their cells, other pages from their HTML, with formulas in TeX."""

import json
import pickle
import re
from collections.abc import Iterator
from pathlib import Path

from bs4 import BeautifulSoup, NavigableString, Tag
from docutils import nodes

BLOCKS = {"p", "div", "section", "ul", "ol", "li", "table", "pre", "dl", "dt", "dd", "details", "blockquote"}
BLOCKS |= {"h1", "h2", "h3", "h4", "h5", "h6", "figure", "figcaption", "aside", "summary"}
DROPPED = ("script", "style", "button", "svg", "input", "select", ".headerlink", ".onlyprint", "noscript")
DROPPED += (".page-steps",)


def of_notebook(path: Path) -> str:
    """Return a notebook as Markdown: its text, its code with the output, and the words of its pictures."""
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
    """Return a code block with a fence that does not occur in the code."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def of_page(page: str, doctree: nodes.document) -> str:
    """Return a built page as Markdown, with formulas in TeX from the document tree."""
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
    """Yield an element that begins a line."""
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
    """Return a table, one row per line."""
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
    """Return an inline element."""
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
