"""Every page of the built book, as a reader without network meets it."""

import gzip
import importlib.util
import re
from pathlib import Path

import pytest

from .conftest import CHAPTERS, PAGES, SITE, settle

# axe-core lies in a package whose code we do not use
AXE_PACKAGE = Path(importlib.util.find_spec("pytest_playwright_axe").origin).parent
AXE = (AXE_PACKAGE / "resources" / "axe.min.js").read_text(encoding="utf-8")
AXE_RUNS = """(contrast) => axe.run({
    runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    rules: { "color-contrast": { enabled: contrast }, "label-content-name-mismatch": { enabled: true } },
}).then((result) => result.violations.map((v) => [v.id, v.nodes.map((node) => node.html.slice(0, 200))]))"""
STILL = "*, *::before, *::after { transition: none !important; animation: none !important }"  # themes fade
CHAPTER_BUDGET = 400_000  # bytes, gzip, everything that a chapter loads on a cold cache
INDEX_BUDGET = 250_000
SLOW = {
    "offline": False,
    "latency": 40,
    "downloadThroughput": 3.5 * 1.6e6 / 8,
    "uploadThroughput": 1e5,
}  # 1.6 Mbit/s; the server here does not compress, which makes a page 3.5 times as large
SHIFTS = """() => { window.shifted = 0; new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifted += entry.value;
}).observe({ type: "layout-shift", buffered: true }) }"""
VIOLATIONS = """() => { window.violations = [];
    document.addEventListener("securitypolicyviolation", (event) => window.violations.push(
        `${event.violatedDirective}: ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`)) }"""


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
        still = slot.locator("img, .rope-plot")  # of a control that needs Python, its plot
        assert still.is_visible()
        assert still.bounding_box()["height"] > 100
        words = still.get_attribute("alt") or still.get_attribute("aria-label")
        assert len(words.split()) > 5


@pytest.mark.browser
@pytest.mark.parametrize("page", PAGES)
def test_every_picture_has_alt_text_that_says_something(visit, page):
    seen = visit(page, wait=False, java_script_enabled=False)
    pictures = seen.page.locator('main img, main [role="img"]').all()
    for picture in pictures:
        alt = picture.get_attribute("alt") or picture.get_attribute("aria-label") or ""
        assert " " in alt.strip(), f"{picture.get_attribute('src')} has the alt text {alt!r}"


@pytest.mark.browser
@pytest.mark.parametrize("page", PAGES)
def test_axe_finds_no_violation_light_dark_wide_and_narrow_with_every_fold_open(visit, page):
    seen = visit(page)
    seen.page.evaluate(AXE)
    seen.page.add_style_tag(content=STILL)
    seen.page.evaluate("document.querySelectorAll('details').forEach((fold) => (fold.open = true))")
    for width in (1200, 360):
        seen.page.set_viewport_size({"width": width, "height": 900})
        for theme in ("light", "dark"):
            seen.page.emulate_media(color_scheme=theme)
            seen.page.wait_for_function(f"document.documentElement.dataset.theme === '{theme}'")
            # contrast is slow to find out and does not depend on the width
            found = seen.page.evaluate(AXE_RUNS, width == 1200)
            assert not found, f"{theme}, {width} px"


@pytest.mark.browser
@pytest.mark.parametrize("page", PAGES)
def test_page_does_not_scroll_sideways_on_a_phone(visit, page):
    seen = visit(page, width=360)
    widest = seen.page.evaluate("document.documentElement.scrollWidth")
    assert widest <= 360, f"the page is {widest} px wide"


SMALLEST = """(svg) => {
    const scale = svg.getScreenCTM().a;
    const sizes = [...svg.querySelectorAll("text")].map((text) => parseFloat(getComputedStyle(text).fontSize));
    return Math.min(...sizes) * scale;
}"""


def rgb(colour: str) -> list[int]:
    """Return the red, green and blue of a computed colour."""
    return [int(part) for part in re.findall(r"\d+", colour)[:3]]


