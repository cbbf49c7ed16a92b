"""What is handed on: Markdown of each page, a zip that is the same every time, checksums."""

import hashlib
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
import zipfile
from pathlib import Path

import address
import as_markdown
import dates
import dist
import embed
import nbformat
import outline
import pytest
import students
from docutils import nodes
from py_mini_racer import MiniRacer

from rope_book.widgets import LiveFigure

NOTEBOOKS = sorted((dist.ROOT / "notebooks").glob("*.ipynb"))
PAGE = """<article class="bd-article"><section><h1>Turns<a class="headerlink" href="#turns">#</a></h1>
<p>One <strong>pair</strong>, <a href="../notebooks/04_rotate.html#it">chapter 4</a>,
<span class="math">x</span>.</p>
<ul><li><p>first</p></li><li>second<ul><li>inner</li></ul></li></ul>
<table><tr><th>name</th><th>a|b</th></tr><tr><td><code>base</code></td><td>10</td></tr></table>
<div class="math">y</div><pre>def f():
    return "```"</pre><script>no()</script></section></article>"""


def tree(*formulas: nodes.Node) -> nodes.paragraph:
    """Return a tree that holds formulas."""
    return nodes.paragraph("", "", *formulas)


def test_a_page_keeps_its_words_marks_links_tables_code_and_formulas():
    inline, display = nodes.math("", r"\theta_i"), nodes.math_block("", r"a = b")
    assert as_markdown.of_page(PAGE, tree(inline, display)) == (
        "# Turns\n\nOne **pair**, [chapter 4](../notebooks/04_rotate.md#it), $\\theta_i$.\n\n"
        "- first\n- second\n\n  - inner\n\n| name | a\\|b |\n| --- | --- |\n| `base` | 10 |\n\n"
        '$$\na = b\n$$\n\n````\ndef f():\n    return "```"\n````\n'
    )


def test_a_page_that_is_older_than_its_tree_is_refused():
    with pytest.raises(ValueError, match="2 formulas in the page, 1 in its tree"):
        as_markdown.of_page(PAGE, tree(nodes.math("", "x")))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_markdown_of_a_notebook_has_all_its_text_code_and_prints(path):
    text = as_markdown.of_notebook(path)
    assert text.count("\n# ") + text.startswith("# ") >= 1
    assert not re.search(r"\]\((?!http)[^)]*\.ipynb", text)
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"]).strip()
        assert re.sub(r"(\]\([^)\s:]+)\.ipynb", r"\1.md", source) in text
        for output in cell.get("outputs", []):
            assert "".join(output.get("text", "")).rstrip("\n") in text


@pytest.fixture
def built(tmp_path) -> Path:
    """Make a small site in a folder."""
    (tmp_path / "html" / "book").mkdir(parents=True)
    (tmp_path / "html" / "book" / "index.html").write_text("<p>here</p>", encoding="utf-8")
    (tmp_path / "html" / ".buildinfo").write_text("changes with every build", encoding="utf-8")
    return tmp_path


def test_the_same_site_makes_the_same_zip_with_all_its_files_in_one_folder(built):
    first, second = built / "one" / "site-1.zip", built / "two" / "site-1.zip"
    for target in (first, second):
        target.parent.mkdir()
        dist.zipped(built / "html", target)
    assert first.read_bytes() == second.read_bytes()
    assert zipfile.ZipFile(first).namelist() == ["site-1/book/index.html"]


def test_the_checksums_are_those_of_the_files(built):
    folder = built / "html" / "book"
    dist.write(folder / "SHA256SUMS", dist.sums(folder))
    digest = hashlib.sha256((folder / "index.html").read_bytes()).hexdigest()
    assert (folder / "SHA256SUMS").read_text(encoding="utf-8") == f"{digest}  index.html\n"


