"""Sphinx extension: material for teachers, from ``book/data/teach.yml`` and the chapters.

``{teach} syllabi`` shows sessions with times from their word counts; ``goals`` the prerequisites and goals of each
chapter, from its first cell; ``misconceptions`` each with a link to the figure in the state that cures it;
``projects``, ``rubric``, ``exam`` and ``answers`` show their entries.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import nbformat
import yaml
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

BOOK = Path(__file__).resolve().parents[1]
DATA = BOOK / "data" / "teach.yml"
sys.path.append(str(BOOK / "tools"))

import words  # noqa: E402

NEEDS = re.compile(r"You need: (.*?)(?:\n\n|\Z)", re.DOTALL)
GOALS = re.compile(r"After this (?:chapter|appendix) you will be able to\n\n(.*?)(?:\n\n|\Z)", re.DOTALL)


def data() -> dict:
    """Return the entries of ``teach.yml``."""
    return yaml.safe_load(DATA.read_text(encoding="utf-8"))


def chapter(root: Path, number: str) -> Path:
    """Return the notebook of a chapter: ``04`` or ``A1``."""
    (path,) = (root / "notebooks").glob(f"{number}_*.ipynb")
    return path


def spoken(number: str) -> str:
    """Return a chapter's name in a sentence: chapter 4, appendix A1, the ten-minute page."""
    if number == "00":
        return "the ten-minute page"
    return f"appendix {number}" if number.startswith("A") else f"chapter {int(number)}"


def link(root: Path, number: str) -> str:
    """Return a link to a chapter."""
    return f"[{spoken(number)}](../notebooks/{chapter(root, number).name})"


def minutes(root: Path, session: dict) -> int:
    """Return the counted minutes of the spines of a session's pages, plus any further minutes planned."""
    return round(counted(root, session, "minutes")) + session.get("extra", 0)


def practice(root: Path, session: dict) -> int:
    """Return the minutes that the exercises on these spines take."""
    return round(counted(root, session, "practice"))


def counted(root: Path, session: dict, what: str) -> float:
    """Return a column of the word counts, summed over the pages of a session."""
    return sum(words.read(chapter(root, number))[what] for number in session["pages"])


def syllabi(root: Path) -> Iterator[str]:
    """Yield the sessions of each course."""
    for course in data()["syllabi"]:
        yield from (f"### {course['name']}", "", course["text"].strip(), "")
        yield from ("| Session | Pages | Reading | Exercises | It has |", "|---|---|---|---|---|")
        for session in course["sessions"]:
            pages = ", ".join([link(root, number) for number in session["pages"]])
            pages += f", {session['and']}" if "and" in session else ""
            times = minutes(root, session), practice(root, session), session["slot"]
            yield f"| {session['about']} | {pages} | {' min | '.join(map(str, times))} min |"
        yield from ("", f"At home: {course['home']}", "")


def goals(root: Path) -> Iterator[str]:
    """Yield the prerequisites and goals of each chapter, from its text."""
    for path in sorted((root / "notebooks").glob("[0-9A]*.ipynb")):
        cells = nbformat.read(path, as_version=4).cells
        text = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
        if not GOALS.search(text):
            continue
        number = path.name.partition("_")[0]
        title = re.match(r"# (.+)", text)[1]
        needs = re.sub(r"\]\((?!http)", "](../notebooks/", " ".join(NEEDS.search(text)[1].split()))
        taught = re.sub(r"\]\((?!http)", "](../notebooks/", GOALS.search(text)[1])
        name = re.sub("^A[0-9]: ", "", title)
        yield from (f"**{spoken(number).capitalize()}: [{name}](../notebooks/{path.name}).**", "")
        yield from (f"Needs {needs}", "", *taught.split("\n"), "")


def misconceptions(root: Path) -> Iterator[str]:
    """Yield each misconception with the question that detects it and a link to its figure."""
    for number, entry in enumerate(data()["misconceptions"], 1):
        yield from (f"**{number}. “{entry['wrong']}”**", "")
        yield from (f"Ask: {entry['ask']} *{entry['answer']}*", "")
        yield from (f"{{figure-state}}`{number}`", "")


def figure_state(root: Path, number: int) -> tuple[str, str, str]:
    """Return (words, page, hash) of the figure that cures a misconception."""
    entry = data()["misconceptions"][number - 1]
    texts = {name: as_address(value) for name, value in entry.get("state", {}).items()}
    place = urlencode({"live": entry["figure"], **texts})
    page = chapter(root, entry["page"])
    return f"{entry['figure']}, {spoken(entry['page'])}", f"notebooks/{page.stem}", place


def as_address(value: object) -> str:
    """Return a value as written in a page's address."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def projects(root: Path) -> Iterator[str]:
    """Yield the projects."""
    for entry in data()["projects"]:
        yield from (f"- **{entry['name']}.** {entry['text']}",)


def rubric(root: Path) -> Iterator[str]:
    """Yield the rubric."""
    yield from ("| Judged | 1 point | 2 points | 3 points |", "|---|---|---|---|")
    for row in data()["rubric"]:
        yield f"| **{row['what']}** | {row['low']} | {row['middle']} | {row['high']} |"


def exam(root: Path) -> Iterator[str]:
    """Yield the questions."""
    yield from (f"{number}. {entry['ask']}" for number, entry in enumerate(data()["exam"], 1))


def answers(root: Path) -> Iterator[str]:
    """Yield the answers, each with its chapter."""
    for number, entry in enumerate(data()["exam"], 1):
        yield f"{number}. {entry['answer']} ({link(root, entry['chapter']).replace('[c', '[C', 1)}.)"


SHOWN = {show.__name__: show for show in (syllabi, goals, misconceptions, projects, rubric, exam, answers)}


class Teach(SphinxDirective):
    """Show one kind of entry."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the entries, parsed as part of the page."""
        root = Path(self.env.srcdir)
        for file in (DATA, *(root / "notebooks").glob("*.ipynb")):
            self.env.note_dependency(str(file))
        around = nodes.container()
        lines = list(SHOWN[self.arguments[0]](root))
        self.state.nested_parse(StringList(lines), 0, around, match_titles=True)
        return around.children


def show_state(name, raw, text, line, inliner, options=None, content=None):
    """Return the link to a misconception's figure; the signature is that of a docutils role."""
    env = inliner.document.settings.env
    words_, page, place = figure_state(Path(env.srcdir), int(text))
    target = f"{env.app.builder.get_relative_uri(env.docname, page)}#{place}"
    return [nodes.Text("Show "), nodes.reference("", words_, refuri=target, internal=True)], []


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension."""
    app.add_directive("teach", Teach)
    app.add_role("figure-state", show_state)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