def loaded_bytes(seen, address) -> int:
    """Return what the page loads on a cold cache, in bytes after gzip."""
    loaded = []
    seen.page.on("response", lambda response: loaded.append(response.url.partition("?")[0]))
    seen.page.reload()
    settle(seen.page)
    files = {url.removeprefix(address) for url in loaded if url.startswith(address)}
    return sum(len(gzip.compress((SITE / file).read_bytes())) for file in files)


@pytest.mark.browser
@pytest.mark.parametrize("page", CHAPTERS)
def test_chapter_is_light_on_a_cold_cache(visit, page, address):
    weight = loaded_bytes(visit(page, wait=False), address)
    assert weight <= CHAPTER_BUDGET, f"{page} loads {weight:,} bytes (gzip)"


@pytest.mark.browser
def test_index_is_light_on_a_cold_cache(visit, address):
    weight = loaded_bytes(visit("book/index.html", wait=False), address)
    assert weight <= INDEX_BUDGET, f"the index loads {weight:,} bytes (gzip)"


@pytest.mark.browser
@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("width", [1200, 360])
def test_nothing_moves_while_a_page_loads_on_a_slow_line(visit, page, width):
    seen = visit("book/notation.html", width=width)
    seen.page.context.new_cdp_session(seen.page).send("Network.emulateNetworkConditions", SLOW)
    seen.page.add_init_script(f"({SHIFTS})()")
    seen.page.goto(seen.page.url.replace("book/notation.html", page), timeout=120_000)  # a busy machine, too
    settle(seen.page)
    seen.page.wait_for_timeout(200)  # fonts come last
    shifted = seen.page.evaluate("shifted")
    assert shifted <= 0.1, f"{page} moves by {shifted:.3f}"


@pytest.mark.browser
@pytest.mark.parametrize("folder", [False, True], ids=["served", "from a folder"])
@pytest.mark.parametrize("page", [page for page in PAGES if page != "index.html"])  # it only leads on
def test_page_obeys_its_own_policy(visit, address, page, folder):
    policy = re.search(
        r'Content-Security-Policy" content="([^"]*)"', (SITE / page).read_text(encoding="utf-8")
    )
    assert policy[1].startswith("default-src 'self' file:; object-src 'none'; frame-src 'none';")
    assert "unsafe-eval" not in policy[1]
    assert "'unsafe-inline'" not in policy[1].partition("script-src")[2].partition(";")[0]
    root = SITE.as_uri() + "/" if folder else None
    seen = visit("book/notation.html", root=root, wait=False, bypass_csp=False)
    seen.page.add_init_script(f"({VIOLATIONS})()")
    seen.page.goto(seen.page.url.replace("book/notation.html", page))
    for slot in seen.page.locator(".live-slot:not(:has(.live-note))").all():
        slot.locator('[data-ready="true"]').wait_for()
    assert seen.page.evaluate("violations") == []
    seen.assert_clean()


@pytest.mark.browser
def test_policy_stops_a_script_that_is_not_ours(visit):
    seen = visit("book/notation.html", wait=False, bypass_csp=False)
    seen.page.evaluate(f"({VIOLATIONS})()")
    seen.page.evaluate(
        """() => { const script = document.createElement("script");
            script.textContent = "window.intruder = true"; document.body.append(script) }"""
    )
    assert seen.page.evaluate("window.intruder") is None
    assert seen.page.evaluate("violations.length") == 1


@pytest.mark.browser
@pytest.mark.parametrize("word", ["constructor", "rotation", "valueOf", "__proto__"])
def test_search_answers_any_word(visit, word):
    seen = visit(f"search.html?q={word}")
    seen.page.wait_for_selector("#search-results p.search-summary:not(:empty)")
    seen.page.wait_for_function("!document.querySelector('#search-progress')?.textContent")
    seen.assert_clean()
    found = seen.page.locator("#search-results li").count()
    assert (found > 0) == (word == "rotation")