def test_a_site_with_an_address_lists_every_page_and_has_one_for_addresses_that_are_none(built):
    site = "https://ada.example/turns/"
    dist.write_for_site(dist.ROOT, built, site)
    named = [
        place.text for place in ET.parse(built / "html" / "sitemap.xml").iter() if place.tag.endswith("}loc")
    ]
    assert named == [f"{site}{name}.html" for _, part in outline.all_pages(dist.ROOT) for name in part]
    assert len(named) == len(set(named)) > 30
    days = re.findall(
        r"<lastmod>(.*?)</lastmod>", (built / "html" / "sitemap.xml").read_text(encoding="utf-8")
    )
    assert len(days) == len(
        [name for _, part in outline.all_pages(dist.ROOT) for name in part if dates.of_page(dist.ROOT, name)]
    )
    assert all(re.fullmatch(r"20\d\d-[01]\d-[0-3]\d", day) for day in days)
    lost = (built / "html" / "404.html").read_text(encoding="utf-8")
    links = re.findall(r'href="([^"]*)"', lost)
    assert links
    assert all(link.startswith(site) for link in links)  # it is served at any depth


def test_the_newest_commit_of_a_file_gives_its_day_and_a_copy_without_history_has_none(tmp_path):
    log = "//2026-02-01\n\nbook/map.md\n//2026-01-31\n\nbook/map.md\nnotebooks/04_x.ipynb\n"
    assert dates.newest(log) == {"book/map.md": "2026-02-01", "notebooks/04_x.ipynb": "2026-01-31"}
    assert dates.of_page(tmp_path, "book/map") == ""


def test_it_runs_without_a_browser_and_without_torch():
    code = (
        "import sys, dist; sys.exit(any(name in sys.modules for name in ('torch', 'playwright', 'nbclient')))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=Path(dist.__file__).parent).returncode == 0


HEAVY = {
    "ModelInThePage": 200_000,  # it holds four trained models: 158 kB of weights, which nothing compresses
    "TrainInThePage": 100_000,  # the trainer, and 33 kB of the text that it trains on
}
FIGURES = sorted(LiveFigure.figures)


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_for_other_pages_is_one_light_file(name):
    text = embed.script(LiveFigure.figures[name])
    assert embed.weight(text) <= HEAVY.get(name, embed.HEAVIEST)
    assert not re.search(r"\b(import|fetch|XMLHttpRequest)\b *\(", text)
    MiniRacer().eval(f"new Function({json.dumps(text)}); 0")  # it is a script


def test_the_style_for_other_pages_knows_no_length_of_theirs():
    text = embed.own_style()
    assert "rem" not in re.findall(r"\d(r?em)\b", text)
    assert '[data-theme="dark"] .rope-live' in text
    assert "html[" not in text


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_for_students_has_every_exercise_and_no_solution(path):
    notebook = nbformat.read(path, as_version=4)
    solved = [cell.source for cell in notebook.cells if students.SOLVED in students.tags(cell)]
    given = students.for_students(notebook)
    nbformat.validate(given)
    source = "\n".join(cell.source for cell in given.cells)
    wanted = {number for text in solved for number in re.findall(r'check\("([\w.]+)"', text)}
    assert wanted <= set(re.findall(r'check\("([\w.]+)"', source))
    assert not any(text in source for text in solved)
    assert not any(cell.get("outputs") for cell in given.cells)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_of_a_book_with_an_address_is_made_for_students_too(path):
    book = address.Address("ada/book", "https://ada.example/", released=True)
    text = address.notebook(path.read_text(encoding="utf-8"), path.name, book, "0.1.0")
    assert "%pip install" in text
    given = students.for_students(nbformat.reads(text, as_version=4))
    assert any("%pip install" in cell.source for cell in given.cells)


def test_a_cell_that_needs_a_solution_is_named():
    cells = [
        nbformat.v4.new_code_cell("x = ..."),
        nbformat.v4.new_code_cell("def f(y):\n    return y", metadata={"tags": ["solution"]}),
        nbformat.v4.new_code_cell("print(f(x))"),
    ]
    with pytest.raises(ValueError, match=r"only these define: f$"):
        students.for_students(nbformat.v4.new_notebook(cells=cells))
