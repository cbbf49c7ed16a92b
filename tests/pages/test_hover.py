"""Cards beside links: by pointer and by keyboard, dismissed by Escape, never where a finger is."""

import json
import re

import pytest

from .conftest import CHAPTERS, ROOT, SITE

CARDS = SITE / "_static" / "hover"
CHAPTER = "notebooks/16_blend_by_wavelength.html"
TERM = "a.term[href$='#term-softmax']"
CARD = ".hover-card"
SHOWS = "(words) => document.querySelector('.hover-card:not([hidden])')?.textContent.includes(words)"
HIDDEN = "() => document.querySelector('.hover-card').hidden"


def cards(page: str) -> dict[str, list[str]]:
    """Return the cards of a page."""
    text = (CARDS / page).with_suffix(".js").read_text(encoding="utf-8")
    return json.loads(text.removeprefix("ropeCards(").removesuffix(");\n"))


def links(page: str) -> list[str]:
    """Return where the links of a page's text lead."""
    text = (SITE / page).read_text(encoding="utf-8")
    article = text[text.index("<article") : text.index("</article>")]
    return [href.replace("&amp;", "&") for href in re.findall(r'<a [^>]*href="([^"]*)"', article)]


def test_every_card_belongs_to_a_link_and_says_something_without_tex():
    assert (ROOT / "book" / "assets" / "hover.js").stat().st_size <= 6_000
    for page in [*CHAPTERS, "book/index.html", "book/map.html", "book/wrong.html"]:
        found, there = cards(page), set(links(page))
        assert found
        assert set(found) <= there, set(found) - there
        for href, (what, title, text) in found.items():
            assert what
            assert title
            assert len(text) <= 245
            assert len(text) > 10 or "://" in href, f"{href}: {text!r}"  # a paper may have no journal
            assert not re.search(r"[\\${}]", title + text), text


def test_terms_of_earlier_chapters_are_linked_once_and_papers_have_their_names():
    for page in CHAPTERS:
        terms = [href for href in links(page) if "glossary.html#term-" in href]
        assert len(terms) == len(set(terms)) <= 8, page
        assert all(href in cards(page) for href in terms)
    assert cards(CHAPTER)["../book/glossary.html#term-softmax"][:2] == ["Term", "softmax"]
    assert cards(CHAPTER)["https://arxiv.org/abs/2309.00071"][0] == "Peng et al., 2023"


@pytest.mark.browser
def test_a_card_comes_by_pointer_stays_under_it_and_goes_by_escape(visit):
    seen = visit(CHAPTER, maths=False, bypass_csp=False)
    page = seen.page
    link = page.locator(TERM)
    link.scroll_into_view_if_needed()
    height = page.evaluate("document.documentElement.scrollHeight")
    link.hover()
    page.wait_for_selector(f"{CARD}:not([hidden])")
    assert "positive shares" in page.locator(CARD).inner_text()
    assert link.get_attribute("aria-describedby") == "hover-card"
    assert abs(page.evaluate("document.documentElement.scrollHeight") - height) <= 1
    page.locator(CARD).hover()
    page.wait_for_timeout(600)  # longer than a card waits for a pointer that has left
    assert page.locator(CARD).is_visible()
    page.keyboard.press("Escape")
    page.wait_for_selector(CARD, state="hidden")
    assert link.get_attribute("aria-describedby") is None
    seen.assert_clean()


@pytest.mark.browser
def test_a_card_comes_with_the_focus_from_a_folder_and_fits_a_narrow_dark_page(visit):
    root = SITE.as_uri() + "/"
    seen = visit(CHAPTER, root=root, theme="dark", width=360, wait=False)
    page = seen.page
    page.wait_for_load_state()
    page.keyboard.press("Tab")  # the keyboard is in use
    page.locator(TERM).focus()
    page.wait_for_selector(f"{CARD}:not([hidden])")
    box = page.locator(CARD).bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 360
    paper = page.locator(CARD).evaluate("(el) => getComputedStyle(el).backgroundColor")
    assert max(int(part) for part in re.findall(r"\d+", paper)[:3]) < 60
    page.keyboard.press("Tab")
    page.wait_for_function(
        "() => document.querySelector('[aria-describedby=hover-card]')?.matches(':focus') ?? true"
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    seen.assert_clean()


@pytest.mark.browser
def test_no_card_comes_where_the_page_brings_a_link_under_a_pointer_at_rest(visit):
    seen = visit(CHAPTER, maths=False, wait=False)
    page = seen.page
    page.wait_for_load_state()
    page.mouse.move(600, 500)
    page.locator(TERM).evaluate(
        "(el) => Object.assign(el.style, { position: 'fixed', left: '590px', top: '490px' })"
    )
    page.wait_for_function(f"() => document.querySelector(\"{TERM}\").matches(':hover')")
    page.wait_for_timeout(700)  # twice as long as a card waits
    assert page.evaluate(HIDDEN)
    page.mouse.move(602, 501)  # on the same link
    page.wait_for_function(SHOWS, arg="positive shares")
    seen.assert_clean()


@pytest.mark.browser
def test_no_card_comes_where_a_finger_taps(visit):
    seen = visit(CHAPTER, maths=False, wait=False, has_touch=True, width=390)
    page = seen.page
    page.wait_for_load_state()
    page.evaluate(
        "document.querySelector('article').addEventListener('click', (event) => event.preventDefault())"
    )
    page.locator(TERM).tap()
    page.wait_for_timeout(700)
    assert not page.locator(CARD).is_visible()
    assert not [url for url in seen.asked if "/hover/" in url]
