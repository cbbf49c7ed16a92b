"""The cheat sheet is one sheet of paper."""

import re

import pytest

from .conftest import at_rest

pytestmark = pytest.mark.browser
CUT = """(width) => [...document.querySelectorAll("#cheat-sheet :is(p, li, td, th, mjx-container)")]
    .filter((part) => part.getClientRects().length && part.getBoundingClientRect().right > width + 1)
    .map((part) => part.textContent.slice(0, 40))"""


@pytest.mark.parametrize("paper", ["A4", "Letter"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_cheat_sheet_is_printed_on_one_page(visit, paper, theme):
    page = visit("book/cheat_sheet.html", theme=theme).page
    printed = page.pdf(format=paper)
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 1


def test_nothing_on_the_printed_sheet_is_cut_off_at_the_right(visit):
    page = visit("book/cheat_sheet.html", width=741).page  # A4 less its margins, in CSS pixels
    page.emulate_media(media="print")
    at_rest(page)
    assert page.evaluate(CUT, 741) == []
