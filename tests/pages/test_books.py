"""The PDF and the EPUB, made of two pages: what a whole book is made of is in them."""

import io
import re
import shutil
import xml.etree.ElementTree as ET
import zipfile

import address
import bound
import epub
import outline
import pdf
import pytest
from pypdf import PdfReader

from .conftest import ROOT, SITE, at_rest

pytestmark = pytest.mark.nightly

PAGES = ["notebooks/04_rotate_one_pair", "book/glossary"]
TABLES = ["notebooks/08_tell_two_layouts_apart", "book/vectors"]
XHTML = "{http://www.w3.org/1999/xhtml}"


@pytest.fixture(scope="module")
def texts(browser, tmp_path_factory) -> list[str]:
    """Print two pages; the text of each sheet."""
    target = tmp_path_factory.mktemp("pdf") / "book.pdf"
    pdf.make(target, PAGES, ROOT, SITE.parent, browser)
    return [page.extract_text() for page in PdfReader(target).pages]


@pytest.mark.browser
def test_the_contents_of_the_pdf_name_the_pages_where_the_headings_are(texts):
    contents = next(text for text in texts if "Contents" in text.split("\n")[:2])
    wanted = "Why only the distance survives|Exercises|Glossary|Index"
    lines = re.findall(rf"^({wanted})\s+(\d+)$", contents, re.MULTILINE)
    assert len(lines) == 4
    for heading, number in lines:
        assert heading in texts[int(number) - 1]
    assert pdf.UNKNOWN not in contents


@pytest.mark.browser
def test_a_page_of_the_pdf_has_its_number_and_the_name_of_its_chapter_or_part(texts):
    heads = [text.split("\n")[:2] for text in texts]
    chapter = [
        number
        for number, head in enumerate(heads, 1)
        if head[0] in ("4. Rotate one pair", "Part II: Rotation")
    ]
    inside = [number for number in chapter if heads[number - 1][1] == str(number)]
    assert len(inside) > 8
    assert {heads[number - 1][0] for number in inside} == {"4. Rotate one pair", "Part II: Rotation"}


WIDER = """() => [...document.body.querySelectorAll("*")]
    .filter((e) => !e.closest(".cover, svg svg, svg > *") && e.getBoundingClientRect().right > innerWidth + 2)
    .map((e) => e.outerHTML.slice(0, 120))"""
BROKEN = """() => [...document.querySelectorAll("th, td")]
    .filter((e) => e.textContent.length > 3 && e.clientWidth < 3 * parseFloat(getComputedStyle(e).fontSize))
    .map((e) => e.outerHTML.slice(0, 120))"""


@pytest.mark.browser
@pytest.mark.parametrize(
    "names", [PAGES, ["notebooks/08_tell_two_layouts_apart", "book/vectors"]], ids=["prose", "tables"]
)
def test_nothing_in_the_pdf_is_wider_than_its_page(browser, tmp_path, names):
    leaves = pdf.leaves_of(ROOT, SITE.parent, names)
    file = tmp_path / "book.html"
    file.write_text(pdf.document(ROOT, SITE.parent, leaves, pdf.Index([], []), {}), encoding="utf-8")
    page = browser.new_page(viewport={"width": 642, "height": 900})  # 170 mm
    page.emulate_media(media="print")
    page.goto(file.as_uri())
    at_rest(page)
    assert page.evaluate(WIDER) == []
    assert page.evaluate(BROKEN) == [], "a column as narrow as a letter"
    page.close()


@pytest.mark.browser
def test_the_index_of_the_pdf_names_pages_that_have_the_term(texts):
    texts = ["".join(text.split()) for text in texts]  # kerned letters may read as words apart
    index = texts[-1]
    found = re.search(r"(?<=\d)frequency((?:\d+,?)+)", index)
    assert found
    for number in found[1].split(","):
        assert "frequenc" in "".join(texts[int(number) - 1 : int(number) + 2])


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """Make the EPUB of two pages."""
    target = tmp_path_factory.mktemp("epub") / "book.epub"
    epub.make(target, PAGES, ROOT, SITE.parent)
    return target


@pytest.mark.skipif(
    shutil.which("java") is None, reason="epubcheck needs Java (Debian: default-jre-headless)"
)
def test_epubcheck_finds_nothing_wrong(archive, monkeypatch):
    monkeypatch.setenv(
        "JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    )  # two pages are a short run
    assert epub.errors(archive) == []


def test_the_epub_has_every_formula_as_mathml_and_words_for_every_picture(archive):
    with zipfile.ZipFile(archive) as opened:
        assert opened.namelist()[0] == "mimetype"
        page = ET.fromstring(opened.read("book/04_rotate_one_pair.xhtml"))
    formulas = bound.FORMULA.findall((SITE / f"{PAGES[0]}.html").read_text(encoding="utf-8"))
    assert len(page.findall(".//{http://www.w3.org/1998/Math/MathML}math")) == len(formulas) > 50
    assert all(image.get("alt") for image in page.iter(f"{XHTML}img"))
    assert page.get("lang") == "en"
    plots = [each for each in page.iter(f"{XHTML}div") if each.get("class") == "rope-plot"]
    assert plots
    assert all(each.get("aria-label") for each in plots)
    assert not re.search(r"var\(--", ET.tostring(page, encoding="unicode"))


def test_the_same_pages_make_the_same_epub(archive, tmp_path):
    epub.make(tmp_path / "again.epub", PAGES, ROOT, SITE.parent)
    assert (tmp_path / "again.epub").read_bytes() == archive.read_bytes()


def test_solutions_are_behind_the_chapters_and_folds_are_open(archive):
    with zipfile.ZipFile(io.BytesIO(archive.read_bytes())) as opened:
        chapter = opened.read("book/04_rotate_one_pair.xhtml").decode()
        solutions = opened.read("book/solutions.xhtml").decode()
    assert "<details" not in chapter
    assert "What you will be able to do" in chapter
    assert "It stays the same, to the last digit." in chapter  # the answer to a question
    assert "@title Solutions" not in chapter
    assert "@title Solutions" in solutions
    assert 'href="solutions.xhtml#solutions-04"' in chapter


@pytest.mark.parametrize("name", ["book/index", "notebooks/20_turn_in_more_dimensions"])
def test_what_needs_a_hand_or_is_met_again_is_left_out(name):
    page = (SITE / f"{name}.html").read_text(encoding="utf-8")
    (leaf, *_) = bound.leaves(outline.pages(ROOT), SITE.parent, [name])
    text = bound.words(leaf.article)
    for said in ("Or set the figure from here", "in the folded cell"):
        assert said in page or name == "book/index"
        assert said not in text
    assert not leaf.article.select(".page-steps, ul.wall img")
    assert bool(leaf.article.select("ul.wall li")) is ('<ul class="wall">' in page)


def test_a_still_names_the_place_where_its_figure_moves(monkeypatch):
    site = "https://ada.example/turns/"
    monkeypatch.setattr(address, "read", lambda root: address.Address("ada/turns", site))
    (leaf, *_) = pdf.leaves_of(ROOT, SITE.parent, PAGES[:1])
    (note, *_) = leaf.article.select("figure.live .alive")
    assert note.a["href"] == f"{site}notebooks/04_rotate_one_pair.html#rotate-one-pair"
    assert note.svg  # the square code
    monkeypatch.undo()
    (leaf, *_) = pdf.leaves_of(ROOT, SITE.parent, PAGES[:1])
    (note, *_) = leaf.article.select("figure.live .alive")
    if not address.read(ROOT).site:
        assert note.a is None
        assert "Rotate one pair" in note.get_text()
