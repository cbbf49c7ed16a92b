"""Count the words of the book: those that a reader meets unfolded, the spine, and those that wait in folds.

    python book/tools/words.py            # a row for each chapter
    python book/tools/words.py 18 A1      # of these only

A word is a run of characters with a letter or a digit in it. A formula counts as one word, a link by what it says;
code and what it prints do not count. Minutes are those of a slow reading, `PACE` words a minute, a minute for each
unfolded cell of code, and two for each exercise.
"""

import re
import sys
from pathlib import Path

import nbformat

ROOT = Path(__file__).parents[2]
PACE = 130
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


def split(markdown: list[str]) -> tuple[str, str]:
    """The spine and the folds of a chapter, from the text of its Markdown cells in order.

    A section whose heading begins with "Detour:", and the one called "Further reading", is folded by the page up to
    the next heading of its rank or above; its heading and its first paragraph, which says whom it serves, are not.
    """
    spine, folds = [], []
    rank = lines_seen = 0  # of the section that is folded; 0: none is
    for text in markdown:
        folds += DETAILS.findall(text)
        for block in re.split(r"\n\s*\n|(?<=\n)(?=#)", DETAILS.sub(" ", text)):
            line = block.strip().split("\n")[0]
            heading = re.match(r"(#{1,6}) ", line)
            if heading and len(heading[1]) <= (rank or 6):
                folded = FOLDED_HEADING.match(line)
                rank, lines_seen = (len(folded[1]) if folded else 0), 0
            reading_list = rank and "Further reading" in line
            (folds if rank and lines_seen > 1 else spine).append(block)
            if block.strip():
                lines_seen += 2 if reading_list else 1
    return "\n\n".join(spine), "\n\n".join(folds)


def read(path: Path) -> dict[str, int]:
    """Words and minutes of one notebook."""
    cells = nbformat.read(path, as_version=4).cells
    spine, folds = split([cell.source for cell in cells if cell.cell_type == "markdown"])
    code = [
        cell
        for cell in cells
        if cell.cell_type == "code" and "hide-cell" not in cell.metadata.get("tags", [])
    ]
    shown = [cell for cell in code if "hide-input" not in cell.metadata.get("tags", [])]
    exercises = sum(cell.source.count("\ncheck(") for cell in shown)
    minutes = count(spine) / PACE + len(shown) - exercises + 2 * exercises
    return {"spine": count(spine), "folds": count(folds), "minutes": round(minutes)}


def main(wanted: list[str]) -> None:
    """Print a row for each chapter and their sum."""
    rows = {path.stem: read(path) for path in sorted((ROOT / "notebooks").glob("*.ipynb"))}
    rows = {name: row for name, row in rows.items() if not wanted or name.split("_")[0] in wanted}
    rows["sum"] = {key: sum(row[key] for row in rows.values()) for key in ("spine", "folds", "minutes")}
    print(f"{'':34}{'whole':>8}{'spine':>8}{'folds':>8}{'minutes':>9}")
    for name, row in rows.items():
        whole = row["spine"] + row["folds"]
        print(f"{name:34}{whole:8,}{row['spine']:8,}{row['folds']:8,}{row['minutes']:9,}")


if __name__ == "__main__":
    main(sys.argv[1:])
