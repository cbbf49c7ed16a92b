"""Tables that a reader can search, filter and sort; what they hold; and what stands where no script runs."""

import re

import pytest
from playwright.sync_api import expect

from makers import census

from .conftest import SITE, soon

TABLES = {"book/census.html": "architectures", "book/map.html": "methods", "book/vectors.html": "cases"}
VISIBLE = """(table) => [...table.tBodies[0].rows].filter((row) => !row.hidden)
    .map((row) => [...row.cells].map((cell) => cell.textContent.trim()))"""
SMALL = """(box) => [...box.querySelectorAll("th, td, button, input, select, label, p")]
    .filter((part) => parseFloat(getComputedStyle(part).fontSize) < 11).length"""


def rows(page) -> list[list[str]]:
    """Return the cells of the rows that are shown."""
    return page.locator(".search-table table").evaluate(VISIBLE)


def told(page, text: str) -> None:
    """Wait until the count says this."""
    page.wait_for_function(
        "(text) => document.querySelector('.table-count[role=status]').textContent === text", arg=text
    )


@pytest.mark.parametrize("page", TABLES)
def test_every_link_of_a_table_to_the_book_leads_to_a_page(page):
    text = (SITE / page).read_text(encoding="utf-8")
    table = text[text.index('class="search-table"') :]
    links = re.findall(r'href="([^"#]+)', table[: table.index("</table>")])
    for link in links:
        assert link.startswith("https://") or (SITE / page).parent.joinpath(link).resolve().is_file(), link
    assert page != "book/map.html" or len(links) > 80


def test_the_pages_stand_in_the_back_matter():
    text = (SITE / "book/index.html").read_text(encoding="utf-8")
    places = [
        text.index(f'href="{name}.html"') for name in ("glossary", "map", "census", "vectors", "bibliography")
    ]
    assert places == sorted(places)


@pytest.mark.browser
def test_without_a_script_the_table_is_whole_and_plain(reader):
    for page, noun in TABLES.items():
        seen = reader.open(page, wait=False, java_script_enabled=False)
        table = seen.page.locator(".search-table table")
        assert table.locator("tbody tr").count() >= 50, noun
        assert (
            table.locator("thead th[scope=col]").count()
            == table.locator("tbody tr").first.locator("th, td").count()
        )
        assert seen.page.locator(".search-table :is(button, input, select)").count() == 0
        seen.page.close()


@pytest.mark.browser
@pytest.mark.parametrize("width", [1200, 390])
def test_a_reader_searches_and_the_count_is_told(visit, width):
    page = visit("book/census.html", maths=False, width=width).page
    total = len(census.committed()["architectures"])
    assert page.locator(".table-count").inner_text() == f"All {total} architectures."
    page.get_by_label("Search the architectures").fill("cohere INTERLEAVED")
    soon(page, lambda: len(rows(page)) < total)
    found = rows(page)
    assert 0 < len(found) < 10
    assert all("cohere" in " ".join(row) and "interleaved" in " ".join(row) for row in found)
    told(page, f"{len(found)} of {total} architectures.")
    page.get_by_label("Search the architectures").fill("no such model")
    soon(page, lambda: rows(page) == [])
    told(page, f"0 of {total} architectures.")


@pytest.mark.browser
def test_a_rule_finds_the_architectures_that_take_every_rule(visit):
    page = visit("book/census.html", maths=False).page
    page.get_by_label("Search the architectures").fill("yarn")
    entries = census.committed()["architectures"]
    wanted = {e["name"] for e in entries if census.EVERY in e["rules"] or "yarn" in e["rules"]}
    soon(page, lambda: {row[0] for row in rows(page)} == wanted)
    assert 0 < len(wanted) < len(entries)


@pytest.mark.browser
def test_filters_and_search_hold_together(visit):
    page = visit("book/census.html", maths=False).page
    page.get_by_label("Layout").select_option("interleaved")
    page.get_by_label("Width").select_option("part of the head")
    entries = census.committed()["architectures"]
    wanted = [e["name"] for e in entries if e["layout"] == "interleaved" and e["width"] == "part of the head"]
    soon(page, lambda: [row[0] for row in rows(page)] == wanted)
    page.get_by_label("Layout").select_option("")
    page.get_by_label("Width").select_option("")
    soon(page, lambda: len(rows(page)) == len(entries))


@pytest.mark.browser
def test_the_keyboard_sorts_up_down_and_back(visit):
    page = visit("book/map.html", maths=False).page
    before = rows(page)
    button = page.get_by_role("button", name="Year")
    heading = page.locator("th", has=button)
    button.focus()
    for sense, key in (("ascending", "Enter"), ("descending", "Space"), (None, "Enter")):
        page.keyboard.press(key)
        expect(
            heading.and_(page.locator(f"[aria-sort={sense}]" if sense else ":not([aria-sort])"))
        ).to_have_count(1)
        years = [row[1] for row in rows(page)]
        assert years == sorted(years, reverse=sense == "descending") or sense is None
        told(page, f"All {len(before)} methods" + (f", sorted by Year, {sense}." if sense else "."))
        assert page.evaluate("document.activeElement.textContent") == "Year"
    assert rows(page) == before


@pytest.mark.browser
@pytest.mark.parametrize("page", TABLES)
def test_a_table_scrolls_in_its_own_box_and_is_large_enough_to_read(visit, page):
    seen = visit(page, width=390, theme="dark")
    box = seen.page.locator(".search-table")
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= 390
    assert box.evaluate(SMALL) == 0
    box.locator('.rope-table[tabindex="0"]').wait_for()
    seen.assert_clean()
