"""List the parts of the Chinese edition (``book/zh``) that are older than their English, or renew their digests.

    python book/tools/chinese.py                    list cells and pages whose English has changed since
    python book/tools/chinese.py --stamp FILE …     renew the digests of files compared with their English

A file ``NN_name.zh`` has the Markdown cells of the notebook of that name, each after ``<!-- id of digest -->``;
code and output come from the notebook. A page ``name.md`` begins with ``<!-- of book/name.md digest -->``.
The digest is that of the English from which it was translated. Needs only Python.
"""

import hashlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = "book/zh"
OF_CELL = re.compile(r"^<!-- (?P<id>[\w-]+) of (?P<digest>[0-9a-f]{8}) -->\n", re.MULTILINE)
OF_PAGE = re.compile(r"\A<!-- of (?P<page>\S+) (?P<digest>[0-9a-f]{8}) -->\n")
FENCED = re.compile(r"^(?P<fence>`{3,}|~{3,}).*?^(?P=fence)[`~]*$", re.DOTALL | re.MULTILINE)
HEADING = re.compile(r"^#{1,6} .+$", re.MULTILINE)


def files(root: Path = ROOT) -> list[Path]:
    """Return the edition's translated files."""
    return sorted(path for path in (root / FOLDER).glob("*") if path.suffix in (".zh", ".md"))


def original(path: Path) -> Path:
    """Return the English file of a Chinese one: its notebook, or the page of the same name."""
    book = path.parents[1]
    return (
        book.parent / "notebooks" / f"{path.stem}.ipynb" if path.suffix == ".zh" else book / f"{path.stem}.md"
    )


def digest(text: str) -> str:
    """Return the digest of an English text.

    >>> digest("One turn.")
    'e013f990'
    """
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def cells(path: Path) -> dict[str, str]:
    """Return {id: source} of a notebook's Markdown cells."""
    raw_cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return {cell["id"]: "".join(cell["source"]) for cell in raw_cells if cell["cell_type"] == "markdown"}


def page(path: Path) -> str:
    """Return an English page."""
    return path.read_text(encoding="utf-8")


def parts(path: Path) -> dict[str, tuple[str, str]]:
    """Return {id: (digest of its English, Chinese text)} of the cells of a ``.zh`` file."""
    text = path.read_text(encoding="utf-8")
    marks = list(OF_CELL.finditer(text))
    if not marks or text[: marks[0].start()].strip():
        raise ValueError(f"{path.name} must begin with a line <!-- id of digest -->")
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    texts = {
        mark["id"]: (mark["digest"], text[mark.end() : end].strip("\n"))
        for mark, end in zip(marks, ends, strict=True)
    }
    if len(texts) < len(marks):
        raise ValueError(f"{path.name} has a cell twice")
    return texts


def body(path: Path) -> tuple[str, str]:
    """Return (digest of its English, Chinese text) of a ``.md`` file."""
    text = path.read_text(encoding="utf-8")
    wanted = f"book/{path.name}"
    mark = OF_PAGE.match(text)
    if mark is None or mark["page"] != wanted:
        raise ValueError(f"{path.name} must begin with a line <!-- of {wanted} digest -->")
    return mark["digest"], text[mark.end() :].lstrip("\n")


def headings(text: str) -> list[str]:
    """Return the heading lines of a text.

    >>> headings("# One\\n\\n```\\n# a comment\\n```\\n\\n## Two")
    ['# One', '## Two']
    """
    return HEADING.findall(FENCED.sub("", text))


def ranks(text: str) -> list[int]:
    """Return the levels of a text's headings in order."""
    return [len(line) - len(line.lstrip("#")) for line in headings(text)]


def faults(path: Path) -> Iterator[str]:
    """Yield a sentence for every fault that prevents a page from being built."""
    if path.suffix == ".md":
        if ranks(body(path)[1]) != ranks(page(original(path))):
            yield f"{path.name}: its headings are not those of {original(path).name}"
        return
    ours, theirs = parts(path), cells(original(path))
    yield from (f"{path.name}: the cell {key} has no translation" for key in theirs if key not in ours)
    yield from (
        f"{path.name}: {original(path).name} has no cell {key} of text" for key in ours if key not in theirs
    )
    yield from (
        f"{path.name}: the cell {key} is empty" for key, (_, text) in ours.items() if not text.strip()
    )
    both = [key for key in theirs if key in ours]
    if [key for key in ours if key in theirs] != both:
        yield f"{path.name}: its cells are in another order than those of {original(path).name}"
    yield from (
        f"{path.name}: the headings of the cell {key} are not those of its English"
        for key in both
        if ranks(ours[key][1]) != ranks(theirs[key])
    )


def merged(path: Path) -> dict:
    """Return the notebook of a ``.zh`` file: Chinese text, code and output unchanged."""
    errors = list(faults(path))
    if errors:
        raise ValueError("\n".join(errors))
    ours = parts(path)
    notebook = json.loads(original(path).read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = ours[cell["id"]][1]
    return notebook


def older(path: Path) -> list[str]:
    """Return the parts of a file whose English has since changed: cell ids, or the file's own name."""
    if path.suffix == ".md":
        return [path.name] if body(path)[0] != digest(page(original(path))) else []
    theirs = cells(original(path))
    return [key for key, (mark, _) in parts(path).items() if key in theirs and mark != digest(theirs[key])]


def stamp(path: Path) -> str:
    """Return a file's text with the digests of its current English."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        body(path)
        return OF_PAGE.sub(
            f"<!-- of book/{path.name} {digest(original(path).read_text(encoding='utf-8'))} -->\n", text
        )
    theirs = cells(original(path))

    def renewed(mark: re.Match) -> str:
        key = mark["id"]
        return f"<!-- {key} of {digest(theirs[key])} -->\n" if key in theirs else mark[0]

    return OF_CELL.sub(renewed, text)


def main(arguments: list[str]) -> int:
    """Renew the digests of the named files, or list what is older; return 1 if anything is."""
    if arguments[:1] == ["--stamp"]:
        for path in map(Path, arguments[1:]):
            path = path.resolve()
            path.write_text(stamp(path), encoding="utf-8", newline="\n")
        return 0
    stale = [(path, name) for path in files() for name in older(path)]
    for path, name in stale:
        print(f"{path.relative_to(ROOT)}: {name} is older than its English")
    print(f"{len(stale)} of {len(files())} files' cells and pages are older" if stale else "nothing is older")
    return int(bool(stale))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
