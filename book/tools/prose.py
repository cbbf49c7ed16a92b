"""List phrases of the book's prose that sound translated, with file and sentence.

    python book/tools/prose.py            # the pages in book/, the README and every chapter
    python book/tools/prose.py 18 glossary

Code, formulas, addresses, titles of other works, headings and words in quotation marks are left out.
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "book").glob("*.md"))]
CHAPTERS = sorted((ROOT / "notebooks").glob("*.ipynb"))

NOT_PROSE = (
    (re.compile(r"^(?P<fence>`{3,}|:{3,}).*?^(?P=fence)", re.DOTALL | re.MULTILINE), " "),
    (re.compile(r"<summary>.*?</summary>|</?details>|<!--.*?-->", re.DOTALL), "\n\n"),
    (re.compile(r"\$\$.*?\$\$|\$[^$\n]+\$", re.DOTALL), "X"),
    (re.compile(r"`[^`]*`"), "X"),
    (re.compile(r"\[[^\]]*\]\(http[^)\s]*\)"), "X"),
    (re.compile(r"\]\([^)\s]*\)"), "]"),
    (re.compile(r"^#+ .*$", re.MULTILINE), "\n"),
    (re.compile(r'"[^"\n]*(?:\n[^"\n]+)?"|“[^”]*”'), "Q"),
)
BLOCKS = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*+>]|\d+\.|:) )|\s\|\s|^\||\|$", re.MULTILINE)
SENTENCES = re.compile(r"(?<=[.!?])[\")*_\]]*\s+(?=[\"(*_\[]*[A-ZΘ])")
LEAD = re.compile(r"^[\s>*_\-+:\[(]*(?:\d+\.\s+)?[*_\[(]*")

FOR_IS = r"\b(?:stands?|stood|standing)\b(?! (?:alone|still|out|up|for|in for|in the way)\b)"
PHRASES = {
    "stand, for is, appears or is written": re.compile(rf"(?<!as it )(?<!as they ){FOR_IS}", re.IGNORECASE),
    "a turn a token, for per token": re.compile(r"\b(?:turns?|radians?|degrees?) an? token\b", re.IGNORECASE),
    "all the same, for still": re.compile(
        r"(?<!\bare )(?<!\bwere )(?<!\bbe )\ball the same\b", re.IGNORECASE
    ),
    "own rate": re.compile(r"\bown (?:learning )?rate\b", re.IGNORECASE),
    "shall": re.compile(r"\bshall\b", re.IGNORECASE),
    "nothing of": re.compile(r"\bnothing of\b", re.IGNORECASE),
    "What … or Who … that opens a sentence and no question": re.compile(r"^Wh(?:at|o)\b(?!.*\?$)", re.DOTALL),
}


def markdown(path: Path) -> str:
    """Return the text of a page, or of a notebook's Markdown cells."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        return text
    cells = json.loads(text)["cells"]
    return "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a piece of Markdown, including table cells that end like one."""
    for pattern, instead in NOT_PROSE:
        text = pattern.sub(instead, text)
    for block in BLOCKS.split(text):
        for sentence in SENTENCES.split(block):
            words = LEAD.sub("", " ".join(sentence.split()))
            if words:
                yield words


def findings(text: str) -> Iterator[tuple[str, str]]:
    """Yield (phrase, sentence) for every phrase to rewrite."""
    for sentence in sentences(text):
        for name, pattern in PHRASES.items():
            opens = name.startswith("What")
            if pattern.search(sentence) and not (opens and not re.search(r"[.:!][)*_\"]*$", sentence)):
                yield name, sentence


def main(wanted: list[str]) -> int:
    """Print every finding; return 0 if there are none."""
    count = 0
    for path in [*PAGES, *CHAPTERS]:
        if not wanted or path.stem in wanted or path.stem.partition("_")[0] in wanted:
            for name, sentence in findings(markdown(path)):
                count += 1
                print(f"{path.relative_to(ROOT)}: {name}\n    {sentence}")
    print(f"{count} found")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
