"""List published addresses that the built book lacks, each with its likeliest new place, for moved.yml.

python book/tools/moved.py            # reads _build/html
"""

import importlib.util
import json
import re
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SITE = ROOT / "_build" / "html"
spec = importlib.util.spec_from_file_location("moved_extension", ROOT / "book" / "extensions" / "moved.py")
extension = importlib.util.module_from_spec(spec)
spec.loader.exec_module(extension)
table, whole = extension.table, extension.whole

PUBLISHED = ROOT / "tests" / "pages" / "addresses.json"
LITTLE = {
    "a",
    "an",
    "and",
    "at",
    "by",
    "detour",
    "in",
    "is",
    "it",
    "of",
    "on",
    "or",
    "the",
    "to",
    "what",
    "with",
}


@cache
def ids(page: str) -> set[str]:
    """Return every id on a built page, or none if the page is gone."""
    file = SITE / f"{page}.html"
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    return set() if "data-moved" in text else set(re.findall(r'\sid="([^"]+)"', text))


def sections(page: str) -> list[str]:
    """Return the ids of a page's sections in order."""
    text = (SITE / f"{page}.html").read_text(encoding="utf-8")
    return re.findall(r'<section [^>]*id="([^"]+)"', text)


def leads_to(page: str, section: str, entries: dict[str, dict[str, str]]) -> str:
    """Return the address to which a published one leads, as in ``site.js``, or "" if nowhere."""
    existing = ids(page)
    moved = entries.get(page, {})
    if section in existing:
        return f"{page}#{section}"
    if section in moved:
        target, _, wanted = whole(page, moved[section]).partition("#")
        return f"{target}#{wanted}" if wanted in ids(target) else ""
    if not existing and "" in moved:  # the page is gone: the redirect keeps the hash
        return leads_to(moved[""].partition("#")[0], section, entries)
    near = [f"detour-{section}", section.removeprefix("detour-")]
    return next((f"{page}#{other}" for other in near if other in existing), "")


def missing(entries: dict[str, dict[str, str]]) -> dict[str, list[str]]:
    """Return {page: published sections that lead nowhere}."""
    published = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    lost = {page: [one for one in old if not leads_to(page, one, entries)] for page, old in published.items()}
    return {page: old for page, old in lost.items() if old}


def words(section: str) -> set[str]:
    """Return the words that distinguish an id."""
    return set(section.split("-")) - LITTLE


def likeliest(page: str, section: str, pages: list[str]) -> tuple[float, str]:
    """Return (likeness from 0 to 1, the section with the most words in common, preferably on the same page)."""

    def likeness(there: str, other: str) -> float:
        common, both = words(section) & words(other), words(section) | words(other)
        return len(common) / max(len(both), 1) + 0.1 * (there == page)

    return max((likeness(there, other), f"{there}#{other}") for there in pages for other in sections(there))


def main() -> int:
    """Print what is missing as moved.yml entries; return 0 if nothing is missing."""
    entries = table()
    files = [file for folder in ("book", "notebooks") for file in sorted((SITE / folder).glob("*.html"))]
    pages = [page for file in files if ids(page := f"{file.parent.name}/{file.stem}")]
    lost = missing(entries)
    for page, old in lost.items():
        gone = entries.get(page, {}).get("", page)
        print(f"{page}:")
        for section in old:
            like, place = likeliest(gone, section, pages)
            place = place.removeprefix(page) if place.startswith(f"{page}#") else place
            print(f'  {section}: "{place}"  # {like:.0%}')
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
