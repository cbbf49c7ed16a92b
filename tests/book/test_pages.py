"""Every page of the built book, as a reader without network meets it."""

import gzip
from pathlib import Path

import axe_playwright_python
import pytest

from .conftest import CHAPTERS, PAGES, SITE, settle

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
STILL = "*, *::before, *::after { transition: none !important; animation: none !important }"  # themes fade
BUDGET = 1_300_000  # bytes, gzip, everything a chapter loads on a cold cache


def test_every_chapter_has_a_page_with_a_live_figure():
    notebooks = {path.stem for path in (SITE.parents[1] / "notebooks").glob("*.ipynb")}
    assert {Path(page).stem for page in CHAPTERS} == notebooks
    for page in CHAPTERS:
        assert 'class="live-slot"' in (SITE / page).read_text(encoding="utf-8"), f"{page} has no live figure"


@pytest.mark.browser
@pytest.mark.parametrize("page", PAGES)
def test_page_is_whole_without_network(visit, page):
    seen = visit(page)
    seen.assert_clean()
    assert seen.page.locator("mjx-merror").count() == 0, "a formula is not valid TeX"
    for figure in seen.page.locator(".live-slot .rope-live").all():
        assert figure.locator("svg > g > *").count() > 5, "a live figure is drawn almost empty"


@pytest.mark.browser
@pytest.mark.parametrize("page", PAGES)
def test_page_is_whole_from_a_folder(visit, page):
    seen = visit(page, root=SITE.as_uri() + "/")
    seen.assert_clean()


@pytest.mark.browser
@pytest.mark.parametrize("page", CHAPTERS)
def test_stills_with_words_stand_where_no_script_runs(visit, page):
    seen = visit(page, wait=False, java_script_enabled=False)
    slots = seen.page.locator(".live-slot")
    assert slots.count() > 0
    for slot in slots.all():
        still = slot.locator("img")
        assert still.is_visible()
        assert still.bounding_box()["height"] > 100
        assert len(still.get_attribute("alt").split()) > 5


@pytest.mark.browser
@pytest.mark.parametrize("page", PAGES)
def test_every_picture_has_alt_text_that_says_something(visit, page):
    seen = visit(page, wait=False, java_script_enabled=False)
    for image in seen.page.locator("main img").all():
        alt = image.get_attribute("alt") or ""
        assert " " in alt.strip(), f"{image.get_attribute('src')} has the alt text {alt!r}"


@pytest.mark.browser
@pytest.mark.parametrize("page", PAGES)
def test_axe_finds_no_violation_light_dark_wide_and_narrow(visit, page):
    seen = visit(page)
    seen.page.evaluate(AXE)
    seen.page.add_style_tag(content=STILL)
    for width in (1200, 360):
        seen.page.set_viewport_size({"width": width, "height": 900})
        for theme in ("light", "dark"):
            seen.page.emulate_media(color_scheme=theme)
            seen.page.wait_for_function(f"document.documentElement.dataset.theme === '{theme}'")
            # contrast is slow to find out and does not depend on the width
            options = {"rules": {"color-contrast": {"enabled": width == 1200}}}
            violations = seen.page.evaluate("(o) => axe.run(o).then((result) => result.violations)", options)
            found = [(v["id"], [node["html"] for node in v["nodes"]]) for v in violations]
            assert not found, f"{theme}, {width} px"


@pytest.mark.browser
@pytest.mark.parametrize("page", PAGES)
def test_page_does_not_scroll_sideways_on_a_phone(visit, page):
    seen = visit(page, width=360)
    widest = seen.page.evaluate("document.documentElement.scrollWidth")
    assert widest <= 360, f"the page is {widest} px wide"


@pytest.mark.browser
@pytest.mark.parametrize("page", CHAPTERS)
def test_chapter_is_light_on_a_cold_cache(visit, page, address):
    seen = visit(page, wait=False)
    loaded = []
    seen.page.on("response", lambda response: loaded.append(response.url.partition("?")[0]))
    seen.page.reload()
    settle(seen.page)
    files = {url.removeprefix(address) for url in loaded if url.startswith(address)}
    weight = sum(len(gzip.compress((SITE / file).read_bytes())) for file in files)
    assert weight <= BUDGET, f"{page} loads {weight:,} bytes (gzip)"


@pytest.mark.browser
def test_dark_figures_are_dark(visit):
    seen = visit(CHAPTERS[0], theme="dark")
    paper = seen.page.locator(".rope-live").first.evaluate("(el) => getComputedStyle(el).backgroundColor")
    red, green, blue = (int(part) for part in paper.removeprefix("rgb(").removesuffix(")").split(","))
    assert max(red, green, blue) < 60
