"""The book opens from a folder in every engine: figures, formulas, cards and search, without a server."""

import pytest

from .conftest import SITE
from .test_engines import until

pytestmark = pytest.mark.browser
FOLDER = SITE.as_uri()
DRAWN = """const slots = [...document.querySelectorAll('.live-slot')];
return document.readyState === 'complete'
    && slots.length > 0 && slots.every((slot) => slot.querySelector('[data-ready="true"], .live-note'));"""
SET = """const all = [...document.querySelectorAll('.math')];
const seen = all.filter((math) => math.getClientRects().length > 0);
return all.every((math) => math.querySelector('mjx-container'))
    && seen.length > 3 && seen.every((math) => math.firstElementChild.getBoundingClientRect().width > 0);"""
FOUND = "return document.querySelectorAll('#search-results li').length > 0"
SHOWN = "return (document.querySelector('.hover-card:not([hidden])')?.textContent.length ?? 0) > 20"


@pytest.mark.parametrize(
    "page", ["book/index", "notebooks/04_rotate_one_pair", "notebooks/16_blend_by_wavelength"]
)
def test_figures_and_formulas_of_a_page_are_there(engine, page):
    engine.open(f"{FOLDER}/{page}.html")
    until(engine, DRAWN)
    if page != "book/index":
        assert engine.js(SET)


def test_a_card_beside_a_link_is_loaded(engine):
    engine.open(f"{FOLDER}/notebooks/16_blend_by_wavelength.html")
    until(engine, DRAWN)
    engine.press("Tab")  # the keyboard is in use
    engine.js("document.querySelector('a.term').focus()")
    until(engine, SHOWN)


def test_search_finds_a_word(engine):
    engine.open(f"{FOLDER}/search.html?q=rotation")
    until(engine, FOUND)
