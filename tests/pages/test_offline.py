"""The book opens from a folder in every engine: figures, formulas, cards and search, without a server.

Three pages stand for all; `make walk` opens every page of the zip, unpacked, and hears what goes wrong there.
"""

import zipfile

import dist
import pytest

from .conftest import CHAPTERS, EVERY_PAGE, PAGES, SITE, WATCH
from .test_engines import until

pytestmark = pytest.mark.browser
THREE = ["book/index", "notebooks/04_rotate_one_pair", "notebooks/16_blend_by_wavelength"]
WALKED = (
    [page for page in PAGES if page != "index.html"] if EVERY_PAGE else [f"{page}.html" for page in THREE]
)
DRAWN = """window.RopeLive?.all();
const slots = [...document.querySelectorAll('.live-slot')];
return document.readyState === 'complete' && slots.length >= arguments[0]
    && slots.every((slot) => slot.querySelector('[data-ready="true"]:not([aria-busy="true"]), .live-note'));"""
SET = """const all = [...document.querySelectorAll('.math')];
const seen = all.filter((math) => math.getClientRects().length > 0);
return all.every((math) => math.querySelector('mjx-container'))
    && seen.length >= arguments[0]
    && seen.every((math) => math.firstElementChild.getBoundingClientRect().width > 0);"""
FOUND = "return document.querySelectorAll('#search-results li').length > 0"
SHOWN = "return (document.querySelector('.hover-card:not([hidden])')?.textContent.length ?? 0) > 20"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Give the address of the built site or, to open every page, of its zip, unpacked and each page watched."""
    if not EVERY_PAGE:
        return SITE.as_uri()
    place = tmp_path_factory.mktemp("walk")
    dist.zipped(SITE, place / "book.zip")
    with zipfile.ZipFile(place / "book.zip") as archive:
        archive.extractall(place)
    watch = (place / "watch.js").resolve()
    watch.write_bytes(WATCH.read_bytes())
    for page in (place / "book").rglob("*.html"):
        head = f'<head><script src="{watch.as_uri()}"></script>'.encode()
        page.write_bytes(page.read_bytes().replace(b"<head>", head, 1))
    return (place / "book").as_uri()


@pytest.mark.parametrize("page", WALKED)
def test_figures_and_formulas_of_a_page_are_there(engine, folder, page):
    engine.open(f"{folder}/{page}")
    until(engine, DRAWN, int(page in CHAPTERS or page == "book/index.html"))
    formulas = (SITE / page).read_text(encoding="utf-8").count('class="math')
    assert engine.js(SET, min(4, formulas))
    if EVERY_PAGE:
        assert engine.js("return book.errors") == []
        assert engine.js("return document.querySelector('h1').innerText.trim().length") > 1


def test_a_card_beside_a_link_is_loaded(engine, folder):
    engine.open(f"{folder}/notebooks/16_blend_by_wavelength.html")
    until(engine, DRAWN, 1)
    engine.press("Tab")  # the keyboard is in use
    engine.js("document.querySelector('a.term').focus()")
    until(engine, SHOWN)


def test_search_finds_a_word(engine, folder):
    engine.open(f"{folder}/search.html?q=rotation")
    until(engine, FOUND)