@pytest.mark.browser
@pytest.mark.parametrize("page", CHAPTERS)
def test_plots_follow_the_theme_and_can_be_read_on_a_phone(visit, page):
    seen = visit(page, width=360, theme="dark")
    assert seen.page.locator("main .cell_output img[src$='.png']").count() == 0
    for plot in seen.page.locator(".rope-plot").all():
        assert not plot.evaluate(
            "(el) => getComputedStyle(el.parentElement).backgroundColor.startsWith('rgb(')"
        )
        for panel in plot.locator("> svg").all():
            assert panel.evaluate(SMALLEST) >= 11
    for text in seen.page.locator(".rope-plot text").all()[:1]:
        assert min(rgb(text.evaluate("(el) => getComputedStyle(el).fill"))) > 180  # light on dark


@pytest.mark.browser
@pytest.mark.parametrize("page", CHAPTERS)
def test_no_two_things_of_a_page_have_one_id(page):
    ids = re.findall(r'\sid="([^"]+)"', (SITE / page).read_text(encoding="utf-8"))
    assert len(ids) == len(set(ids))


@pytest.mark.browser
def test_paper_is_light_from_the_dark_theme_and_says_what_is_folded(visit):
    seen = visit(CHAPTERS[3], theme="dark")
    seen.page.emulate_media(media="print", color_scheme="dark")
    seen.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    for name in ("body", ".rope-live", ".rope-live svg text", ".rope-plot text", ".highlight span"):
        part = seen.page.locator(name).first
        ink = part.evaluate(
            "(el) => getComputedStyle(el)[el.namespaceURI.endsWith('svg') ? 'fill' : 'color']"
        )
        assert max(rgb(ink)) < 170, f"{name} is printed in {ink}"
    assert not seen.page.locator(".rl-controls").first.is_visible()
    assert seen.page.locator(".rope-live svg").first.is_visible()
    folded = "(el) => getComputedStyle(el, '::after').content"
    assert "folded" in seen.page.locator("details.tag_solution, details.fold").last.locator(
        "summary"
    ).evaluate(folded)
    assert re.match(r"\d", seen.page.locator("#jb-print-docs-body h1").text_content().strip())
    seen.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert seen.page.evaluate("document.documentElement.dataset.theme") == "dark"


@pytest.mark.browser
def test_figures_take_the_readers_colours_where_the_system_prescribes_them(visit):
    seen = visit(CHAPTERS[3], theme="dark", forced_colors="active")
    seen.page.evaluate("document.documentElement.dataset.theme = 'light'")
    words = seen.page.evaluate(
        """() => { const canvas = document.createElement("p"); document.body.append(canvas);
            canvas.style.color = "CanvasText"; return getComputedStyle(canvas).color }"""
    )
    for name in (".rope-live svg text", ".rope-plot text"):
        assert seen.page.locator(name).first.evaluate("(el) => getComputedStyle(el).fill") == words


@pytest.mark.browser
@pytest.mark.parametrize("name", ["Toggle primary sidebar", "Download this page"])
def test_focus_is_seen(visit, name):
    seen = visit(CHAPTERS[0])
    button = seen.page.locator(f'[aria-label="{name}"]').first
    for _ in range(60):
        seen.page.keyboard.press("Tab")
        if button.evaluate("(el) => el === document.activeElement"):
            break
    style = button.evaluate(
        "(el) => { const s = getComputedStyle(el); return [s.outlineStyle, s.outlineWidth] }"
    )
    assert style == ["solid", "3px"]


@pytest.mark.browser
def test_copying_code_is_announced(visit):
    seen = visit(CHAPTERS[0], permissions=["clipboard-read", "clipboard-write"])
    seen.page.locator("div.highlight:visible").first.hover()
    seen.page.locator("button.copybtn:visible").first.click()
    seen.page.wait_for_function(
        "document.querySelector('p[role=status].visually-hidden').textContent === 'Copied'"
    )


@pytest.mark.browser
def test_dark_figures_are_dark(visit):
    seen = visit(CHAPTERS[0], theme="dark")
    paper = seen.page.locator(".rope-live").first.evaluate("(el) => getComputedStyle(el).backgroundColor")
    assert max(rgb(paper)) < 60
