"""Count the words of the book: those that a reader meets unfolded, the spine, and those that wait in folds.

    python book/tools/words.py            # a row for each chapter
    python book/tools/words.py 18 A1      # of these only

A word is a run of characters with a letter or a digit in it. A formula counts as one word, a link by what it says;
code and what it prints do not count. `read` is the minutes of a slow reading of the spine, `PACE` words per minute;
`done` adds a minute for each unfolded cell of code and another for each exercise.
"""

import re
import sys
from pathlib import Path

import nbformat

ROOT = Path(__file__).parents[2]
PACE = 130
ALONE = ("00", "P")  # pages that are no chapters: that of ten minutes, the playground
FOLDED_HEADING = re.compile(r"(#{2,4}) (Detour: .+|Further reading)$")
DETAILS = re.compile(r"<details>\s*(?:<summary>.*?</summary>)?(.*?)</details>", re.DOTALL)
NOT_WORDS = (
    (re.compile(r"```.*?```", re.DOTALL), " "),
    (re.compile(r"\$\$.*?\$\$|\$[^$\n]+\$", re.DOTALL), " formula "),
    (re.compile(r"\]\([^)\s]*\)"), "] "),
    (re.compile(r"</?\w+>"), " "),
)


def count(text: str) -> int:
    """Number of words in a piece of Markdown."""
    for pattern, instead in NOT_WORDS:
        text = pattern.sub(instead, text)
    return sum(bool(re.search(r"\w", word)) for word in text.split())


class Chapter:
    """The spine and the folds of a chapter, gathered cell by cell.

    A section whose heading begins with "Detour:", and the one called "Further reading", is folded by the page up to
    the next heading of its rank or above; its heading and its first paragraph, which says whom it serves, are not.
    """

    def __init__(self) -> None:
        self.spine: list[str] = []
        self.folds: list[str] = []
        self.code: list[str] = []  # of unfolded cells
        self.rank = self.blocks = (
            0  # of the folded section, and how many of its blocks are read; rank 0: none is
        )

    def add_markdown(self, text: str) -> None:
        """Read a cell of text."""
        self.folds += DETAILS.findall(text)
        for block in re.split(r"\n\s*\n|(?<=\n)(?=#)", DETAILS.sub(" ", text)):
            line = block.strip().split("\n")[0]
            heading = re.match(r"(#{1,6}) ", line)
            if heading and len(heading[1]) <= (self.rank or 6):
                folded = FOLDED_HEADING.match(line)
                self.rank, self.blocks = (len(folded[1]) if folded else 0), 0
            (self.folds if self.rank and self.blocks > 1 else self.spine).append(block)
            if line:
                self.blocks += 2 if self.rank and line.endswith("Further reading") else 1

    def add_code(self, source: str, tags: list[str]) -> None:
        """Read a cell of code."""
        if not (self.rank or {"hide-cell", "hide-input", "remove-input"} & set(tags)):
            self.code.append(source)

    def minutes(self) -> tuple[float, int]:
        """Minutes of a slow reading of the spine: of its words, and with its cells and exercises."""
        words = count("\n\n".join(self.spine)) / PACE
        exercises = sum("\ncheck(" in source for source in self.code)
        return words, round(words + len(self.code) + exercises)


def read(path: Path) -> dict[str, int]:
    """Words and minutes of one notebook."""
    chapter = Chapter()
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "markdown":
            chapter.add_markdown(cell.source)
        else:
            chapter.add_code(cell.source, cell.metadata.get("tags", []))
    spine, folds = (count("\n\n".join(text)) for text in (chapter.spine, chapter.folds))
    reading, minutes = chapter.minutes()
    return {"spine": spine, "folds": folds, "read": reading, "minutes": minutes}


def main(wanted: list[str]) -> None:
    """Print a row for each page, and the sum of the chapters."""
    rows = {path.stem: read(path) for path in sorted((ROOT / "notebooks").glob("*.ipynb"))}
    rows = {name: row for name, row in rows.items() if not wanted or name.split("_")[0] in wanted}
    chapters = [row for name, row in rows.items() if not name.startswith(ALONE)]
    rows["chapters and appendices"] = {
        key: sum(row[key] for row in chapters) for key in ("spine", "folds", "read", "minutes")
    }
    print(f"{'':34}{'whole':>8}{'spine':>8}{'folds':>8}{'read':>6}{'done':>6}")
    for name, row in rows.items():
        whole = row["spine"] + row["folds"]
        print(f"{name:34}{whole:8,}{row['spine']:8,}{row['folds']:8,}{row['read']:6.0f}{row['minutes']:6}")


if __name__ == "__main__":
    main(sys.argv[1:])
