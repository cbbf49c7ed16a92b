"""What is handed on: a zip that is the same every time, checksums, light figures, students' notebooks."""

import hashlib
import json
import re
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import address
import cards
import dist
import embed
import nbformat
import pytest
import students
from browser import find_chromium
from py_mini_racer import MiniRacer

from rope_book.widgets import LiveFigure

NOTEBOOKS = sorted((dist.ROOT / "notebooks").glob("*.ipynb"))


@pytest.fixture
def built(tmp_path) -> Path:
    """Make a small site in a folder."""
    (tmp_path / "html" / "book").mkdir(parents=True)
    (tmp_path / "html" / "book" / "index.html").write_text("<p>here</p>", encoding="utf-8")
    (tmp_path / "html" / "weights.gguf").write_bytes(b"GGUF")
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


def test_it_runs_without_a_browser_and_without_torch():
    code = (
        "import sys, dist; sys.exit(any(name in sys.modules for name in ('torch', 'playwright', 'nbclient')))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=Path(dist.__file__).parent).returncode == 0


HEAVY = {
    "ConfigInspector": 74_000,  # it reads every kind of config and GGUF, and compares two layer by layer
    "ModelInThePage": 207_000,  # it holds four trained models: 158 kB of weights, which nothing compresses
    "RealHead": 108_000,  # queries and keys of eight heads of SmolLM2, 8 bits each: 68 kB
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
    text = address.notebook(path.read_text(encoding="utf-8"), book, "0.1.0")
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


PAGE = """<meta property="og:title" content="Clocks &amp; ferns" />
<meta property="og:url" content="https://ada.example/rope/book/index.html" />
<img alt="" class="live-still" src="../_images/fern.svg">"""
SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 6 3"><rect width="6" height="3" fill="red"/></svg>'
)


def test_a_page_with_an_address_gets_a_card_of_its_figure_and_others_stay_as_they_are(built):
    site = built / "html"
    before = (site / "book" / "index.html").read_bytes()
    assert cards.addressed(site) == []
    assert (site / "book" / "index.html").read_bytes() == before
    for folder in ("_images", "_static"):
        (site / folder).mkdir()
    (site / "_images" / "fern.svg").write_text(SVG, encoding="utf-8")
    page = site / "book" / "index.html"
    page.write_text(PAGE, encoding="utf-8")
    if find_chromium() is None:
        pytest.skip("no Chromium")
    for _ in range(2):  # a second run changes nothing
        cards.write(site)
        text = page.read_text(encoding="utf-8")
        assert text.count('"https://ada.example/rope/_static/cards/book-index.png"') == 1
        assert text.count("summary_large_image") == 1
    picture = (site / "_static" / "cards" / "book-index.png").read_bytes()
    assert picture[:4] == b"\x89PNG"
    assert struct.unpack(">II", picture[16:24]) == (1200, 630)
