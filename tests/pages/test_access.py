"""What the page on accessibility says of keyboard, zoom and spacing, in three chapters."""

import pytest

from .conftest import at_rest

pytestmark = pytest.mark.browser

NAMES = ("04_rotate_one_pair", "06_read_many_clocks", "15_stretch_the_frequencies")
CHAPTERS = [f"notebooks/{name}.html" for name in NAMES]
SPACING = """* { line-height: 1.5 !important; letter-spacing: 0.12em !important; word-spacing: 0.16em !important; }
p { margin-bottom: 2em !important; }"""  # WCAG 1.4.12
# what the keyboard reaches in the figures, in the order of the page; a group of radio buttons is one stop
STOPS = """() => [...document.querySelectorAll(".rope-live :is(input, select, textarea, button, summary)")]
    .filter((e) => e.checkVisibility() && !e.disabled && !(e.type === "radio" && !e.checked)).length"""
HERE = "() => document.activeElement?.closest('.rope-live') ? 1 : 0"
FIRST = """() => {
    document.querySelector(".rope-live :is(input, select, textarea, button, summary)").focus();
}"""
CUT = """() => [...document.querySelectorAll(".rope-live :is(label, legend, summary, .rl-readout), .bd-article p")]
    .filter((e) => e.checkVisibility() && !e.classList.contains("rl-spoken"))
    .filter((e) => e.scrollWidth > e.clientWidth + 2 && getComputedStyle(e).overflowX === "hidden")
    .map((e) => e.textContent.slice(0, 60))"""


@pytest.mark.parametrize("path", CHAPTERS)
def test_with_wide_spacing_a_chapter_fits_into_a_fourth_of_a_screen(visit, path):
    page = visit(path, width=320).page
    page.add_style_tag(content=SPACING)
    at_rest(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    assert page.evaluate(CUT) == []


@pytest.mark.parametrize("path", CHAPTERS)
def test_tab_alone_goes_through_every_figure_and_out_of_it(visit, path):
    page = visit(path, maths=False).page
    page.evaluate(FIRST)
    reached, most = 1, page.evaluate(STOPS)
    for _ in range(400):
        page.keyboard.press("Tab")
        reached += page.evaluate(HERE)
        if reached >= most:
            break
    assert reached == most > 5
    page.keyboard.press("Tab")
    assert page.evaluate(HERE) == 0
