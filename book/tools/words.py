"""Count the words of the book and the minutes that they take, in the spine (unfolded) and in folds.

    python book/tools/words.py            # a row per chapter
    python book/tools/words.py 18 A1      # only these

A word is a run of characters with a letter or a digit in it. A formula counts as one word, a link by its text;
code and its output do not count. The other columns are minutes:

    read        a slow reading of the spine, `PACE` words per minute
    code        one per code cell in the spine, except exercises
    spine       read and code
    practice    the exercises outside detours, `PRACTICE` each: our guess
    everything  spine and practice, and the same for all folds

The minutes are counted, not timed. Each chapter gives its own (`tests/test_notebooks.py`).
"""

import re
import sys
from pathlib import Path

import nbformat

ROOT = Path(__file__).parents[2]
PACE = 130  # words per minute
PRACTICE = 5  # minutes per exercise
ALONE = ("00", "P")  # pages that are not chapters: the ten-minute page, the playground
FOLDED_HEADING = re.compile(r"(#{2,4}) (Detour: .+|Further reading)$")
CHALLENGE = re.compile(r'^check\("\w+\.c"', re.MULTILINE)
FOLDING = {"hide-cell", "hide-input", "remove-input"}  # tags that fold a cell
DETAILS = re.compile(r"<details>\s*(?:<summary>.*?</summary>)?(.*?)</details>", re.DOTALL)
NOT_WORDS = (
    (re.compile(r"```.*?```", re.DOTALL), " "),
    (re.compile(r"\$\$.*?\$\$|\$[^$\n]+\$", re.DOTALL), " formula "),
    (re.compile(r"\]\([^)\s]*\)"), "] "),
    (re.compile(r"</?\w+>"), " "),
)


def count(text: str) -> int:
    """Return the number of words in a piece of Markdown."""
    for pattern, instead in NOT_WORDS:
        text = pattern.sub(instead, text)
    return sum(bool(re.search(r"\w", word)) for word in text.split())


class Chapter:
    """The spine and the folds of a chapter, gathered cell by cell.

    The page folds a section whose heading begins with "Detour:", and "Further reading", up to the next heading of
    its level or above, except the heading and the first paragraph, which says who it is for.
    """

    def __init__(self) -> None:
        self.spine: list[str] = []
        self.folds: list[str] = []
        self.code: list[str] = []  # code of unfolded cells, including exercises
        self.folded_code: list[str] = []  # code of folded cells worth reading, and of cells in detours
        self.rank = self.blocks = (
            0  # level of the folded section (0: none), and the number of its blocks read
        )

    def add_markdown(self, text: str) -> None:
        """Add a text cell."""
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
        """Add a code cell, unless it is setup, a solution, a question or a challenge, which nobody can time."""
        if CHALLENGE.search(source):
            return
        if not self.rank and not FOLDING & set(tags):
            self.code.append(source)
        elif not {"hide-cell", "remove-input"} & set(tags):
            self.folded_code.append(source)

    def minutes(self) -> dict[str, float]:
        """Return the minutes of the spine, of its exercises, and of everything."""
        practice, folded_practice = (
            PRACTICE * sum(map(is_exercise, c)) for c in (self.code, self.folded_code)
        )
        code = sum(not is_exercise(source) for source in self.code)
        read = count("\n\n".join(self.spine)) / PACE
        folds = count("\n\n".join(self.folds)) / PACE + folded_practice
        folds += sum(not is_exercise(source) for source in self.folded_code)
        return {
            "read": read,
            "code": code,
            "minutes": read + code,
            "practice": practice,
            "everything": read + code + practice + folds,
        }


def is_exercise(source: str) -> bool:
    """Return whether a cell asks for an answer.

    >>> is_exercise('a = ...\\n\\ncheck("4.1", a)'), is_exercise("checked = 1")
    (True, False)
    """
    return bool(re.search(r"^check\(", source, re.MULTILINE))


def read(path: Path) -> dict[str, float]:
    """Return one notebook's words and minutes."""
    chapter = Chapter()
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "markdown":
            chapter.add_markdown(cell.source)
        else:
            chapter.add_code(cell.source, cell.metadata.get("tags", []))
    spine, folds = (count("\n\n".join(text)) for text in (chapter.spine, chapter.folds))
    return {"words": spine + folds, "spine": spine, "folds": folds} | chapter.minutes()


def stated(row: dict[str, float]) -> tuple[int, int, int]:
    """Return the minutes that a chapter gives for its spine and, to the nearest five, its exercises and everything.

    >>> stated({"minutes": 12.4, "practice": 15, "everything": 42.6})
    (12, 15, 45)
    """
    return round(row["minutes"]), 5 * round(row["practice"] / 5), 5 * round(row["everything"] / 5)


def main(wanted: list[str]) -> None:
    """Print a row per page, and sums over the chapters."""
    rows = {path.stem: read(path) for path in sorted((ROOT / "notebooks").glob("*.ipynb"))}
    rows = {name: row for name, row in rows.items() if not wanted or name.split("_")[0] in wanted}
    for title, first in (("chapters", ("0", "1", "2")), ("chapters and appendices", ("0", "1", "2", "A"))):
        summed = [row for name, row in rows.items() if name.startswith(first) and not name.startswith(ALONE)]
        rows |= {title: {key: sum(row[key] for row in summed) for key in summed[0]}} if summed else {}
    print(
        f"{'':33}{'words':>8}{'spine':>8}{'folds':>8}{'read':>7}{'code':>6}{'spine':>7}{'practice':>10}{'everything':>12}"
    )
    for name, row in rows.items():
        print(
            f"{name:33}{row['words']:8,}{row['spine']:8,}{row['folds']:8,}{row['read']:7.0f}{row['code']:6}"
            f"{row['minutes']:7.0f}{row['practice']:10}{row['everything']:12.0f}"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
