"""The outline of the book, for all tools that copy it: its title, its pages in order, its build folder."""

from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
BUILT = ROOT / "_build"
EPOCH = (1980, 1, 1, 0, 0, 0)  # the date of every file in a zip, so that equal pages give equal bytes
CHINESE = "book/zh/"
TITLE = "RoPE, Turn by Turn"
ABOUT = "An interactive book on rotary position embedding, and its reference library rope_edu."


def all_pages(root: Path) -> list[tuple[str, list[str]]]:
    """Return (caption, pages) of every part in the order of ``_toc.yml``; the first page has no caption."""
    toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    parts = [(part["caption"], [entry["file"] for entry in part["chapters"]]) for part in toc["parts"]]
    return [("", [toc["root"]]), *parts]


def pages(root: Path) -> list[tuple[str, list[str]]]:
    """Return the same for the English book, which is the one available as Markdown, PDF and EPUB."""
    return [(caption, part) for caption, part in all_pages(root) if not part[0].startswith(CHINESE)]


def write(path: Path, text: str) -> None:
    """Write a text with Unix line endings on every system."""
    path.write_text(text, encoding="utf-8", newline="\n")
